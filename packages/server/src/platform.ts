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
import type { Machine } from './machine.ts'

/** Platform of the features. The `index.ts` of each area passes its features the parts that they need. */
export interface Platform {
  readonly config: Config
  /** True in development; see `config/development.ts`. */
  readonly isDevelopment: boolean
  readonly version: string
  /** Log of the process and, if configured, of the database. */
  readonly log: Logger
  /** Log of the process alone, for codes and links of development, which the database must not store. */
  readonly output: Logger
  readonly clock: Clock
  readonly database: Database
  readonly catalog: LiveCatalog
  readonly notifications: Notifications
  readonly queue: JobQueue
  readonly metrics: Metrics
  readonly origins: Origins
  /** Returns the URL at which clients reach the server; final once it listens. */
  readonly publicBaseUrl: () => string
  /**
   * Returns the box that opens secrets at rest. It is created on first use, because without auth there may be
   * no key.
   */
  readonly secrets: () => SecretBox
  readonly isStopping: () => boolean
  /** Undefined unless several workers serve on this machine. */
  readonly machine: Machine | undefined
}
