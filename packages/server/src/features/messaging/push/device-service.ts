import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import { hashToken } from '../../../lib/tokens.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import * as devices from './devices.ts'
import { pushErrors } from './errors.ts'
import { readFlag, readRange, topicForm, topicProblem } from './inputs.ts'
import { requireId, requireText } from './message.ts'
import { requireOwners } from './owners.ts'
import { type ProviderName, providerNames, type WebPushKeys } from './provider.ts'
import { findKeysProblem } from './webpush-encryption.ts'

export interface DeviceInput {
  readonly app_id?: string
  readonly provider?: string
  readonly platform?: string
  readonly token?: string
  readonly device_name?: string
  readonly topics?: readonly string[]
  /** Of Web Push. */
  readonly keys?: Partial<WebPushKeys>
}

export interface DeviceListInput {
  readonly app_id?: string
  readonly user_id?: string
  readonly include_inactive?: string
  readonly limit?: number | undefined
  readonly offset?: number | undefined
}

/** Who registers a device. */
export interface Registrar {
  /** Of an administrator; what happens goes to the audit. */
  readonly origin?: RequestOrigin
  /** Locks the account of a user who registers a device of their own. @throws AppError invalid_token */
  readonly lock?: (transaction: Queryable) => Promise<unknown>
  /** The session of that user; the user's id for a token without a session. */
  readonly sessionId?: string
}

const tokenLimit = 4096
const deviceNameLimit = 255
const topicsLimit = 100
const platforms = ['android', 'ios', 'web'] as const

/** Devices that receive messages. */
export class DeviceService {
  readonly #database: SystemDatabase
  /** Whether requests may be sent to the address. */
  readonly #mayReach: (url: string) => boolean

  constructor(database: SystemDatabase, mayReach: (url: string) => boolean) {
    this.#database = database
    this.#mayReach = mayReach
  }

  /**
   * Registers a device, or moves it to the user.
   *
   * @throws AppError invalid_push, push_app_not_found, push_user_not_found, and what `lock` throws
   */
  async register(userId: string | undefined, input: DeviceInput, { origin, lock, sessionId }: Registrar) {
    const appId = requireId('app_id', input.app_id)
    const owner = requireId('user_id', userId)
    const provider = readName('provider', input.provider, providerNames)
    const platform = readName('platform', input.platform, platforms)
    const token = this.#readToken(provider, input)
    const { device_name: deviceName = '' } = input
    requireText('device_name', deviceName, deviceNameLimit)
    const keys = readKeys(provider, input.keys)
    const topics = readTopics(input.topics)
    return await this.#database.transaction(async (transaction) => {
      await lock?.(transaction)
      await requireOwners(transaction, appId, owner)
      const device = await devices.registerDevice(transaction, {
        appId,
        userId: owner,
        sessionId,
        provider,
        platform,
        token,
        tokenHash: hashToken(token),
        keys,
        deviceName,
        topics,
      })
      if (origin !== undefined) {
        const detail = { appId, userId: owner, provider }
        await recordAudit(transaction, {
          actor: 'admin',
          action: 'push.register_device',
          target: device.id,
          detail,
          origin,
        })
      }
      return showDevice(device)
    })
  }

  async list({
    app_id: appId,
    user_id: userId,
    limit,
    offset,
    include_inactive: includesInactive,
  }: DeviceListInput) {
    const rows = await devices.listDevices(this.#database, {
      appId: appId === undefined ? undefined : requireId('app_id', appId),
      userId: userId === undefined ? undefined : requireId('user_id', userId),
      includesInactive: readFlag('include_inactive', includesInactive),
      ...readRange({ limit, offset }),
    })
    return { items: rows.map(showDevice) }
  }

  /** @throws AppError device_not_found */
  async revoke(
    id: string,
    { userId, origin }: { readonly userId?: string; readonly origin?: RequestOrigin },
  ): Promise<void> {
    requireId('id', id)
    await this.#database.transaction(async (transaction) => {
      if (!(await devices.revokeDevice(transaction, id, userId))) throw pushErrors.deviceNotFound()
      if (origin !== undefined) {
        await recordAudit(transaction, {
          actor: 'admin',
          action: 'push.revoke_device',
          target: id,
          detail: {},
          origin,
        })
      }
    })
  }

  #readToken(provider: ProviderName, { token = '' }: DeviceInput): string {
    if (token === '') throw pushErrors.invalidPush('token is required')
    requireText('token', token, tokenLimit)
    if (provider !== 'webpush') return token
    const url = URL.parse(token)
    if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
      throw pushErrors.invalidPush('token: expected the endpoint of a subscription, a URL')
    }
    if (!this.#mayReach(token)) {
      throw pushErrors.invalidPush('token: the endpoint is not one that requests may be sent to')
    }
    return token
  }
}

function readName<const Name extends string>(
  member: string,
  given: string | undefined,
  names: readonly Name[],
): Name {
  const name = names.find((known) => known === given)
  if (name === undefined) throw pushErrors.invalidPush(`invalid push ${member}: "${given ?? ''}"`)
  return name
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
  if (!topics.every((topic) => topicForm.test(topic))) throw pushErrors.invalidPush(topicProblem('topics'))
  return [...new Set(topics)]
}

function showDevice(device: devices.DeviceRow) {
  const { last_refreshed_at, last_used, created_at, updated_at, ...rest } = device
  return {
    ...rest,
    last_refreshed_at: last_refreshed_at.toISOString(),
    last_used: last_used?.toISOString() ?? null,
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
  }
}
