import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { scanLimit } from '../../outbox/index.ts'
import { type Batch, readBatch } from './batch.ts'
import type { Position } from './position.ts'

/** Change of one record, from the log. */
export interface LogEvent {
  /** Id in `basalt.outbox`. */
  readonly id: string
  readonly transactionId: string
  readonly action: 'create' | 'update' | 'delete' | 'truncate'
  readonly table: string
  /** JSON of the whole row after the event, or of the deleted row. */
  readonly record: string
  /** JSON of the row before an update. */
  readonly oldRecord: string | null
  /**
   * True if nothing can decide who may receive the event: its record lacks columns, or all records were removed.
   * Streams receive a gap.
   */
  readonly isGap: boolean
  /** JSON of columns that policies may name and that no receiver gets; null if the record holds all columns. */
  readonly hidden: string | null
  /** The same columns of the row before an update. */
  readonly oldHidden: string | null
  /** Values of the primary key as texts; null without one. */
  readonly key: readonly string[] | null
  /** Values of the primary key before an update that changed it. */
  readonly oldKey: readonly string[] | null
}

const columns = sql`
  o.transaction_id::text as "transactionId", o.action, o.table_name as "table",
  o.record::text as record, o.old_record::text as "oldRecord",
  (o.is_partial is true or o.action = 'truncate') as "isGap",
  o.hidden::text as hidden, o.old_hidden::text as "oldHidden",
  (select array_agg(k) from json_array_elements_text(o.record_key::json) k) as key,
  (select array_agg(k) from json_array_elements_text(o.old_record_key::json) k) as "oldKey"`

const size = sql`octet_length(o.record::text) + coalesce(octet_length(o.old_record::text), 0)`

/** Size in bytes at which a batch ends. The batch includes the event that reaches it. */
const batchBytes = 1024 * 1024

/**
 * Reads events of these tables after a position. @param upTo snapshot up to which to read; by default the current one
 */
export function readLog(
  database: Queryable,
  from: Position,
  tables: readonly string[],
  limit: number,
  upTo?: string,
): Promise<Batch<LogEvent>> {
  const query = {
    table: sql`basalt.outbox`,
    where: sql`o.table_name = any (${tables})`,
    columns,
    size,
    limit,
    batchBytes,
  }
  return readBatch<LogEvent>(database, from, query, upTo)
}

/** Returns the bounds by which to check that the log still holds everything after a position. */
export async function readLogBounds(
  database: Queryable,
): Promise<{ pruned: bigint; end: bigint; timeline: number | undefined }> {
  const { pruned, end, timeline } = await database.one<{
    pruned: string
    end: string
    timeline: number | null
  }>(sql`
    select transaction_id::text as pruned, pg_snapshot_xmax(pg_current_snapshot())::text as end,
      basalt.timeline() as timeline
    from basalt.outbox_pruned`)
  return { pruned: BigInt(pruned), end: BigInt(end), timeline: timeline ?? undefined }
}

/** Event of the past, with its time. */
export interface PastEvent extends LogEvent {
  readonly happenedAt: Date
}

export interface PastQuery {
  /** Id after which the events come. */
  readonly after: string
  readonly tables: readonly string[]
  readonly from: Date | undefined
  readonly limit: number
}

/**
 * Reads events of these tables in the order of the log, at most one batch, from at most {@link scanLimit} rows.
 *
 * @returns the id after which there may be more events; undefined at the end of the log
 */
export async function readPast(
  database: Queryable,
  { after, tables, from, limit }: PastQuery,
): Promise<{ readonly events: readonly PastEvent[]; readonly next: string | undefined }> {
  const scanned = sql`select * from basalt.outbox where id > ${after}::bigint order by id limit ${scanLimit}::int`
  const events = await database.many<PastEvent & Record<string, unknown>>(sql`
    select o.id::text as id, o.happened_at as "happenedAt", ${columns}
    from (
      select o.*, sum(${size}) over (order by o.id rows between unbounded preceding and 1 preceding) as bytes_before
      from (
        select o.* from (${scanned}) o
        where o.table_name = any (${tables})
          ${from === undefined ? sql.empty : sql`and o.happened_at >= ${from}::timestamptz`}
        order by o.id limit ${limit}::int
      ) o
    ) o
    where coalesce(o.bytes_before, 0) < ${batchBytes}::int
    order by o.id`)
  const last = events.at(-1)
  if (last !== undefined) return { events, next: last.id }
  const end = await database.maybeOne<{ id: string }>(sql`
    select o.id::text from basalt.outbox o where o.id > ${after}::bigint
    order by o.id limit 1 offset ${scanLimit - 1}::int`)
  return { events, next: end?.id }
}
