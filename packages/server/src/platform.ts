import type { Logger } from 'pino'
import type { Config } from './configuration.ts'
import type { LiveCatalog } from './database/catalog/live-catalog.ts'
import type { Notifications } from './database/notifications/notifications.ts'
import type { Database } from './database/open.ts'
import type { Origins } from './http/access/origins.ts'
import type { Metrics } from './http/observation/metrics.ts'
import type { JobQueue } from './job-queue.ts'
import type { Clock } from './lib/clock.ts'
import type { SecretBox } from './lib/secret-box.ts'

/** What features are built on; the `index.ts` of each area hands its features the parts that they need. */
export interface Platform {
  readonly config: Config
  /** As `config/development.ts` says. */
  readonly isDevelopment: boolean
  readonly version: string
  /** The log of the process and, if configured, of the database. */
  readonly log: Logger
  /** The log of the process alone: for codes and links of development, which the database must not keep. */
  readonly output: Logger
  readonly clock: Clock
  readonly database: Database
  readonly catalog: LiveCatalog
  readonly notifications: Notifications
  readonly queue: JobQueue
  readonly metrics: Metrics
  readonly origins: Origins
  /** Where clients reach the server; final once it listens. */
  readonly publicBaseUrl: () => string
  /** Opens secrets at rest. Made when it is first needed: without auth there may be no key to make it from. */
  readonly secrets: () => SecretBox
  readonly isStopping: () => boolean
}
