import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'

export interface ScheduleRow {
  readonly id: string
  readonly name: string
  readonly job_type: string
  readonly payload: Readonly<Record<string, unknown>>
  readonly cron_expr: string
  readonly timezone: string
  readonly enabled: boolean
  readonly max_attempts: number
  /** Null while disabled. */
  readonly next_run_at: Date | null
  readonly last_run_at: Date | null
  readonly created_at: Date
  readonly updated_at: Date
}

const columns = sql`
  id, name, job_type, payload, cron_expr, timezone, enabled, max_attempts, next_run_at, last_run_at, created_at,
  updated_at`

type Row = ScheduleRow & Record<string, unknown>

/** The clock that schedules go by: the same for all nodes. */
export async function readClock(database: Queryable): Promise<Date> {
  return (await database.one<{ now: Date }>(sql`select now() as now`)).now
}

export async function listSchedules(database: Queryable): Promise<ScheduleRow[]> {
  return await database.many<Row>(sql`select ${columns} from basalt.schedules order by name`)
}

export type NewSchedule = Pick<
  ScheduleRow,
  'name' | 'job_type' | 'payload' | 'cron_expr' | 'timezone' | 'enabled' | 'max_attempts' | 'next_run_at'
>

/** Undefined when the name is taken. */
export async function insertSchedule(
  database: Queryable,
  row: NewSchedule,
): Promise<ScheduleRow | undefined> {
  return await database.maybeOne<Row>(sql`
    insert into basalt.schedules (
      name, job_type, payload, cron_expr, timezone, enabled, max_attempts, next_run_at)
    values (
      ${row.name}, ${row.job_type}, ${JSON.stringify(row.payload)}::jsonb, ${row.cron_expr}, ${row.timezone},
      ${row.enabled}, ${row.max_attempts}::int, ${row.next_run_at}::timestamptz)
    on conflict (name) do nothing
    returning ${columns}`)
}

/** Keeps it from changing until the transaction ends. */
export async function lockSchedule(transaction: Queryable, id: string): Promise<ScheduleRow | undefined> {
  return await transaction.maybeOne<Row>(
    sql`select ${columns} from basalt.schedules where id = ${id}::uuid for update`,
  )
}

export type ScheduleChange = Pick<
  ScheduleRow,
  'payload' | 'cron_expr' | 'timezone' | 'enabled' | 'next_run_at'
>

export async function updateSchedule(
  transaction: Queryable,
  id: string,
  change: ScheduleChange,
): Promise<ScheduleRow> {
  return await transaction.one<Row>(sql`
    update basalt.schedules set
      payload = ${JSON.stringify(change.payload)}::jsonb, cron_expr = ${change.cron_expr},
      timezone = ${change.timezone}, enabled = ${change.enabled},
      next_run_at = ${change.next_run_at}::timestamptz, updated_at = now()
    where id = ${id}::uuid
    returning ${columns}`)
}

/** The name of the schedule that was removed. */
export async function deleteSchedule(transaction: Queryable, id: string): Promise<string | undefined> {
  const row = await transaction.maybeOne<{ name: string }>(
    sql`delete from basalt.schedules where id = ${id}::uuid returning name`,
  )
  return row?.name
}

/** Takes a schedule that is due for this transaction alone; others take other ones. */
export async function claimDueSchedule(
  transaction: Queryable,
  jobTypes: readonly string[],
): Promise<(ScheduleRow & { readonly now: Date }) | undefined> {
  return await transaction.maybeOne<Row & { now: Date }>(sql`
    select ${columns}, now() as now from basalt.schedules
    where enabled and next_run_at <= now() and job_type = any (${[...jobTypes]}::text[])
    order by next_run_at
    limit 1
    for update skip locked`)
}

/** Advances a claimed schedule; null disables it. */
export async function advanceSchedule(
  transaction: Queryable,
  id: string,
  nextRunAt: Date | null,
): Promise<void> {
  await transaction.count(sql`
    update basalt.schedules set
      next_run_at = ${nextRunAt}::timestamptz,
      last_run_at = case when ${nextRunAt !== null} then now() else last_run_at end,
      enabled = ${nextRunAt !== null}
    where id = ${id}::uuid`)
}
