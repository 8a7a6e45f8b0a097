import { type Track, trackCreate, trackList, type WebhookRecord } from './hey-api'

/** Returns the names of tracks and of their albums, with the names and types that a person would choose. */
export async function listNames(): Promise<string[]> {
  const { data } = await trackList({
    query: { filter: 'unit_price > 1', expand: 'album' },
    throwOnError: true,
  })
  return data.items.map((track: Track) => `${track.name}, ${track.expand?.album?.title ?? ''}`)
}

export async function create(): Promise<number> {
  const body = { name: 'Highway Star', unit_price: 0.99 }
  const { data } = await trackCreate({ body, throwOnError: true })
  return data.track_id
}

export const webhook: WebhookRecord = { id: 1, type: null }
