import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { Claims } from '../queue/index.ts'

/** A job whose worker has not renewed its lease for so long goes to another one. */
export const leaseSeconds = 30

/** An attempt that is this node's to make, until its lease runs out. */
export interface JobClaim {
  readonly id: string
  /** Fencing token: which claim of the job this is. */
  readonly claim: string
  readonly type: string
  readonly payload: object
  /** 1 for the first. */
  readonly attempt: number
  readonly max_attempts: number
}

/** Jobs whose leases ran out that are taken back by one look. */
const lostSize = 100

/**
 * Claims jobs that are due: of each type those that have been due longest, as many as there are free slots for. Takes
 * jobs back whose leases ran out: at once after the first such loss, with growing pauses after more, in case the job
 * itself is what kills its workers.
 */
export async function claimJobs(
  database: Queryable,
  freeSlots: ReadonlyMap<string, number>,
): Promise<Claims<JobClaim>> {
  const types = sql`unnest(${[...freeSlots.keys()]}::text[], ${[...freeSlots.values()]}::int[]) as slot (type, free)`
  const rows = await database.many<(JobClaim | { id: null }) & { next_ms: number | null }>(sql`
    with lost as (
      update basalt.jobs set
        state = case when attempts >= max_attempts then 'failed' else 'queued' end,
        finished_at = case when attempts >= max_attempts then now() end,
        run_at = now() + make_interval(secs => 5 * (attempts - 1)),
        leased_until = null, last_error = 'the worker was lost', updated_at = now()
      where id = any (array(
        select id from basalt.jobs where state = 'running' and leased_until < now()
        order by leased_until limit ${lostSize}
        for update skip locked))
    ),
    due as materialized (
      select due.id
      from ${types}
      cross join lateral (
        select j.id from basalt.jobs j where j.type = slot.type and j.state = 'queued' and j.run_at <= now()
        order by j.run_at, j.id limit slot.free
        for update skip locked
      ) due
    ),
    claimed as (
      update basalt.jobs j set
        state = 'running', attempts = j.attempts + 1, claim = j.claim + 1, started_at = now(), updated_at = now(),
        leased_until = now() + make_interval(secs => ${leaseSeconds})
      where j.id = any (array(select id from due))
      returning j.id, j.claim::text, j.type, j.payload, j.attempts as attempt, j.max_attempts
    ),
    -- Of what is due already, the rest waits for a slot, or another node is claiming it.
    next as (
      select extract(epoch from least(
        (
          select min(head.run_at)
          from ${types}
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

/** How an attempt ended. */
export type JobOutcome =
  | { readonly kind: 'completed' }
  | { readonly kind: 'failed'; readonly message: string }
  /** Failed, and tried again after so many seconds. */
  | { readonly kind: 'retry'; readonly message: string; readonly seconds: number }
  /** Cut off by no fault of the job: the attempt does not count. */
  | { readonly kind: 'released' }

export interface Settlement {
  readonly claim: JobClaim
  readonly outcome: JobOutcome
}

/** Records how attempts ended, all by one statement; answers of each whether its claim was the latest. */
export async function settleJobs(
  database: Queryable,
  settlements: readonly Settlement[],
): Promise<boolean[]> {
  const rows = settlements.map(({ claim: { id, claim }, outcome }) => ({
    id,
    claim,
    state: outcome.kind === 'completed' || outcome.kind === 'failed' ? outcome.kind : 'queued',
    seconds: outcome.kind === 'retry' ? outcome.seconds : 0,
    counts: outcome.kind !== 'released',
    // Postgres has no NUL in texts.
    message: 'message' in outcome ? outcome.message.replaceAll('\0', '') : null,
  }))
  const column = <Name extends keyof (typeof rows)[number]>(name: Name) => rows.map((row) => row[name])
  const settled = await database.many<{ id: string; claim: string }>(sql`
    update basalt.jobs j set
      state = s.state, leased_until = null, updated_at = now(),
      run_at = case when s.state = 'queued' then now() + make_interval(secs => s.seconds) else j.run_at end,
      attempts = j.attempts - case when s.counts then 0 else 1 end,
      last_error = case when s.counts then s.message else j.last_error end,
      finished_at = case when s.state <> 'queued' then now() end
    from unnest(${column('id')}::uuid[], ${column('claim')}::bigint[], ${column('state')}::text[],
      ${column('seconds')}::float8[], ${column('counts')}::bool[], ${column('message')}::text[])
      as s (id, claim, state, seconds, counts, message)
    where j.id = s.id and j.claim = s.claim and j.state = 'running'
    returning j.id, j.claim::text`)
  const latest = new Set(settled.map(({ id, claim }) => `${id} ${claim}`))
  return rows.map(({ id, claim }) => latest.has(`${id} ${claim}`))
}

/** Extends the leases of attempts that still run. */
export async function renewLeases(database: Queryable, claims: readonly JobClaim[]): Promise<void> {
  await database.count(sql`
    update basalt.jobs set leased_until = now() + make_interval(secs => ${leaseSeconds}), updated_at = now()
    where id = any (array(
      select j.id from basalt.jobs j
      join unnest(${claims.map(({ id }) => id)}::uuid[], ${claims.map(({ claim }) => claim)}::bigint[]) as c (id, claim)
        on j.id = c.id and j.claim = c.claim
      where j.state = 'running'
      -- What another statement holds is being recorded or taken back.
      for update of j skip locked))`)
}
