import type { Logger } from 'pino'
import type { Config } from '../../config/schema.ts'
import type { LiveCatalog } from '../../database/catalog/live-catalog.ts'
import type { Database } from '../../database/open.ts'
import type { Feature } from '../../feature.ts'
import { verifyToken } from '../../http/authentication.ts'
import type { TokenVerifier } from '../../http/identity.ts'
import type { Clock } from '../../lib/clock.ts'
import { messageOf } from '../../lib/errors.ts'
import type { Interests } from '../events/index.ts'
import { realtimeAdminRoutes } from './admin-routes.ts'
import { forgetUnlistened, ListenedTables } from './listened-tables.ts'
import { realtimeRoutes } from './routes.ts'
import { EventSelector } from './select-events.ts'
import { Streams } from './streams.ts'
import { SubscriptionPlanner } from './subscriptions.ts'

export { realtimeErrorTable } from './errors.ts'

const cleanUpIntervalMs = 10 * 60 * 1000

export interface RealtimeDeps {
  readonly config: Config['realtime']
  readonly database: Pick<Database, 'system' | 'user'>
  readonly catalog: LiveCatalog
  readonly interests: Interests
  readonly verifiers: readonly TokenVerifier[]
  readonly version: string
  readonly clock: Clock
  readonly log: Logger
}

/** Tells clients of changes as they happen (facts, Realtime). */
export function realtime({
  config,
  database: { system, user },
  catalog,
  interests,
  verifiers,
  version,
  clock,
  log,
}: RealtimeDeps): Feature {
  const selector = new EventSelector({ live: catalog, system, user, log })
  const listened = new ListenedTables({
    database: system,
    resumeSeconds: config.resume_seconds,
    settled: () => interests.settled(),
  })
  const verify = (token: string) => verifyToken(verifiers, token)
  const streams = new Streams({ config, database: system, selector, listened, verify, log })
  const planner = new SubscriptionPlanner(catalog, system)
  let cleaning: NodeJS.Timeout | undefined
  return {
    name: 'realtime',
    routes(app) {
      realtimeRoutes(app, { streams, planner, log })
      realtimeAdminRoutes(app, { database: system, streams, version, clock })
    },
    start() {
      cleaning = setInterval(() => {
        forgetUnlistened(system).catch((error) =>
          log.warn({ reason: messageOf(error) }, 'cannot forget tables that nobody listens to'),
        )
      }, cleanUpIntervalMs).unref()
    },
    drain: () => streams.drain(),
    async stop() {
      clearInterval(cleaning)
      await streams.stop()
    },
  }
}
