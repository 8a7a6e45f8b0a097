import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'
import type { Clock } from '../../../lib/clock.ts'
import { createThrottle } from '../../operations/throttle/index.ts'
import { addCallback } from './callbacks/report-status.ts'
import { deleteMessages, deleteReports } from './message.ts'
import { messageOperations } from './operations.ts'
import { type SendDeps, sendOperations } from './send.ts'

export interface SmsFeatureDeps extends Omit<SendDeps, 'throttle'> {
  readonly queue: JobQueue
  readonly clock: Clock
  readonly publicBaseUrl: () => string
}

/** Makes the feature of text messages: sending and delivery. */
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
