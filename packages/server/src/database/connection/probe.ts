import { randomUUID } from 'node:crypto'
import { OperatorError } from '../../lib/errors.ts'
import { sql } from '../sql.ts'
import type { Connection } from './connection.ts'
import {
  type Answer,
  begin,
  type Call,
  commit,
  type Receiver,
  StatementFailed,
  statement,
} from './message.ts'

/**
 * Way in which the statements of a message form one transaction: the message itself, or a block of `begin` and
 * `commit`.
 */
export type TransactionMode = 'message' | 'block'

/** Properties of the database, probed once at startup. */
export interface EngineProbe {
  /** `server_version`, such as `18.4`. */
  readonly version: string
  /** True if a pooler shares sessions between transactions, so that nothing outlives one. */
  readonly isPooled: boolean
  readonly database: string
  readonly loginRole: string
  /** True if the login role sees every row, whatever the policies. */
  readonly bypassesPolicies: boolean
  readonly transactions: TransactionMode
  /** True if the database distributes tables over workers, by Citus. */
  readonly isDistributed: boolean
}

const oldestVersion = 150000

/** Probes the database. @throws OperatorError when it is too old or read-only */
export async function probeEngine(connection: Connection): Promise<EngineProbe> {
  const { rows } = await connection.query<{
    version: string
    version_number: number
    pid: number
    database: string
    login_role: string
    bypasses_policies: boolean
    is_read_only: boolean
    is_distributed: boolean
  }>(sql`
    select current_setting('server_version') as version,
      current_setting('server_version_num')::int as version_number,
      pg_backend_pid() as pid,
      current_database() as database,
      current_user as login_role,
      (select rolsuper or rolbypassrls from pg_roles where rolname = current_user) as bypasses_policies,
      current_setting('transaction_read_only')::bool as is_read_only,
      exists (select from pg_extension where extname = 'citus') as is_distributed`)
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
    // PgBouncer and similar poolers invent the process id that they report to clients.
    isPooled: found.pid !== connection.backendPid || transactions === 'block',
    database: found.database,
    loginRole: found.login_role,
    bypassesPolicies: found.bypasses_policies,
    transactions,
    isDistributed: found.is_distributed,
  }
}

/** Returns the transaction mode. @throws OperatorError when several statements cannot form one transaction */
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
/** Call that every connection of a pool has prepared. */
export const preparedAtStart: Call = {
  statement: statement(`select current_setting('${variable}', true)`),
  values: [],
}

/**
 * Finds how several statements form one transaction. The first one sets role and claims of a caller, which must
 * be in force for the last. Returns undefined if that is impossible.
 *
 * @param beside another message to send in the same packet
 */
export async function probeTransactions(
  connection: Connection,
  beside?: Receiver & { readonly calls: readonly Call[] },
): Promise<TransactionMode | undefined> {
  if (await keepsSetting(connection, [], [], beside)) return 'message'
  return (await keepsSetting(connection, [begin], [commit])) ? 'block' : undefined
}

/** Returns true if a setting that the first statement makes for its transaction is visible to the last one. */
async function keepsSetting(
  connection: Connection,
  before: readonly Call[],
  after: readonly Call[],
  beside?: Receiver & { readonly calls: readonly Call[] },
): Promise<boolean> {
  const nonce = randomUUID()
  const calls = [...before, { statement: leaveNonce, values: [nonce] }, preparedAtStart, ...after]
  try {
    const answers = await new Promise<readonly Answer[]>((receive, fail) =>
      connection.sendEach([{ calls, receive, fail }, ...(beside === undefined ? [] : [beside])]),
    )
    return answers[before.length + 1]?.rows[0]?.[0] === nonce
  } catch (error) {
    if (!(error instanceof StatementFailed)) throw error
    return false
  }
}
