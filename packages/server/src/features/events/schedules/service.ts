import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import type { JobQueue } from '../../../job-queue.ts'
import { isStorableText } from '../../../lib/storable-text.ts'
import { isUuid } from '../../../lib/uuid.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { requireJobType } from '../jobs/index.ts'
import { parseCronExpression } from './cron-expression.ts'
import { scheduleErrors } from './errors.ts'
import { findNextRun } from './next-run.ts'
import * as queries from './queries.ts'
import { isTimeZone } from './time-zone.ts'

/** A schedule as the API shows it. */
export interface Schedule {
  readonly id: string
  readonly name: string
  readonly jobType: string
  readonly payload: Readonly<Record<string, unknown>>
  readonly cronExpr: string
  readonly timezone: string
  readonly enabled: boolean
  readonly maxAttempts: number
  /** Null while disabled. */
  readonly nextRunAt: string | null
  readonly lastRunAt?: string
  readonly createdAt: string
  readonly updatedAt: string
}

export interface CreateSchedule {
  readonly name?: string | undefined
  readonly jobType?: string | undefined
  readonly cronExpr?: string | undefined
  readonly timezone?: string | undefined
  readonly payload?: Readonly<Record<string, unknown>> | undefined
  readonly enabled?: boolean | undefined
  readonly maxAttempts?: number | undefined
}

export type ChangeSchedule = Pick<CreateSchedule, 'cronExpr' | 'timezone' | 'payload' | 'enabled'>

/** What a change may repeat, so that a schedule can be sent back. */
export type FixedParts = Pick<CreateSchedule, 'name' | 'jobType' | 'maxAttempts'>

export interface ScheduleService {
  list(): Promise<Schedule[]>
  /** @throws AppError of a member that is missing or wrong, schedule_name_taken */
  create(input: CreateSchedule, origin: RequestOrigin): Promise<Schedule>
  /** Changes what is given. @throws AppError of a member that is wrong or fixed, schedule_not_found */
  change(id: string, change: ChangeSchedule & FixedParts, origin: RequestOrigin): Promise<Schedule>
  /** @throws AppError schedule_not_found */
  setEnabled(id: string, enabled: boolean, origin: RequestOrigin): Promise<Schedule>
  /** @throws AppError schedule_not_found */
  delete(id: string, origin: RequestOrigin): Promise<void>
}

const longestName = 100
const defaultMaxAttempts = 3

export function createScheduleService(database: SystemDatabase, queue: JobQueue): ScheduleService {
  async function update(
    id: string,
    action: string,
    { name, jobType, maxAttempts, ...change }: ChangeSchedule & FixedParts,
    origin: RequestOrigin,
  ): Promise<Schedule> {
    requireScheduleId(id)
    return await database.transaction(async (transaction) => {
      const row = await queries.lockSchedule(transaction, id)
      if (row === undefined) throw scheduleErrors.scheduleNotFound()
      requireSame('name', name, row.name)
      requireSame('jobType', jobType, row.job_type)
      requireSame('maxAttempts', maxAttempts, row.max_attempts)
      const next = {
        payload: change.payload ?? row.payload,
        cron_expr: change.cronExpr ?? row.cron_expr,
        timezone: change.timezone ?? row.timezone,
        enabled: change.enabled ?? row.enabled,
      }
      if (change.payload !== undefined) requireJobType(queue, row.job_type, change.payload, 'jobType')
      const isTimeKept =
        next.cron_expr === row.cron_expr && next.timezone === row.timezone && row.next_run_at !== null
      const nextRunAt = await findNext(transaction, next)
      const updated = await queries.updateSchedule(transaction, id, {
        ...next,
        // A run that is due is not lost by a change of the payload.
        next_run_at: next.enabled && isTimeKept ? row.next_run_at : nextRunAt,
      })
      const detail = { name: row.name, ...change }
      await recordAudit(transaction, { actor: 'admin', action, target: row.id, detail, origin })
      return showSchedule(updated)
    })
  }

  return {
    list: async () => (await queries.listSchedules(database)).map(showSchedule),

    async create(input, origin) {
      const { name = '', jobType, cronExpr = '', timezone = 'UTC', payload = {}, enabled = true } = input
      const { maxAttempts = defaultMaxAttempts } = input
      if (name.trim() === '') throw scheduleErrors.missingScheduleField('name')
      if ([...name].length > longestName) throw scheduleErrors.scheduleNameTooLong()
      if (!isStorableText(name)) throw scheduleErrors.invalidScheduleName()
      requireJobType(queue, jobType, payload, 'jobType')
      if (cronExpr.trim() === '') throw scheduleErrors.missingScheduleField('cronExpr')
      return await database.transaction(async (transaction) => {
        const time = { cron_expr: cronExpr, timezone, enabled }
        const row = await queries.insertSchedule(transaction, {
          ...time,
          name,
          job_type: jobType,
          payload,
          max_attempts: maxAttempts,
          next_run_at: await findNext(transaction, time),
        })
        if (row === undefined) throw scheduleErrors.scheduleNameTaken()
        const detail = { name, jobType, cronExpr, timezone, enabled }
        const action = 'schedules.create'
        await recordAudit(transaction, { actor: 'admin', action, target: row.id, detail, origin })
        return showSchedule(row)
      })
    },

    change: (id, change, origin) => update(id, 'schedules.update', change, origin),

    setEnabled: (id, enabled, origin) =>
      update(id, enabled ? 'schedules.enable' : 'schedules.disable', { enabled }, origin),

    async delete(id, origin) {
      requireScheduleId(id)
      await database.transaction(async (transaction) => {
        const name = await queries.deleteSchedule(transaction, id)
        if (name === undefined) throw scheduleErrors.scheduleNotFound()
        const action = 'schedules.delete'
        await recordAudit(transaction, { actor: 'admin', action, target: id, detail: { name }, origin })
      })
    },
  }
}

/** @throws AppError invalid_cron_expression, invalid_timezone */
async function findNext(
  transaction: Queryable,
  { cron_expr, timezone, enabled }: Pick<queries.ScheduleRow, 'cron_expr' | 'timezone' | 'enabled'>,
): Promise<Date | null> {
  const expression = parseCronExpression(cron_expr)
  if (expression === undefined) throw scheduleErrors.invalidCronExpression()
  if (!isTimeZone(timezone)) throw scheduleErrors.invalidTimezone()
  if (!enabled) return null
  const next = findNextRun(expression, timezone, await queries.readClock(transaction))
  if (next === undefined) throw scheduleErrors.invalidCronExpression()
  return next
}

function requireSame(field: string, given: string | number | undefined, stored: string | number): void {
  if (given !== undefined && given !== stored) throw scheduleErrors.immutableScheduleField(field)
}

function requireScheduleId(id: string): void {
  if (!isUuid(id)) throw scheduleErrors.invalidScheduleId()
}

function showSchedule(row: queries.ScheduleRow): Schedule {
  return {
    id: row.id,
    name: row.name,
    jobType: row.job_type,
    payload: row.payload,
    cronExpr: row.cron_expr,
    timezone: row.timezone,
    enabled: row.enabled,
    maxAttempts: row.max_attempts,
    nextRunAt: row.next_run_at?.toISOString() ?? null,
    ...(row.last_run_at === null ? {} : { lastRunAt: row.last_run_at.toISOString() }),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}
