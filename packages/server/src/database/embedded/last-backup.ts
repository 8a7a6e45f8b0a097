import { sql } from '../sql.ts'
import type { Queryable } from '../system-database.ts'

/** Key of `basalt.settings` with the end of the newest backup: `{"finishedAt", "bytes"}`. */
const key = 'last_backup'

/** Records the end of a backup. A database that no start has prepared records nothing. */
export async function recordBackup(database: Queryable, bytes: number): Promise<void> {
  const { prepared } = await database.one<{ prepared: boolean }>(
    sql`select to_regclass('basalt.settings') is not null as prepared`,
  )
  if (!prepared) return
  await database.count(sql`
    insert into basalt.settings (key, value)
    values (${key}, jsonb_build_object('finishedAt', clock_timestamp(), 'bytes', ${String(bytes)}::int8))
    on conflict (key) do update set value = excluded.value, updated_at = now()`)
}

/** Returns the end of the newest backup; undefined if none has been recorded. */
export async function readLastBackup(
  database: Queryable,
): Promise<{ readonly finishedAt: string; readonly bytes: number; readonly ageHours: number } | undefined> {
  const row = await database.maybeOne<{
    value: { finishedAt: string; bytes: number }
    age_hours: number
  }>(sql`
    select value, extract(epoch from clock_timestamp() - (value ->> 'finishedAt')::timestamptz)::float8 / 3600 as age_hours
    from basalt.settings where key = ${key}`)
  return row && { ...row.value, ageHours: row.age_hours }
}
