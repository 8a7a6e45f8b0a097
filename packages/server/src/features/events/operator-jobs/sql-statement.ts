import type { Connection } from '../../../database/connection/connection.ts'
import { databaseErrorOf } from '../../../database/errors/error-translation.ts'
import { RoleRefused } from '../../../database/logins/role-sessions.ts'
import { onConnection } from '../../../database/on-connection.ts'
import type { Database } from '../../../database/open.ts'
import { sql } from '../../../database/sql.ts'
import { JobRefused, type JobType, type RunningJob } from '../../../job-queue.ts'
import { splitStatements } from '../../../lib/sql-statements.ts'

/** Maximum number of statements of jobs on this node at once, each on a connection beside the pools. */
const width = 3
const defaultTimeoutSeconds = 60
const maxTimeoutSeconds = 3600
const longestStatement = 20_000

interface Payload {
  readonly statement: string
  readonly role: string
  readonly timeout_seconds?: number
}

export type SqlStatementDeps = Pick<Database, 'aside' | 'operatorRoles'>

/** Creates the job that runs one SQL statement as a role of the operator. */
export function sqlStatementJob({ aside, operatorRoles }: SqlStatementDeps): JobType<Payload> {
  return {
    name: 'sql_statement',
    isForOwners: true,
    needsStepUp: true,
    retry: { attempts: 3, delay: 60, delayMax: 600, backoff: 2 },
    timeout: maxTimeoutSeconds + 60,
    concurrency: width,
    async findProblem({ statement, role, timeout_seconds: timeout = defaultTimeoutSeconds }) {
      if (typeof statement !== 'string' || statement.length > longestStatement)
        return `statement must be an SQL statement of at most ${longestStatement} characters`
      if (splitStatements(statement).length !== 1) return 'statement must be one SQL statement'
      if (typeof role !== 'string' || role === '') return 'role must be the name of a role'
      if (!Number.isInteger(timeout) || Number(timeout) < 1 || Number(timeout) > maxTimeoutSeconds)
        return `timeout_seconds must be an integer from 1 to ${maxTimeoutSeconds}`
      const fault = await operatorRoles.findFault(role)
      return fault === undefined ? undefined : `role: ${fault}`
    },
    async handle({ statement, role, timeout_seconds: seconds = defaultTimeoutSeconds }, job) {
      const { signal, report } = job
      try {
        const limit = AbortSignal.any([signal, AbortSignal.timeout(seconds * 1000 + cancelAfterMs)])
        await onConnection(aside, await operatorRoles.open(role), limit, async (connection) => {
          await connection.query(
            sql`select set_config('statement_timeout', ${String(seconds * 1000)}, false)`,
          )
          await fence(connection, job)
          report({ rows: await connection.statement(statement) })
        })
      } catch (error) {
        throw explain(error, signal)
      }
    },
  }
}

/**
 * Ends the statements of earlier claims of the job, whose nodes were lost, and rejects the claim if there is a later one. The
 * lock of the claim is held until the connection is closed. Each claim locks before it reads, so one of two sees the other.
 */
async function fence(connection: Connection, { id, claim }: Pick<RunningJob, 'id' | 'claim'>): Promise<void> {
  const key = sql`pg_catalog.hashtext(${`basalt job ${id}`})`
  await connection.query(sql`select pg_catalog.pg_advisory_lock(${key}, ${Number(claim)}::int)`)
  const held = sql`
    from pg_catalog.pg_locks l
    where l.locktype = 'advisory' and l.objsubid = 2 and l.classid = ${key}::oid and l.granted
      and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database())`
  const { rows } = await connection.query<{ isLater: boolean }>(sql`
    select l.objid::int8 > ${Number(claim)}::int8 as "isLater",
      l.objid::int8 < ${Number(claim)}::int8 and pg_catalog.pg_terminate_backend(l.pid, ${endedWithinMs}::int8) as "isEnded"
    ${held}`)
  if (rows.some(({ isLater }) => isLater)) throw new Error('a later attempt of the job runs')
  if (rows.length === 1) return
  const { rows: earlier } = await connection.query(
    sql`select l.pid ${held} and l.objid::int8 < ${Number(claim)}::int8`,
  )
  if (earlier.length > 0) throw new Error('the statement of an earlier attempt has not ended')
}

/** Maximum wait for the end of an earlier statement. */
const endedWithinMs = 5000
/** Milliseconds after the timeout of the database at which the server cancels the statement. */
const cancelAfterMs = 1000

/** Returns the error for the record. Errors of the classes 42 and 0A, such as a syntax error, are the same at every attempt. */
function explain(error: unknown, signal: AbortSignal): unknown {
  if (error instanceof RoleRefused) return new JobRefused(error.message)
  const failure = databaseErrorOf(error)
  if (failure === undefined || signal.aborted) return error
  const message = `${failure.message} (SQLSTATE ${failure.code})`
  return /^(42|0A)/.test(failure.code ?? '') ? new JobRefused(message) : new Error(message)
}
