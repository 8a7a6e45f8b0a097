import type { Logger } from 'pino'
import type { SystemDatabase } from '../../database/system-database.ts'
import type { Feature } from '../../feature.ts'
import { messageOf } from '../../lib/errors.ts'
import { pruneOutbox } from './prune.ts'

export { captureTable, releaseTable } from './capture-table.ts'
export { type InterestSource, Interests } from './interests.ts'
export { OutboxChangeLog } from './outbox.ts'
export { pruneOutbox } from './prune.ts'
export { type EventConsumer, Relay } from './relay.ts'

const pruneIntervalMs = 10 * 60 * 1000

export interface EventsDeps {
  readonly database: SystemDatabase
  readonly retentionHours: number
  readonly log: Logger
}

/** Keeps the log of changes short. Reading it is up to those who listen. */
export function events({ database, retentionHours, log }: EventsDeps): Feature {
  let timer: NodeJS.Timeout | undefined
  return {
    name: 'events',
    start() {
      timer = setInterval(() => {
        pruneOutbox(database, retentionHours).catch((error) =>
          log.warn({ reason: messageOf(error) }, 'cannot prune the log of changes'),
        )
      }, pruneIntervalMs).unref()
    },
    stop: () => clearInterval(timer),
  }
}
