import { setTimeout as delay } from 'node:timers/promises'
import type { Connection } from '../../../database/connection/connection.ts'
import { explainMissingRight, type RemedyRow } from '../../../database/errors/denials.ts'
import { translateDatabaseFailure } from '../../../database/errors/error-translation.ts'
import { GaveWay, givingWay } from '../../../database/giving-way.ts'
import { onConnection } from '../../../database/on-connection.ts'
import type { Database } from '../../../database/open.ts'
import { sql } from '../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import { AppError, codeOf, messageOf } from '../../../lib/errors.ts'
import { WorkInFlight } from '../../../lib/work-in-flight.ts'
import { createSlots } from '../../operations/throttle/index.ts'
import { matviewErrors } from './errors.ts'
import { type Matview, recordFailure, recordSuccess } from './matview.ts'
import { findViewState } from './view.ts'

/** Maximum number of concurrent refreshes on this node, each on a connection of its own outside the pools. */
const width = 2
/** Maximum number of attempts of a refresh. Each attempt gives way to statements that change tables. */
const attempts = 5
/** Maximum time that a refresh waits for other statements on the view. */
const lockTimeoutMs = 60_000

export interface RefreshDeps {
  readonly database: SystemDatabase
  /** Connections outside the pools. */
  readonly aside: Database['aside']
  readonly timeoutSeconds: number
}

export interface RefreshResult {
  readonly matview: Matview
  readonly durationMs: number
}

/**
 * Refresher of views. Each view is refreshed at most once at a time on all nodes, to the end even if the caller has
 * disconnected.
 */
export interface Refresher {
  /**
   * Refreshes a view.
   *
   * @param signal cancels the refresh
   * @throws AppError matview_gone, refresh_in_progress, unique_index_missing, matview_not_populated, refresh_failed
   */
  refresh(matview: Matview, signal?: AbortSignal): Promise<RefreshResult>
  /** Cancels refreshes in flight and waits for their end. */
  stop(): Promise<void>
}

export function createRefresher(deps: RefreshDeps): Refresher {
  const { database, aside, timeoutSeconds } = deps
  const slots = createSlots()
  const work = new WorkInFlight()
  /** Ids of views that this node refreshes, or is about to. */
  const inFlight = new Set<string>()

  async function run(matview: Matview, signal: AbortSignal): Promise<RefreshResult> {
    signal.throwIfAborted()
    return await onConnection(aside, await aside.open(), signal, (connection) =>
      givingWay({ system: database, aside, to: 'all' }, connection, () =>
        refreshOn(aside, connection, matview, timeoutSeconds * 1000),
      ),
    )
  }

  /** Repeats a refresh that gave way to a change of a table, after that change. */
  async function untilDone(matview: Matview, signal: AbortSignal): Promise<RefreshResult> {
    for (let number = 1; ; number += 1) {
      try {
        return await run(matview, signal)
      } catch (error) {
        if (!(error instanceof GaveWay) || number === attempts) throw error
        await delay(1000 * number, undefined, { signal, ref: false })
      }
    }
  }

  async function attempt(matview: Matview, signal: AbortSignal): Promise<RefreshResult> {
    let began = performance.now()
    try {
      const timed = () => {
        began = performance.now()
        return untilDone(matview, signal)
      }
      // Unlike other work, a refresh keeps its position in the queue when its client disconnects.
      return await slots.take('refresh', width, timed, signal)
    } catch (error) {
      const failure =
        (await explainMissingRight(error, (query) => database.many<RemedyRow>(query))) ??
        toRefreshError(error, signal)
      // A rejected refresh has changed nothing, and must not overwrite the record of another refresh.
      if (failure.status === 409 || failure.status === 404) throw failure
      const reason = String(failure.extras.data?.reason ?? failure.message)
      const durationMs = Math.round(performance.now() - began)
      await recordFailure(database, matview.id, reason, durationMs).catch(() => undefined)
      throw failure
    }
  }

  return {
    async refresh(matview, signal) {
      if (inFlight.has(matview.id)) throw matviewErrors.refreshInProgress()
      inFlight.add(matview.id)
      const signals = signal === undefined ? [work.signal] : [work.signal, signal]
      const refreshing = attempt(matview, AbortSignal.any(signals)).finally(() => inFlight.delete(matview.id))
      return await work.add(refreshing)
    },
    stop: () => work.stop(),
  }
}

/** Runs the lock, the checks, the refresh and its record in one transaction. */
async function refreshOn(
  aside: Database['aside'],
  connection: Connection,
  { id, schemaName, viewName, refreshMode }: Matview,
  timeoutMs: number,
): Promise<RefreshResult> {
  return await aside.transaction(connection, async (transaction) => {
    await transaction.one(sql`
      select set_config('statement_timeout', ${String(timeoutMs)}, true),
        set_config('lock_timeout', ${String(lockTimeoutMs)}, true)`)
    if (!(await tryLockRefresh(transaction, id))) throw matviewErrors.refreshInProgress()
    const state = await findViewState(transaction, schemaName, viewName)
    if (state === undefined) throw matviewErrors.matviewGone()
    const isConcurrent = refreshMode === 'concurrent'
    if (isConcurrent && !state.hasUniqueIndex) throw matviewErrors.uniqueIndexMissing()
    if (isConcurrent && !state.isPopulated) throw matviewErrors.matviewNotPopulated()
    const began = performance.now()
    const view = sql.id(schemaName, viewName)
    await transaction.count(
      isConcurrent
        ? sql`refresh materialized view concurrently ${view}`
        : sql`refresh materialized view ${view}`,
    )
    const durationMs = Math.round(performance.now() - began)
    const matview = await recordSuccess(transaction, id, durationMs)
    if (matview === undefined) throw matviewErrors.matviewNotFound()
    return { matview, durationMs }
  })
}

/**
 * Locks the refresh until the transaction ends. Returns false while another transaction holds the lock, on any node.
 */
async function tryLockRefresh(transaction: Queryable, id: string): Promise<boolean> {
  const { isLocked } = await transaction.one<{ isLocked: boolean }>(sql`
    select pg_try_advisory_xact_lock(hashtextextended('basalt refresh ' || ${id}::text, 0)) as "isLocked"`)
  return isLocked
}

/** SQLSTATEs of an undefined table and schema: the view was dropped between the check and the refresh. */
const goneCodes = ['42P01', '3F000']

/** Failures that the view did not cause. */
const ownFailures = [
  'insufficient_permissions',
  'read_only_database',
  'database_full',
  'database_unavailable',
  'database_busy',
]

/** Returns the error for the client and the record. The statement and its context stay in the log. */
function toRefreshError(error: unknown, signal: AbortSignal): AppError {
  if (error instanceof AppError) return error
  const code = codeOf(error) ?? ''
  if (goneCodes.includes(code)) return matviewErrors.matviewGone()
  if (code === '55P03' || error instanceof GaveWay) return matviewErrors.refreshInProgress()
  if (signal.aborted)
    return matviewErrors.refreshFailed().with({ data: { reason: 'canceled' }, cause: error })
  if (code === '57014') return matviewErrors.refreshTimeout().with({ cause: error })
  const translated = translateDatabaseFailure(error)
  if (translated !== undefined && ownFailures.includes(translated.kind)) return translated
  // Administrators may read the messages of their definitions.
  const isOfDefinition = translated?.kind === 'database_definition_error'
  const reason =
    (isOfDefinition ? undefined : translated?.message) ?? (code === '' ? 'internal error' : messageOf(error))
  return matviewErrors.refreshFailed().with({ data: { reason }, cause: error })
}
