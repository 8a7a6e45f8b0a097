import { setTimeout as delay } from 'node:timers/promises'
import type { Connection } from '../../../database/connection/connection.ts'
import { explainMissingRight, type RemedyRow } from '../../../database/errors/denials.ts'
import { translateDatabaseFailure } from '../../../database/errors/error-translation.ts'
import { GaveWay, givingWay } from '../../../database/giving-way.ts'
import type { Database } from '../../../database/open.ts'
import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { AppError, codeOf, messageOf } from '../../../lib/errors.ts'
import { createSlots } from '../../operations/throttle/index.ts'
import { matviewErrors } from './errors.ts'
import * as queries from './queries.ts'

/** Refreshes at once on this node, each on a connection of its own beside the pools. */
const width = 2
/** Times that a refresh begins, where each gives way to statements that change tables. */
const attempts = 5
/** Longest time a refresh waits for others' statements on the view to end. */
const lockTimeoutMs = 60_000

export interface RefreshDeps {
  readonly database: SystemDatabase
  /** Connections beside the pools. */
  readonly aside: Database['aside']
  readonly timeoutSeconds: number
}

export interface Refreshed {
  readonly row: queries.MatviewRow
  readonly durationMs: number
}

/** Refreshes views: each at most once at a time on all nodes, to the end even if the caller has disconnected. */
export interface Refresher {
  /**
   * @param signal cancels the refresh
   * @throws AppError matview_gone, refresh_in_progress, unique_index_missing, matview_not_populated, refresh_failed
   */
  refresh(row: queries.MatviewRow, signal?: AbortSignal): Promise<Refreshed>
  /** Cancels what is in flight and waits for its end. */
  stop(): Promise<void>
}

export function createRefresher(deps: RefreshDeps): Refresher {
  const { database, aside, timeoutSeconds } = deps
  const slots = createSlots()
  const stopping = new AbortController()
  /** What this node works on, or is about to. */
  const underWay = new Map<string, Promise<unknown>>()

  async function run(row: queries.MatviewRow, signal: AbortSignal): Promise<Refreshed> {
    signal.throwIfAborted()
    const connection = await aside.open()
    const cancel = () => void aside.cancel(connection)
    signal.addEventListener('abort', cancel)
    try {
      return await givingWay({ system: database, aside, to: 'all' }, connection, () =>
        refreshOn(aside, connection, row, timeoutSeconds * 1000),
      )
    } finally {
      signal.removeEventListener('abort', cancel)
      await connection.close()
    }
  }

  /** What gives way to a statement that changes a table is begun again once that has had its turn. */
  async function untilDone(row: queries.MatviewRow, signal: AbortSignal): Promise<Refreshed> {
    for (let number = 1; ; number += 1) {
      try {
        return await run(row, signal)
      } catch (error) {
        if (!(error instanceof GaveWay) || number === attempts) throw error
        await delay(1000 * number, undefined, { signal, ref: false })
      }
    }
  }

  async function attempt(row: queries.MatviewRow, signal: AbortSignal): Promise<Refreshed> {
    let began = performance.now()
    try {
      const work = () => {
        began = performance.now()
        return untilDone(row, signal)
      }
      // Unlike other work it keeps its position when its client disconnects.
      return await slots.take('refresh', width, work, signal)
    } catch (error) {
      const failure =
        (await explainMissingRight(error, (query) => database.many<RemedyRow>(query))) ??
        toRefreshError(error, signal)
      // What was refused has changed nothing, and what another refresh tells is not overwritten.
      if (failure.status === 409 || failure.status === 404) throw failure
      const reason = String(failure.extras.data?.reason ?? failure.message)
      const durationMs = Math.round(performance.now() - began)
      await queries.recordFailure(database, row.id, reason, durationMs).catch(() => undefined)
      throw failure
    }
  }

  return {
    async refresh(row, signal) {
      if (underWay.has(row.id)) throw matviewErrors.refreshInProgress()
      const signals = signal === undefined ? [stopping.signal] : [stopping.signal, signal]
      const refreshing = attempt(row, AbortSignal.any(signals)).finally(() => underWay.delete(row.id))
      underWay.set(row.id, refreshing)
      return await refreshing
    },
    async stop() {
      stopping.abort(new Error('the server stops'))
      await Promise.allSettled(underWay.values())
    },
  }
}

/** One transaction: the lock, the checks, the refresh and the record of it, or nothing of all this. */
async function refreshOn(
  aside: Database['aside'],
  connection: Connection,
  { id, schema_name, view_name, refresh_mode }: queries.MatviewRow,
  timeoutMs: number,
): Promise<Refreshed> {
  return await aside.transaction(connection, async (transaction) => {
    await transaction.one(sql`
      select set_config('statement_timeout', ${String(timeoutMs)}, true),
        set_config('lock_timeout', ${String(lockTimeoutMs)}, true)`)
    if (!(await queries.tryLockRefresh(transaction, id))) throw matviewErrors.refreshInProgress()
    const state = await queries.findViewState(transaction, schema_name, view_name)
    if (state === undefined) throw matviewErrors.matviewGone()
    const isConcurrent = refresh_mode === 'concurrent'
    if (isConcurrent && !state.has_unique_index) throw matviewErrors.uniqueIndexMissing()
    if (isConcurrent && !state.is_populated) throw matviewErrors.matviewNotPopulated()
    const began = performance.now()
    const view = sql.id(schema_name, view_name)
    await transaction.count(
      isConcurrent
        ? sql`refresh materialized view concurrently ${view}`
        : sql`refresh materialized view ${view}`,
    )
    const durationMs = Math.round(performance.now() - began)
    const row = await queries.recordSuccess(transaction, id, durationMs)
    if (row === undefined) throw matviewErrors.matviewNotFound()
    return { row, durationMs }
  })
}

/** Undefined table, undefined schema: the view went between the check and the refresh. */
const goneCodes = ['42P01', '3F000']

/** Failures that are not the view's. */
const ownFailures = [
  'insufficient_permissions',
  'read_only_database',
  'database_full',
  'database_unavailable',
  'database_busy',
]

/** What the client and the record get to know; the statement and its context stay in the log. */
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
  // Administrators read what their definition says.
  const isOfDefinition = translated?.kind === 'database_definition_error'
  const reason =
    (isOfDefinition ? undefined : translated?.message) ?? (code === '' ? 'internal error' : messageOf(error))
  return matviewErrors.refreshFailed().with({ data: { reason }, cause: error })
}
