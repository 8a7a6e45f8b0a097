import type { Logger } from 'pino'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Clock } from '../../../lib/clock.ts'
import { QueueWorker } from '../queue/index.ts'
import type { Outcome } from './delivery.ts'
import type { ChangeHandlers } from './function-receivers.ts'
import {
  type Claim,
  claimAttempts,
  leaseSeconds,
  type NextAction,
  releaseClaim,
  renewClaims,
  settleAttempt,
} from './queue.ts'
import { secondsToWait } from './retry-policy.ts'
import type { Send } from './send.ts'

/** Milliseconds from the end of an attempt to the next poll. Attempts that end within this time share one poll. */
const wakeDelayMs = 5
/** Maximum number of attempts in flight on one node. */
const totalConcurrency = 500

export interface DeliveryWorkerOptions {
  readonly database: SystemDatabase
  readonly send: Send
  /** Returns the functions that handle changes on this node. */
  readonly handlers: () => ChangeHandlers
  readonly clock: Clock
  readonly log: Logger
  /** Maximum number of attempts in flight to one receiver. */
  readonly concurrency: number
  readonly pauseAfterHours: number
  /** Returns true in the process that polls for deliveries changed by hand, for all workers of a machine. */
  readonly isLeading: () => boolean
  /** Runs after a webhook was paused. */
  readonly onPause: () => void
}

interface Attempt {
  readonly outcome: Outcome
  readonly next: NextAction
}

/** Creates the worker that makes due attempts, each independently, so that no receiver waits for another. */
export function createDeliveryWorker(options: DeliveryWorkerOptions): QueueWorker<Claim, Attempt> {
  const { database, send, handlers, clock, log, concurrency, pauseAfterHours, isLeading, onPause } = options

  async function perform(claim: Claim, stopping: AbortSignal): Promise<Attempt | undefined> {
    if (claim.function_name !== null) return await call(claim.function_name, claim, stopping)
    const { webhook_id: webhookId, url, secret, previous_secret: previousSecret, event_id: id, body } = claim
    const { headers, ...outcome } = await send({ webhookId, url, secret, previousSecret, id, body }, stopping)
    // The stop of this node cut off the attempt, not the receiver.
    if (stopping.aborted && !outcome.success) return undefined
    if (outcome.success) return { outcome, next: { kind: 'done' } }
    if (outcome.statusCode === 410) {
      return { outcome, next: { kind: 'pause', reason: 'the receiver answered 410 Gone' } }
    }
    const seconds = secondsToWait(claim.attempts + 1, headers['retry-after'], clock.now())
    return { outcome, next: seconds === undefined ? { kind: 'done' } : { kind: 'retry', seconds } }
  }

  /** Makes an attempt by a function. */
  async function call(name: string, claim: Claim, stopping: AbortSignal): Promise<Attempt | undefined> {
    const { event_id: eventId, attempts, body, origin } = claim
    const startedAt = performance.now()
    const change = { eventId, attempt: attempts + 1, body, origin: origin ?? [] }
    const made = await handlers().handle(name, change, stopping)
    if (made === undefined || (stopping.aborted && made.error !== undefined)) return undefined
    const { error, retrySeconds, output } = made
    const outcome = {
      success: error === undefined,
      statusCode: undefined,
      durationMs: Math.round(performance.now() - startedAt),
      error,
      responseBody: output === '' ? undefined : output,
    }
    if (retrySeconds !== undefined) return { outcome, next: { kind: 'retry', seconds: retrySeconds } }
    if (error !== undefined)
      log.error({ function: name, event: eventId, reason: error }, 'failed to handle a change; not retrying')
    return { outcome, next: { kind: 'done' } }
  }

  return new QueueWorker({
    name: 'webhook deliveries',
    leaseSeconds,
    wakeDelayMs,
    isLeading,
    log,
    async claim(inFlight) {
      const total = totalConcurrency - inFlight.size
      if (total <= 0) return { claims: [], nextMs: undefined }
      return await claimAttempts(database, { perReceiver: concurrency, total, functions: handlers().names })
    },
    perform,
    async settle(claim, { outcome, next }) {
      const isLatest = await settleAttempt(
        database,
        claim,
        outcome,
        next,
        claim.function_name === null ? pauseAfterHours : 0,
      )
      if (next.kind === 'pause') onPause()
      return isLatest
    },
    release: (claim) => releaseClaim(database, claim),
    async renew(claims) {
      // An attempt at a receiver with an address ends within its lease.
      const long = claims.filter(({ function_name }) => function_name !== null)
      if (long.length > 0) await renewClaims(database, long)
    },
    describe: (claim) => ({ webhook: claim.webhook_id, event: claim.event_id }),
  })
}
