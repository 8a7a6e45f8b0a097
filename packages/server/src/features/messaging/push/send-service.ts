import { createHash } from 'node:crypto'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import type { UserIdentity } from '../../../http/access/identity.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import type { JobQueue } from '../../../job-queue.ts'
import { parseInstant } from '../../../lib/instant.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { requireAllowed, type Throttle } from '../../operations/throttle/index.ts'
import type { PushConfig } from './config.ts'
import * as deliveries from './deliveries.ts'
import { addDeliveries, addFanOut } from './delivery-job.ts'
import { findDevice } from './devices.ts'
import { pushErrors } from './errors.ts'
import { readRange, topicForm, topicProblem } from './inputs.ts'
import { type MessageInput, readMessage, requireId, requireText } from './message.ts'
import { requireOwners } from './owners.ts'
import * as sends from './sends.ts'

export interface SendInput extends MessageInput {
  readonly app_id?: string
  readonly user_id?: string
  readonly topic?: string
  readonly token_id?: string
  readonly send_at?: string
  readonly idempotency_key?: string
}

export interface DeliveryListInput {
  readonly app_id?: string
  readonly user_id?: string
  readonly send_id?: string
  readonly device_token_id?: string
  readonly status?: string
  readonly limit?: number
  readonly offset?: number
}

/** A user or a topic. */
type ManyTarget = Exclude<sends.Target, { kind: 'device' }>

/** Who sends, for the audit. */
interface Sender {
  readonly actor: 'admin' | 'program'
  readonly origin: RequestOrigin
  /** The program, and whom it acts for. */
  readonly detail?: Readonly<Record<string, string | undefined>>
}

export interface SendServiceDeps {
  readonly config: PushConfig
  readonly database: SystemDatabase
  readonly queue: JobQueue
  readonly throttle: Throttle
}

/** Messages and their deliveries. */
export class SendService {
  readonly #config: PushConfig
  readonly #database: SystemDatabase
  readonly #queue: JobQueue
  readonly #throttle: Throttle

  constructor({ config, database, queue, throttle }: SendServiceDeps) {
    this.#config = config
    this.#database = database
    this.#queue = queue
    this.#throttle = throttle
  }

  /**
   * Sends a message to the devices of a user, or of a topic.
   *
   * @throws AppError invalid_push, payload_too_large, push_app_not_found, push_user_not_found, push_key_reused
   */
  async send(input: SendInput, origin: RequestOrigin) {
    const appId = requireId('app_id', input.app_id)
    const { id, rows } = await this.#addTo(appId, readTarget(input), input, { actor: 'admin', origin })
    return { send_id: id, deliveries: rows.map(showDelivery) }
  }

  /**
   * Sends a message of a program to devices of its own app, as often as its user may, whatever credential is presented.
   *
   * @throws AppError push_sender_not_permitted, push_limit_reached, and those of {@link send}
   */
  async sendAsProgram(input: SendInput, caller: UserIdentity, origin: RequestOrigin) {
    const { userId, appId, keyId, clientId, isAnonymous, scope } = caller
    if (scope.grant === undefined || isAnonymous) throw pushErrors.pushSenderNotPermitted()
    if (input.app_id !== undefined && requireId('app_id', input.app_id) !== appId) {
      throw pushErrors.invalidPush('app_id: expected the app of the program')
    }
    const target = readTarget(input)
    readMessage(input)
    const limit = { name: 'push.user', attempts: this.#config.policy.sends_per_hour, windowSeconds: 3600 }
    requireAllowed(await this.#throttle.attempt(limit, userId || appId), pushErrors.pushLimitReached())
    const by: Sender = { actor: 'program', origin, detail: { userId, keyId, clientId } }
    const { id, rows } = await this.#addTo(appId, target, input, by)
    return { send_id: id, count: rows.length }
  }

  /** @throws AppError invalid_push, payload_too_large, push_token_not_found, invalid_device_token, push_key_reused */
  async sendToDevice(input: SendInput, origin: RequestOrigin) {
    const deviceId = requireId('token_id', input.token_id)
    const device = await findDevice(this.#database, deviceId)
    const target = { kind: 'device', deviceId } as const
    readMessage(input)
    if (device === undefined) throw pushErrors.pushTokenNotFound()
    if (!device.is_active) throw pushErrors.invalidDeviceToken()
    const { rows } = await this.#add(device.app_id, target, input, { actor: 'admin', origin }, async () => [
      device,
    ])
    const [delivery] = rows
    if (delivery === undefined) throw new Error('the delivery was not added')
    return showDelivery(delivery)
  }

  async listDeliveries(input: DeliveryListInput) {
    const {
      app_id: appId,
      user_id: userId,
      send_id: sendId,
      device_token_id: deviceId,
      status,
      limit,
      offset,
    } = input
    const rows = await deliveries.listDeliveries(this.#database, {
      appId: appId === undefined ? undefined : requireId('app_id', appId),
      userId: userId === undefined ? undefined : requireId('user_id', userId),
      sendId: sendId === undefined ? undefined : requireId('send_id', sendId),
      deviceId: deviceId === undefined ? undefined : requireId('device_token_id', deviceId),
      status: readStatus(status),
      ...readRange({ limit, offset }, 50),
    })
    return { items: rows.map(showDelivery) }
  }

  /** @throws AppError invalid_push, delivery_not_found */
  async getDelivery(id: string) {
    const row = await deliveries.findDelivery(this.#database, requireId('id', id))
    if (row === undefined) throw pushErrors.pushDeliveryNotFound()
    return showDelivery(row)
  }

  /** @throws AppError invalid_push, send_not_found */
  async getSend(id: string) {
    const row = await sends.findSend(this.#database, requireId('id', id))
    if (row === undefined) throw pushErrors.sendNotFound()
    const { pending = 0, sent = 0, failed = 0, invalid_token = 0 } = row.counts
    return {
      ...row,
      counts: { pending, sent, failed, invalid_token },
      send_at: row.send_at.toISOString(),
      created_at: row.created_at.toISOString(),
    }
  }

  async #addTo(appId: string, target: ManyTarget, input: SendInput, by: Sender) {
    return await this.#add(appId, target, input, by, async (transaction) => {
      await requireOwners(transaction, appId, target.kind === 'user' ? target.userId : undefined)
      return target.kind === 'user'
        ? await sends.findDevicesOfUser(transaction, appId, target.userId)
        : undefined
    })
  }

  /** Message, deliveries and jobs in one transaction. @param find devices; undefined: those of the topic, by a job */
  async #add(
    appId: string,
    target: sends.Target,
    input: SendInput,
    { detail: sender, ...by }: Sender,
    find: (transaction: Queryable) => Promise<readonly sends.Recipient[] | undefined>,
  ): Promise<{ readonly id: string; readonly rows: readonly deliveries.DeliveryRow[] }> {
    const message = readMessage(input)
    const sendAt = readInstant(input.send_at)
    const idempotencyKey = readIdempotencyKey(input.idempotency_key)
    const requestHash = createHash('sha256')
      .update(JSON.stringify([target, message, sendAt ?? null]))
      .digest()
    const result = await this.#database.transaction(async (transaction) => {
      const recipients = await find(transaction)
      const added = await sends.insertSend(transaction, {
        appId,
        target,
        message,
        sendAt,
        idempotencyKey,
        requestHash,
      })
      if (added === undefined)
        return { id: await requireSameSend(transaction, appId, idempotencyKey ?? '', requestHash) }
      if (recipients === undefined) await addFanOut(this.#queue, transaction, added.id, sendAt)
      else await addDeliveries(this.#queue, transaction, added.id, recipients, sendAt)
      const detail = { appId, ...target, ...(sender === undefined ? {} : { sender }) }
      await recordAudit(transaction, { ...by, action: 'push.send', target: added.id, detail })
      return added
    })
    const rows = await deliveries.listDeliveriesOf(this.#database, result.id)
    this.#queue.wake()
    return { id: result.id, rows }
  }
}

async function requireSameSend(
  transaction: Queryable,
  appId: string,
  key: string,
  hash: Buffer,
): Promise<string> {
  const known = await sends.findSendByKey(transaction, appId, key)
  if (known === undefined) throw new Error('the message with this key is not visible')
  if (!known.request_hash.equals(hash)) throw pushErrors.pushKeyReused()
  return known.id
}

function readTarget({ user_id: userId, topic }: SendInput): ManyTarget {
  if (topic === undefined) return { kind: 'user', userId: requireId('user_id', userId) }
  if (userId !== undefined) throw pushErrors.invalidPush('expected either user_id or topic, not both')
  if (!topicForm.test(topic)) throw pushErrors.invalidPush(topicProblem('topic'))
  return { kind: 'topic', topic }
}

function readStatus(status: string | undefined): deliveries.DeliveryState | undefined {
  if (status === undefined || status === '') return undefined
  const known = deliveries.deliveryStates.find((state) => state === status)
  if (known === undefined) {
    throw pushErrors.invalidPush(
      `invalid status: status must be one of: ${deliveries.deliveryStates.join(', ')}`,
    )
  }
  return known
}

function readInstant(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined
  const instant = parseInstant(text)
  if (instant === undefined) {
    throw pushErrors.invalidPush('send_at: expected RFC 3339, such as 2026-01-02T03:04:05Z')
  }
  return instant
}

function readIdempotencyKey(key: string | undefined): string | undefined {
  if (key === undefined) return undefined
  if (key === '') throw pushErrors.invalidPush('idempotency_key: expected a text')
  requireText('idempotency_key', key, 255)
  return key
}

function showDelivery(row: deliveries.DeliveryRow) {
  const { device_id, send_at, sent_at, created_at, updated_at, ...rest } = row
  return {
    ...rest,
    device_token_id: device_id,
    send_at: send_at.toISOString(),
    sent_at: sent_at?.toISOString() ?? null,
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
  }
}
