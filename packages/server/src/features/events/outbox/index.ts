import type { Logger } from 'pino'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'
import { messageOf } from '../../../lib/errors.ts'
import type { EventTriggers } from './capture/event-triggers.ts'
import { type PruneResult, pruneOutbox } from './prune.ts'

export { describeCapture, findCaptureGap } from './capture/describe.ts'
export { EventTriggers } from './capture/event-triggers.ts'
export { Interests } from './interests.ts'
export { findIdAt, longestTransactionMs, scanLimit } from './log-times.ts'
export { OutboxChangeLog } from './outbox.ts'
export { pruneOutbox } from './prune.ts'
export { type EventConsumer, Relay, type RelayOptions } from './relay.ts'
export { hasRowsBeyond, outboxTopic } from './unread-rows.ts'

const pruneIntervalMs = 10 * 60 * 1000

export interface EventsDeps {
  readonly database: SystemDatabase
  readonly retentionHours: number
  readonly queue: JobQueue
  /** True if this node works on jobs. Otherwise a timer prunes the log. */
  readonly isWorking: boolean
  readonly triggers: EventTriggers
  readonly log: Logger
}

/** Creates the feature that prunes the log of changes and maintains the capture triggers. Consumers read the log. */
export function events({ database, retentionHours, queue, isWorking, triggers, log }: EventsDeps): Feature {
  let timer: NodeJS.Timeout | undefined
  let isDiscarding = false
  const warnOfDiscarded = ({ discarded }: PruneResult) => {
    const isKnown = isDiscarding
    isDiscarding = discarded > 0
    if (!isDiscarding || isKnown) return
    const message = `removed changes that no webhook has received: no node has delivered for ${retentionHours} hours (webhooks.deliver)`
    log.warn({ discarded }, message)
  }
  const prune = async (hours: number) => warnOfDiscarded(await pruneOutbox(database, hours))
  queue.define(
    housekeeping('event_log_prune', ({ retention_hours = retentionHours }) => prune(retention_hours)),
  )
  return {
    name: 'events',
    start() {
      triggers.start()
      if (isWorking) return
      // Writes append to the log even if no node works on jobs.
      timer = setInterval(() => {
        prune(retentionHours).catch((error) =>
          log.warn({ reason: messageOf(error) }, 'failed to prune the log of changes'),
        )
      }, pruneIntervalMs).unref()
    },
    async stop() {
      clearInterval(timer)
      await triggers.stop()
    },
  }
}
