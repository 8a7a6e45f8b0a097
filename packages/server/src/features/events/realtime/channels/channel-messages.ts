import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { type Batch, readBatch } from '../changes/batch.ts'
import type { Position } from '../changes/position.ts'

/** Message on a channel. */
export interface ChannelMessage {
  /** Id in `basalt.realtime_messages`. */
  readonly id: string
  readonly channel: string
  readonly kind: 'broadcast' | 'join' | 'update' | 'leave'
  readonly connectionId: string
  /** Event name of a broadcast. */
  readonly event: string | null
  /** JSON as the sender wrote it. */
  readonly payload: string | null
}

export interface Broadcast {
  readonly channel: string
  readonly connectionId: string
  readonly event: string
  /** JSON of the payload. */
  readonly payload: string
}

/** Topic that is announced after a commit with new messages. */
export const channelTopic = 'realtime_messages'

/** Retention of messages in seconds. A node that does not read them in this time has missed them. */
export const messageLifeSeconds = 60

/** Size in bytes at which a batch ends. The batch includes the message that reaches it. */
const batchBytes = 4 * 1024 * 1024
/** Maximum messages that one statement removes, and maximum statements of one pass, so that no pass takes long. */
const pruneSize = 10_000
const statementsPerPass = 10

/** Inserts broadcasts in this order. */
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
    ) with ordinality as b (channel, connection_id, event, payload, ordinal)
    order by ordinal`)
}

/**
 * Reads messages of these channels after a position, except broadcasts of this node, which its members have received.
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
 * Removes expired messages by id, which grows with age.
 *
 * @returns true if none is left; otherwise the next pass is due at once
 */
export async function pruneMessages(database: Queryable): Promise<boolean> {
  const isOld = sql`created_at < now() - make_interval(secs => ${messageLifeSeconds}::int)`
  let after = '0'
  for (let statement = 0; statement < statementsPerPass; statement += 1) {
    const page = await database.maybeOne<{ last: string | null }>(sql`
      with oldest as materialized (
        select id, ${isOld} as is_old from basalt.realtime_messages where id > ${after}::bigint
        order by id
        -- Few rows are read while the oldest messages are young.
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
    // The next statement starts after these rows, because the index still holds removed rows.
    after = last
  }
  return false
}
