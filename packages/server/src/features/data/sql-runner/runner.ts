import type { Logger } from 'pino'
import { findRemedy, type RemedyRow } from '../../../database/errors/denials.ts'
import type { Database } from '../../../database/open.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import { type AppError, messageOf } from '../../../lib/errors.ts'
import type { SqlStatement } from '../../../lib/sql-statements.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { sqlRunnerErrors } from './errors.ts'
import type { RunEvent, StatementResult } from './events.ts'
import { describeSqlFailure } from './failures.ts'
import { findTypes, finishRun, insertRun } from './queries.ts'
import { redactStatement } from './redact.ts'
import type { Parameter, RunRequest } from './request.ts'
import { readScript } from './script.ts'
import { SessionWatch, SqlSession } from './session.ts'

export interface SqlRunnerDeps {
  readonly database: Pick<Database, 'aside' | 'user' | 'system' | 'engine'>
  readonly log: Pick<Logger, 'warn'>
}

export interface SqlRunner {
  /**
   * Starts a run. Its events, failures of statements included, are reported to `emit`.
   *
   * @param signal cancels the run
   * @returns its end, which never rejects
   * @throws AppError invalid_sql_request, sql_run_exists, too_many_sql_runs, …: before any statement has run
   */
  start(
    request: RunRequest,
    origin: RequestOrigin,
    signal: AbortSignal,
    emit: (event: RunEvent) => void,
  ): Promise<{ readonly ended: Promise<void> }>
  /** Cancels a run of this node. @returns whether it exists */
  cancel(id: string): boolean
  /** Cancels the runs in flight and waits for their end. */
  stop(): Promise<void>
}

/** Maximum number of concurrent runs, each of which has a connection. */
const maxRuns = 8
const maxNotices = 200
/** Maximum number of characters of the values in a run's response, of those of a statement, and of one value. */
const maxSize = { run: 16_000_000, statement: 4_000_000, cell: 20_000 }
/** Maximum length of a statement in the audit log; the history has it in full. */
const auditedLength = 4000

interface Running {
  readonly controller: AbortController
  ended: Promise<void>
}

export function createSqlRunner({ database, log }: SqlRunnerDeps): SqlRunner {
  const { system, aside, engine } = database
  const inFlight = new Map<string, Running>()

  /** Records the run in one transaction, since nothing runs that is not on record. */
  async function record(
    request: RunRequest,
    statements: readonly SqlStatement[],
    session: SqlSession,
    origin: RequestOrigin,
  ) {
    const { id, mode, transaction, runAs } = request
    const query = redactStatement(request.query)
    await system.transaction(async (recording) => {
      const backendPid = engine.isPooled ? undefined : session.connection.backendPid
      const inserted = await insertRun(recording, {
        id,
        query,
        mode,
        runAs,
        statements: statements.length,
        backendPid,
      })
      if (inserted === 0) throw sqlRunnerErrors.sqlRunExists()
      const detail = { query: query.slice(0, auditedLength).toWellFormed(), mode, transaction, runAs }
      await recordAudit(recording, { actor: 'admin', action: 'sql.run', target: id, detail, origin })
    })
  }

  async function work(
    request: RunRequest,
    statements: readonly SqlStatement[],
    types: readonly number[],
    { session, signal, emit }: { session: SqlSession; signal: AbortSignal; emit: (event: RunEvent) => void },
  ): Promise<void> {
    const began = performance.now()
    const { id, query, mode, runAs } = request
    let index = 0
    let notices = 0
    let rowCount = 0
    let size = 0
    session.onNotice((notice) => {
      notices += 1
      if (notices <= maxNotices) emit({ type: 'notice', statement: index, ...notice })
    })
    emit({ type: 'start', id, role: session.role, statements: statements.length })
    const failure = await (async (): Promise<AppError | undefined> => {
      using watch = new SessionWatch(session, aside, request.timeoutSeconds, signal)
      let statement: SqlStatement | undefined
      try {
        for (; index < statements.length; index += 1) {
          watch.check()
          statement = statements[index]
          if (statement === undefined) break
          const result = await runStatement(session, request, statement, types, {
            index,
            maxSize: Math.max(0, Math.min(maxSize.statement, maxSize.run - size)),
          })
          for (const row of result.rows) for (const value of row) size += value?.length ?? 0
          rowCount += result.rowCount
          emit({ type: 'result', ...result })
        }
        watch.check()
        statement = undefined
        const outcome = await session.end()
        emit({ type: 'end', outcome, durationMs: since(began) })
        return undefined
      } catch (error) {
        const remedy =
          runAs === 'administrator'
            ? await findRemedy(error, (lookUp) => system.many<RemedyRow>(lookUp))
            : undefined
        const location = { query, mode, runAs, statement, index, remedy: remedy?.text }
        return describeSqlFailure(watch.explain(error), location)
      }
    })().catch((error: unknown) => {
      log.warn({ err: error }, 'failed to run a statement of the SQL editor')
      return httpErrors.internalError()
    })
    await session.close().catch(() => undefined)
    if (failure !== undefined) {
      const { status, message, kind, extras } = failure
      const data = extras.data === undefined ? {} : { data: extras.data }
      emit({ type: 'error', code: status, message, error: kind, ...data })
    }
    await finishRun(system, id, {
      status:
        failure === undefined ? 'succeeded' : failure.kind === 'sql_run_canceled' ? 'canceled' : 'failed',
      error: failure?.message,
      rowCount,
      durationMs: performance.now() - began,
    }).catch((error: unknown) => log.warn({ reason: messageOf(error) }, 'failed to record the end of a run'))
  }

  return {
    async start(request, origin, signal, emit) {
      const statements = readScript(request.query, request)
      requireParameters(statements, request.parameters)
      const types = await resolveTypes(database, request.parameters)
      const { id } = request
      if (inFlight.has(id)) throw sqlRunnerErrors.sqlRunExists()
      if (inFlight.size >= maxRuns) throw sqlRunnerErrors.tooManySqlRuns(maxRuns).retryAfter(1)
      const controller = new AbortController()
      const running: Running = { controller, ended: Promise.resolve() }
      inFlight.set(id, running)
      try {
        const session = await SqlSession.open(database, request)
        try {
          await record(request, statements, session, origin)
        } catch (error) {
          await session.close()
          throw error
        }
        const either = AbortSignal.any([controller.signal, signal])
        running.ended = work(request, statements, types, { session, signal: either, emit }).finally(() =>
          inFlight.delete(id),
        )
      } catch (error) {
        inFlight.delete(id)
        throw error
      }
      return running
    },
    cancel(id) {
      const running = inFlight.get(id)
      running?.controller.abort()
      return running !== undefined
    },
    async stop() {
      for (const { controller } of inFlight.values()) controller.abort()
      await Promise.all([...inFlight.values()].map(({ ended }) => ended))
    },
  }
}

async function runStatement(
  session: SqlSession,
  { parameters, maxRows }: RunRequest,
  { text, line, parameters: count }: SqlStatement,
  types: readonly number[],
  { index, maxSize: size }: { readonly index: number; readonly maxSize: number },
): Promise<StatementResult> {
  const began = performance.now()
  const answer = await session.fetch({
    text,
    values: parameters.slice(0, count).map(({ value }) => value),
    types: types.slice(0, count),
    maxRows,
    maxSize: size,
    maxCell: maxSize.cell,
  })
  const durationMs = since(began)
  const { fields, rows, cut, tag, hasMore } = answer
  const typeNames = fields.length === 0 ? [] : await session.namesOfTypes(fields)
  return {
    statement: index,
    line,
    command: tag ?? null,
    columns: fields.map(({ name, dataTypeID }, column) => ({
      name,
      type: typeNames[column] ?? '',
      typeId: dataTypeID,
    })),
    rows,
    rowCount: rows.length > 0 ? rows.length : Number(/\d+$/.exec(tag ?? '')?.[0] ?? 0),
    hasMore,
    cut,
    durationMs,
  }
}

export function requireParameters(
  statements: readonly SqlStatement[],
  parameters: readonly Parameter[],
): void {
  const most = Math.max(...statements.map(({ parameters }) => parameters))
  if (parameters.length === most) return
  throw sqlRunnerErrors.invalidSqlRequest(
    `query has ${most === 0 ? 'no parameters' : `parameters up to $${most}`}, and parameters has ${parameters.length}`,
  )
}

/** Returns object ids of the types of the parameters; for 0 PostgreSQL infers the type. */
export async function resolveTypes(
  { system }: Pick<Database, 'system'>,
  parameters: readonly Parameter[],
): Promise<number[]> {
  const names = parameters.flatMap(({ type }) => (type === undefined ? [] : [type]))
  if (names.length === 0) return parameters.map(() => 0)
  // A malformed name is an error of PostgreSQL, an unknown one is not.
  const found = await findTypes(system, names).catch(() => names.map(() => 0))
  let next = 0
  return parameters.map(({ type }, index) => {
    if (type === undefined) return 0
    const oid = found[next] ?? 0
    next += 1
    if (oid === 0) throw sqlRunnerErrors.invalidSqlRequest(`parameters[${index}].type: no type "${type}"`)
    return oid
  })
}

function since(began: number): number {
  return Math.round((performance.now() - began) * 100) / 100
}
