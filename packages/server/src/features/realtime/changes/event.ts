import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { Position } from './position.ts'

/** One change of one record, from the log. */
export interface LogEvent {
  /** Of `basalt.outbox`. */
  readonly id: string
  readonly transactionId: string
  readonly action: 'create' | 'update' | 'delete'
  readonly table: string
  /** JSON of the whole row: as it is now, or as it was deleted. */
  readonly record: string
  /** JSON of the row before an update. */
  readonly oldRecord: string | null
  /** Values of the primary key as texts; null where there is none. */
  readonly key: readonly string[] | null
  /** The same before an update that changed it. */
  readonly oldKey: readonly string[] | null
}

/** Events in the order of the log, and where they begin. */
export interface Batch<Event extends { readonly id: string } = LogEvent> {
  readonly from: Position
  readonly events: readonly Event[]
  /** The snapshot that was read. */
  readonly target: string
  /** Whether that snapshot holds no more of them. */
  readonly isComplete: boolean
}

/** The place after an event of the batch. */
export function positionAfter(
  { from, events, target, isComplete }: Batch<{ readonly id: string }>,
  index: number,
): Position {
  const isLast = index === events.length - 1
  if (isLast && isComplete) return { passed: target }
  return { passed: from.passed, within: { target, id: events[index]?.id ?? '0' } }
}

/** The place after the batch. */
export function positionBehind(batch: Batch<{ readonly id: string }>): Position {
  return batch.events.length === 0 ? { passed: batch.target } : positionAfter(batch, batch.events.length - 1)
}

/** A batch ends with the event that fills it. */
const batchBytes = 1024 * 1024

/**
 * Reads events of these tables beyond a position: those that a new snapshot sees and the position does not (README of
 * events).
 *
 * @throws DatabaseError 22P02 when the position is none
 */
export async function readLog(
  database: Queryable,
  from: Position,
  tables: readonly string[],
  limit: number,
): Promise<Batch> {
  const { passed, within } = from
  if (within === undefined) {
    const target = await findQuietEnd(database, passed)
    if (target !== undefined) return { from, events: [], target, isComplete: true }
  }
  const isTaken = sql`
    o.table_name = any (${tables})
    ${within === undefined ? sql.empty : sql`and pg_visible_in_snapshot(o.transaction_id, ${within.target}::pg_snapshot)`}`
  // One more than wanted tells whether there are more.
  const page = sql`limit ${limit + 1}::int`
  const rows = await database.many<EventRow & Record<string, unknown>>(sql`
    with news as materialized (${within === undefined || within.id === '0' ? first() : further(within.id)}),
    next as (
      select o.*, row_number() over (order by o.id) as place,
        sum(octet_length(o.record::text) + coalesce(octet_length(o.old_record::text), 0))
          over (order by o.id rows between unbounded preceding and 1 preceding) as bytes_before
      from basalt.outbox o
      where o.id in (select id from news)
    )
    select s.snapshot, s.count, e.*
    from (select pg_current_snapshot()::text, (select count(*) from news)::int) s (snapshot, count)
    left join (
      select o.id::text as id, o.transaction_id::text as "transactionId", o.action, o.table_name as "table",
        o.record::text as record, o.old_record::text as "oldRecord",
        (select array_agg(k) from json_array_elements_text(o.record_key::json) k) as key,
        (select array_agg(k) from json_array_elements_text(o.old_record_key::json) k) as "oldKey"
      from next o
      where o.place <= ${limit}::int and coalesce(o.bytes_before, 0) < ${batchBytes}::int
    ) e on true
    order by e.id::bigint`)
  const events = rows.flatMap(({ snapshot: _snapshot, count: _count, id, ...rest }) =>
    id === null ? [] : [{ id, ...rest }],
  )
  return {
    from,
    events,
    target: within?.target ?? rows[0]?.snapshot ?? passed,
    isComplete: events.length === rows[0]?.count,
  }

  /** By transaction: what is new is a small part of the log. */
  function first(): Sql {
    return sql`
      select id from (
        select o.id from basalt.outbox o
        where o.transaction_id >= pg_snapshot_xmax(${passed}::pg_snapshot) and ${isTaken}
        union all
        select o.id from basalt.outbox o
        where o.transaction_id = any (array(select pg_snapshot_xip(${passed}::pg_snapshot))) and ${isTaken}
      ) o
      order by id ${page}`
  }

  /** By id, which goes on where the page before has ended, however much there is. */
  function further(after: string): Sql {
    return sql`
      select o.id from basalt.outbox o
      where o.id > ${after}::bigint and not pg_visible_in_snapshot(o.transaction_id, ${passed}::pg_snapshot) and ${isTaken}
      order by o.id ${page}`
  }
}

/** The newest snapshot, if the log holds nothing that the older one does not see: by far the cheaper question. */
async function findQuietEnd(database: Queryable, passed: string): Promise<string | undefined> {
  const { snapshot, has_news } = await database.one<{ snapshot: string; has_news: boolean }>(sql`
    select pg_current_snapshot()::text as snapshot,
      exists (select from basalt.outbox where transaction_id >= pg_snapshot_xmax(${passed}::pg_snapshot))
      or exists (
        select from basalt.outbox
        where transaction_id = any (array(select pg_snapshot_xip(${passed}::pg_snapshot)))
      ) as has_news`)
  return has_news ? undefined : snapshot
}

type EventRow = Omit<LogEvent, 'id'> & {
  readonly id: string | null
  readonly snapshot: string
  readonly count: number
}

/** The end of the log as it is now. */
export async function readEnd(database: Queryable): Promise<Position> {
  const { snapshot } = await database.one<{ snapshot: string }>(
    sql`select pg_current_snapshot()::text as snapshot`,
  )
  return { passed: snapshot }
}

/** What is needed to say whether the log still holds all that comes after a position. */
export async function readLogBounds(database: Queryable): Promise<{ pruned: bigint; end: bigint }> {
  const { pruned, end } = await database.one<{ pruned: string; end: string }>(sql`
    select transaction_id::text as pruned, pg_snapshot_xmax(pg_current_snapshot())::text as end
    from basalt.outbox_pruned`)
  return { pruned: BigInt(pruned), end: BigInt(end) }
}
