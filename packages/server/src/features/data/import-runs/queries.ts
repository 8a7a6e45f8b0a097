import { type Sql, sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { ImportResult, ImportRun } from '../collections/index.ts'

/** Days for which an import can be asked about. */
const keptDays = 7
/** A node that has not renewed its imports for so long is dead. */
const leaseSeconds = 30

const status = sql`
  id, collection, state, rows_read::float8 as "rowsRead", rows_written::float8 as "rowsWritten",
  failed::float8 as failed, started_at as "startedAt", finished_at as "finishedAt", result, error`

type StatusRow = ImportRun & Record<string, unknown>

/** Old ones are removed on the way. @param owner null for an administrator */
export function insertImport(
  database: SystemDatabase,
  { collection, owner, rowsRead }: { collection: string; owner: string | null; rowsRead: number },
): Promise<ImportRun> {
  return database.one<StatusRow>(sql`
    with removed as (
      delete from basalt.imports where started_at < now() - make_interval(days => ${keptDays}::int)
    )
    insert into basalt.imports (collection, owner, rows_read)
    values (${collection}, ${owner}, ${rowsRead}::bigint)
    returning ${status}`)
}

/** Shows how far it is, and that its node is alive. */
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

/** For the transaction of the import: its end is committed with its rows. Answers no row when it is taken for lost. */
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

/** Ends it when its node is dead: the transaction has ended with its connection. */
export function failLostImport(database: SystemDatabase, id: string, error: object): Promise<number> {
  return database.count(sql`
    update basalt.imports
    set state = 'failed', error = ${JSON.stringify(error)}::json, finished_at = now(), rows_written = 0
    where id = ${id}::uuid and state = 'running' and alive_at < now() - make_interval(secs => ${leaseSeconds}::int)`)
}

/**
 * Ends it, unless it has ended. Its node notices when it renews the row, and at the latest when it is to write its end: its
 * transaction finds no running import, and is undone.
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

/** @param owner null for an administrator, who sees all */
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
