import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import { adminOf } from '../../../http/access/authentication.ts'
import { requirePermission } from '../../../http/access/grants.ts'
import type { AdminIdentity } from '../../../http/access/identity.ts'
import { holds } from '../../../http/access/permissions.ts'
import { created, noContent, ok, operation } from '../../../http/operation.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import { checkedByHandler, listOf, refusedWith, uuid } from '../../../http/schemas.ts'
import type { JobQueue } from '../../../job-queue.ts'
import { isStorableText } from '../../../lib/storable-text.ts'
import { type Static, Type } from '../../../lib/type.ts'
import { recordAdminAction } from '../../operations/audit/index.ts'
import {
  jobErrors,
  maxAttemptsSchema,
  payloadSchema,
  requireJobType,
  requireRightToRun,
} from '../jobs/index.ts'
import { parseCronExpression } from './cron-expression.ts'
import { scheduleErrors } from './errors.ts'
import { functionPrefix } from './function-schedules.ts'
import { findNextRun } from './next-run.ts'
import {
  deleteSchedule,
  findJobType,
  insertSchedule,
  listSchedules,
  lockSchedule,
  readClock,
  Schedule,
  time,
  updateSchedule,
} from './schedule.ts'
import { isTimeZone } from './time-zone.ts'

export interface ScheduleDeps {
  readonly database: SystemDatabase
  readonly queue: JobQueue
}

/** Members that all operations below share. */
const common = { guard: 'admin', permission: 'operations.write', tag: 'jobs' } as const
const collection = '/api/admin/schedules'
const item = `${collection}/:id`
const params = Type.Object({ id: refusedWith({ invalid: scheduleErrors.invalidScheduleId }, uuid) })

const longestName = 100
const name = checkedByHandler(
  { maxLength: longestName, pattern: '\\S' },
  Type.String({ minLength: 1, description: 'Name of the schedule. Unique.' }),
)
const changeable = { ...Type.Partial(Type.Object(time)).properties, payload: Type.Optional(payloadSchema) }

/** Body of an update. It may repeat name, job type and attempts, so that clients can send a whole schedule back. */
const Change = Type.Object({
  name: Type.Optional(Type.String()),
  jobType: Type.Optional(Type.String()),
  maxAttempts: Type.Optional(maxAttemptsSchema),
  ...changeable,
})

const list = operation({
  ...common,
  id: 'schedules.list',
  permission: 'operations.read',
  method: 'GET',
  path: collection,
  summary: 'List schedules',
  description: 'Sorts schedules by name.',
  success: ok(listOf(Schedule)),
  async handle({ database }: ScheduleDeps, { http }) {
    const found = await listSchedules(database)
    const items = holds(adminOf(http).role, 'bodies.read') ? found : found.map(withoutPayload)
    return { items, count: items.length }
  },
})

const create = operation({
  ...common,
  id: 'schedules.create',
  stepUp: 'byHandler',
  method: 'POST',
  path: collection,
  summary: 'Create a schedule',
  description: 'The schedule adds a job of its type at each time that the expression matches.',
  body: Type.Object({
    name: refusedWith({ missing: () => scheduleErrors.missingScheduleField('name') }, name),
    jobType: refusedWith(
      { missing: () => jobErrors.missingJobField('jobType') },
      Type.String({ minLength: 1 }),
    ),
    ...changeable,
    cronExpr: refusedWith({ missing: () => scheduleErrors.missingScheduleField('cronExpr') }, time.cronExpr),
    maxAttempts: Type.Optional(maxAttemptsSchema),
  }),
  success: created(Schedule),
  async handle({ database, queue }: ScheduleDeps, { body, http, origin }) {
    const { name, jobType, cronExpr, timezone = 'UTC', payload = {}, enabled = true, maxAttempts = 3 } = body
    if (name.trim() === '') throw scheduleErrors.missingScheduleField('name')
    if ([...name].length > longestName) throw scheduleErrors.scheduleNameTooLong()
    if (!isStorableText(name)) throw scheduleErrors.invalidScheduleName()
    if (name.startsWith(functionPrefix)) throw scheduleErrors.reservedScheduleName()
    await requireJobType(queue, jobType, payload, adminOf(http))
    if (cronExpr.trim() === '') throw scheduleErrors.missingScheduleField('cronExpr')
    return await database.transaction(async (transaction) => {
      const time = { cronExpr, timezone, enabled }
      const nextRunAt = await findNext(transaction, time)
      const row = { ...time, name, jobType, payload, maxAttempts, nextRunAt }
      const schedule = await insertSchedule(transaction, row)
      if (schedule === undefined) throw scheduleErrors.scheduleNameTaken()
      await recordAdminAction(transaction, 'schedules.create', schedule.id, origin, {
        name,
        jobType,
        ...time,
      })
      return schedule
    })
  },
})

const update = operation({
  ...common,
  id: 'schedules.update',
  stepUp: 'byHandler',
  method: 'PUT',
  path: item,
  summary: 'Change a schedule',
  description: 'Fields that are absent keep their value. Name, job type and attempts are fixed.',
  params,
  body: Change,
  success: ok(Schedule),
  handle: (deps: ScheduleDeps, { params: { id }, body, http, origin }) =>
    change(deps, id, 'schedules.update', body, adminOf(http), origin),
})

const remove = operation({
  ...common,
  id: 'schedules.delete',
  method: 'DELETE',
  path: item,
  summary: 'Delete a schedule',
  description: 'Jobs that the schedule has added remain.',
  params,
  success: noContent,
  async handle({ database, queue }: ScheduleDeps, { params: { id }, http, origin }) {
    await requireOwner(database, queue, id, adminOf(http), true)
    await database.transaction(async (transaction) => {
      const name = await deleteSchedule(transaction, id)
      if (name === undefined) throw scheduleErrors.scheduleNotFound()
      await recordAdminAction(transaction, 'schedules.delete', id, origin, { name })
    })
  },
})

const enable = operation({
  ...common,
  id: 'schedules.enable',
  stepUp: 'byHandler',
  method: 'POST',
  path: `${item}/enable`,
  summary: 'Enable a schedule',
  params,
  success: ok(Schedule),
  handle: (deps: ScheduleDeps, { params: { id }, http, origin }) =>
    change(deps, id, 'schedules.enable', { enabled: true }, adminOf(http), origin),
})

const disable = operation({
  ...common,
  id: 'schedules.disable',
  method: 'POST',
  path: `${item}/disable`,
  summary: 'Disable a schedule',
  params,
  success: ok(Schedule),
  handle: (deps: ScheduleDeps, { params: { id }, http, origin }) =>
    change(deps, id, 'schedules.disable', { enabled: false }, adminOf(http), origin),
})

/** Operations of schedule administration. */
export const scheduleOperations = [list, create, update, remove, enable, disable]

const withoutPayload = (schedule: Schedule): Schedule => ({ ...schedule, payload: {} })

/**
 * Rejects changes of a schedule with the operator's rights, except by owners.
 *
 * @param isRedefined true for a change that only the function of a schedule may make
 * @returns the type of its jobs; undefined without such a schedule or type
 * @throws AppError insufficient_role, schedule_of_function
 */
async function requireOwner(
  database: SystemDatabase,
  queue: JobQueue,
  id: string,
  administrator: AdminIdentity,
  isRedefined: boolean,
) {
  const found = await findJobType(database, id)
  const type = found === undefined ? undefined : queue.findType(found.jobType)
  if (type?.isForOwners === true) requirePermission(administrator, 'owner')
  if (found?.isOfFunction === true && isRedefined) throw scheduleErrors.scheduleOfFunction()
  return type
}

/** @throws AppError for an invalid or fixed field, schedule_not_found, insufficient_role, step_up_required */
async function change(
  { database, queue }: ScheduleDeps,
  id: string,
  action: string,
  { name, jobType, maxAttempts, payload, cronExpr, timezone, enabled }: Static<typeof Change>,
  administrator: AdminIdentity,
  origin: RequestOrigin,
): Promise<Schedule> {
  const isRedefined = [payload, cronExpr, timezone].some((each) => each !== undefined)
  const type = await requireOwner(database, queue, id, administrator, isRedefined)
  // To disable a schedule starts no job.
  const isOnlyDisabled = enabled === false && !isRedefined
  if (type !== undefined && !isOnlyDisabled) requireRightToRun(type, administrator)
  if (type !== undefined && payload !== undefined)
    await requireJobType(queue, type.name, payload, administrator)
  return await database.transaction(async (transaction) => {
    const stored = await lockSchedule(transaction, id)
    if (stored === undefined) throw scheduleErrors.scheduleNotFound()
    requireSame('name', name, stored.name)
    requireSame('jobType', jobType, stored.jobType)
    requireSame('maxAttempts', maxAttempts, stored.maxAttempts)
    // Other fields are ignored. JSON leaves out fields that are undefined.
    const changes = { cronExpr, timezone, payload, enabled }
    const next = {
      ...stored,
      payload: payload ?? stored.payload,
      cronExpr: cronExpr ?? stored.cronExpr,
      timezone: timezone ?? stored.timezone,
      enabled: enabled ?? stored.enabled,
    }
    const isTimeUnchanged =
      next.cronExpr === stored.cronExpr && next.timezone === stored.timezone && stored.nextRunAt !== null
    const nextRunAt = await findNext(transaction, next)
    const updated = await updateSchedule(transaction, {
      ...next,
      // A change of the payload does not lose a run that is due.
      nextRunAt: next.enabled && isTimeUnchanged ? stored.nextRunAt : nextRunAt,
    })
    await recordAdminAction(transaction, action, stored.id, origin, { name: stored.name, ...changes })
    return updated
  })
}

/** @throws AppError invalid_cron_expression, invalid_timezone */
async function findNext(
  transaction: Queryable,
  { cronExpr, timezone, enabled }: Pick<Schedule, keyof typeof time>,
): Promise<Date | null> {
  const expression = parseCronExpression(cronExpr)
  if (expression === undefined) throw scheduleErrors.invalidCronExpression()
  if (!isTimeZone(timezone)) throw scheduleErrors.invalidTimezone()
  if (!enabled) return null
  const next = findNextRun(expression, timezone, await readClock(transaction))
  if (next === undefined) throw scheduleErrors.invalidCronExpression()
  return next
}

/** @throws AppError immutable_schedule_field */
function requireSame(field: string, value: string | number | undefined, stored: string | number): void {
  if (value !== undefined && value !== stored) throw scheduleErrors.immutableScheduleField(field)
}
