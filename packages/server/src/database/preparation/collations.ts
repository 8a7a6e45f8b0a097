import type { Connection } from '../connection/connection.ts'
import { type Sql, sql } from '../sql.ts'

/** True if the default collation of the database has another version than the database was created with. */
export const isDefaultChanged: Sql = sql`exists (
  select from pg_database
  where datname = current_database() and datcollversion is not null
    and datcollversion is distinct from pg_database_collation_actual_version(oid))`

/**
 * Query for the oids of collations with another version than they were created with. It reads only the versions of
 * collations in use. Those of all 700 would take longer than the rest of a start.
 */
export const changedCollations: Sql = sql`
  select c.oid from pg_collation c
  where c.collversion is not null
    and (
      c.oid in (select unnest(indcollation) from pg_index where indrelid >= 16384)
      or c.oid in (
        select refobjid from pg_depend where refclassid = 'pg_collation'::regclass and objid >= 16384)
    )
    and c.collversion is distinct from pg_collation_actual_version(c.oid)`

/**
 * Writes a warning to the log if collations of an external database have another version than its indexes. The
 * operator decides when to rebuild them.
 */
export async function reportCollations(
  connection: Connection,
  log: (message: string, detail: object) => void,
): Promise<void> {
  const { rows } = await connection.query<{
    is_default: boolean
    collations: string[]
    database: string
  }>(sql`
    select ${isDefaultChanged} as is_default, quote_ident(current_database()) as database,
      array(select oid::regcollation::text from pg_collation where oid in (${changedCollations}) order by 1) as collations`)
  const [found] = rows
  if (found === undefined || (!found.is_default && found.collations.length === 0)) return
  const { is_default, database, collations } = found
  log(
    'a new version of the collations sorts texts in another order, so indexes may miss rows: rebuild them, then store ' +
      'the version',
    {
      run: [
        `reindex database concurrently ${database};`,
        ...collations.map((name) => `alter collation ${name} refresh version;`),
        ...(is_default ? [`alter database ${database} refresh collation version;`] : []),
      ],
    },
  )
}
