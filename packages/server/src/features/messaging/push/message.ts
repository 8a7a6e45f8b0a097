import {
  bodyOf,
  checkedByHandler,
  choice,
  component,
  type DocumentedBody,
  exactlyOne,
  extended,
  textForm,
} from '../../../http/schemas.ts'
import { parseInstant } from '../../../lib/instant.ts'
import { type Static, type TObject, Type } from '../../../lib/type.ts'
import { pushErrors } from './errors.ts'

/** Maximum time to live, four weeks. Providers keep messages no longer. */
export const longestTtl = 28 * 86_400

const titleLimit = 256
const bodyLimit = 4096
const dataLimit = 8192
/** Maximum payload of FCM and APNs in bytes. */
const payloadLimit = 4096
const soundLimit = 100
const collapseKeyLimit = 64
const idempotencyKeyLimit = 255

/** Pattern of names in `data`. Providers reject a whole message for names that they reserve. */
const dataKeyForm = '^(?!(?:aps|from|message_type|notification)$|google|gcm)[^\\u0000]+$'

/** Pattern of topics that every provider accepts. */
export const topicForm = '^[a-zA-Z0-9_.~%-]{1,100}$'

export function topicProblem(member: string): string {
  return `${member}: expected names of 1 to 100 letters, digits and -_.~%`
}

export const PushOptions = component(
  'PushOptions',
  Type.Object(
    {
      badge: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 1_000_000, description: "Number on the app's icon." }),
      ),
      sound: Type.Optional(
        checkedByHandler(
          { maxLength: soundLimit },
          Type.String({ description: 'Name of a sound of the app, or `default`.' }),
        ),
      ),
      ttl_seconds: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: longestTtl,
          description: 'Seconds for which the provider keeps the message for an unreachable device.',
        }),
      ),
      priority: Type.Optional(choice(['high', 'normal'], { description: 'Default: high.' })),
      collapse_key: Type.Optional(
        checkedByHandler(
          { maxLength: collapseKeyLimit },
          Type.String({
            description: 'Key of at most 64 bytes. A device shows the latest message with one key.',
          }),
        ),
      ),
      image: Type.Optional(
        checkedByHandler(
          { format: 'uri', pattern: '^https:' },
          Type.String({ description: 'Address with https.' }),
        ),
      ),
    },
    { additionalProperties: false },
  ),
)
export type PushOptions = Static<typeof PushOptions>

/** Content of a message. */
export interface PushMessage {
  readonly title: string
  readonly body: string
  readonly data: Readonly<Record<string, string>>
  readonly options: PushOptions
}

// Handlers check the members, after the permissions of programs and the target.
export const SendInput = Type.Partial(
  Type.Object({
    app_id: Type.String(),
    user_id: Type.String(),
    topic: Type.String(),
    token_id: Type.String(),
    title: Type.String(),
    body: Type.String(),
    data: Type.Record(Type.String(), Type.Unknown()),
    options: PushOptions,
    send_at: Type.String(),
    idempotency_key: Type.String(),
  }),
)
export type SendInput = Static<typeof SendInput>

const PushData = component(
  'PushData',
  Type.Record(Type.String({ pattern: dataKeyForm }), Type.String(), {
    additionalProperties: false,
    description: 'Values for the app.',
  }),
)

const PushContent = component(
  'PushContent',
  Type.Object({
    title: Type.String({ minLength: 1, maxLength: titleLimit, pattern: textForm }),
    body: Type.String({ minLength: 1, maxLength: bodyLimit, pattern: textForm }),
    data: Type.Optional(PushData),
    options: Type.Optional(PushOptions),
    send_at: Type.Optional(Type.String({ format: 'date-time', description: 'RFC 3339 time. Default: now.' })),
    idempotency_key: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: idempotencyKeyLimit,
        description: 'A repeated key of an app returns the first message.',
      }),
    ),
  }),
)

/** Body of a message to one device. */
export const toDevice = bodyOf(
  'application/json',
  extended(
    PushContent,
    Type.Object({ token_id: Type.String({ format: 'uuid', description: 'Id of the device.' }) }),
  ),
)

/** Describes the body of a message to the devices of a user or of a topic. */
export function toMany({ properties: app }: TObject): DocumentedBody {
  const members = {
    ...app,
    user_id: Type.Optional(Type.String({ format: 'uuid' })),
    topic: Type.Optional(Type.String({ pattern: topicForm })),
  }
  const target = Type.Object(members, exactlyOne({ required: ['user_id'] }, { required: ['topic'] }))
  return bodyOf('application/json', extended(PushContent, target))
}

/** Reads a message. @throws AppError invalid_push, payload_too_large */
export function readMessage({ title = '', body = '', data = {}, options = {} }: SendInput): PushMessage {
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
  // Every value has been checked to be a text.
  return data as Record<string, string>
}

/**
 * Returns the problem with a key. Providers reserve some and reject the whole message for them
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
  if (sound !== undefined) requireText('options.sound', sound, soundLimit)
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

/** Rejects a text that is too long or malformed. @throws AppError invalid_push */
export function requireText(name: string, value: string, limit: number): void {
  if (value.length > limit) throw pushErrors.invalidPush(`${name} must be at most ${limit} characters`)
  if (value.includes('\0')) throw pushErrors.invalidPush(`${name}: NUL is not allowed`)
  if (!value.isWellFormed()) throw pushErrors.invalidPush(`${name}: expected well-formed Unicode`)
}

/** Returns the idempotency key of a message. @throws AppError invalid_push */
export function readIdempotencyKey(key: string | undefined): string | undefined {
  if (key === undefined) return undefined
  if (key === '') throw pushErrors.invalidPush('idempotency_key: expected a text')
  requireText('idempotency_key', key, idempotencyKeyLimit)
  return key
}

/** Parses a time. @throws AppError invalid_push */
export function readInstant(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined
  const instant = parseInstant(text)
  if (instant === undefined) {
    throw pushErrors.invalidPush('send_at: expected RFC 3339, such as 2026-01-02T03:04:05Z')
  }
  return instant
}
