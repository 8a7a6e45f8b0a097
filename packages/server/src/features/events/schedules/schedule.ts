import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { type Answered, component, nullable, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import type { RowOf } from '../../../lib/without-nulls.ts'
import { payloadSchema } from '../jobs/index.ts'

/** Fields of a schedule that an update may change. */
export const time = {
  cronExpr: Type.String({
    format: 'cron',
    description: 'Minute, hour, day of the month, month and weekday, such as `*/15 9-17 * * mon-fri`.',
  }),
  timezone: Type.String({
    format: 'time-zone',
    description: 'IANA time zone, such as `Europe/Berlin`. Default: UTC.',
  }),
  enabled: Type.Boolean({ description: 'True if the schedule adds jobs. Default: true.' }),
}

export const Schedule = component(
  'Schedule',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    jobType: Type.String(),
    payload: payloadSchema,
    ...time,
    maxAttempts: Type.Integer(),
    isOfFunction: Type.Boolean({
      description:
        'True if a function of the project defines the schedule. It can only be enabled and disabled.',
    }),
    nextRunAt: nullable(timestamp, {
      description: 'Time of the next run; null while the schedule is disabled.',
    }),
    lastRunAt: Type.Optional(timestamp),
    createdAt: timestamp,
    updatedAt: timestamp,
  }),
)
export type Schedule = Answered<typeof Schedule>

/** Schedule whose next run is a comparable time. */
type StoredSchedule = Schedule & { readonly nextRunAt: Date | null }

const columns = sql`
  id, name, job_type as "jobType", payload, cron_expr as "cronExpr", timezone, enabled, max_attempts as "maxAttempts",
  is_of_function as "isOfFunction",
  next_run_at as "nextRunAt", last_run_at as "lastRunAt", created_at as "createdAt", updated_at as "updatedAt"`

/** Returns the time that all schedules follow. It is the same for all nodes. */
export async function readClock(database: Queryable): Promise<Date> {
  return (await database.one<{ now: Date }>(sql`select now() as now`)).now
}

export async function listSchedules(database: Queryable): Promise<Schedule[]> {
  const rows = await database.many<RowOf<Schedule>>(
    sql`select ${columns} from basalt.schedules order by name`,
  )
  return rows.map(toSchedule)
}

export type NewSchedule = Pick<
  StoredSchedule,
  'name' | 'jobType' | 'payload' | 'cronExpr' | 'timezone' | 'enabled' | 'maxAttempts' | 'nextRunAt'
>

/** Inserts a schedule. Returns undefined if another schedule has the name. */
export async function insertSchedule(
  database: Queryable,
  { name, jobType, payload, cronExpr, timezone, enabled, maxAttempts, nextRunAt }: NewSchedule,
): Promise<Schedule | undefined> {
  const row = await database.maybeOne<RowOf<Schedule>>(sql`
    insert into basalt.schedules (
      name, job_type, payload, cron_expr, timezone, enabled, max_attempts, next_run_at)
    values (
      ${name}, ${jobType}, ${JSON.stringify(payload)}::jsonb, ${cronExpr}, ${timezone},
      ${enabled}, ${maxAttempts}::int, ${nextRunAt}::timestamptz)
    on conflict (name) do nothing
    returning ${columns}`)
  return row && toSchedule(row)
}

/** Finds the job type of a schedule and its origin, which never change. */
export async function findJobType(
  database: Queryable,
  id: string,
): Promise<Pick<Schedule, 'jobType' | 'isOfFunction'> | undefined> {
  return await database.maybeOne<Pick<Schedule, 'jobType' | 'isOfFunction'>>(
    sql`select job_type as "jobType", is_of_function as "isOfFunction" from basalt.schedules where id = ${id}::uuid`,
  )
}

/** Locks a schedule against changes until the transaction ends. */
export async function lockSchedule(transaction: Queryable, id: string): Promise<StoredSchedule | undefined> {
  return await transaction.maybeOne<StoredSchedule>(
    sql`select ${columns} from basalt.schedules where id = ${id}::uuid for update`,
  )
}

export async function updateSchedule(
  transaction: Queryable,
  { id, payload, cronExpr, timezone, enabled, nextRunAt }: StoredSchedule,
): Promise<Schedule> {
  return toSchedule(
    await transaction.one<RowOf<Schedule>>(sql`
      update basalt.schedules set
        payload = ${JSON.stringify(payload)}::jsonb, cron_expr = ${cronExpr}, timezone = ${timezone},
        enabled = ${enabled}, next_run_at = ${nextRunAt}::timestamptz, updated_at = now()
      where id = ${id}::uuid
      returning ${columns}`),
  )
}

/** Deletes a schedule and returns its name. Returns undefined if it does not exist. */
export async function deleteSchedule(transaction: Queryable, id: string): Promise<string | undefined> {
  const row = await transaction.maybeOne<{ name: string }>(
    sql`delete from basalt.schedules where id = ${id}::uuid returning name`,
  )
  return row?.name
}

/** Claims a due schedule for this transaction. Other transactions claim other schedules. */
export async function claimDueSchedule(
  transaction: Queryable,
  jobTypes: readonly string[],
): Promise<(Schedule & { readonly now: Date }) | undefined> {
  return await transaction.maybeOne<Schedule & { now: Date }>(sql`
    select ${columns}, now() as now from basalt.schedules
    where enabled and next_run_at <= now() and job_type = any (${[...jobTypes]}::text[])
    order by next_run_at
    limit 1
    for update skip locked`)
}

/** Advances a claimed schedule. A null time disables it. */
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

/** Converts a row. A schedule that has not run yet has no `lastRunAt`. */
function toSchedule({ lastRunAt, ...row }: RowOf<Schedule>): Schedule {
  return lastRunAt === null ? row : { ...row, lastRunAt }
}
