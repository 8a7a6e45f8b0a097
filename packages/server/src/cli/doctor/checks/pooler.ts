import type { Connection } from '../../../database/connection/connection.ts'
import { probeTransactions } from '../../../database/connection/probe.ts'
import { sql } from '../../../database/sql.ts'
import { type Check, type Finding, failure, ok } from '../check.ts'

/** Check of the poolers in front of `database.url` and `database.gateway_url`, by their behavior. */
export const pooler: Check = {
  id: 'pooler',
  async run({ config, database }) {
    const { gateway_url } = config.database
    const findings = [await database.use((connection) => examine('database.url', connection))]
    if (gateway_url !== '') {
      findings.push(
        await database.useUrl(gateway_url, (connection) => examine('database.gateway_url', connection)),
      )
    }
    return findings
  },
}

async function examine(key: string, connection: Connection): Promise<Finding> {
  const id = key === 'database.url' ? 'pooler' : 'pooler.gateway'
  const transactions = await probeTransactions(connection)
  const mode = transactions === undefined ? 'statement' : await detectPooling(connection)
  if (mode === 'statement') {
    return failure(
      id,
      `${key} leads to a pooler that runs the statements of one transaction in several sessions: policies would not apply`,
      'pool_mode = transaction   ; in pgbouncer.ini',
    )
  }
  if (mode === 'none') return ok(id, `${key} leads to PostgreSQL itself, or to a pooler that keeps sessions`)
  return ok(id, `${key} leads to a pooler that shares sessions between transactions, which is supported`)
}

/** Kind of pooler in front of PostgreSQL. */
export type Pooling = 'none' | 'transaction' | 'statement'

/**
 * Finds out if a pooler is in front, and leaves nothing in its sessions. While another client holds a session
 * in a transaction, a pooler runs this one's next transaction in another session.
 */
export async function detectPooling(connection: Connection): Promise<Pooling> {
  const first = await backendOf(connection)
  // PgBouncer and similar poolers invent the process id that they report to clients.
  if (first !== connection.backendPid)
    return (await allowsTransactions(connection)) ? 'transaction' : 'statement'
  const other = await connection.openTwin()
  try {
    await other.script('begin')
    await backendOf(other)
    return (await backendOf(connection)) === first ? 'none' : 'transaction'
  } finally {
    await other.rollback()
    await other.close()
  }
}

async function allowsTransactions(connection: Connection): Promise<boolean> {
  try {
    await connection.script('begin')
    await connection.script('rollback')
    return true
  } catch {
    // PgBouncer rejects it with pool_mode = statement.
    return false
  }
}

async function backendOf(connection: Connection): Promise<number | undefined> {
  const { rows } = await connection.query<{ pid: number }>(sql`select pg_backend_pid() as pid`)
  return rows[0]?.pid
}
