import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { Batch } from '../changes/event.ts'
import type { Position } from '../changes/position.ts'

/** What is said on a channel. */
export interface ChannelMessage {
  /** Of `basalt.realtime_messages`. */
  readonly id: string
  readonly channel: string
  readonly kind: 'broadcast' | 'join' | 'update' | 'leave'
  readonly connectionId: string
  /** Of a broadcast. */
  readonly event: string | null
  /** JSON as the sender wrote it. */
  readonly payload: string | null
}

export interface Broadcast {
  readonly channel: string
  readonly connectionId: string
  readonly event: string
  /** JSON. */
  readonly payload: string
}

/** Messages stay for so long; who does not read them by then has missed them. */
export const messageLifeSeconds = 60

/** A batch ends with the message that fills it. */
const batchBytes = 4 * 1024 * 1024
const pruneSize = 10_000

/** In this order. */
export async function insertBroadcasts(
  database: Queryable,
  node: string,
  broadcasts: readonly Broadcast[],
): Promise<void> {
  await database.count(sql`
    insert into basalt.realtime_messages (kind, node, channel, connection_id, event, payload)
    select 'broadcast', ${node}::uuid, channel, connection_id, event, payload
    from unnest(
      ${broadcasts.map(({ channel }) => channel)}::text[],
      ${broadcasts.map(({ connectionId }) => connectionId)}::uuid[],
      ${broadcasts.map(({ event }) => event)}::text[],
      ${broadcasts.map(({ payload }) => payload)}::json[]
    ) with ordinality as b (channel, connection_id, event, payload, place)
    order by place`)
}

/**
 * Reads messages of these channels beyond a position, except what was broadcast from this node: whoever is here has
 * been told.
 */
export async function readMessages(
  database: Queryable,
  from: Position,
  node: string,
  channels: readonly string[],
  limit: number,
): Promise<Batch<ChannelMessage>> {
  const { passed, within } = from
  const filter = sql`
    m.channel = any (${channels})
    and (m.kind <> 'broadcast' or m.node <> ${node}::uuid)
    and m.id > ${within?.id ?? '0'}::bigint
    ${within === undefined ? sql.empty : sql`and pg_visible_in_snapshot(m.transaction_id, ${within.target}::pg_snapshot)`}`
  const rows = await database.many<MessageRow & Record<string, unknown>>(sql`
    with news as materialized (
      select m.id from basalt.realtime_messages m
      where m.transaction_id >= pg_snapshot_xmax(${passed}::pg_snapshot) and ${filter}
      union all
      select m.id from basalt.realtime_messages m
      where m.transaction_id = any (array(select pg_snapshot_xip(${passed}::pg_snapshot))) and ${filter}
    ),
    next as (
      select m.*, sum(octet_length(m.payload::text))
        over (order by m.id rows between unbounded preceding and 1 preceding) as bytes_before
      from basalt.realtime_messages m
      where m.id in (select id from news order by id limit ${limit}::int)
    )
    select s.snapshot, s.count, e.*
    from (select pg_current_snapshot()::text, (select count(*) from news)::int) s (snapshot, count)
    left join (
      select m.id::text as id, m.channel, m.kind, m.connection_id as "connectionId", m.event,
        m.payload::text as payload
      from next m
      where coalesce(bytes_before, 0) < ${batchBytes}::int
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
}

type MessageRow = Omit<ChannelMessage, 'id'> & {
  readonly id: string | null
  readonly snapshot: string
  readonly count: number
}

/** By id, which grows with age. */
export async function pruneMessages(database: Queryable): Promise<void> {
  await database.count(sql`
    delete from basalt.realtime_messages
    where id in (select id from basalt.realtime_messages order by id limit ${pruneSize}::int)
      and created_at < now() - make_interval(secs => ${messageLifeSeconds}::int)`)
}
