import type { SystemDatabase } from '../../../database/system-database.ts'
import { JobRefused, type JobType } from '../../../job-queue.ts'
import { AppError } from '../../../lib/errors.ts'
import { matviewErrors } from './errors.ts'
import { findMatviewByName, insertMatview, type Matview } from './matview.ts'
import type { Refresher } from './refresh.ts'
import { defaultSchema, isIdentifier, requireMaterializedView } from './view.ts'

export interface RefreshPayload {
  readonly view_name: string
  readonly schema?: string
}

/** Creates the job that refreshes a view by schedule, and registers the view if needed. */
export function refreshJob(
  database: SystemDatabase,
  refresher: Refresher,
  timeoutSeconds: number,
): JobType<RefreshPayload> {
  return {
    name: 'materialized_view_refresh',
    retry: { attempts: 3, delay: 30, delayMax: 300, backoff: 2 },
    // The database cancels a refresh that takes too long. This limit applies if it does not.
    timeout: timeoutSeconds + 120,
    isOpenToSql: true,
    findProblem({ view_name: view, schema = defaultSchema }) {
      if (!isIdentifier(view)) return 'view_name must be the name of a materialized view'
      return isIdentifier(schema) ? undefined : 'schema must be the name of a schema'
    },
    async handle({ view_name: view, schema = defaultSchema }, { signal }) {
      try {
        await refresher.refresh(await findOrRegister(database, schema, view), signal)
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        const reason = String(error.extras.data?.reason ?? error.message)
        const isHopeless = error.status < 500 && error.kind !== 'refresh_in_progress'
        throw isHopeless ? new JobRefused(reason) : new Error(reason)
      }
    },
  }
}

async function findOrRegister(database: SystemDatabase, schema: string, view: string): Promise<Matview> {
  const known = await findMatviewByName(database, schema, view)
  if (known !== undefined) return known
  await requireMaterializedView(database, schema, view)
  const matview =
    (await insertMatview(database, { schema, view, mode: 'standard' })) ??
    (await findMatviewByName(database, schema, view))
  if (matview === undefined) throw matviewErrors.notMaterializedView()
  return matview
}
