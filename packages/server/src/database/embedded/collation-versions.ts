import { messageOf } from '../../lib/errors.ts'
import type { Connection } from '../connection/connection.ts'
import { changedCollations } from '../preparation/collations.ts'
import { type Sql, sql } from '../sql.ts'

/*
 * A new version of ICU or of the C library can sort texts in another order. An index that was built in the old
 * order then misses rows (PostgreSQL, ALTER COLLATION, Notes). PostgreSQL stores the versions, but only warns.
 */

interface CollationRefresh {
  /** Opens a connection to a database of the cluster. */
  readonly connect: (database: string) => Promise<Connection>
  /** Database that is about to be opened. Its own collations are checked as well. */
  readonly database: string | undefined
  readonly log: (message: string, detail?: object) => void
}

/** Databases whose default collation has another version than it was created with. */
const changedDatabases = sql`
  select datname as name, datallowconn as is_open
  from pg_database
  where datcollversion is not null
    and datcollversion is distinct from pg_database_collation_actual_version(oid)
  order by 1`

/** Returns the query for the indexes whose order depends on changed collations, the smallest first. */
function indexesOf(isDefault: boolean): Sql {
  return sql`
    with changed as (
      select array(
        ${changedCollations}
        ${isDefault ? sql`union all select 'pg_catalog."default"'::regcollation::oid` : sql.empty}
      ) as oids
    )
    select quote_ident(n.nspname) || '.' || quote_ident(x.relname) as name
    from pg_index i
    join pg_class x on x.oid = i.indexrelid and x.relkind = 'i'
    join pg_namespace n on n.oid = x.relnamespace
    cross join changed
    where i.indrelid >= 16384 and i.indisvalid and cardinality(changed.oids) > 0 and (
      i.indcollation::oid[] && changed.oids
      -- An expression or a condition can compare by other collations than the keys, and change the case of letters.
      or i.indexprs is not null or i.indpred is not null
      -- Ranges and composite types have collations of their own.
      or exists (
        select from pg_attribute a join pg_type t on t.oid = a.atttypid
        where a.attrelid = i.indexrelid and t.typtype <> 'b' or a.attrelid = i.indexrelid and t.typelem >= 16384
      )
    )
    order by pg_relation_size(x.oid), 1`
}

/**
 * Rebuilds the indexes whose order a new version of a collation provider has changed, and stores the new versions.
 * It handles all databases with a changed default collation, and the one that is about to be opened. A crash in the
 * middle leaves the old versions, so that the next start repeats it.
 *
 * @param keeper connection that holds a lock, so that one process does it while others wait
 */
export async function refreshCollations(keeper: Connection, refresh: CollationRefresh): Promise<void> {
  const { rows: changed } = await keeper.query<{ name: string; is_open: boolean }>(changedDatabases)
  const { rows: present } = await keeper.query<{ name: string }>(
    sql`select datname as name from pg_database where datname = ${refresh.database ?? null}`,
  )
  const names = [...changed.filter(({ is_open }) => is_open), ...present].map(({ name }) => name)
  for (const name of new Set(names)) {
    const isDefault = changed.some((each) => each.name === name)
    const connection = await refresh.connect(name)
    try {
      await refreshDatabase(connection, name, isDefault, refresh.log)
    } finally {
      await connection.close()
    }
  }
  // A template without connections has no tables, only catalogs, which the collation "C" sorts.
  for (const { name } of changed.filter(({ is_open }) => !is_open)) {
    await keeper.query(sql`alter database ${sql.id(name)} refresh collation version`)
  }
}

async function refreshDatabase(
  connection: Connection,
  database: string,
  isDefault: boolean,
  log: CollationRefresh['log'],
): Promise<void> {
  const { rows: collations } = await connection.query(changedCollations)
  if (collations.length === 0 && !isDefault) return
  const { rows: indexes } = await connection.query<{ name: string }>(indexesOf(isDefault))
  log('a new version of the collations sorts texts in another order; rebuilding the indexes', {
    database,
    indexes: indexes.length,
  })
  const began = performance.now()
  // A single session works on it, and no other one before it is done.
  await connection.script(
    `set maintenance_work_mem = '256MB'; set statement_timeout = 0; set lock_timeout = 0`,
  )
  const failed: string[] = []
  for (const { name } of indexes) {
    try {
      await connection.script(`reindex index ${name}`)
    } catch (error) {
      if (!connection.isOpen) throw error
      failed.push(name)
      log('failed to rebuild an index; the next start tries again', {
        database,
        index: name,
        reason: messageOf(error),
      })
    }
  }
  if (failed.length > 0) return
  await connection.script(storeVersions)
  log('the indexes are rebuilt', {
    database,
    indexes: indexes.length,
    ms: Math.round(performance.now() - began),
  })
}

/** Script that stores the versions of all collations, in one transaction. */
const storeVersions = `do $$
declare
  changed regcollation;
begin
  for changed in
    select oid from pg_collation
    where collversion is not null and collversion is distinct from pg_collation_actual_version(oid)
  loop
    execute format('alter collation %s refresh version', changed);
  end loop;
  execute format('alter database %I refresh collation version', current_database());
end $$`
