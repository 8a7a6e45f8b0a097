import { createHash } from 'node:crypto'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import type { JobQueue } from '../../../job-queue.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { listDeliveriesOf, type PushDelivery } from './delivery.ts'
import { addDeliveries, addFanOut } from './delivery-job.ts'
import { requireOwners } from './device.ts'
import { pushErrors } from './errors.ts'
import { readIdempotencyKey, readInstant, readMessage, type SendInput } from './message.ts'
import { findDevicesOfUser, findSendByKey, insertSend, type Recipient, type Target } from './send.ts'

export interface AddSendDeps {
  readonly database: SystemDatabase
  readonly queue: JobQueue
}

/** Sender of a message, for the audit log. */
export interface Sender {
  readonly actor: 'admin' | 'program' | 'function'
  readonly origin?: RequestOrigin | undefined
  /** Program, with the user for whom it acts. */
  readonly detail?: Readonly<Record<string, string | undefined>>
}

/** Added message, with the deliveries that exist so far. */
export interface AddedSend {
  readonly id: string
  readonly deliveries: readonly PushDelivery[]
}

/**
 * Adds a message to the devices of a user, or of a topic.
 *
 * @throws AppError invalid_push, payload_too_large, push_app_not_found, push_user_not_found, push_key_reused
 */
export async function addSendToMany(
  deps: AddSendDeps,
  appId: string,
  target: Exclude<Target, { kind: 'device' }>,
  input: SendInput,
  sender: Sender,
): Promise<AddedSend> {
  return await addSend(deps, appId, target, input, sender, async (transaction) => {
    const userId = target.kind === 'user' ? target.userId : undefined
    await requireOwners(transaction, appId, userId)
    return userId === undefined ? undefined : await findDevicesOfUser(transaction, appId, userId)
  })
}

/**
 * Adds a message, its deliveries and their jobs in one transaction.
 *
 * @param find returns the devices; undefined: a job finds those of the topic
 */
export async function addSend(
  { database, queue }: AddSendDeps,
  appId: string,
  target: Target,
  input: SendInput,
  { detail: sender, ...by }: Sender,
  find: (transaction: Queryable) => Promise<readonly Recipient[] | undefined>,
): Promise<AddedSend> {
  const message = readMessage(input)
  const sendAt = readInstant(input.send_at)
  const idempotencyKey = readIdempotencyKey(input.idempotency_key)
  const requestHash = createHash('sha256')
    .update(JSON.stringify([target, message, sendAt ?? null]))
    .digest()
  const id = await database.transaction(async (transaction) => {
    const recipients = await find(transaction)
    const send = { appId, target, message, sendAt, idempotencyKey, requestHash }
    const added = await insertSend(transaction, send)
    if (added === undefined) {
      return await requireSameSend(transaction, appId, idempotencyKey ?? '', requestHash)
    }
    if (recipients === undefined) await addFanOut(queue, transaction, added.id, sendAt)
    else await addDeliveries(queue, transaction, added.id, recipients, sendAt)
    const detail = { appId, ...target, ...(sender === undefined ? {} : { sender }) }
    await recordAudit(transaction, { ...by, action: 'push.send', target: added.id, detail })
    return added.id
  })
  const deliveries = await listDeliveriesOf(database, id)
  queue.wake()
  return { id, deliveries }
}

async function requireSameSend(
  transaction: Queryable,
  appId: string,
  key: string,
  hash: Buffer,
): Promise<string> {
  const known = await findSendByKey(transaction, appId, key)
  if (known === undefined) throw new Error('the message with this key is not visible')
  if (!known.request_hash.equals(hash)) throw pushErrors.pushKeyReused()
  return known.id
}
