import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import { checkedByHandler, choice, refusedWith } from '../../../http/schemas.ts'
import { hashToken } from '../../../lib/tokens.ts'
import { type Static, Type } from '../../../lib/type.ts'
import { type PushDevice, platforms, registerDevice, requireOwners } from './device.ts'
import { pushErrors } from './errors.ts'
import { requireText, topicForm, topicProblem } from './message.ts'
import { idOf } from './parameters.ts'
import { type ProviderName, providerNames, type WebPushKeys } from './provider.ts'
import { findKeysProblem } from './webpush-encryption.ts'

const tokenLimit = 4096
const deviceNameLimit = 255
const topicsLimit = 100

/** Returns the schema of a name in a list. */
function nameOf<const Name extends string>(member: string, names: readonly Name[]) {
  const invalid = (name: unknown = '') => pushErrors.invalidPush(`invalid push ${member}: "${name}"`)
  return refusedWith({ missing: invalid, invalid }, choice(names))
}

export const provider = nameOf('provider', providerNames)

/** Members of a device other than its app and its user. */
export const deviceMembers = {
  provider,
  platform: nameOf('platform', platforms),
  token: refusedWith(
    { missing: () => pushErrors.invalidPush('token is required') },
    checkedByHandler(
      { maxLength: tokenLimit, pattern: '^[^\\u0000]*$' },
      Type.String({
        minLength: 1,
        description: 'Token of the device. For `webpush` it is the endpoint, a URL.',
      }),
    ),
  ),
  device_name: Type.Optional(
    checkedByHandler({ maxLength: deviceNameLimit, pattern: '^[^\\u0000]*$' }, Type.String()),
  ),
  topics: Type.Optional(
    checkedByHandler(
      { maxItems: topicsLimit, items: { type: 'string', pattern: topicForm } },
      Type.Array(Type.String(), { description: 'Replaces the topics of the device.' }),
    ),
  ),
  keys: Type.Optional(
    Type.Object(
      { p256dh: Type.Optional(Type.String()), auth: Type.Optional(Type.String()) },
      { description: 'Required for `webpush`, and not allowed for other providers.' },
    ),
  ),
}

export const NewDevice = Type.Object({ app_id: idOf('app_id'), ...deviceMembers })
export type NewDevice = Static<typeof NewDevice>

export interface RegisterDeps {
  readonly database: SystemDatabase
  /** Returns whether requests may be sent to the address. */
  readonly mayReach: (url: string) => boolean
}

/** Owner of a new device, with its part of the transaction. */
export interface Registrar {
  readonly userId: string
  /** Session of the user. It is the user's id for a token without a session, and undefined for an administrator. */
  readonly sessionId?: string
  /** Locks the account of a user before the registration. @throws AppError invalid_token */
  readonly before?: (transaction: Queryable) => Promise<unknown>
  /** Records a registration by an administrator. */
  readonly after?: (transaction: Queryable, device: PushDevice) => Promise<void>
}

/**
 * Registers a device, or moves it to the user.
 *
 * @throws AppError invalid_push, push_app_not_found, push_user_not_found, and the errors of the registrar
 */
export async function register(
  { database, mayReach }: RegisterDeps,
  { app_id: appId, provider, platform, device_name: deviceName = '', ...input }: NewDevice,
  { userId, sessionId, before, after }: Registrar,
): Promise<PushDevice> {
  const token = readToken(provider, input.token, mayReach)
  requireText('device_name', deviceName, deviceNameLimit)
  const keys = readKeys(provider, input.keys)
  const topics = readTopics(input.topics)
  const tokenHash = hashToken(token)
  return await database.transaction(async (transaction) => {
    await before?.(transaction)
    await requireOwners(transaction, appId, userId)
    const registration = {
      appId,
      userId,
      sessionId,
      provider,
      platform,
      token,
      tokenHash,
      keys,
      deviceName,
      topics,
    }
    const device = await registerDevice(transaction, registration)
    await after?.(transaction, device)
    return device
  })
}

function readToken(provider: ProviderName, token: string, mayReach: RegisterDeps['mayReach']): string {
  requireText('token', token, tokenLimit)
  if (provider !== 'webpush') return token
  const url = URL.parse(token)
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw pushErrors.invalidPush('token: expected the endpoint of a subscription, a URL')
  }
  if (!mayReach(token)) {
    throw pushErrors.invalidPush('token: the endpoint is not one that requests may be sent to')
  }
  return token
}

function readKeys(provider: ProviderName, keys: Partial<WebPushKeys> | undefined): WebPushKeys | undefined {
  if (provider !== 'webpush') {
    if (keys !== undefined) throw pushErrors.invalidPush('keys: only browsers have them')
    return undefined
  }
  const { p256dh = '', auth = '' } = keys ?? {}
  const problem = findKeysProblem({ p256dh, auth })
  if (problem !== undefined) throw pushErrors.invalidPush(problem)
  return { p256dh, auth }
}

function readTopics(topics: readonly string[] | undefined): readonly string[] | undefined {
  if (topics === undefined) return undefined
  if (topics.length > topicsLimit) throw pushErrors.invalidPush(`topics: expected at most ${topicsLimit}`)
  const form = new RegExp(topicForm)
  if (!topics.every((topic) => form.test(topic))) throw pushErrors.invalidPush(topicProblem('topics'))
  return [...new Set(topics)]
}
