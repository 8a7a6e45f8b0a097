import type { Logger } from 'pino'
import type { SystemDatabase } from '../../database/system-database.ts'
import type { Feature } from '../../feature.ts'
import { messageOf } from '../../lib/errors.ts'
import type { Interests } from './interests.ts'
import { pruneOutbox } from './prune.ts'

export { captureTable, releaseTable } from './capture-table.ts'
export { Interests } from './interests.ts'
export { OutboxChangeLog } from './outbox.ts'
export { pruneOutbox } from './prune.ts'
export { type EventConsumer, Relay } from './relay.ts'

const pruneIntervalMs = 10 * 60 * 1000

export interface EventsDeps {
  readonly database: SystemDatabase
  readonly interests: Interests
  readonly retentionHours: number
  readonly log: Logger
}

/** Knows who listens and keeps the log of changes short. Reading it is up to those who listen. */
export function events({ database, interests, retentionHours, log }: EventsDeps): Feature {
  let timer: NodeJS.Timeout | undefined
  return {
    name: 'events',
    async start() {
      await interests.start()
      timer = setInterval(() => {
        pruneOutbox(database, retentionHours).catch((error) =>
          log.warn({ reason: messageOf(error) }, 'cannot prune the log of changes'),
        )
      }, pruneIntervalMs).unref()
    },
    stop() {
      clearInterval(timer)
      interests.stop()
    },
  }
}
