import { attempt } from '../logins/attempt.ts'
import { sql } from '../sql.ts'
import type { Queryable } from '../system-database.ts'
import { statementStatistics } from './binaries.ts'

/**
 * Creates the extension of the statement statistics in the schema `basalt`, where Postgres has loaded its library. Only
 * the server reads it. Without it, everything but the statistics works.
 */
export async function ensureStatementStatistics(transaction: Queryable): Promise<void> {
  const missing = await transaction.maybeOne(sql`
    select from pg_available_extensions
    where name = ${statementStatistics} and installed_version is null
      and name = any (string_to_array(replace(current_setting('shared_preload_libraries'), ' ', ''), ','))`)
  if (missing === undefined) return
  const failure = await attempt(
    transaction,
    sql`create extension ${sql.id(statementStatistics)} schema basalt`,
  )
  if (failure !== undefined) return
  await transaction.count(sql`
    revoke all on basalt.pg_stat_statements, basalt.pg_stat_statements_info from public`)
  await transaction.count(sql`
    revoke all on function basalt.pg_stat_statements(boolean), basalt.pg_stat_statements_info() from public`)
}
