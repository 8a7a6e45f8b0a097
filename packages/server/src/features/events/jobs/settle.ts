import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { attemptsForgiven, jobTable, leaseSeconds } from './job-rows.ts'

/** One attempt at a job. Its word counts only while it is the latest. */
export interface Attempt {
  readonly type: string
  readonly id: string
  readonly retryCount: number
}

function isLatest({ type, id, retryCount }: Attempt) {
  return sql`name = ${type} and id = ${id}::uuid and state = 'active' and retry_count = ${retryCount}::int`
}

/**
 * The names of those types that have something to do now: one question for all of them.
 */
export async function findDueTypes(database: Queryable, types: readonly string[]): Promise<string[]> {
  const rows = await database.many<{ name: string }>(sql`
    select type.name from unnest(${[...types]}::text[]) as type (name)
    cross join lateral (
      select from ${jobTable} j
      where j.name = type.name and j.state < 'active' and not j.blocked and j.start_after <= now()
      -- In the order of the index: by their number alone the planner would rather read the whole table.
      order by j.priority desc, j.created_on
      limit 1
    ) due`)
  return rows.map(({ name }) => name)
}

/**
 * Ends an attempt that failed: back to the queue after a pause that doubles, or for good.
 *
 * @returns false when the attempt is not the latest any more
 */
export async function failAttempt(
  database: Queryable,
  attempt: Attempt,
  message: string,
  { isFinal }: { isFinal: boolean },
): Promise<boolean> {
  const ends = isFinal ? sql`true` : sql`retry_count >= retry_limit`
  const failed = await database.count(sql`
    update ${jobTable} set
      state = case when ${ends} then 'failed' else 'retry' end::${sql.id('basalt_jobs', 'job_state')},
      completed_on = case when ${ends} then now() end,
      start_after = case when ${ends} then start_after else now() + make_interval(secs => least(
        coalesce(retry_delay_max, 3600),
        greatest(retry_delay, 1) * 2 ^ least(16, retry_count - ${attemptsForgiven}) * (1 + random() / 4))) end,
      heartbeat_on = now(),
      output = jsonb_build_object('message', ${message}::text)
    where ${isLatest(attempt)}`)
  return failed > 0
}

/** Gives a job back as if the attempt had not been: the server stops, which is not the job's fault. */
export async function releaseAttempt(database: Queryable, attempt: Attempt): Promise<boolean> {
  const released = await database.count(sql`
    update ${jobTable} set
      state = 'retry', start_after = now(), heartbeat_on = now(),
      retry_limit = retry_limit + 1, source_retry_count = ${attemptsForgiven} + 1
    where ${isLatest(attempt)}`)
  return released > 0
}

/**
 * Takes back jobs whose workers have not been heard of for longer than their lease: at once after the first such loss, with
 * growing pauses after more, in case the job itself is what kills them.
 *
 * @returns how many go back to the queue or have failed
 */
export async function reclaimLost(database: Queryable): Promise<number> {
  const ends = sql`retry_count >= retry_limit`
  return await database.count(sql`
    update ${jobTable} set
      state = case when ${ends} then 'failed' else 'retry' end::${sql.id('basalt_jobs', 'job_state')},
      completed_on = case when ${ends} then now() end,
      start_after = now() + make_interval(secs => 5 * (retry_count - ${attemptsForgiven})),
      output = jsonb_build_object('message', 'the worker was lost')
    where state = 'active' and heartbeat_on < now() - make_interval(secs => ${leaseSeconds})`)
}
