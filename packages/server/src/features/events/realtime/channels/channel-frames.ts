import type { ChannelMessage } from './channel-messages.ts'

/** Renders a broadcast for the members of a channel. The payload is passed on as written. */

export function broadcastFrame(channel: string, event: string, payload: string): string {
  return `{"type":"broadcast","channel":${JSON.stringify(channel)},"event":${JSON.stringify(event)},"payload":${payload}}`
}

/** Renders the presences of a channel, by connection. */
export function syncFrame(
  channel: string,
  presences: readonly { readonly connectionId: string; readonly presence: string }[],
): string {
  const members = presences.map(({ connectionId, presence }) => `"${connectionId}":${presence}`)
  return `{"type":"presence","channel":${JSON.stringify(channel)},"presence_action":"sync","presences":{${members.join()}}}`
}

export function messageFrame({ channel, kind, connectionId, event, payload }: ChannelMessage): string {
  if (kind === 'broadcast') return broadcastFrame(channel, event ?? '', payload ?? 'null')
  return (
    `{"type":"presence","channel":${JSON.stringify(channel)},"presence_action":"${kind}",` +
    `"presence_conn_id":"${connectionId}","presence":${payload ?? '{}'}}`
  )
}
