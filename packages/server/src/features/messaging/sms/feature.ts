import type { Logger } from 'pino'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'
import type { Clock } from '../../../lib/clock.ts'
import { createThrottle } from '../../operations/throttle/index.ts'
import { addCallback } from './callbacks/report-status.ts'
import type { SmsConfig, SmsLimits, SmsProviderConfig } from './config.ts'
import { deleteMessages, deleteReports } from './message.ts'
import { messageOperations } from './operations.ts'
import { sendOperations } from './send.ts'
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

/** Text messages: sending and delivery. */
export function sms(deps: SmsFeatureDeps): Feature {
  const { config, database, queue } = deps
  queue.define(
    housekeeping('sms_retention', async ({ retention_days = config.sms_retention_days }) => {
      await deleteMessages(database, retention_days)
      await deleteReports(database)
    }),
  )
  const throttle = createThrottle(database)
  return {
    name: 'sms',
    routes(app) {
      addOperations(app, { database }, messageOperations)
      addOperations(app, { ...deps, throttle }, sendOperations)
      addCallback(app, deps)
    },
  }
}
