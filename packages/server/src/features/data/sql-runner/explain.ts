import type { Database } from '../../../database/open.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { sqlRunnerErrors } from './errors.ts'
import { describeSqlFailure } from './failures.ts'
import { redactStatement } from './redact.ts'
import type { RunRequest } from './request.ts'
import { requireParameters, resolveTypes } from './runner.ts'
import { readScript } from './script.ts'
import { SessionWatch, SqlSession } from './session.ts'

export interface Explained {
  /** Plan as `explain (format json)` returns it: one element with `Plan`. */
  readonly plan: unknown
  readonly durationMs: number
}

/** Maximum length of a plan, enough for one with many partitions. */
const maxPlanLength = 8_000_000

/**
 * Returns the plan of one statement. With `isAnalyzed` the statement runs, and its effects are undone.
 *
 * @throws AppError invalid_sql_request, sql_failed, sql_timeout, sql_run_canceled
 */
export async function explainStatement(
  database: Pick<Database, 'aside' | 'user' | 'system' | 'engine'>,
  request: RunRequest,
  isAnalyzed: boolean,
  origin: RequestOrigin,
  signal: AbortSignal,
): Promise<Explained> {
  const { query, mode, runAs, parameters } = request
  const statements = readScript(query, { mode, transaction: 'all', isDeveloper: request.isDeveloper })
  const [statement] = statements
  if (statement === undefined || statements.length > 1)
    throw sqlRunnerErrors.invalidSqlRequest(`query must be one statement, and has ${statements.length}`)
  requireParameters(statements, parameters)
  const types = await resolveTypes(database, parameters)
  const detail = { query: redactStatement(query).slice(0, 4000).toWellFormed(), mode, runAs, isAnalyzed }
  await recordAudit(database.system, { actor: 'admin', action: 'sql.explain', detail, origin })
  const session = await SqlSession.open(database, { ...request, transaction: 'all' })
  const prefix = `explain (format json, settings${isAnalyzed ? ', analyze, buffers' : ''}) `
  try {
    using watch = new SessionWatch(session, database.aside, request.timeoutSeconds, signal)
    try {
      const began = performance.now()
      const { rows } = await session.fetch({
        text: prefix + statement.text,
        values: parameters.map(({ value }) => value),
        types,
        maxRows: 10,
        maxSize: maxPlanLength,
        maxCell: maxPlanLength,
      })
      const plan: unknown = JSON.parse(rows[0]?.[0] ?? 'null')
      return { plan, durationMs: Math.round(performance.now() - began) }
    } catch (error) {
      throw describeSqlFailure(watch.explain(error), {
        query,
        mode,
        runAs,
        statement,
        index: 0,
        prefix: prefix.length,
      })
    }
  } finally {
    // This ends the transaction, and undoes the effects of the statement.
    await session.close()
  }
}
