import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import { housekeeping, type JobQueue, type MessageJobs } from '../../../job-queue.ts'
import { createThrottle } from '../../operations/throttle/index.ts'
import { defineDeliveryJobs } from './delivery-job.ts'
import { pushErrors } from './errors.ts'
import { functionPush } from './function-push.ts'
import { deviceOperations, type LockCaller } from './operations/devices.ts'
import { messageOperations } from './operations/messages.ts'
import { providerOperations } from './operations/providers.ts'
import { PushProviders, type RegistryDeps } from './registry.ts'
import { deleteSends } from './send.ts'

export { pushErrorTable } from './errors.ts'
export { countPushCredentialsByKey } from './registry.ts'

export interface PushDeps extends RegistryDeps {
  readonly queue: JobQueue
  readonly lockCaller: LockCaller
}

/** Feature of messages to devices, and the messages of functions. */
export interface Push extends Feature {
  readonly ofFunctions: MessageJobs
}

/** Makes the feature of messages to devices: registration, sending and delivery. */
export function push(deps: PushDeps): Push {
  const { config, database, queue, outbound, lockCaller } = deps
  queue.define(
    housekeeping('push_retention', ({ retention_days = config.retention_days }) =>
      deleteSends(database, retention_days),
    ),
  )
  const mayReach = (url: string) => !outbound.refuses(url)
  const throttle = createThrottle(database)
  // While push is disabled, providers get no requests, and jobs wait for a node that sends.
  const providers = config.enabled ? new PushProviders(deps) : undefined
  if (providers !== undefined) defineDeliveryJobs({ ...deps, providers })
  const requireProviders = () => {
    if (providers === undefined) throw pushErrors.pushDisabled()
    return providers
  }
  return {
    name: 'push',
    ofFunctions: functionPush({ config, database, queue, throttle }),
    routes(app) {
      void app.register(async (scope: typeof app) => {
        // While push is disabled, every operation returns 503, after the guard and before the body is read.
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
