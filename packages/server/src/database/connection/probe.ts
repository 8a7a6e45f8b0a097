import { OperatorError } from '../../lib/errors.ts'
import { sql } from '../sql.ts'
import type { Connection } from './connection.ts'

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
  return {
    version: found.version.split(' ')[0] ?? found.version,
    // PgBouncer and its kind make up the process id they tell clients.
    isPooled: found.pid !== connection.backendPid,
    database: found.database,
    loginRole: found.login_role,
    bypassesPolicies: found.bypasses_policies,
  }
}
