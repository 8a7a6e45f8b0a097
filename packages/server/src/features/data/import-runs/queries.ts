import { type Sql, sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { ImportResult, ImportRun } from '../collections/index.ts'

/** Number of days for which the status of an import is available. */
const retentionDays = 7
/** Time without a renewal after which the node of an import is presumed dead. */
const leaseSeconds = 30

const status = sql`
  id, collection, state, rows_read::float8 as "rowsRead", rows_written::float8 as "rowsWritten",
  failed::float8 as failed, started_at as "startedAt", finished_at as "finishedAt", result, error`

type StatusRow = ImportRun & Record<string, unknown>

/** Inserts an import, and removes old ones. @param owner null for an administrator */
export function insertImport(
  database: SystemDatabase,
  { collection, owner, rowsRead }: { collection: string; owner: string | null; rowsRead: number },
): Promise<ImportRun> {
  return database.one<StatusRow>(sql`
    with removed as (
      delete from basalt.imports where started_at < now() - make_interval(days => ${retentionDays}::int)
    )
    insert into basalt.imports (collection, owner, rows_read)
    values (${collection}, ${owner}, ${rowsRead}::bigint)
    returning ${status}`)
}

/** Saves the progress, and renews the lease of its node. */
export function saveProgress(
  database: SystemDatabase,
  id: string,
  { rowsWritten, failed }: { rowsWritten: number; failed: number },
): Promise<number> {
  return database.count(sql`
    update basalt.imports
    set rows_written = ${rowsWritten}::bigint, failed = ${failed}::bigint, alive_at = now()
    where id = ${id}::uuid and state = 'running'`)
}

/**
 * Returns the statement that commits the end of an import with its rows. It returns no row when the import was
 * declared lost.
 */
export function succeedImport(id: string, result: ImportResult): Sql {
  return sql`
    select where basalt.succeed_import(${id}, ${JSON.stringify(result)}, ${String(result.inserted + result.updated)},
      ${String(result.failed)})`
}

export function failImport(database: SystemDatabase, id: string, error: object): Promise<number> {
  return database.count(sql`
    update basalt.imports
    set state = 'failed', error = ${JSON.stringify(error)}::json, finished_at = now(), rows_written = 0
    where id = ${id}::uuid and state = 'running'`)
}

/** Ends an import whose node is dead. Its transaction has ended with its connection. */
export function failLostImport(database: SystemDatabase, id: string, error: object): Promise<number> {
  return database.count(sql`
    update basalt.imports
    set state = 'failed', error = ${JSON.stringify(error)}::json, finished_at = now(), rows_written = 0
    where id = ${id}::uuid and state = 'running' and alive_at < now() - make_interval(secs => ${leaseSeconds}::int)`)
}

/**
 * Ends an import, unless it has ended. Its node notices when it renews the row, and at the latest when it writes the
 * end. Its transaction then finds no running import, and is undone.
 *
 * @param owner null for an administrator, who may end all
 */
export function cancelImport(
  database: SystemDatabase,
  collection: string,
  id: string,
  owner: string | null,
): Promise<ImportRun | undefined> {
  return database.maybeOne<StatusRow>(sql`
    update basalt.imports
    set state = 'canceled', finished_at = now(), rows_written = 0
    where id = ${id}::uuid and collection = ${collection} and (${owner}::text is null or owner = ${owner})
      and state = 'running'
    returning ${status}`)
}

/** @param owner null for an administrator, who may read all */
export function findImport(
  database: SystemDatabase,
  collection: string,
  id: string,
  owner: string | null,
): Promise<ImportRun | undefined> {
  return database.maybeOne<StatusRow>(sql`
    select ${status}
    from basalt.imports
    where id = ${id}::uuid and collection = ${collection} and (${owner}::text is null or owner = ${owner})`)
}
