import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import { acceptRaw } from '../../../http/requests/body.ts'
import type { HttpServer } from '../../../http/server.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { BillingConfig } from './config.ts'
import { billingErrors } from './errors.ts'
import { deleteEvents } from './event-log.ts'
import { billingOperations, reportOperation } from './operations.ts'

export { billingErrorTable } from './errors.ts'

export interface BillingDeps {
  readonly config: BillingConfig
  readonly database: SystemDatabase
  readonly queue: JobQueue
  readonly clock: Clock
}

/** Makes the feature of billing: events of the provider, and the resulting plan and status of apps. */
export function billing({ config, database, queue, clock }: BillingDeps): Feature {
  queue.define(
    housekeeping('billing_event_retention', ({ retention_days = config.retention_days }) =>
      deleteEvents(database, retention_days),
    ),
  )
  const isEnabled = config.provider !== '' && config.webhook_secret !== ''
  const names = { plans: config.plans, free: config.free_plan }
  const deps = { database, names, secret: config.webhook_secret, clock }
  return {
    name: 'billing',
    routes(app) {
      addOperations(app, deps, billingOperations)
      void app.register(async (scope: HttpServer) => {
        acceptRaw(scope)
        scope.addHook('onRequest', async (_request, reply) => {
          void reply.header('cache-control', 'no-store')
        })
        scope.addHook('preParsing', async () => {
          if (!isEnabled) throw billingErrors.billingNotEnabled()
        })
        addOperations(scope, deps, [reportOperation])
      })
    },
  }
}
