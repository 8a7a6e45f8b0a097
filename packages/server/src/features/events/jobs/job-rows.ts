import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { type JobState, type StoredState, storedStates } from './states.ts'

/** Schema of the queue's own tables. */
export const queueSchema = 'basalt_jobs'

/** A job whose worker has not been heard of for so long goes to another one. */
export const leaseSeconds = 30

export const jobTable = sql.id(queueSchema, 'job')
const queueTable = sql.id(queueSchema, 'queue')

/**
 * A row of the queue. `retry_count` only ever grows, because it names the attempt whose word is believed. What went
 * before the job got a fresh budget is kept in `source_retry_count`, a column for queues of dead letters, which we
 * do not have: `retry_count` and `retry_limit` count from there.
 */
export interface JobRow {
  readonly id: string
  readonly type: string
  readonly payload: unknown
  readonly state: StoredState
  readonly attempts: number
  readonly max_attempts: number
  readonly last_error: string | null
  readonly schedule_id: string | null
  readonly run_at: Date
  readonly lease_until: Date | null
  readonly created_at: Date
  readonly started_at: Date | null
  readonly finished_at: Date | null
  readonly updated_at: Date
}

/** Attempts begun, those before a fresh budget included. */
export const attemptsBegun = sql`case when started_on is null then 0 else retry_count + 1 end`
/** Attempts that no longer count. */
export const attemptsForgiven = sql`coalesce(source_retry_count, 0)`

const columns = sql`
  id, name as type, data as payload, state::text as state,
  ${attemptsBegun} - ${attemptsForgiven} as attempts,
  retry_limit + 1 - ${attemptsForgiven} as max_attempts,
  coalesce(output->>'message', output->'value'->>'message') as last_error,
  group_id as schedule_id,
  start_after as run_at,
  case when state = 'active' then heartbeat_on + make_interval(secs => ${leaseSeconds}) end as lease_until,
  created_on as created_at, started_on as started_at, completed_on as finished_at,
  greatest(created_on, started_on, heartbeat_on, completed_on) as updated_at`

/** The library keeps queues of its own under such names. */
const isOurs = sql`name not like '\\_\\_pgboss\\_\\_%'`
/** The key of the table begins with the name. */
const anyQueue = sql`name = any (array(select name from ${queueTable}))`

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
    isOurs,
    ...(type === undefined ? [] : [sql`name = ${type}`]),
    ...(state === undefined ? [] : [sql`state::text = any (${storedStates(state)}::text[])`]),
  ]
  return await database.many<JobRow & Record<string, unknown>>(sql`
    select ${columns} from ${jobTable}
    where ${sql.join(conditions, sql` and `)}
    order by created_on desc, id desc
    limit ${limit}::int offset ${offset}::bigint`)
}

export async function findJobRow(database: Queryable, id: string): Promise<JobRow | undefined> {
  return await database.maybeOne<JobRow & Record<string, unknown>>(
    sql`select ${columns} from ${jobTable} where ${anyQueue} and id = ${id}::uuid and ${isOurs}`,
  )
}

export interface JobCounts {
  readonly counts: Readonly<Partial<Record<StoredState, number>>>
  /** Seconds since the job that has been due longest was; negative when none is due yet. */
  readonly oldest_age: number | null
}

export async function countJobRows(database: Queryable): Promise<JobCounts> {
  return await database.one<JobCounts & Record<string, unknown>>(sql`
    with counted as (
      select state, count(*)::int as count, min(start_after) as oldest from ${jobTable} where ${isOurs} group by state)
    select coalesce(json_object_agg(state, count), '{}') as counts,
      extract(epoch from now() - min(oldest) filter (where state in ('created', 'retry')))::float8 as oldest_age
    from counted`)
}

/** Gives a failed job a fresh budget, to be begun at once; undefined when it is not failed. */
export async function requeueJobRow(database: Queryable, id: string): Promise<JobRow | undefined> {
  return await database.maybeOne<JobRow & Record<string, unknown>>(sql`
    update ${jobTable} set
      state = 'retry', start_after = now(), completed_on = null, output = null, heartbeat_on = now(),
      keep_until = now() + (keep_until - start_after),
      retry_limit = retry_limit - ${attemptsForgiven} + ${attemptsBegun},
      source_retry_count = ${attemptsBegun}
    where ${anyQueue} and id = ${id}::uuid and state = 'failed'
    returning ${columns}`)
}

/** Undefined when the job is not queued. */
export async function cancelJobRow(database: Queryable, id: string): Promise<JobRow | undefined> {
  return await database.maybeOne<JobRow & Record<string, unknown>>(sql`
    update ${jobTable} set state = 'cancelled', completed_on = now(), heartbeat_on = now()
    where ${anyQueue} and id = ${id}::uuid and state in ('created', 'retry')
    returning ${columns}`)
}

/** Removes what finished longer ago. The library does so too, by the number of days a job was added with. */
export async function deleteFinishedJobRows(database: Queryable, olderThanDays: number): Promise<number> {
  return await database.count(sql`
    delete from ${jobTable}
    where state in ('completed', 'cancelled', 'failed')
      and completed_on < now() - make_interval(days => ${olderThanDays}::int)`)
}

/** The list is read newest first, and lost workers are looked for often: the library has no index for either. */
export async function ensureIndexes(database: Queryable): Promise<void> {
  await database.count(sql`select pg_advisory_xact_lock(hashtextextended('basalt job indexes', 0))`)
  await database.count(
    sql`create index if not exists job_running on ${jobTable} (heartbeat_on) where state = 'active'`,
  )
  await database.count(sql`create index if not exists job_newest on ${jobTable} (created_on desc, id desc)`)
}
