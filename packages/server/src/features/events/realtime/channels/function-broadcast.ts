import { realtimeErrors } from '../errors.ts'
import { channelOf, eventOf } from '../websocket/client-messages.ts'

/** Reads a broadcast of a function. @throws AppError channel_required, event_required, invalid_name, invalid_message */
export function readBroadcast(message: object, limitBytes: number) {
  const { payload = null, ...members } = message as Readonly<Record<string, unknown>>
  const given = { type: 'broadcast', ref: undefined, payload: undefined, members } as const
  const broadcast = { channel: channelOf(given), event: eventOf(given), payload }
  if (Buffer.byteLength(JSON.stringify(payload)) > limitBytes)
    throw realtimeErrors.invalidMessage(`a payload of more than ${limitBytes} bytes`)
  return broadcast
}
