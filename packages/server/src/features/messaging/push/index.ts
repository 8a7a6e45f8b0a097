import type { Logger } from 'pino'
import type { Notifications } from '../../../database/notifications/notifications.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import type { Outbound } from '../../../http/outbound.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { SecretBox } from '../../../lib/secret-box.ts'
import { createThrottle } from '../../operations/throttle/index.ts'
import type { PushConfig } from './config.ts'
import { defineDeliveryJobs } from './delivery-job.ts'
import { pushErrors } from './errors.ts'
import { deviceOperations, type LockCaller } from './operations/devices.ts'
import { messageOperations } from './operations/messages.ts'
import { providerOperations } from './operations/providers.ts'
import { PushProviders } from './registry.ts'
import { deleteSends } from './send.ts'

export { pushErrorTable } from './errors.ts'
export { countPushCredentialsByKey } from './registry.ts'

export interface PushDeps {
  readonly config: PushConfig
  readonly isDevelopment: boolean
  readonly database: SystemDatabase
  readonly notifications: Notifications
  readonly queue: JobQueue
  readonly secrets: () => SecretBox
  /** To push services, which browsers name. */
  readonly outbound: Outbound
  readonly clock: Clock
  readonly lockCaller: LockCaller
  readonly log: Logger
  /** Log of the process alone: it holds messages of development. */
  readonly output: Logger
}

/** Messages to devices: registration, sending and delivery. */
export function push(deps: PushDeps): Feature {
  const { config, database, queue, outbound, lockCaller } = deps
  queue.define(
    housekeeping('push_retention', ({ retention_days = config.retention_days }) =>
      deleteSends(database, retention_days),
    ),
  )
  const mayReach = (url: string) => !outbound.refuses(url)
  const throttle = createThrottle(database)
  // While push is disabled nothing is asked of the providers, and jobs wait for a node that sends.
  const providers = config.enabled ? new PushProviders(deps) : undefined
  if (providers !== undefined) defineDeliveryJobs({ ...deps, providers })
  const requireProviders = () => {
    if (providers === undefined) throw pushErrors.pushDisabled()
    return providers
  }
  return {
    name: 'push',
    routes(app) {
      void app.register(async (scope: typeof app) => {
        // After the guard and before anything is read: every operation is 503 while push is disabled.
        scope.addHook('preParsing', async () => void requireProviders())
        addOperations(scope, { database, mayReach, lockCaller }, deviceOperations)
        addOperations(scope, { config, database, queue, throttle }, messageOperations)
        addOperations(scope, { providers: requireProviders }, providerOperations)
      })
    },
    start: async () => await providers?.start(),
    stop: async () => providers?.close(),
  }
}
