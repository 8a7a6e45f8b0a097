import { isObject, type JsonObject } from '../../../../lib/json.ts'
import { nestsDeeperThan, sliceObject } from '../../../../lib/json-slices.ts'
import { parseFilter, type StreamCondition } from '../changes/parse-filter.ts'
import { parseTables } from '../changes/subscriptions.ts'
import { realtimeErrors } from '../errors.ts'

const types = [
  'auth',
  'subscribe',
  'unsubscribe',
  'channel_subscribe',
  'channel_unsubscribe',
  'broadcast',
  'presence_track',
  'presence_untrack',
  'presence_sync',
] as const

/** Request of a WebSocket client. */
export interface ClientMessage {
  readonly type: (typeof types)[number]
  /** Reference that the reply repeats. */
  readonly ref: string | number | undefined
  readonly members: Readonly<Record<string, unknown>>
  /** JSON of the payload of a broadcast or presence as it was written, so that no digit is lost. */
  readonly payload: string | undefined
}

/** Maximum bytes of a message without its broadcast or presence payload. */
export const envelopeLimitBytes = 4096
const presenceLimitBytes = 4096
/** Maximum nesting of a message. Programs exchange no deeper ones, and some clients cannot read them. */
const nestingLimit = 100
/** Maximum characters in the name of a channel or an event. */
const nameLimit = 200

/** Parses a message. @throws AppError invalid_message, missing_message_type, unknown_message_type */
export function parseMessage(text: string): ClientMessage {
  const members = parseObject(text)
  const { type, ref } = members
  if (typeof type !== 'string' || type === '') throw realtimeErrors.missingMessageType()
  if (!isType(type)) throw realtimeErrors.unknownMessageType(type.slice(0, 100))
  const isRef = typeof ref === 'string' || typeof ref === 'number'
  return { type, ref: isRef ? ref : undefined, members, payload: payloadOf(type, text) }
}

/** Returns the payload. Some clients send a presence as `state`. */
function payloadOf(type: ClientMessage['type'], text: string): string | undefined {
  if (type === 'broadcast') return sliceObject(text).get('payload')
  if (type !== 'presence_track') return undefined
  const slices = sliceObject(text)
  return slices.get('presence') ?? slices.get('state')
}

/** Checks the size of a message. @throws AppError broadcast_too_large, presence_too_large, message_too_large */
export function requireSize(
  { type, payload = '' }: ClientMessage,
  bytes: number,
  broadcastLimitBytes: number,
): void {
  const payloadBytes = Buffer.byteLength(payload)
  if (type === 'broadcast' && payloadBytes > broadcastLimitBytes) {
    throw realtimeErrors.broadcastTooLarge(broadcastLimitBytes)
  }
  if (type === 'presence_track' && payloadBytes > presenceLimitBytes) {
    throw realtimeErrors.presenceTooLarge(presenceLimitBytes)
  }
  if (bytes - payloadBytes > envelopeLimitBytes) throw realtimeErrors.messageTooLarge(envelopeLimitBytes)
}

/** Parses one or several names, in an array or separated by commas. @throws AppError tables_required, no_valid_table */
export function tablesOf({ members: { tables } }: ClientMessage): readonly string[] {
  const isList = Array.isArray(tables) && tables.every((name) => typeof name === 'string')
  if (!isList && typeof tables !== 'string') throw realtimeErrors.tablesRequired()
  const names = isList ? [...new Set(tables.filter((name) => name !== ''))] : parseTables(tables as string)
  if (names.length === 0) throw realtimeErrors.noValidTable()
  return names
}

/** Parses the filter; undefined without one. @throws AppError invalid_stream_filter */
export function filterOf({ members: { filter } }: ClientMessage): readonly StreamCondition[] | undefined {
  if (filter === undefined || filter === null || filter === '') return undefined
  if (typeof filter !== 'string') throw realtimeErrors.invalidStreamFilter('expected a text')
  return parseFilter(filter)
}

/** Parses the channel. @throws AppError channel_required, invalid_name */
export function channelOf({ members: { channel } }: ClientMessage): string {
  if (typeof channel !== 'string' || channel === '') throw realtimeErrors.channelRequired()
  return requireName('channel', channel)
}

/** Parses the event name. @throws AppError event_required, invalid_name */
export function eventOf({ members: { event } }: ClientMessage): string {
  if (typeof event !== 'string' || event === '') throw realtimeErrors.eventRequired()
  return requireName('event', event)
}

/** Checks that PostgreSQL returns the name as it was stored. */
function requireName(what: string, name: string): string {
  if (name.length > nameLimit) throw realtimeErrors.invalidName(what, `at most ${nameLimit} characters`)
  if (name.includes('\0') || !name.isWellFormed()) {
    throw realtimeErrors.invalidName(what, 'expected characters of Unicode other than NUL')
  }
  return name
}

function parseObject(text: string): JsonObject {
  if (nestsDeeperThan(nestingLimit, text)) throw realtimeErrors.invalidMessage('nested too deeply')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    // Only the text can be wrong here, and the message of V8 has the position.
    throw realtimeErrors.invalidMessage((error as SyntaxError).message)
  }
  if (!isObject(value)) throw realtimeErrors.invalidMessage('expected an object')
  return value
}

function isType(type: string): type is ClientMessage['type'] {
  return (types as readonly string[]).includes(type)
}
