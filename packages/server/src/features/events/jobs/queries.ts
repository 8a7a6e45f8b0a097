import { deleteInBatches } from '../../../database/delete-in-batches.ts'
import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { JobState } from './states.ts'

export interface JobRow {
  readonly id: string
  readonly type: string
  readonly payload: Readonly<Record<string, unknown>> | null
  readonly state: JobState
  readonly attempts: number
  readonly max_attempts: number
  readonly last_error: string | null
  readonly schedule_id: string | null
  readonly run_at: Date
  readonly leased_until: Date | null
  readonly created_at: Date
  readonly started_at: Date | null
  readonly finished_at: Date | null
  readonly updated_at: Date
}

type Row = JobRow & Record<string, unknown>

const columns = sql`
  id, type, payload, state, attempts, max_attempts, last_error, schedule_id, run_at, leased_until, created_at,
  started_at, finished_at, updated_at`

export type NewJobRow = Pick<JobRow, 'type' | 'max_attempts'> & {
  readonly payload: object
  readonly run_at: Date | undefined
  readonly delay_seconds: number | undefined
  readonly schedule_id: string | undefined
}

/** The id of the job. */
export async function insertJobRow(database: Queryable, row: NewJobRow): Promise<string> {
  const runAt =
    row.delay_seconds === undefined
      ? sql`coalesce(${row.run_at ?? null}::timestamptz, now())`
      : sql`clock_timestamp() + make_interval(secs => ${row.delay_seconds}::float8)`
  const { id } = await database.one<{ id: string }>(sql`
    insert into basalt.jobs (type, payload, max_attempts, run_at, schedule_id)
    values (${row.type}, ${JSON.stringify(row.payload)}::jsonb, ${row.max_attempts}::int,
      ${runAt}, ${row.schedule_id ?? null}::uuid)
    returning id`)
  return id
}

export interface JobFilter {
  readonly state?: JobState | undefined
  readonly type?: string | undefined
  readonly limit: number
  readonly offset: number
}

/** Newest first. */
export async function listJobRows(database: Queryable, filter: JobFilter): Promise<JobRow[]> {
  const { state, type, limit, offset } = filter
  const conditions = [
    sql`true`,
    ...(type === undefined ? [] : [sql`type = ${type}`]),
    ...(state === undefined ? [] : [sql`state = ${state}`]),
  ]
  return await database.many<Row>(sql`
    select ${columns} from basalt.jobs
    where ${sql.join(conditions, sql` and `)}
    order by created_at desc, id desc
    limit ${limit}::int offset ${offset}::bigint`)
}

export async function findJobRow(database: Queryable, id: string): Promise<JobRow | undefined> {
  return await database.maybeOne<Row>(sql`select ${columns} from basalt.jobs where id = ${id}::uuid`)
}

/** Gives a failed job all its attempts again, the first at once; undefined when it is not failed. */
export async function requeueJobRow(database: Queryable, id: string): Promise<JobRow | undefined> {
  return await database.maybeOne<Row>(sql`
    update basalt.jobs set
      state = 'queued', attempts = 0, run_at = now(), finished_at = null, last_error = null, updated_at = now()
    where id = ${id}::uuid and state = 'failed'
    returning ${columns}`)
}

/** Undefined when the job is not queued. */
export async function cancelJobRow(database: Queryable, id: string): Promise<JobRow | undefined> {
  return await database.maybeOne<Row>(sql`
    update basalt.jobs set state = 'canceled', finished_at = now(), updated_at = now()
    where id = ${id}::uuid and state = 'queued'
    returning ${columns}`)
}

/** Removes what finished longer ago. */
export async function deleteFinishedJobRows(database: Queryable, olderThanDays: number): Promise<number> {
  return await deleteInBatches(
    database,
    'jobs',
    sql`finished_at < now() - make_interval(days => ${olderThanDays}::int)`,
  )
}
