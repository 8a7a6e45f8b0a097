import type { Logger } from 'pino'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { UsageConfig } from './config.ts'
import type { Meter } from './meter.ts'
import { usageOperations } from './operations.ts'
import { deleteUsage } from './queries.ts'
import type { Quotas } from './quotas.ts'

export type { UsageConfig } from './config.ts'
export { usageErrorTable } from './errors.ts'
export { countJobRuns, type MeasureStorage, Meter } from './meter.ts'
export { storageLimits } from './plans.ts'
export { deleteUsage, listAppUsage } from './queries.ts'
export { Quotas } from './quotas.ts'
export { refuseBeyondPlan } from './refusal.ts'
export { readSpan } from './span.ts'

export interface UsageDeps {
  readonly config: UsageConfig
  readonly database: SystemDatabase
  readonly meter: Meter
  /** Quotas. Undefined where plans are not enforced. */
  readonly quotas: Quotas | undefined
  readonly queue: JobQueue
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Makes the feature of app usage, which is counted on every node, added up in the database, reported and
 * optionally limited.
 */
export function usage({ config, database, meter, quotas, queue, clock }: UsageDeps): Feature {
  queue.define(
    housekeeping('usage_retention', ({ retention_days = config.retention_days }) =>
      deleteUsage(database, retention_days),
    ),
  )
  return {
    name: 'usage',
    routes(app) {
      // This check runs after the guard, which knows the caller, and before the body is read.
      if (quotas !== undefined) {
        app.addHook('preParsing', (request, _reply, payload, done) => {
          const { identity } = request
          done(identity?.kind === 'user' ? quotas.refuse(identity.appId) : undefined, payload)
        })
      }
      addOperations(app, { database, plans: config.plans, clock }, usageOperations)
    },
    async start() {
      meter.start()
      quotas?.start()
    },
    async stop() {
      quotas?.stop()
      await meter.stop()
    },
  }
}
