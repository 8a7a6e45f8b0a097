import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { nodeLifeSeconds } from '../connections.ts'
import type { Membership } from '../stream.ts'

/** Presence of a connection on a channel. */
export interface Presence {
  readonly channel: string
  readonly connectionId: string
  /** JSON of an object. */
  readonly presence: string
}

/*
 * Each change and its message are one statement, so that each change has exactly one message. The number of the
 * message is handed out while the row is locked, so that changes of one presence are read in their order.
 */

export async function insertPresence(
  database: Queryable,
  node: string,
  { stream, channel, presence }: Membership,
): Promise<void> {
  await database.count(sql`
    with upserted as (
      insert into basalt.realtime_presence as p (channel, connection_id, node, user_id, presence)
      values (${channel}, ${stream.id}::uuid, ${node}::uuid, ${stream.listener.userId ?? null}, ${presence ?? null}::json)
      on conflict (channel, connection_id) do update
      set presence = excluded.presence, node = excluded.node, left_at = null
      -- Only a row that is new has not been locked.
      returning p.*, p.xmax = 0 as is_new
    )
    insert into basalt.realtime_messages (kind, node, channel, connection_id, payload)
    select case when is_new then 'join' else 'update' end, node, channel, connection_id, presence
    from upserted`)
}

export async function deletePresence(database: Queryable, { stream, channel }: Membership): Promise<void> {
  await database.count(sql`
    with deleted as (
      delete from basalt.realtime_presence
      where channel = ${channel} and connection_id = ${stream.id}::uuid
      returning node, channel, connection_id, presence
    )
    insert into basalt.realtime_messages (kind, node, channel, connection_id, payload)
    select 'leave', node, channel, connection_id, presence from deleted`)
}

/** Marks the presences of disconnected clients. They leave after the timeout. */
export async function markDisconnected(database: Queryable, connectionIds: readonly string[]): Promise<void> {
  await database.count(sql`
    update basalt.realtime_presence set left_at = now()
    where connection_id = any (${connectionIds}::uuid[]) and left_at is null`)
}

/**
 * Removes presences whose timeout has passed and those of dead nodes.
 *
 * @param spareNodes true if nodes that seem dead may just be reconnecting
 * @returns true if anything is left that may have to be removed later
 */
export async function deleteExpired(
  database: Queryable,
  leaveSeconds: number,
  spareNodes: boolean,
): Promise<boolean> {
  // An index finds the nodes with presences one by one, so that the table is not read as a whole.
  const { has_remaining } = await database.one<{ has_remaining: boolean }>(sql`
    with recursive node (id) as (
      (select node from basalt.realtime_presence order by node limit 1)
      union all
      select (select p.node from basalt.realtime_presence p where p.node > n.id order by p.node limit 1)
      from node n
      where n.id is not null
    ),
    dead as (
      select id from node
      where id is not null and not ${spareNodes}::bool and not exists (
        select from basalt.realtime_nodes n
        where n.id = node.id and n.seen_at > now() - make_interval(secs => ${nodeLifeSeconds}::int)
      )
    ),
    deleted as (
      -- A row that changes meanwhile has another version and is checked the next time.
      delete from basalt.realtime_presence where ctid = any (array(
        select ctid from basalt.realtime_presence
        where left_at <= now() - make_interval(secs => ${leaveSeconds}::int)
        union all
        select p.ctid
        from dead
        cross join lateral (
          -- The planner expects a small part of the table from this range, whatever it believes about the nodes.
          select ctid from basalt.realtime_presence
          where node >= dead.id and node <= dead.id and left_at is null
          offset 0
        ) p
      ))
      returning node, channel, connection_id, presence
    ),
    leave_messages as (
      insert into basalt.realtime_messages (kind, node, channel, connection_id, payload)
      select 'leave', node, channel, connection_id, presence from deleted
    )
    select exists (select from (select from basalt.realtime_presence order by node limit 1) p)
      or exists (select from (select from basalt.realtime_messages order by id limit 1) m) as has_remaining`)
  return has_remaining
}

export async function countOwnPresences(database: Queryable, node: string): Promise<number> {
  const { count } = await database.one<{ count: number }>(sql`
    select count(*)::int as count from basalt.realtime_presence where node = ${node}::uuid and left_at is null`)
  return count
}

/** Makes the stored presences of a node equal to those that it knows. @param known memberships with a presence */
export async function restorePresences(
  database: Queryable,
  node: string,
  known: readonly Membership[],
): Promise<void> {
  const rows = sql`unnest(
    ${known.map(({ channel }) => channel)}::text[],
    ${known.map(({ stream }) => stream.id)}::uuid[],
    ${known.map(({ stream }) => stream.listener.userId ?? null)}::text[],
    ${known.map(({ presence }) => presence ?? null)}::json[]
  ) as k (channel, connection_id, user_id, presence)`
  await database.count(sql`
    with restored as (
      insert into basalt.realtime_presence as p (channel, connection_id, node, user_id, presence)
      select channel, connection_id, ${node}::uuid, user_id, presence from ${rows}
      -- All nodes use the same order, so that they do not deadlock.
      order by channel, connection_id
      on conflict (channel, connection_id) do update set left_at = null, node = excluded.node
      where p.left_at is not null or p.node <> excluded.node
      returning p.node, p.channel, p.connection_id, p.presence
    )
    insert into basalt.realtime_messages (kind, node, channel, connection_id, payload)
    select 'join', node, channel, connection_id, presence from restored`)
  await database.count(sql`
    update basalt.realtime_presence p set left_at = now()
    where p.node = ${node}::uuid and p.left_at is null
      and not exists (
        select from ${rows} where k.channel = p.channel and k.connection_id = p.connection_id
      )`)
}

/** Returns the presences by channel. */
export async function listPresences(
  database: Queryable,
  channels: readonly string[],
): Promise<ReadonlyMap<string, readonly Presence[]>> {
  const rows = await database.many<Presence & Record<string, unknown>>(sql`
    select channel, connection_id as "connectionId", presence::text as presence
    from basalt.realtime_presence
    where channel = any (${channels})
    order by channel, connection_id`)
  return Map.groupBy(rows, ({ channel }) => channel)
}

/** Counts connections by channel, on live nodes. */
export async function countPresences(database: Queryable): Promise<Readonly<Record<string, number>>> {
  const rows = await database.many<{ channel: string; count: number }>(sql`
    select p.channel, count(*)::int as count
    from basalt.realtime_presence p
    join basalt.realtime_nodes n on n.id = p.node
    where p.left_at is null and n.seen_at > now() - make_interval(secs => ${nodeLifeSeconds}::int)
    group by p.channel
    order by p.channel`)
  return Object.fromEntries(rows.map(({ channel, count }) => [channel, count]))
}
