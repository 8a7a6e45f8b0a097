import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import type { Outbound } from '../../../http/outbound.ts'
import type { JobQueue } from '../../../job-queue.ts'
import type { Clock } from '../../../lib/clock.ts'
import { createThrottle } from '../../operations/throttle/index.ts'
import type { CdnConfig } from './config.ts'
import { createCdnProvider } from './create-provider.ts'
import { cdnOperations } from './operations.ts'
import { purgeJob } from './purge-job.ts'
import { createPurger } from './purger.ts'

export type { CdnConfig } from './config.ts'
export { cdnErrorTable } from './errors.ts'
export type { PurgeChanged } from './purger.ts'

export interface CdnDeps {
  readonly config: CdnConfig
  readonly database: SystemDatabase
  readonly queue: JobQueue
  readonly outbound: Outbound
  readonly clock: Clock
}

/** Creates the feature that removes copies from the content delivery network, and the purger for changes. */
export function cdn({ config, database, queue, outbound, clock }: CdnDeps) {
  const name = config.provider
  const provider = createCdnProvider(config, clock)
  queue.define(purgeJob({ name, provider, outbound }))
  const deps = { name, provider, database, queue, throttle: createThrottle(database) }
  const feature: Feature = { name: 'cdn', routes: (app) => addOperations(app, deps, cdnOperations) }
  return { feature, purge: createPurger(provider, queue) }
}
