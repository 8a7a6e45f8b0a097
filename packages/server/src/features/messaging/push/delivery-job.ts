import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import type { JobQueue } from '../../../job-queue.ts'
import type { Clock } from '../../../lib/clock.ts'
import { messageOf } from '../../../lib/errors.ts'
import { Lru } from '../../../lib/lru.ts'
import { isUuid } from '../../../lib/uuid.ts'
import {
  type Attempt,
  type AttemptEnd,
  beginAttempts,
  insertDeliveries,
  moveToJob,
  recordOutcomes,
} from './delivery.ts'
import { longestTtl } from './message.ts'
import type { Outcome } from './provider.ts'
import { CredentialRefused } from './providers/fcm.ts'
import type { PushProviders } from './registry.ts'
import { findDevicesOfTopic, type Recipient } from './send.ts'

/** Maximum number of deliveries of one job. */
const jobSize = 100
/**
 * Maximum number of deliveries of a job in flight. They are sent again when a node is killed before it
 * records them.
 */
const flightSize = 25
/** Number of topic devices that one job finds. */
const fanOutSize = 5000
/** Maximum number of remembered pauses, since browsers name any number of push services. */
const laneLimit = 1000

const deliveryJob = 'push_delivery'
const fanOutJob = 'push_fan_out'

export interface DeliveryJobDeps {
  readonly database: SystemDatabase
  readonly queue: JobQueue
  readonly providers: PushProviders
  readonly clock: Clock
  readonly log: Logger
}

/** Defines the jobs that send messages. */
export function defineDeliveryJobs(deps: DeliveryJobDeps): void {
  const { database, queue } = deps
  const send = createSender(deps)

  queue.define<{ readonly delivery_ids: readonly string[] }>({
    name: deliveryJob,
    retry: { attempts: 3, delay: 5, delayMax: 300, backoff: 6 },
    timeout: 300,
    findProblem: ({ delivery_ids: ids }) =>
      isListOfIds(ids) ? undefined : 'delivery_ids must be a list of ids',
    async handle({ delivery_ids: ids }, { signal }) {
      const failures: string[] = []
      for (let start = 0; start < ids.length; start += flightSize) {
        signal.throwIfAborted()
        const attempts = await beginAttempts(database, ids.slice(start, start + flightSize))
        const ends = await Promise.all(
          attempts.map(async (attempt): Promise<AttemptEnd> => ({ attempt, outcome: await send(attempt) })),
        )
        await record(ends)
        for (const { outcome } of ends) if (outcome.kind === 'failed') failures.push(outcome.reason)
      }
      if (failures.length > 0) throw new Error(`${failures.length} of ${ids.length} failed: ${failures[0]}`)
    },
  })

  /** Records outcomes. A new job makes throttled deliveries after the provider's pause. */
  async function record(ends: readonly AttemptEnd[]): Promise<void> {
    const throttled = ends.filter(({ outcome }) => outcome.kind === 'throttled')
    await database.transaction(async (transaction) => {
      await recordOutcomes(transaction, ends)
      if (throttled.length === 0) return
      const pauses = throttled.map(({ outcome }) => (outcome.kind === 'throttled' ? outcome.seconds : 0))
      const delaySeconds = Math.max(...pauses)
      const ids = throttled.map(({ attempt }) => attempt.id)
      const jobId = await queue.enqueue(deliveryJob, { delivery_ids: ids }, transaction, { delaySeconds })
      await moveToJob(transaction, ids, jobId)
    })
  }

  queue.define<{ readonly send_id: string; readonly after: string }>({
    name: fanOutJob,
    retry: { attempts: 10, delay: 5, delayMax: 300, backoff: 3 },
    timeout: 300,
    findProblem: ({ send_id: id, after }) =>
      isListOfIds([id, after]) ? undefined : 'send_id and after must be ids',
    async handle({ send_id: sendId, after }) {
      await database.transaction(async (transaction) => {
        const devices = await findDevicesOfTopic(transaction, sendId, { after, limit: fanOutSize })
        await addDeliveries(queue, transaction, sendId, devices, undefined)
        const last = devices.at(-1)
        if (devices.length === fanOutSize && last !== undefined) {
          await queue.enqueue(fanOutJob, { send_id: sendId, after: last.id }, transaction)
        }
      })
      queue.wake()
    },
  })
}

/** Adds a delivery per device, and the jobs that make them, to a transaction. */
export async function addDeliveries(
  queue: JobQueue,
  transaction: Queryable,
  sendId: string,
  devices: readonly Recipient[],
  runAt: Date | undefined,
): Promise<void> {
  for (let start = 0; start < devices.length; start += jobSize) {
    const deliveries = devices
      .slice(start, start + jobSize)
      .map(({ id, user_id: userId }) => ({ id: randomUUID(), deviceId: id, userId }))
    const ids = deliveries.map(({ id }) => id)
    const jobId = await queue.enqueue(deliveryJob, { delivery_ids: ids }, transaction, { runAt })
    await insertDeliveries(
      transaction,
      sendId,
      deliveries.map((delivery) => ({ ...delivery, jobId })),
    )
  }
}

/** Adds the job that finds the devices of a topic. */
export async function addFanOut(
  queue: JobQueue,
  transaction: Queryable,
  sendId: string,
  runAt: Date | undefined,
): Promise<void> {
  const after = '00000000-0000-0000-0000-000000000000'
  await queue.enqueue(fanOutJob, { send_id: sendId, after }, transaction, { runAt })
}

/** Creates a function that sends one message to one device. It sends nothing to a throttling provider. */
function createSender({ providers, clock, log }: DeliveryJobDeps) {
  const pausedUntil = new Lru<string, number>(laneLimit)

  return async (attempt: Attempt): Promise<Outcome> => {
    const early = judgeUnsent(attempt)
    if (early !== undefined) return early
    const provider = providers.find(attempt.provider)
    if (provider === undefined) {
      const reason = `no credentials for ${attempt.provider}`
      return { kind: 'refused', code: 'provider_not_configured', reason }
    }
    const lane = provider.lane(attempt.token)
    const pauseMs = (pausedUntil.get(lane) ?? 0) - clock.now().getTime()
    if (pauseMs > 0) {
      return {
        kind: 'throttled',
        seconds: Math.ceil(pauseMs / 1000),
        reason: 'the provider takes no more for a while',
        isForAll: false,
      }
    }
    const { id, token, keys, title, body, data, options } = attempt
    const ttlSeconds = Math.max(0, Math.floor((options.ttl_seconds ?? longestTtl) - attempt.age))
    try {
      const message = { title, body, data, options }
      const outcome = await provider.send({ id, token, keys: keys ?? undefined, message, ttlSeconds })
      if (outcome.kind === 'throttled' && outcome.isForAll) {
        pausedUntil.set(lane, clock.now().getTime() + outcome.seconds * 1000)
      }
      return outcome
    } catch (error) {
      if (error instanceof CredentialRefused) {
        return { kind: 'failed', code: 'provider_auth', reason: messageOf(error) }
      }
      // Other errors may quote the request.
      log.warn({ provider: attempt.provider, err: nameOf(error) }, 'failed to reach a push provider')
      return { kind: 'failed', code: 'provider_error', reason: `no answer from ${attempt.provider}` }
    }
  }
}

/** Returns the outcome of a message that cannot be sent. */
function judgeUnsent({ is_active, inactive_reason, is_theirs, age, options }: Attempt): Outcome | undefined {
  if (!is_theirs) {
    return { kind: 'refused', code: 'device_moved', reason: 'another user has registered the device since' }
  }
  if (!is_active) {
    const code = inactive_reason?.startsWith('unregistered') === true ? 'unregistered' : 'invalid_token'
    return { kind: 'dead', code, reason: inactive_reason ?? 'the device is inactive' }
  }
  const life = Math.max(options.ttl_seconds ?? longestTtl, 60)
  if (age > life) return { kind: 'refused', code: 'expired', reason: 'the message was not sent in its time' }
  return undefined
}

function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const { cause, name } = error
  return cause instanceof Error && 'code' in cause ? `${name}: ${String(cause.code)}` : name
}

function isListOfIds(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string' && isUuid(item))
}
