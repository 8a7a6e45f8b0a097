import type { SystemDatabase } from '../../../database/system-database.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import { JobRefused, type JobType } from '../../../job-queue.ts'
import { AppError } from '../../../lib/errors.ts'
import { isUuid } from '../../../lib/uuid.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { matviewErrors } from './errors.ts'
import * as queries from './queries.ts'
import type { Refresher } from './refresh.ts'

/** A materialized view that is refreshed through the API. */
export interface Registration {
  readonly id: string
  readonly schemaName: string
  readonly viewName: string
  readonly refreshMode: queries.RefreshMode
  /** Null until the first refresh; the others likewise. */
  readonly lastRefreshAt: string | null
  readonly lastRefreshDurationMs: number | null
  readonly lastRefreshStatus: 'success' | 'error' | null
  readonly lastRefreshError: string | null
  readonly createdAt: string
  readonly updatedAt: string
}

export interface RegisterView {
  readonly viewName?: string | undefined
  readonly schema?: string | undefined
  readonly refreshMode?: string | undefined
}

export interface MatviewService {
  list(): Promise<Registration[]>
  /** @throws AppError invalid_identifier, not_materialized_view, matview_already_registered, … */
  register(input: RegisterView, origin: RequestOrigin): Promise<Registration>
  /** @throws AppError matview_not_found */
  get(id: string): Promise<Registration>
  /** @throws AppError invalid_refresh_mode, matview_not_found */
  setRefreshMode(id: string, mode: string | undefined, origin: RequestOrigin): Promise<Registration>
  /** The view itself stays. @throws AppError matview_not_found */
  delete(id: string, origin: RequestOrigin): Promise<void>
  /** @throws AppError matview_not_found and those of a refresh */
  refresh(id: string, origin: RequestOrigin): Promise<{ registration: Registration; durationMs: number }>
}

const defaultSchema = 'public'

export function createMatviewService(database: SystemDatabase, refresher: Refresher): MatviewService {
  async function require(id: string): Promise<queries.MatviewRow> {
    const row = await queries.findMatview(database, requireMatviewId(id))
    if (row === undefined) throw matviewErrors.matviewNotFound()
    return row
  }

  return {
    list: async () => (await queries.listMatviews(database)).map(showRegistration),

    async register({ viewName = '', schema = defaultSchema, refreshMode = 'standard' }, origin) {
      if (viewName === '') throw matviewErrors.missingMatviewField('viewName')
      const mode = requireMode(refreshMode)
      const names = [requireIdentifier(schema), requireIdentifier(viewName)] as const
      return await database.transaction(async (transaction) => {
        if ((await queries.findViewState(transaction, ...names)) === undefined) {
          throw matviewErrors.notMaterializedView()
        }
        const row = await queries.insertMatview(transaction, ...names, mode)
        if (row === undefined) throw matviewErrors.matviewAlreadyRegistered()
        const detail = { view: names.join('.'), refreshMode: mode }
        const action = 'matviews.register'
        await recordAudit(transaction, { actor: 'admin', action, target: row.id, detail, origin })
        return showRegistration(row)
      })
    },

    get: async (id) => showRegistration(await require(id)),

    async setRefreshMode(id, given, origin) {
      requireMatviewId(id)
      if (given === undefined) throw matviewErrors.missingMatviewField('refreshMode')
      const mode = requireMode(given)
      return await database.transaction(async (transaction) => {
        const row = await queries.updateRefreshMode(transaction, id, mode)
        if (row === undefined) throw matviewErrors.matviewNotFound()
        const detail = { view: nameOf(row), refreshMode: mode }
        const action = 'matviews.update'
        await recordAudit(transaction, { actor: 'admin', action, target: row.id, detail, origin })
        return showRegistration(row)
      })
    },

    async delete(id, origin) {
      requireMatviewId(id)
      await database.transaction(async (transaction) => {
        const row = await queries.deleteMatview(transaction, id)
        if (row === undefined) throw matviewErrors.matviewNotFound()
        const detail = { view: nameOf(row) }
        const action = 'matviews.unregister'
        await recordAudit(transaction, { actor: 'admin', action, target: row.id, detail, origin })
      })
    },

    async refresh(id, origin) {
      const row = await require(id)
      const { row: refreshed, durationMs } = await refresher.refresh(row)
      const detail = { view: nameOf(row), durationMs }
      const action = 'matviews.refresh'
      await recordAudit(database, { actor: 'admin', action, target: row.id, detail, origin })
      return { registration: showRegistration(refreshed), durationMs }
    },
  }
}

export interface RefreshPayload {
  readonly view_name: string
  readonly schema?: string
}

/** Refreshes by schedule; registers the view if it is not. */
export function refreshJob(
  database: SystemDatabase,
  refresher: Refresher,
  timeoutSeconds: number,
): JobType<RefreshPayload> {
  return {
    name: 'materialized_view_refresh',
    retry: { attempts: 3, delay: 30, delayMax: 300, backoff: 2 },
    // The database ends a refresh that takes too long; this is for when it does not.
    timeout: timeoutSeconds + 120,
    findProblem({ view_name: view, schema = defaultSchema }) {
      if (!isIdentifier(view)) return 'view_name must be the name of a materialized view'
      return isIdentifier(schema) ? undefined : 'schema must be the name of a schema'
    },
    async handle({ view_name: view, schema = defaultSchema }, { signal }) {
      try {
        await refresher.refresh(await findOrRegister(schema, view), signal)
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        const reason = String(error.extras.data?.reason ?? error.message)
        const isHopeless = error.status < 500 && error.kind !== 'refresh_in_progress'
        throw isHopeless ? new JobRefused(reason) : new Error(reason)
      }
    },
  }

  async function findOrRegister(schema: string, view: string): Promise<queries.MatviewRow> {
    const known = await queries.findMatviewByName(database, schema, view)
    if (known !== undefined) return known
    if ((await queries.findViewState(database, schema, view)) === undefined) {
      throw matviewErrors.notMaterializedView()
    }
    const row =
      (await queries.insertMatview(database, schema, view, 'standard')) ??
      (await queries.findMatviewByName(database, schema, view))
    if (row === undefined) throw matviewErrors.notMaterializedView()
    return row
  }
}

function requireMatviewId(id: string): string {
  if (!isUuid(id)) throw matviewErrors.invalidMatviewId()
  return id
}

function requireMode(given: string): queries.RefreshMode {
  if (given !== 'standard' && given !== 'concurrent') throw matviewErrors.invalidRefreshMode()
  return given
}

function requireIdentifier(name: string): string {
  if (!isIdentifier(name)) throw matviewErrors.invalidIdentifier(name)
  return name
}

function isIdentifier(name: unknown): name is string {
  return typeof name === 'string' && /^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(name)
}

function nameOf({ schema_name, view_name }: queries.MatviewRow): string {
  return `${schema_name}.${view_name}`
}

function showRegistration(row: queries.MatviewRow): Registration {
  return {
    id: row.id,
    schemaName: row.schema_name,
    viewName: row.view_name,
    refreshMode: row.refresh_mode,
    lastRefreshAt: row.last_refresh_at?.toISOString() ?? null,
    lastRefreshDurationMs: row.last_refresh_duration_ms,
    lastRefreshStatus: row.last_refresh_status,
    lastRefreshError: row.last_refresh_error,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}
