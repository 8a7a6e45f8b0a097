import { sql } from '../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import type { JobState } from './job.ts'

/** Maximum number of differences that one statement merges. */
const mergeSize = 20_000
/** Number of differences after which a node merges them, so that a count reads few rows. */
const mergeAfter = 1000

export interface JobCounts {
  readonly counts: Readonly<Partial<Record<JobState, number>>>
  /** Seconds since the longest waiting job became due; negative if none is due yet. */
  readonly oldestAge: number | null
}

/** Counts the jobs by state, from the differences that triggers append to `basalt.job_counts`. */
export async function countJobs(database: Queryable): Promise<JobCounts> {
  const { differences, ...counted } = await database.one<JobCounts & { differences: number }>(sql`
    with recursive
    counted as (
      select state, sum(jobs)::float8 as jobs, count(*) as differences from basalt.job_counts group by state
    ),
    -- The index begins with the type. Its first entry of each type is the job that is due first.
    head as (
      (select type, run_at from basalt.jobs where state = 'queued' order by type, run_at limit 1)
      union all
      select next.* from head
      cross join lateral (
        select j.type, j.run_at from basalt.jobs j where j.state = 'queued' and j.type > head.type
        order by j.type, j.run_at limit 1
      ) next
    )
    select coalesce(json_object_agg(state, jobs), '{}') as counts, coalesce(sum(differences), 0)::int as differences,
      (select extract(epoch from now() - min(run_at))::float8 from head) as "oldestAge"
    from counted`)
  if (differences >= mergeAfter) await mergeDifferences(database)
  return counted
}

/** Replaces differences by their sum. Skips differences that another node is merging. */
async function mergeDifferences(database: Queryable): Promise<void> {
  await database.count(sql`
    with merged as (
      delete from basalt.job_counts where id = any (array(
        select id from basalt.job_counts order by id limit ${mergeSize}::int for update skip locked
      ))
      returning state, jobs
    )
    insert into basalt.job_counts (state, jobs) select state, sum(jobs) from merged group by state`)
}

/**
 * Appends the missing differences where jobs changed without the triggers, as replication does. One snapshot reads both
 * sides. One node corrects at a time, because two corrections of one difference would add another difference.
 */
export async function correctJobCounts(database: SystemDatabase): Promise<void> {
  await database.transaction(async (transaction) => {
    await transaction.count(sql`select pg_advisory_xact_lock(hashtextextended('basalt job counts', 0))`)
    await transaction.count(sql`
      insert into basalt.job_counts (state, jobs)
      select state, sum(jobs)
      from (
        select state, count(*) as jobs from basalt.jobs group by state
        union all
        select state, -jobs from basalt.job_counts
      ) difference
      group by state having sum(jobs) <> 0`)
  })
}

/** Merger that adds up differences after a number of statements. */
export class JobCountMerger {
  readonly #database: SystemDatabase
  #noted = 0
  #isMerging = false

  constructor(database: SystemDatabase) {
    this.#database = database
  }

  /** Counts a statement that changed jobs. */
  note(): void {
    this.#noted += 1
    if (this.#noted < mergeAfter || this.#isMerging) return
    this.#noted = 0
    this.#isMerging = true
    // The next merge includes differences that this one leaves.
    void mergeDifferences(this.#database)
      .catch(() => undefined)
      .finally(() => {
        this.#isMerging = false
      })
  }
}
