import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { JobDeploys, JobResult } from '../../../job-queue.ts'
import type { Claims } from '../queue/index.ts'
import { jobDeploys } from './deploys.ts'

/** Lease in seconds. A job whose worker has not renewed its lease for so long goes to another worker. */
export const leaseSeconds = 30

/** Attempt that belongs to this node until its lease expires. */
export interface JobClaim {
  readonly id: string
  /** Fencing token: the number of this claim of the job. */
  readonly claim: string
  readonly type: string
  readonly payload: object
  /** Number of the attempt, starting at 1. */
  readonly attempt: number
  readonly max_attempts: number
  readonly queued_by: string | null
  /** Hash of the deploy that is to run the job; null for the live one, also if its own is no longer kept. */
  readonly deploy: string | null
}

/** Maximum number of expired leases that one poll handles. */
const lostSize = 100

/** Message of an attempt whose lease has expired. */
const workerLost = sql.literal('the worker was lost')

/** Maximum number of ended attempts that a job keeps, the latest ones. */
const keptRuns = 50

/** Maximum length of an error in the runs, in characters. */
const runErrorLength = 1000

/** Deploy of a job `j`, if it is kept. It is read by its key, unlike a set for all jobs. */
const keptDeploy = sql`(select d.hash from basalt.function_deploys d where d.hash = j.deploy)`

/** Returns the runs of the job `alias` with the attempt that now ends. */
function withRun(alias: string, status: Sql, error: Sql, result = sql`null::jsonb`): Sql {
  const runs = sql.id(alias, 'runs')
  return sql`case when jsonb_array_length(${runs}) >= ${sql.integer(keptRuns)} then ${runs} - 0 else ${runs} end
    || jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
      'attempt', ${sql.id(alias, 'attempts')}, 'status', ${status}, 'startedAt', ${sql.id(alias, 'started_at')},
      'finishedAt', now(), 'error', left(${error}, ${sql.integer(runErrorLength)}), 'result', ${result})))`
}

/**
 * Claims due jobs: of each type those that have been due longest, as many as it has free slots. Also requeues jobs
 * whose lease expired. The first such loss is retried at once, further ones after growing pauses, because the job
 * itself may kill its workers.
 *
 * @param deploys of functions whose jobs of a type this node can run; all without an entry
 */
export async function claimJobs(
  database: Queryable,
  freeSlots: ReadonlyMap<string, number>,
  deploys: ReadonlyMap<string, JobDeploys> = new Map(),
): Promise<Claims<JobClaim>> {
  const names = [...freeSlots.keys()]
  const hasLive = names.map((name) => deploys.get(name)?.hasLive ?? true)
  const hashes = names.map((name) => deploys.get(name)?.hashes.join(' ') ?? '')
  const types = sql`
    unnest(${names}::text[], ${[...freeSlots.values()]}::int[], ${hasLive}::bool[], ${hashes}::text[])
      as slot (type, free, has_live, hashes)`
  const rows = await database.many<(JobClaim | { id: null }) & { next_ms: number | null }>(sql`
    with recursive lost as (
      update basalt.jobs l set
        state = case when attempts >= max_attempts then 'failed' else 'queued' end,
        finished_at = case when attempts >= max_attempts then now() end,
        run_at = now() + make_interval(secs => 5 * (attempts - 1)),
        leased_until = null, last_error = ${workerLost}, updated_at = now(),
        runs = ${withRun('l', sql`'failed'`, workerLost)}
      where id = any (array(
        select id from basalt.jobs where state = 'running' and leased_until < now()
        order by leased_until limit ${lostSize}
        for update skip locked))
    ),
    slot as materialized (select * from ${types}),
    ${jobDeploys},
    -- One search of the index for each deploy. A search by the type alone would read all jobs of other deploys that are due earlier.
    -- The order begins with the deploy, because the planner regards no null as a constant.
    found as materialized (
      select slot.type, slot.free, j.id, j.run_at
      from slot
      cross join lateral (
        select j.id, j.run_at from basalt.jobs j
        where j.type = slot.type and j.deploy is null and j.state = 'queued' and j.run_at <= now()
        order by j.deploy, j.run_at, j.id limit slot.free
        for update skip locked
      ) j
      where slot.has_live
      union all
      select slot.type, slot.free, j.id, j.run_at
      from slot
      cross join lateral (
        select hash from unnest(string_to_array(slot.hashes, ' ')) hash
        union
        -- Jobs of a deploy that is not kept run in the live one.
        select j.deploy from job_deploy j where slot.has_live and ${keptDeploy} is null
      ) runnable
      cross join lateral (
        select j.id, j.run_at from basalt.jobs j
        where j.type = slot.type and j.deploy = runnable.hash and j.state = 'queued' and j.run_at <= now()
        order by j.run_at, j.id limit slot.free
        for update skip locked
      ) j
    ),
    -- Those of a type that exceed its slots are locked until the end of this statement only.
    due as materialized (
      select id from (
        select id, free, row_number() over (partition by type order by run_at, id) as position from found
      ) ranked
      where position <= free
    ),
    claimed as (
      update basalt.jobs j set
        state = 'running', attempts = j.attempts + 1, claim = j.claim + 1, started_at = now(), updated_at = now(),
        leased_until = now() + make_interval(secs => ${leaseSeconds}), key = null
      where j.id = any (array(select id from due))
      returning j.id, j.claim::text, j.type, j.payload, j.attempts as attempt, j.max_attempts, j.queued_by,
        ${keptDeploy} as deploy
    ),
    -- Jobs that are due already and not claimed here wait for a slot, or another node is claiming them.
    next as (
      select extract(epoch from least(
        (
          select min(head.run_at)
          from slot
          cross join lateral (
            select j.run_at from basalt.jobs j where j.type = slot.type and j.state = 'queued' and j.run_at > now()
            order by j.run_at limit 1
          ) head
        ),
        (select leased_until from basalt.jobs where state = 'running' order by leased_until limit 1)
      ) - now())::float8 * 1000 as next_ms
    )
    select claimed.*, next.next_ms from next left join claimed on true`)
  return {
    claims: rows.filter((row): row is JobClaim & { next_ms: number | null } => row.id !== null),
    nextMs: rows[0]?.next_ms ?? undefined,
  }
}

/** Outcome of an attempt, with the result that it has reported. */
export type JobOutcome = Outcome & { readonly result?: JobResult }

type Outcome =
  | { readonly kind: 'completed' }
  | { readonly kind: 'failed'; readonly message: string }
  /** Failed attempt that is retried after the given number of seconds. */
  | { readonly kind: 'retry'; readonly message: string; readonly seconds: number }
  /** Attempt that was cut off or did not begin, through no fault of the job. It does not count. */
  | { readonly kind: 'released'; readonly seconds?: number }

export interface Settlement {
  readonly claim: JobClaim
  readonly outcome: JobOutcome
}

/** Records the outcomes of attempts by one statement. Returns for each whether its claim was the latest. */
export async function settleJobs(
  database: Queryable,
  settlements: readonly Settlement[],
): Promise<boolean[]> {
  const rows = settlements.map(({ claim: { id, claim }, outcome }) => ({
    id,
    claim,
    state: outcome.kind === 'completed' || outcome.kind === 'failed' ? outcome.kind : 'queued',
    seconds: 'seconds' in outcome ? (outcome.seconds ?? 0) : 0,
    counts: outcome.kind !== 'released',
    status: outcome.kind === 'retry' ? 'failed' : outcome.kind,
    // PostgreSQL accepts no NUL in text values.
    result: outcome.result === undefined ? null : JSON.stringify(outcome.result),
    message: 'message' in outcome ? outcome.message.replaceAll('\0', '') : null,
  }))
  const column = <Name extends keyof (typeof rows)[number]>(name: Name) => rows.map((row) => row[name])
  const settled = await database.many<{ id: string; claim: string }>(sql`
    update basalt.jobs j set
      state = s.state, leased_until = null, updated_at = now(),
      run_at = case when s.state = 'queued' then now() + make_interval(secs => s.seconds) else j.run_at end,
      attempts = j.attempts - case when s.counts then 0 else 1 end,
      last_error = case when s.counts then s.message else j.last_error end,
      finished_at = case when s.state <> 'queued' then now() end,
      runs = ${withRun('j', sql`s.status`, sql`s.message`, sql`s.result`)}
    from unnest(${column('id')}::uuid[], ${column('claim')}::bigint[], ${column('state')}::text[],
      ${column('seconds')}::float8[], ${column('counts')}::bool[], ${column('message')}::text[], ${column('status')}::text[],
      ${column('result')}::jsonb[]) as s (id, claim, state, seconds, counts, message, status, result)
    where j.id = s.id and j.claim = s.claim and j.state = 'running'
    returning j.id, j.claim::text`)
  const latest = new Set(settled.map(({ id, claim }) => `${id} ${claim}`))
  return rows.map(({ id, claim }) => latest.has(`${id} ${claim}`))
}

/** Extends the leases of running attempts. */
export async function renewLeases(database: Queryable, claims: readonly JobClaim[]): Promise<void> {
  await database.count(sql`
    update basalt.jobs set leased_until = now() + make_interval(secs => ${leaseSeconds}), updated_at = now()
    where id = any (array(
      select j.id from basalt.jobs j
      join unnest(${claims.map(({ id }) => id)}::uuid[], ${claims.map(({ claim }) => claim)}::bigint[]) as c (id, claim)
        on j.id = c.id and j.claim = c.claim
      where j.state = 'running'
      -- A job that another statement has locked is being recorded or requeued.
      for update of j skip locked))`)
}
