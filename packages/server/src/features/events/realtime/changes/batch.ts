import { type Sql, sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { hasRowsBeyond } from '../../outbox/index.ts'
import type { Position } from './position.ts'

/** Rows of a log in their order, and where they begin. */
export interface Batch<Event extends { readonly id: string }> {
  readonly from: Position
  readonly events: readonly Event[]
  /** The snapshot that was read. */
  readonly target: string
  /** True if that snapshot holds no more of them. */
  readonly isComplete: boolean
}

type AnyBatch = Batch<{ readonly id: string }>

/** The position after an event of the batch. */
export function positionAfter({ from, events, target, isComplete }: AnyBatch, index: number): Position {
  const isLast = index === events.length - 1
  if (isLast && isComplete) return { passed: target }
  return { passed: from.passed, within: { target, id: events[index]?.id ?? '0' } }
}

/** The position after the whole batch. */
export function positionAfterBatch(batch: AnyBatch): Position {
  return batch.events.length === 0 ? { passed: batch.target } : positionAfter(batch, batch.events.length - 1)
}

/** The end of every log as it is now. */
export async function readEnd(database: Queryable): Promise<Position> {
  const { snapshot } = await database.one<{ snapshot: string }>(
    sql`select pg_current_snapshot()::text as snapshot`,
  )
  return { passed: snapshot }
}

/** A table with the columns `id` and `transaction_id`, each row of which is written once. */
export interface LogQuestion {
  readonly table: Sql
  /** A condition on rows `o` of it. */
  readonly where: Sql
  /** Columns that are read of a row `o`, beside its id. */
  readonly columns: Sql
  /** Size of a row `o` in bytes. */
  readonly size: Sql
  /** Rows at most. */
  readonly limit: number
  /** A batch ends with the row that fills it. */
  readonly batchBytes: number
}

/**
 * Reads on from a position: rows that a new snapshot sees and the position does not (README of events).
 *
 * @param upTo that snapshot; of now unless given
 * @throws DatabaseError 22P02 when the position is none
 */
export async function readBatch<Event extends { readonly id: string }>(
  database: Queryable,
  from: Position,
  { table, where, columns, size, limit, batchBytes }: LogQuestion,
  upTo?: string,
): Promise<Batch<Event>> {
  const { passed, within } = from
  if (within === undefined) {
    const quietEnd = await findQuietEnd(database, table, passed)
    if (quietEnd !== undefined) return { from, events: [], target: upTo ?? quietEnd, isComplete: true }
  }
  const target = within?.target ?? upTo
  const isTaken =
    target === undefined
      ? where
      : sql`${where} and pg_visible_in_snapshot(o.transaction_id, ${target}::pg_snapshot)`
  // One more than the limit shows whether there are more.
  const page = sql`limit ${limit + 1}::int`
  const rows = await database.many<Row>(sql`
    with news as materialized (${within === undefined || within.id === '0' ? first() : further(within.id)}),
    next as (
      select o.*, row_number() over (order by o.id) as ordinal,
        sum(${size}) over (order by o.id rows between unbounded preceding and 1 preceding) as bytes_before
      from ${table} o
      where o.id in (select id from news)
    )
    select s.snapshot, s.count, e.*
    from (select pg_current_snapshot()::text, (select count(*) from news)::int) s (snapshot, count)
    left join (
      select o.id::text as id, ${columns}
      from next o
      where o.ordinal <= ${limit}::int and coalesce(o.bytes_before, 0) < ${batchBytes}::int
    ) e on true
    order by e.id::bigint`)
  // The columns are those of the event, by the query.
  const events = rows.flatMap(({ snapshot: _snapshot, count: _count, ...event }) =>
    event.id === null ? [] : [event as unknown as Event],
  )
  return {
    from,
    events,
    target: target ?? rows[0]?.snapshot ?? passed,
    isComplete: events.length === rows[0]?.count,
  }

  /** By transaction: what is new is a small part of the log. */
  function first(): Sql {
    return sql`
      select id from (
        select o.id from ${table} o
        where o.transaction_id >= pg_snapshot_xmax(${passed}::pg_snapshot) and ${isTaken}
        union all
        select o.id from ${table} o
        where o.transaction_id = any (array(select pg_snapshot_xip(${passed}::pg_snapshot))) and ${isTaken}
      ) o
      order by id ${page}`
  }

  /** By id, which resumes where the page before ended, however much there is. */
  function further(after: string): Sql {
    return sql`
      select o.id from ${table} o
      where o.id > ${after}::bigint and not pg_visible_in_snapshot(o.transaction_id, ${passed}::pg_snapshot) and ${isTaken}
      order by o.id ${page}`
  }
}

interface Row {
  readonly [column: string]: unknown
  readonly snapshot: string
  readonly count: number
  readonly id: string | null
}

/** The newest snapshot, if the log holds nothing that the older one does not see: by far the cheaper question. */
async function findQuietEnd(database: Queryable, table: Sql, passed: string): Promise<string | undefined> {
  const { snapshot, has_news } = await database.one<{ snapshot: string; has_news: boolean }>(sql`
    select pg_current_snapshot()::text as snapshot, ${hasRowsBeyond(table, sql`${passed}::pg_snapshot`)} as has_news`)
  return has_news ? undefined : snapshot
}
