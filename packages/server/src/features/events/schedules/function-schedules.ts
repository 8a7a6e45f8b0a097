import { sql } from '../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import { parseCronExpression } from './cron-expression.ts'
import { scheduleErrors } from './errors.ts'
import { findNextRun } from './next-run.ts'
import { readClock, type Schedule } from './schedule.ts'
import { isTimeZone } from './time-zone.ts'

/** Beginning of the names of these schedules, and of the types of their jobs. */
export const functionPrefix = 'function:'

/** Schedule that a function of the operator defines. */
export type FunctionSchedule = Pick<Schedule, 'name' | 'jobType' | 'cronExpr' | 'timezone' | 'maxAttempts'>

/** Returns the problem of a time, if it has one. */
export function findScheduleProblem({
  cronExpr,
  timezone,
}: Pick<Schedule, 'cronExpr' | 'timezone'>): string | undefined {
  if (parseCronExpression(cronExpr) === undefined) return scheduleErrors.invalidCronExpression().message
  return isTimeZone(timezone) ? undefined : scheduleErrors.invalidTimezone().message
}

/**
 * Replaces the schedules of functions. One with the same time keeps its next run, and a disabled one stays so. It
 * writes nothing if they are the same, as on a read-only database.
 *
 * @param lock lets one node at a time replace them, and returns false if others are current
 * @throws Error if another schedule has the name of one
 */
export async function replaceFunctionSchedules(
  database: SystemDatabase,
  schedules: readonly FunctionSchedule[],
  lock: (transaction: Queryable) => Promise<boolean>,
): Promise<void> {
  if (isSame(await listStored(database), schedules)) return
  await database.transaction(async (transaction) => {
    if (!(await lock(transaction))) return
    await transaction.count(sql`
      delete from basalt.schedules
      where is_of_function and name <> all (${schedules.map(({ name }) => name)}::text[])`)
    const stored = new Map((await listStored(transaction)).map((each) => [each.name, each]))
    const now = await readClock(transaction)
    for (const each of schedules) {
      const known = stored.get(each.name)
      if (known === undefined || formOf(known) !== formOf(each)) await store(transaction, each, known, now)
    }
  })
}

async function store(
  transaction: Queryable,
  { name, jobType, cronExpr, timezone, maxAttempts }: FunctionSchedule,
  known: FunctionSchedule | undefined,
  now: Date,
): Promise<void> {
  const expression = parseCronExpression(cronExpr)
  const isTimeKept = known?.cronExpr === cronExpr && known.timezone === timezone
  const next = expression === undefined ? undefined : findNextRun(expression, timezone, now)
  if (next === undefined) throw new Error(`the schedule ${name} has no next run`)
  const count = await transaction.count(sql`
    insert into basalt.schedules as s (name, job_type, cron_expr, timezone, max_attempts, next_run_at, is_of_function)
    values (${name}, ${jobType}, ${cronExpr}, ${timezone}, ${maxAttempts}::int, ${next}::timestamptz, true)
    on conflict (name) do update set
      job_type = excluded.job_type, cron_expr = excluded.cron_expr, timezone = excluded.timezone,
      max_attempts = excluded.max_attempts, updated_at = now(),
      next_run_at = case when ${isTimeKept} or not s.enabled then s.next_run_at else excluded.next_run_at end
    where s.is_of_function`)
  if (count === 0) throw new Error(`another schedule has the name ${name}`)
}

async function listStored(database: Queryable): Promise<readonly FunctionSchedule[]> {
  return await database.many<FunctionSchedule & Record<string, unknown>>(sql`
    select name, job_type as "jobType", cron_expr as "cronExpr", timezone, max_attempts as "maxAttempts"
    from basalt.schedules where is_of_function`)
}

function isSame(stored: readonly FunctionSchedule[], wanted: readonly FunctionSchedule[]): boolean {
  const forms = new Set(stored.map(formOf))
  return stored.length === wanted.length && wanted.every((each) => forms.has(formOf(each)))
}

function formOf({ name, jobType, cronExpr, timezone, maxAttempts }: FunctionSchedule): string {
  return JSON.stringify([name, jobType, cronExpr, timezone, maxAttempts])
}
