import { sliceObject } from '../../lib/json-slices.ts'
import { realtimeErrors } from './errors.ts'
import { type Condition, parseFilter } from './parse-filter.ts'
import { parseTables } from './subscriptions.ts'

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

/** What a client of a WebSocket asks for (facts, Realtime). */
export interface ClientMessage {
  readonly type: (typeof types)[number]
  /** Sent back with the reply. */
  readonly ref: string | number | undefined
  readonly members: Readonly<Record<string, unknown>>
  /** As it came. */
  readonly text: string
}

/** A message that nests deeper is nothing that programs exchange, and some clients cannot read it. */
const nestingLimit = 100

/** @throws AppError invalid_message, missing_message_type, unknown_message_type */
export function parseMessage(text: string): ClientMessage {
  const members = parseObject(text)
  const { type, ref } = members
  if (typeof type !== 'string' || type === '') throw realtimeErrors.missingMessageType()
  if (!isType(type)) throw realtimeErrors.unknownMessageType(type.slice(0, 100))
  const isRef = typeof ref === 'string' || typeof ref === 'number'
  return { type, ref: isRef ? ref : undefined, members, text }
}

/** A name or several, in an array or separated by commas. @throws AppError tables_required, no_valid_table */
export function tablesOf({ members: { tables } }: ClientMessage): readonly string[] {
  const isList = Array.isArray(tables) && tables.every((name) => typeof name === 'string')
  if (!isList && typeof tables !== 'string') throw realtimeErrors.tablesRequired()
  const names = isList ? [...new Set(tables.filter((name) => name !== ''))] : parseTables(tables as string)
  if (names.length === 0) throw realtimeErrors.noValidTable()
  return names
}

/** Undefined where there is none. @throws AppError invalid_stream_filter */
export function filterOf({ members: { filter } }: ClientMessage): readonly Condition[] | undefined {
  if (filter === undefined || filter === null || filter === '') return undefined
  if (typeof filter !== 'string') throw realtimeErrors.invalidStreamFilter('expected a text')
  return parseFilter(filter)
}

/** A member as it was written, so that no digit is lost. */
export function textOfMember({ text }: ClientMessage, name: string): string | undefined {
  return sliceObject(text).get(name)
}

function parseObject(text: string): Record<string, unknown> {
  if (nestsTooDeeply(text)) throw realtimeErrors.invalidMessage('nested too deeply')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    // Only a text can be wrong here, and V8 says where.
    throw realtimeErrors.invalidMessage((error as SyntaxError).message)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw realtimeErrors.invalidMessage('expected an object')
  }
  return value as Record<string, unknown>
}

function nestsTooDeeply(text: string): boolean {
  let depth = 0
  let isQuoted = false
  for (let index = 0; index < text.length; index += 1) {
    const character = text.charCodeAt(index)
    if (isQuoted) {
      if (character === backslash) index += 1
      else if (character === quote) isQuoted = false
    } else if (character === quote) isQuoted = true
    else if (character === openBrace || character === openBracket) {
      depth += 1
      if (depth > nestingLimit) return true
    } else if (character === closeBrace || character === closeBracket) depth -= 1
  }
  return false
}

const [quote, backslash] = [0x22, 0x5c]
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d]

function isType(type: string): type is ClientMessage['type'] {
  return (types as readonly string[]).includes(type)
}
