import { type Sql, sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { hasRowsBeyond } from '../../outbox/index.ts'
import type { Position } from './position.ts'

/** Rows of a log in order, with the position at which they begin. */
export interface Batch<Event extends { readonly id: string }> {
  readonly from: Position
  readonly events: readonly Event[]
  /** Snapshot up to which the log was read. */
  readonly target: string
  /** Timeline on which the log was read; undefined if it is unknown. */
  readonly timeline: number | undefined
  /** True if that snapshot has no further rows. */
  readonly isComplete: boolean
}

type AnyBatch = Batch<{ readonly id: string }>

/** Returns the position after one event of the batch. */
export function positionAfter(
  { from, events, target, timeline, isComplete }: AnyBatch,
  index: number,
): Position {
  const isLast = index === events.length - 1
  if (isLast && isComplete) return { timeline, passed: target }
  return { timeline, passed: from.passed, within: { target, id: events[index]?.id ?? '0' } }
}

/** Returns the position after the whole batch. */
export function positionAfterBatch(batch: AnyBatch): Position {
  const { events, timeline, target } = batch
  return events.length === 0 ? { timeline, passed: target } : positionAfter(batch, events.length - 1)
}

/** Returns the current end of every log. */
export async function readEnd(database: Queryable): Promise<Position> {
  const { snapshot, timeline } = await database.one<{ snapshot: string; timeline: number | null }>(
    sql`select pg_current_snapshot()::text as snapshot, basalt.timeline() as timeline`,
  )
  return { timeline: timeline ?? undefined, passed: snapshot }
}

/** Query on a log: a table with the columns `id` and `transaction_id`, whose rows are written once. */
export interface LogQuery {
  readonly table: Sql
  /** Condition on rows `o` of the log. */
  readonly where: Sql
  /** Columns to read of a row `o`, beside its id. */
  readonly columns: Sql
  /** Size of a row `o` in bytes. */
  readonly size: Sql
  /** Maximum number of rows. */
  readonly limit: number
  /** Size in bytes at which a batch ends. The batch includes the row that reaches it. */
  readonly batchBytes: number
}

/**
 * Reads the log after a position: the rows that a new snapshot sees and the position does not (README of the outbox).
 *
 * @param upTo the new snapshot; by default the current one
 * @throws DatabaseError 22P02 for an invalid position
 */
export async function readBatch<Event extends { readonly id: string }>(
  database: Queryable,
  from: Position,
  { table, where, columns, size, limit, batchBytes }: LogQuery,
  upTo?: string,
): Promise<Batch<Event>> {
  const { passed, within } = from
  if (within === undefined) {
    const idleEnd = await findIdleEnd(database, table, passed)
    if (idleEnd !== undefined) {
      const { timeline, passed: end } = idleEnd
      return { from, events: [], target: upTo ?? end, timeline, isComplete: true }
    }
  }
  const target = within?.target ?? upTo
  const matches =
    target === undefined
      ? where
      : sql`${where} and pg_visible_in_snapshot(o.transaction_id, ${target}::pg_snapshot)`
  // One row beyond the limit shows whether there are more.
  const page = sql`limit ${limit + 1}::int`
  const rows = await database.many<Row>(sql`
    with unread as materialized (${within === undefined || within.id === '0' ? first() : next(within.id)}),
    next as (
      select o.*, row_number() over (order by o.id) as ordinal,
        sum(${size}) over (order by o.id rows between unbounded preceding and 1 preceding) as bytes_before
      from ${table} o
      where o.id in (select id from unread)
    )
    select s.snapshot, s.timeline, s.count, e.*
    from (
      select pg_current_snapshot()::text, basalt.timeline(), (select count(*) from unread)::int
    ) s (snapshot, timeline, count)
    left join (
      select o.id::text as id, ${columns}
      from next o
      where o.ordinal <= ${limit}::int and coalesce(o.bytes_before, 0) < ${batchBytes}::int
    ) e on true
    order by e.id::bigint`)
  // The query selects the columns of the event.
  const events = rows.flatMap(({ snapshot: _snapshot, timeline: _timeline, count: _count, ...event }) =>
    event.id === null ? [] : [event as unknown as Event],
  )
  return {
    from,
    events,
    target: target ?? rows[0]?.snapshot ?? passed,
    timeline: rows[0]?.timeline ?? undefined,
    isComplete: events.length === rows[0]?.count,
  }

  /** Compiles the first page, by transaction, because unread rows are a small part of the log. */
  function first(): Sql {
    return sql`
      select id from (
        select o.id from ${table} o
        where o.transaction_id >= pg_snapshot_xmax(${passed}::pg_snapshot) and ${matches}
        union all
        select o.id from ${table} o
        where o.transaction_id = any (array(select pg_snapshot_xip(${passed}::pg_snapshot))) and ${matches}
      ) o
      order by id ${page}`
  }

  /** Compiles a later page, by id, which continues after the previous page however many rows there are. */
  function next(after: string): Sql {
    return sql`
      select o.id from ${table} o
      where o.id > ${after}::bigint and not pg_visible_in_snapshot(o.transaction_id, ${passed}::pg_snapshot) and ${matches}
      order by o.id ${page}`
  }
}

interface Row {
  readonly [column: string]: unknown
  readonly snapshot: string
  readonly timeline: number | null
  readonly count: number
  readonly id: string | null
}

/** Returns the newest position if the log has no rows beyond the older one. This query is by far the cheaper one. */
async function findIdleEnd(database: Queryable, table: Sql, passed: string): Promise<Position | undefined> {
  const { snapshot, timeline, has_unread } = await database.one<{
    snapshot: string
    timeline: number | null
    has_unread: boolean
  }>(sql`
    select pg_current_snapshot()::text as snapshot, basalt.timeline() as timeline,
      ${hasRowsBeyond(table, sql`${passed}::pg_snapshot`)} as has_unread`)
  return has_unread ? undefined : { timeline: timeline ?? undefined, passed: snapshot }
}
