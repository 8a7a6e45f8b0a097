import { allOf, when } from '../../../database/conditions.ts'
import { deleteInBatches } from '../../../database/delete-in-batches.ts'
import { sql } from '../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import type { TimeRange } from '../../../http/requests/filters.ts'
import { type Answered, choice, component, described, timestamp } from '../../../http/schemas.ts'
import type { JobType, TypesLock } from '../../../job-queue.ts'
import { Type } from '../../../lib/type.ts'
import { type RowOf, withoutNulls } from '../../../lib/without-nulls.ts'

export const jobStates = ['queued', 'running', 'completed', 'failed', 'canceled'] as const
export type JobState = (typeof jobStates)[number]

/** Schema of a payload: any object, stored unchanged. */
export const payloadSchema = Type.Record(Type.String(), Type.Unknown(), {
  description: 'Input of the job. Its type defines the fields.',
})

export const Job = component(
  'Job',
  Type.Object({
    id: Type.String(),
    type: Type.String(),
    payload: payloadSchema,
    state: choice(jobStates),
    attempts: Type.Integer(),
    maxAttempts: Type.Integer(),
    lastError: Type.String({ description: 'Error of the latest attempt; empty if it did not fail.' }),
    runAt: described('Time before which the job does not start.', timestamp),
    leaseUntil: Type.Optional(
      described(
        'Only while running: time at which another worker claims the job, unless its worker renews the lease.',
        timestamp,
      ),
    ),
    lastRunAt: Type.Optional(timestamp),
    scheduleId: Type.Optional(Type.String({ description: 'Id of the schedule that added the job.' })),
    deploy: Type.Optional(
      Type.String({ description: 'Hash of the deploy of functions with which the job was queued.' }),
    ),
    key: Type.Optional(
      Type.String({ description: 'Key from `basalt.enqueue`, until the job starts for the first time.' }),
    ),
    createdAt: timestamp,
    updatedAt: timestamp,
    completedAt: Type.Optional(described('Time at which the job completed or failed.', timestamp)),
    canceledAt: Type.Optional(timestamp),
  }),
)
export type Job = Answered<typeof Job>

const columns = sql`
  id, type, coalesce(payload, '{}') as payload, state, attempts, max_attempts as "maxAttempts",
  coalesce(last_error, '') as "lastError", run_at as "runAt", leased_until as "leaseUntil", started_at as "lastRunAt",
  schedule_id as "scheduleId", deploy, key, created_at as "createdAt", updated_at as "updatedAt",
  case when state <> 'canceled' then finished_at end as "completedAt",
  case when state = 'canceled' then finished_at end as "canceledAt"`

export const JobRun = component(
  'JobRun',
  Type.Object({
    attempt: Type.Integer({
      description: 'Number of the attempt. It starts at 1 again after a retry by an administrator.',
    }),
    status: choice(['completed', 'failed', 'released']),
    startedAt: timestamp,
    finishedAt: timestamp,
    durationMs: Type.Integer(),
    error: Type.Optional(Type.String({ description: 'First 1,000 characters.' })),
    result: Type.Optional(
      Type.Object({
        rows: Type.Optional(
          Type.Integer({ description: 'Number of rows that the statement returned or changed.' }),
        ),
        status: Type.Optional(Type.Integer({ description: 'Status code of the response.' })),
      }),
    ),
  }),
)
export type JobRun = Answered<typeof JobRun>

export interface NewJob {
  readonly type: string
  readonly payload: object
  readonly maxAttempts: number
  readonly runAt: Date | undefined
  readonly delaySeconds: number | undefined
  readonly scheduleId: string | undefined
  readonly deploy: string | undefined
}

/** Inserts a job. Returns its id. */
export async function insertJob(
  database: Queryable,
  { type, payload, maxAttempts, runAt, delaySeconds, scheduleId, deploy }: NewJob,
): Promise<string> {
  const due =
    delaySeconds === undefined
      ? sql`coalesce(${runAt ?? null}::timestamptz, now())`
      : sql`clock_timestamp() + make_interval(secs => ${delaySeconds}::float8)`
  const { id } = await database.one<{ id: string }>(sql`
    insert into basalt.jobs (type, payload, max_attempts, run_at, schedule_id, deploy)
    values (${type}, ${JSON.stringify(payload)}::jsonb, ${maxAttempts}::int, ${due}, ${scheduleId ?? null}::uuid, ${deploy ?? null})
    returning id`)
  return id
}

/** Records the types of jobs that SQL may add. Writes nothing if all are known, as on a read-only database. */
export async function insertSqlJobTypes(
  database: Queryable,
  types: readonly JobType<object>[],
): Promise<void> {
  const known = sql`unnest(${types.map(({ name }) => name)}::text[], ${types.map(({ retry }) => retry.attempts)}::int[],
    ${types.map(({ deploy }) => deploy ?? null)}::text[])`
  const lacking = await database.maybeOne(
    sql`(select * from ${known} except select type, max_attempts, deploy from basalt.sql_job_types) limit 1`,
  )
  if (lacking === undefined) return
  await database.count(sql`
    insert into basalt.sql_job_types (type, max_attempts, deploy) select * from ${known}
    on conflict (type) do update set max_attempts = excluded.max_attempts, deploy = excluded.deploy`)
}

/**
 * Lets SQL add these types only. Others may be those of a deploy that was replaced while no server ran. Writes nothing
 * if they are the same, as on a read-only database.
 */
export async function replaceSqlJobTypes(
  database: SystemDatabase,
  types: readonly JobType<object>[],
  lock: TypesLock,
): Promise<void> {
  const stored = await database.many<{ type: string; attempts: number; deploy: string | null }>(
    sql`select type, max_attempts as attempts, deploy from basalt.sql_job_types`,
  )
  const known = new Map(stored.map((each) => [each.type, each]))
  const isSame =
    known.size === types.length &&
    types.every(({ name, retry, deploy }) => {
      const same = known.get(name)
      return same?.attempts === retry.attempts && same.deploy === (deploy ?? null)
    })
  if (isSame) return
  await database.transaction(async (transaction) => {
    if (!(await lock(transaction))) return
    await insertSqlJobTypes(transaction, types)
    await transaction.count(
      sql`delete from basalt.sql_job_types where type <> all (${types.map(({ name }) => name)}::text[])`,
    )
  })
}

/** Removes types of jobs that SQL may add. */
export async function deleteSqlJobTypes(database: Queryable, names: readonly string[]): Promise<void> {
  await database.count(sql`delete from basalt.sql_job_types where type = any (${[...names]}::text[])`)
}

export interface JobFilter extends Partial<TimeRange> {
  readonly state?: JobState
  readonly type?: string
}

/** Lists jobs, newest first. */
export async function listJobs(
  database: Queryable,
  filter: JobFilter,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<Job[]> {
  const matches = [
    when(filter.type, (type) => sql`type = ${type}`),
    when(filter.state, (state) => sql`state = ${state}`),
    when(filter.from, (time) => sql`created_at >= ${time}::timestamptz`),
    when(filter.to, (time) => sql`created_at < ${time}::timestamptz`),
  ]
  const rows = await database.many<RowOf<Job>>(sql`
    select ${columns} from basalt.jobs
    where ${allOf(matches)}
    order by created_at desc, id desc
    limit ${limit}::int offset ${offset}::bigint`)
  return rows.map((row) => withoutNulls<Job>(row))
}

export async function findJob(database: Queryable, id: string): Promise<Job | undefined> {
  return toJob(
    await database.maybeOne<RowOf<Job>>(sql`select ${columns} from basalt.jobs where id = ${id}::uuid`),
  )
}

/** Returns the ended attempts of a job, the latest first; undefined if there is no such job. */
export async function findRuns(database: Queryable, id: string): Promise<JobRun[] | undefined> {
  const job = await database.maybeOne<{ runs: Omit<JobRun, 'durationMs'>[] }>(
    sql`select runs from basalt.jobs where id = ${id}::uuid`,
  )
  return job?.runs.toReversed().map(({ attempt, status, startedAt, finishedAt, error, result }) => {
    const [start, end] = [new Date(startedAt), new Date(finishedAt)]
    return {
      ...{ attempt, status, startedAt: start.toISOString(), finishedAt: end.toISOString() },
      durationMs: end.getTime() - start.getTime(),
      ...(error === undefined ? {} : { error }),
      ...(result === undefined ? {} : { result }),
    }
  })
}

/** Requeues a failed job at once with all its attempts, for the live functions. Returns undefined if the job is not failed. */
export async function requeueJob(database: Queryable, id: string): Promise<Job | undefined> {
  return toJob(
    await database.maybeOne<RowOf<Job>>(sql`
      update basalt.jobs j set
        state = 'queued', attempts = 0, run_at = now(), finished_at = null, last_error = null, updated_at = now(),
        deploy = (select t.deploy from basalt.sql_job_types t where t.type = j.type)
      where id = ${id}::uuid and state = 'failed'
      returning ${columns}`),
  )
}

/** Cancels a job. Returns undefined if the job is not queued. */
export async function cancelJob(database: Queryable, id: string): Promise<Job | undefined> {
  return toJob(
    await database.maybeOne<RowOf<Job>>(sql`
      update basalt.jobs set state = 'canceled', finished_at = now(), updated_at = now()
      where id = ${id}::uuid and state = 'queued'
      returning ${columns}`),
  )
}

const toJob = (row: RowOf<Job> | undefined) => row && withoutNulls<Job>(row)

/** Removes jobs that finished longer ago than the given number of days. */
export async function deleteFinishedJobs(database: Queryable, olderThanDays: number): Promise<number> {
  return await deleteInBatches(
    database,
    'jobs',
    sql`finished_at < now() - make_interval(days => ${olderThanDays}::int)`,
  )
}
