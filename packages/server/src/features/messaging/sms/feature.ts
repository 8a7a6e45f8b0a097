import type { Logger } from 'pino'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'
import type { Clock } from '../../../lib/clock.ts'
import { createThrottle } from '../../operations/throttle/index.ts'
import { statusRoutes } from './callbacks/routes.ts'
import type { SmsConfig, SmsLimits, SmsProviderConfig } from './config.ts'
import { deleteMessages, deleteReports } from './messages.ts'
import { adminSmsRoutes, ownSmsRoutes } from './routes.ts'
import { SmsService } from './service.ts'
import type { StoredSms } from './store.ts'

export interface SmsFeatureDeps {
  readonly config: SmsProviderConfig & SmsLimits
  readonly policy: SmsConfig['policy']
  readonly database: SystemDatabase
  readonly sms: StoredSms
  readonly queue: JobQueue
  readonly clock: Clock
  readonly log: Logger
  readonly isEnabled: () => boolean
  readonly publicBaseUrl: () => string
}

/** Text messages: sending them, and what became of them. */
export function sms(deps: SmsFeatureDeps): Feature {
  const { config, database, queue } = deps
  queue.define(
    housekeeping('sms_retention', async ({ retention_days = config.sms_retention_days }) => {
      await deleteMessages(database, retention_days)
      await deleteReports(database)
    }),
  )
  const service = new SmsService({ ...deps, throttle: createThrottle(database) })
  return {
    name: 'sms',
    routes(app) {
      ownSmsRoutes(app, service)
      adminSmsRoutes(app, service)
      statusRoutes(app, deps)
    },
  }
}
