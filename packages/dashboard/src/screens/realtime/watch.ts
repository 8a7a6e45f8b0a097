import { readEvents } from '../../api/stream.ts'
import { preview, type Subscriber } from './api.ts'

export interface WatchedMessage {
  /** Id, unique among the shown messages. */
  readonly id: string
  readonly at: string
  readonly kind: 'change' | 'gap' | 'withheld'
  readonly data: string
}

export interface WatchHandlers {
  readonly connected: () => void
  readonly received: (message: WatchedMessage) => void
}

/**
 * Watches changes. An administrator gets a stream. For another caller each change is evaluated by a preview, because the
 * administrator has no token of that caller. The stream reports when there is a change to evaluate, and makes the server log
 * the tables.
 *
 * @throws the error that ended the stream
 */
export async function watch(
  subscriber: Subscriber,
  signal: AbortSignal,
  handlers: WatchHandlers,
): Promise<void> {
  const { as, tables, filter } = subscriber
  let range: { since?: string; cursor?: string } = {}
  const query = { tables, ...(as === 'admin' && filter !== undefined ? { filter } : {}) }
  for await (const event of readEvents('admin/realtime/stream', { signal, query })) {
    const at = new Date().toISOString()
    const id = event.id ?? at
    if (event.name === 'connected') {
      range = { since: new Date(Date.now() - 1000).toISOString() }
      handlers.connected()
    } else if (event.name === 'gap') {
      handlers.received({ id, at, kind: 'gap', data: event.data })
    } else if (event.name === 'close') {
      throw new Error(event.data)
    } else if (as === 'admin') {
      handlers.received({ id, at, kind: 'change', data: event.data })
    } else {
      const found = await preview(subscriber, range, signal)
      if (found.nextCursor !== undefined) range = { cursor: found.nextCursor }
      for (const item of found.items)
        handlers.received({ id: item.id, at: item.happenedAt, kind: 'change', data: item.data })
      const withheld = found.decided - found.items.length
      if (withheld > 0)
        handlers.received({
          id: `withheld ${id}`,
          at,
          kind: 'withheld',
          data: String(withheld),
        })
    }
  }
}
