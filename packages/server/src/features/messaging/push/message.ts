import { isUuid } from '../../../lib/uuid.ts'
import { pushErrors } from './errors.ts'

/** What a device shows. */
export interface PushMessage {
  readonly title: string
  readonly body: string
  readonly data: Readonly<Record<string, string>>
  readonly options: PushOptions
}

export interface PushOptions {
  /** Number on the app's icon. */
  readonly badge?: number
  /** Name of a sound of the app, or `default`. */
  readonly sound?: string
  /** Seconds that the provider keeps the message for a device that is not reachable. */
  readonly ttl_seconds?: number
  readonly priority?: 'high' | 'normal'
  /** Of several messages with the same key a device shows the latest. */
  readonly collapse_key?: string
  /** Address of a picture. */
  readonly image?: string
}

/** Of a request, as JSON; anything may be in it. */
export interface MessageInput {
  readonly title?: string
  readonly body?: string
  readonly data?: Readonly<Record<string, unknown>>
  readonly options?: PushOptions
}

/** Four weeks: what providers keep a message at most. */
export const longestTtl = 28 * 86_400

const titleLimit = 256
const bodyLimit = 4096
const dataLimit = 8192
/** What FCM and APNs take. */
const payloadLimit = 4096
const collapseKeyLimit = 64

/** @throws AppError invalid_push, payload_too_large */
export function readMessage({ title = '', body = '', data = {}, options = {} }: MessageInput): PushMessage {
  if (title.trim() === '') throw pushErrors.invalidPush('title is required')
  if (body.trim() === '') throw pushErrors.invalidPush('body is required')
  requireText('title', title, titleLimit)
  requireText('body', body, bodyLimit)
  const message = { title, body, data: readData(data), options: readOptions(options) }
  const bytes = Buffer.byteLength(JSON.stringify(message))
  if (bytes > payloadLimit) throw pushErrors.payloadTooLarge(bytes, payloadLimit)
  return message
}

function readData(data: Readonly<Record<string, unknown>>): Record<string, string> {
  for (const [key, value] of Object.entries(data)) {
    if (typeof value !== 'string') {
      throw pushErrors.invalidPush(`data: expected an object of strings; "${key}" is none`)
    }
    requireText(`data.${key}`, value, dataLimit)
    const problem = findReservedKey(key)
    if (problem !== undefined) throw pushErrors.invalidPush(`data: ${problem}`)
  }
  // Every value was checked to be a text.
  return data as Record<string, string>
}

/**
 * Keys that a provider takes for its own and refuses the whole message for
 * (https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages; APNs: `aps`).
 */
function findReservedKey(key: string): string | undefined {
  const isReserved =
    ['aps', 'from', 'message_type', 'notification', ''].includes(key) || /^(google|gcm)/.test(key)
  if (isReserved) return `the key "${key}" is reserved by push providers`
  if (key.includes('\0') || !key.isWellFormed()) return 'a key is not well-formed text'
  return undefined
}

function readOptions(options: PushOptions): PushOptions {
  const { sound, collapse_key: collapseKey, image } = options
  if (sound !== undefined) requireText('options.sound', sound, 100)
  if (collapseKey !== undefined) {
    requireText('options.collapse_key', collapseKey, collapseKeyLimit)
    if (Buffer.byteLength(collapseKey) > collapseKeyLimit) {
      throw pushErrors.invalidPush(`options.collapse_key must be at most ${collapseKeyLimit} bytes`)
    }
  }
  if (image !== undefined && URL.parse(image)?.protocol !== 'https:') {
    throw pushErrors.invalidPush('options.image: expected an https URL')
  }
  return options
}

/** @throws AppError invalid_push */
export function requireText(name: string, value: string, limit: number): void {
  if (value.length > limit) throw pushErrors.invalidPush(`${name} must be at most ${limit} characters`)
  if (value.includes('\0')) throw pushErrors.invalidPush(`${name}: NUL is not allowed`)
  if (!value.isWellFormed()) throw pushErrors.invalidPush(`${name}: expected well-formed Unicode`)
}

/** @throws AppError invalid_push */
export function requireId(name: string, value: string | undefined): string {
  if (value === undefined || value === '') throw pushErrors.invalidPush(`${name} is required`)
  if (!isUuid(value)) throw pushErrors.invalidPush(`${name}: expected a UUID`)
  return value
}
