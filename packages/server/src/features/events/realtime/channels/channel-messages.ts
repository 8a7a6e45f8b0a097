import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { type Batch, readBatch } from '../changes/batch.ts'
import type { Position } from '../changes/position.ts'

/** A message on a channel. */
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

/** Announced after a commit that has added messages. */
export const channelTopic = 'realtime_messages'

/** Retention of messages; a node that does not read them by then has missed them. */
export const messageLifeSeconds = 60

/** A batch ends with the message that fills it. */
const batchBytes = 4 * 1024 * 1024
/** Messages that one statement removes, and statements of one pass: no pass takes long. */
const pruneSize = 10_000
const statementsPerPass = 10

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
 * Reads messages of these channels beyond a position, except what was broadcast from this node: its members have been
 * sent that.
 */
export function readMessages(
  database: Queryable,
  from: Position,
  node: string,
  channels: readonly string[],
  limit: number,
): Promise<Batch<ChannelMessage>> {
  return readBatch<ChannelMessage>(database, from, {
    table: sql`basalt.realtime_messages`,
    where: sql`o.channel = any (${channels}) and (o.kind <> 'broadcast' or o.node <> ${node}::uuid)`,
    columns: sql`o.channel, o.kind, o.connection_id as "connectionId", o.event, o.payload::text as payload`,
    size: sql`octet_length(o.payload::text)`,
    limit,
    batchBytes,
  })
}

/**
 * Removes messages whose time is up, by id, which grows with age.
 *
 * @returns whether none is left; else the next pass is due at once
 */
export async function pruneMessages(database: Queryable): Promise<boolean> {
  const isOld = sql`created_at < now() - make_interval(secs => ${messageLifeSeconds}::int)`
  let after = '0'
  for (let statement = 0; statement < statementsPerPass; statement += 1) {
    const page = await database.maybeOne<{ last: string | null }>(sql`
      with oldest as materialized (
        select id, ${isOld} as is_old from basalt.realtime_messages where id > ${after}::bigint
        order by id
        -- Little is read while the oldest are young.
        limit (
          select case when bool_or(${isOld}) then ${pruneSize}::int else 0 end
          from (
            select created_at from basalt.realtime_messages where id > ${after}::bigint order by id limit 100
          ) oldest
        )
      ),
      deleted as (
        delete from basalt.realtime_messages where id = any (array(select id from oldest where is_old))
      )
      select max(id) filter (where is_old)::text as last from oldest
      having count(*) = ${pruneSize}::int`)
    const last = page?.last ?? undefined
    if (last === undefined) return true
    // Not from the beginning again, where the index still holds what has been removed.
    after = last
  }
  return false
}
