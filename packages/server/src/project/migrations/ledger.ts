import { sql } from '../../database/sql.ts'
import type { Queryable } from '../../database/system-database.ts'
import type { SchemaObject } from '../schema/objects.ts'
import type { MigrationFile } from './files.ts'

/** Migration in the database. */
export interface LedgerRow {
  readonly name: string
  readonly checksum: string
  /** Null for a migration without a transaction that has begun and not finished. */
  readonly applied_at: Date | null
  readonly started_at: Date
  readonly statements_done: number
}

export async function listLedger(queryable: Queryable): Promise<LedgerRow[]> {
  return await queryable.many<LedgerRow & Record<string, unknown>>(sql`
    select name, checksum, applied_at, started_at, statements_done
    from basalt.project_migrations
    order by name collate "C"`)
}

/** Lists the contents of the migrations in the database, including unfinished ones. */
export async function listContents(queryable: Queryable): Promise<{ name: string; content: string }[]> {
  return await queryable.many<{ name: string; content: string }>(sql`
    select name, content from basalt.project_migrations order by name collate "C"`)
}

/** Inserts a started migration. Returns true if it was new. */
export async function insertStarted(
  queryable: Queryable,
  { name, checksum, content }: Pick<MigrationFile, 'name' | 'checksum' | 'content'>,
): Promise<boolean> {
  return (
    (await queryable.count(sql`
      insert into basalt.project_migrations (name, checksum, content) values (${name}, ${checksum}, ${content})
      on conflict (name) do nothing`)) === 1
  )
}

export async function updateProgress(
  queryable: Queryable,
  name: string,
  statementsDone: number,
): Promise<void> {
  await queryable.count(sql`
    update basalt.project_migrations set statements_done = ${statementsDone} where name = ${name}`)
}

/** Finishes a migration. Returns true if it had begun and not finished. */
export async function finish(queryable: Queryable, name: string, statementsDone: number): Promise<boolean> {
  return (
    (await queryable.count(sql`
      update basalt.project_migrations
      set applied_at = clock_timestamp(), statements_done = ${statementsDone}
      where name = ${name} and applied_at is null`)) === 1
  )
}

/** Deletes a migration that has begun and not finished. */
export async function deleteUnfinished(queryable: Queryable, name: string): Promise<boolean> {
  return (
    (await queryable.count(sql`
      delete from basalt.project_migrations where name = ${name} and applied_at is null`)) === 1
  )
}

/** Returns the schema as the migrations left it; undefined before the first one. */
export async function findRecordedSchema(queryable: Queryable): Promise<readonly SchemaObject[] | undefined> {
  const row = await queryable.maybeOne<{ objects: SchemaObject[] }>(
    sql`select objects from basalt.project_schema`,
  )
  return row?.objects
}

export async function recordSchema(queryable: Queryable, objects: readonly SchemaObject[]): Promise<void> {
  const text = JSON.stringify(objects)
  await queryable.count(sql`
    insert into basalt.project_schema (objects) values (${text}::jsonb)
    on conflict (id) do update set objects = excluded.objects, recorded_at = now()`)
}
