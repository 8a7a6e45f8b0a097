import { databaseErrorOf } from '../../../database/errors/error-translation.ts'
import { RoleRefused } from '../../../database/logins/role-sessions.ts'
import { onConnection } from '../../../database/on-connection.ts'
import type { Database } from '../../../database/open.ts'
import { sql } from '../../../database/sql.ts'
import { JobRefused, type JobType } from '../../../job-queue.ts'
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
    async handle({ statement, role, timeout_seconds: seconds = defaultTimeoutSeconds }, { signal, report }) {
      try {
        const limit = AbortSignal.any([signal, AbortSignal.timeout(seconds * 1000 + cancelAfterMs)])
        await onConnection(aside, await operatorRoles.open(role), limit, async (connection) => {
          await connection.query(
            sql`select set_config('statement_timeout', ${String(seconds * 1000)}, false)`,
          )
          report({ rows: await connection.statement(statement) })
        })
      } catch (error) {
        throw explain(error, signal)
      }
    },
  }
}

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
