import { arrayLiteral } from '../../../database/array-literal.ts'
import { statement } from '../../../database/connection/message.ts'
import { render, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { UserDatabase } from '../../../database/user-database.ts'
import { compileInput, compileKey, compileKeyMatch, type EmbeddingTarget } from './target.ts'

/** State of an embedding as the database holds it, without its configuration. */
export interface EmbeddingState {
  readonly name: string
  readonly isOutdated: boolean
  readonly pending: number
  readonly failed: number
  readonly written: number
  readonly lastWrittenAt: Date | null
  readonly lastError: string | null
  readonly backfill: {
    readonly jobId: string | null
    readonly state: string
    readonly rows: number | null
    readonly startedAt: Date | null
    readonly finishedAt: Date | null
  }
}

export async function listEmbeddings(database: Queryable): Promise<EmbeddingState[]> {
  type Row = Omit<EmbeddingState, 'backfill'> & EmbeddingState['backfill']
  const rows = await database.many<Row & Record<string, unknown>>(sql`
    select e.name, e.filled_recipe is distinct from e.recipe as "isOutdated", q.pending::float8, q.failed::float8,
      e.written::float8, e.last_written_at as "lastWrittenAt", e.last_error as "lastError", e.backfill_job as "jobId",
      -- The job itself is retained for jobs.retention_days.
      coalesce(j.state, case when e.backfill_finished_at is null then 'failed' else 'completed' end) as state,
      e.backfill_rows::float8 as rows, e.backfill_started_at as "startedAt", e.backfill_finished_at as "finishedAt"
    from basalt.embeddings e
    cross join lateral (
      select count(*) filter (where error is null) as pending, count(error) as failed
      from basalt.embedding_queue where embedding = e.name
    ) q
    left join basalt.jobs j on j.id = e.backfill_job
    order by e.name`)
  return rows.map(({ jobId, state, rows, startedAt, finishedAt, ...embedding }) => ({
    ...embedding,
    backfill: { jobId, state, rows, startedAt, finishedAt },
  }))
}

/** Lists rows whose text the provider rejects, in the order of queueing. */
export async function listFailures(
  database: Queryable,
  name: string,
  limit: number,
): Promise<{ readonly recordKey: readonly unknown[]; readonly error: string }[]> {
  return await database.many(sql`
    select record_key::json as "recordKey", error from basalt.embedding_queue
    where embedding = ${name} and error is not null order by id limit ${limit}::int`)
}

export interface ConfiguredEmbedding {
  readonly name: string
  readonly table: string
  readonly columns: readonly string[]
  readonly recipe: string
}

/** Replaces the stored embeddings with the configured ones. */
export async function replaceEmbeddings(
  database: Queryable,
  configured: readonly ConfiguredEmbedding[],
): Promise<void> {
  const names = configured.map(({ name }) => name)
  await database.count(sql`delete from basalt.embeddings where name <> all (${names}::text[])`)
  for (const { name, table, columns, recipe } of configured) {
    await database.count(sql`
      insert into basalt.embeddings (name, table_name, columns, recipe)
      values (${name}, ${table}, ${columns}::text[], ${recipe})
      on conflict (name) do update set table_name = excluded.table_name, columns = excluded.columns,
        recipe = excluded.recipe`)
  }
}

/**
 * Queues the rows whose text the given events have changed.
 *
 * @param ids of rows of `basalt.outbox`
 * @returns the names of the embeddings of these rows
 */
export async function queueChanges(database: Queryable, ids: readonly string[]): Promise<string[]> {
  const rows = await database.many<{ embedding: string }>(sql`
    with queued as (
      insert into basalt.embedding_queue as q (embedding, record_hash, record_key)
      select distinct e.name, md5(o.record_key)::uuid, o.record_key
      from unnest(${ids}::bigint[]) event (id)
      -- Reads one row of the log. The limit keeps the planner from reading the whole log for a join.
      cross join lateral (select * from basalt.outbox where id = event.id limit 1) o
      join basalt.embeddings e on e.table_name = o.table_name
      where o.record_key is not null and (o.action = 'create' or o.action = 'update' and (
        -- A partial record may lack the text.
        o.is_partial is true
        or exists (
          select from unnest(e.columns) c where (o.record -> c)::text is distinct from (o.old_record -> c)::text
        )
      ))
      on conflict (embedding, record_hash) do update set version = q.version + 1, error = null
      returning embedding
    )
    select distinct embedding from queued`)
  return rows.map(({ embedding }) => embedding)
}

/**
 * Locks a queued job of the given type for the embedding, and returns whether one exists. A claim skips locked jobs, so
 * this job does not start before the transaction ends. A job that is delayed until the claims of a possibly dead node
 * expire does not count. A job in backoff counts, because the provider is failing.
 */
export async function holdQueuedJob(
  transaction: Queryable,
  type: string,
  name: string,
  { isForLater }: { readonly isForLater: boolean },
): Promise<boolean> {
  const held = await transaction.maybeOne(sql`
    select from basalt.jobs where type = ${type} and state = 'queued' and payload ->> 'embedding' = ${name}
      and (${isForLater}::bool or run_at <= clock_timestamp() or attempts > 0)
    limit 1 for share skip locked`)
  return held !== undefined
}

/** Row whose text waits to be embedded. */
export interface QueuedRow {
  readonly record_hash: string
  readonly record_key: string
  /** Number of changes of the row. A completion for an earlier version leaves the row queued. */
  readonly version: string
}

export async function claimRows(
  database: Queryable,
  name: string,
  { limit, leaseSeconds }: { readonly limit: number; readonly leaseSeconds: number },
): Promise<QueuedRow[]> {
  return await database.many<QueuedRow & Record<string, unknown>>(sql`
    update basalt.embedding_queue set leased_until = now() + make_interval(secs => ${leaseSeconds})
    where embedding = ${name} and record_hash = any (array(
      select record_hash from basalt.embedding_queue
      where embedding = ${name} and error is null and (leased_until is null or leased_until < now())
      order by id limit ${limit}::int
      for update skip locked
    ))
    returning record_hash::text, record_key, version::text`)
}

/** Returns the seconds until the claim of another node expires; undefined if no row is claimed. */
export async function secondsUntilFree(database: Queryable, name: string): Promise<number | undefined> {
  const { seconds } = await database.one<{ seconds: number | null }>(sql`
    select extract(epoch from min(leased_until) - now())::float8 as seconds
    from basalt.embedding_queue where embedding = ${name} and error is null`)
  return seconds ?? undefined
}

/** Reads the texts of the rows, without rows that no longer exist. */
export async function readInputs(
  database: Queryable,
  target: EmbeddingTarget,
  rows: readonly QueuedRow[],
): Promise<Map<string, { readonly input: string | null; readonly hasVector: boolean }>> {
  const { relation, vector } = target
  const keys = rows.map(({ record_key }) => record_key)
  const found = await database.many<{ key: string; input: string | null; has_vector: boolean }>(sql`
    select k.key, r.input, r.has_vector
    from unnest(${keys}::text[]) k (key)
    cross join lateral (
      select ${compileInput(target)} as input, ${sql.id('t', vector.name)} is not null as has_vector
      from ${sql.id(relation.schema, relation.name)} t
      where ${compileKeyMatch(target, sql`k.key`)}
    ) r`)
  return new Map(found.map(({ key, input, has_vector }) => [key, { input, hasVector: has_vector }]))
}

export interface NewVector {
  readonly key: string
  /** Text that was embedded. If the text of the row has changed since, its own event replaces the vector. */
  readonly input: string | null
  readonly vector: string | null
}

/** Writes vectors past policies, as administrators do. Triggers of the table handle texts that callers wrote. */
export async function writeVectors(
  database: Pick<UserDatabase, 'run'>,
  target: EmbeddingTarget,
  vectors: readonly NewVector[],
): Promise<number> {
  const { relation, vector } = target
  // A vector is not a change of the row. The capture triggers skip statements that carry this note.
  const note = {
    statement: statement("select set_config('basalt.captured_write', $1, true)"),
    values: [`UPDATE ${relation.schema}.${relation.name}`],
  }
  const columns = [
    vectors.map(({ key }) => key),
    vectors.map(({ input }) => input),
    vectors.map((each) => each.vector),
  ]
  const [keys, inputs, values] = columns.map((column) => sql`${arrayLiteral(column)}::text[]`)
  const { text, values: bound } = render(sql`
    update ${sql.id(relation.schema, relation.name)} t
    set ${sql.id(vector.name)} = i.vector::${sql.type(vector.type.name)}
    from unnest(${keys}, ${inputs}, ${values}) i (key, input, vector)
    where ${compileKeyMatch(target, sql`i.key`)} and ${compileInput(target)} is not distinct from i.input`)
  // The plan depends on the names and texts alone.
  const step = { statement: statement(text, relation.version), values: bound.map(String) }
  const [, answer] = await database.run({ kind: 'unrestricted' }, [note, step], { isRead: false })
  return answer?.count ?? 0
}

/** Removes finished rows from the queue, unless they have changed since they were claimed. */
export async function settleRows(
  database: Queryable,
  name: string,
  rows: readonly QueuedRow[],
): Promise<void> {
  const hashes = rows.map(({ record_hash }) => record_hash)
  const versions = rows.map(({ version }) => version)
  await database.count(sql`
    delete from basalt.embedding_queue q
    using unnest(${hashes}::uuid[], ${versions}::bigint[]) r (record_hash, version)
    where q.embedding = ${name} and q.record_hash = r.record_hash and q.version = r.version`)
  await releaseRows(database, name, rows)
}

export async function releaseRows(
  database: Queryable,
  name: string,
  rows: readonly QueuedRow[],
): Promise<void> {
  const hashes = rows.map(({ record_hash }) => record_hash)
  await database.count(sql`
    update basalt.embedding_queue set leased_until = null
    where embedding = ${name} and record_hash = any (${hashes}::uuid[])`)
}

/** Marks a row whose text the provider rejects. The row is not retried until its text changes. */
export async function failRow(
  database: Queryable,
  name: string,
  { record_hash, version }: QueuedRow,
  error: string,
): Promise<void> {
  await database.count(sql`
    update basalt.embedding_queue set error = ${error}, leased_until = null
    where embedding = ${name} and record_hash = ${record_hash}::uuid and version = ${version}::bigint`)
}

export async function recordWritten(database: Queryable, name: string, count: number): Promise<void> {
  await database.count(sql`
    update basalt.embeddings set written = written + ${count}::bigint, last_written_at = now(), last_error = null
    where name = ${name}`)
}

export async function recordError(database: Queryable, name: string, message: string): Promise<void> {
  await database.count(sql`update basalt.embeddings set last_error = ${message} where name = ${name}`)
}

/**
 * Locks the embedding until the transaction ends. Returns undefined if it does not exist. The lock and the check of the
 * job are two statements, because a statement that waited for the lock would still see the jobs from before.
 */
export async function lockForBackfill(
  transaction: Queryable,
  name: string,
): Promise<{ readonly isInProgress: boolean } | undefined> {
  const locked = await transaction.maybeOne<{ backfill_job: string | null }>(sql`
    select backfill_job from basalt.embeddings where name = ${name} for update`)
  if (locked === undefined) return undefined
  const job = await transaction.maybeOne(sql`
    select from basalt.jobs
    where id = ${locked.backfill_job}::uuid and state in ('queued', 'running')`)
  return { isInProgress: job !== undefined }
}

export async function recordBackfill(transaction: Queryable, name: string, job: string): Promise<void> {
  await transaction.count(sql`
    update basalt.embeddings set backfill_job = ${job}::uuid, backfill_rows = null, backfill_started_at = now(),
      backfill_finished_at = null
    where name = ${name}`)
}

/**
 * Queues the rows of the table that lack a vector, or have a vector without a text. Queues all rows if another recipe
 * made their vectors.
 *
 * @returns the number of rows
 */
export async function queueRows(
  transaction: Queryable,
  name: string,
  target: EmbeddingTarget,
  wantsAll: boolean,
): Promise<number> {
  const { relation, vector } = target
  const isMissing = sql`(${compileInput(target)} is null) <> (${sql.id('t', vector.name)} is null)`
  const count = await transaction.count(sql`
    insert into basalt.embedding_queue as q (embedding, record_hash, record_key)
    select e.name, md5(t.key)::uuid, t.key
    from basalt.embeddings e
    cross join lateral (
      select ${compileKey(target)} as key from ${sql.id(relation.schema, relation.name)} t
      where ${wantsAll}::bool or (e.filled_recipe <> e.recipe) is true or ${isMissing}
    ) t
    where e.name = ${name}
    on conflict (embedding, record_hash) do update set version = q.version + 1, error = null`)
  await transaction.count(sql`
    update basalt.embeddings set filled_recipe = recipe, backfill_rows = ${count}::bigint,
      backfill_finished_at = clock_timestamp()
    where name = ${name}`)
  return count
}

/** Returns the names of the embeddings that have rows to embed. */
export async function listPending(database: Queryable): Promise<string[]> {
  const rows = await database.many<{ name: string }>(sql`
    select e.name from basalt.embeddings e
    where exists (select from basalt.embedding_queue q where q.embedding = e.name and q.error is null)`)
  return rows.map(({ name }) => name)
}

/** Makes the transaction fail if the login role is subject to policies, instead of leaving out rows. */
export async function requireAllRows(transaction: Queryable): Promise<void> {
  await transaction.one(sql`select set_config('row_security', 'off', true)`)
}
