import { randomUUID } from 'node:crypto'
import { OperatorError } from '../../lib/errors.ts'
import { sql } from '../sql.ts'
import type { Connection } from './connection.ts'
import { begin, type Call, commit, StatementFailed, statement } from './message.ts'

/** What makes one transaction of the statements of a message: that they are one, or only a block of `begin` and `commit`. */
export type TransactionMode = 'message' | 'block'

/** What the database offers, asked once at start. */
export interface EngineProbe {
  /** `server_version`, such as `18.4`. */
  readonly version: string
  /** Whether a pooler shares sessions between transactions: nothing outlives one. */
  readonly isPooled: boolean
  readonly database: string
  readonly loginRole: string
  /** Whether the login role sees every row whatever the policies say. */
  readonly bypassesPolicies: boolean
  readonly transactions: TransactionMode
}

const oldestVersion = 150000

/** @throws OperatorError when the database is too old or read-only. */
export async function probeEngine(connection: Connection): Promise<EngineProbe> {
  const { rows } = await connection.query<{
    version: string
    version_number: number
    pid: number
    database: string
    login_role: string
    bypasses_policies: boolean
    is_read_only: boolean
  }>(sql`
    select current_setting('server_version') as version,
      current_setting('server_version_num')::int as version_number,
      pg_backend_pid() as pid,
      current_database() as database,
      current_user as login_role,
      (select rolsuper or rolbypassrls from pg_roles where rolname = current_user) as bypasses_policies,
      current_setting('transaction_read_only')::bool as is_read_only`)
  const [found] = rows
  if (found === undefined) throw new Error('the probe returned no row')
  if (found.version_number < oldestVersion) {
    throw new OperatorError(
      `the database is PostgreSQL ${found.version}: Basalt needs PostgreSQL 15 or later`,
    )
  }
  if (found.is_read_only)
    throw new OperatorError('the database is read-only (a standby?): Basalt needs the primary')
  const transactions = await requireTransactions(connection)
  return {
    version: found.version.split(' ')[0] ?? found.version,
    // PgBouncer and its kind make up the process id they tell clients.
    isPooled: found.pid !== connection.backendPid || transactions === 'block',
    database: found.database,
    loginRole: found.login_role,
    bypassesPolicies: found.bypasses_policies,
    transactions,
  }
}

/** @throws OperatorError when nothing makes one transaction of several statements */
export async function requireTransactions(connection: Connection): Promise<TransactionMode> {
  const transactions = await probeTransactions(connection)
  if (transactions !== undefined) return transactions
  throw new OperatorError(
    'the database, or a pooler before it, runs the statements of one transaction in several: policies would not apply; ' +
      'use a pooler that keeps a transaction on its session, as PgBouncer does with pool_mode = transaction',
  )
}

const variable = 'basalt.probe'
const leaveNonce = statement(`select pg_catalog.set_config('${variable}', $1, true)`)
/** What every connection of a pool has prepared. */
export const preparedAtStart: Call = {
  statement: statement(`select current_setting('${variable}', true)`),
  values: [],
}

/**
 * Finds what makes one transaction of several statements: role and claims of a caller are set by the first, and must be in
 * force for the last. Undefined where nothing does.
 */
export async function probeTransactions(connection: Connection): Promise<TransactionMode | undefined> {
  if (await keepsSetting(connection, [], [])) return 'message'
  return (await keepsSetting(connection, [begin], [commit])) ? 'block' : undefined
}

/** Returns whether what the first statement sets for its transaction is there for the last one. */
async function keepsSetting(
  connection: Connection,
  before: readonly Call[],
  after: readonly Call[],
): Promise<boolean> {
  const nonce = randomUUID()
  const calls = [...before, { statement: leaveNonce, values: [nonce] }, preparedAtStart, ...after]
  try {
    const answers = await connection.send(calls)
    return answers[before.length + 1]?.rows[0]?.[0] === nonce
  } catch (error) {
    if (!(error instanceof StatementFailed)) throw error
    return false
  }
}
