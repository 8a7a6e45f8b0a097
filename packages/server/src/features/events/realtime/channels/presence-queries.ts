import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { nodeLifeSeconds } from '../connections.ts'
import type { Membership } from '../stream.ts'

/** A connection that shows itself on a channel. */
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
    with seated as (
      insert into basalt.realtime_presence as p (channel, connection_id, node, user_id, presence)
      values (${channel}, ${stream.id}::uuid, ${node}::uuid, ${stream.listener.userId ?? null}, ${presence ?? null}::json)
      on conflict (channel, connection_id) do update
      set presence = excluded.presence, node = excluded.node, left_at = null
      -- Nothing has locked a row that is new.
      returning p.*, p.xmax = 0 as is_new
    )
    insert into basalt.realtime_messages (kind, node, channel, connection_id, payload)
    select case when is_new then 'join' else 'update' end, node, channel, connection_id, presence
    from seated`)
}

export async function deletePresence(database: Queryable, { stream, channel }: Membership): Promise<void> {
  await database.count(sql`
    with gone as (
      delete from basalt.realtime_presence
      where channel = ${channel} and connection_id = ${stream.id}::uuid
      returning node, channel, connection_id, presence
    )
    insert into basalt.realtime_messages (kind, node, channel, connection_id, payload)
    select 'leave', node, channel, connection_id, presence from gone`)
}

/** The connections have ended; their presences leave when the timeout has passed. */
export async function markLeft(database: Queryable, connectionIds: readonly string[]): Promise<void> {
  await database.count(sql`
    update basalt.realtime_presence set left_at = now()
    where connection_id = any (${connectionIds}::uuid[]) and left_at is null`)
}

/**
 * Removes those whose time is up and those of dead nodes.
 *
 * @param spareNodes whether nodes that seem dead may just be waking up
 * @returns whether anything is left that may have to be removed one day
 */
export async function deleteLeft(
  database: Queryable,
  leaveSeconds: number,
  spareNodes: boolean,
): Promise<boolean> {
  // The nodes that have presences are found one by one in the index: the table is not read as a whole.
  const { is_left } = await database.one<{ is_left: boolean }>(sql`
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
    gone as (
      -- A row that changes meanwhile is another one: it is looked at the next time.
      delete from basalt.realtime_presence where ctid = any (array(
        select ctid from basalt.realtime_presence
        where left_at <= now() - make_interval(secs => ${leaveSeconds}::int)
        union all
        select p.ctid
        from dead
        cross join lateral (
          -- A range, which the planner takes for a small part of the table whatever it believes of the nodes.
          select ctid from basalt.realtime_presence
          where node >= dead.id and node <= dead.id and left_at is null
          offset 0
        ) p
      ))
      returning node, channel, connection_id, presence
    ),
    left_messages as (
      insert into basalt.realtime_messages (kind, node, channel, connection_id, payload)
      select 'leave', node, channel, connection_id, presence from gone
    )
    select exists (select from (select from basalt.realtime_presence order by node limit 1) p)
      or exists (select from (select from basalt.realtime_messages order by id limit 1) m) as is_left`)
  return is_left
}

export async function countOwnPresences(database: Queryable, node: string): Promise<number> {
  const { count } = await database.one<{ count: number }>(sql`
    select count(*)::int as count from basalt.realtime_presence where node = ${node}::uuid and left_at is null`)
  return count
}

/** Makes the presences of a node what it knows them to be. @param known memberships that show one */
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
    with back as (
      insert into basalt.realtime_presence as p (channel, connection_id, node, user_id, presence)
      select channel, connection_id, ${node}::uuid, user_id, presence from ${rows}
      -- In one order everywhere, so that nodes do not wait for each other in a ring.
      order by channel, connection_id
      on conflict (channel, connection_id) do update set left_at = null, node = excluded.node
      where p.left_at is not null or p.node <> excluded.node
      returning p.node, p.channel, p.connection_id, p.presence
    )
    insert into basalt.realtime_messages (kind, node, channel, connection_id, payload)
    select 'join', node, channel, connection_id, presence from back`)
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

/** Connections by channel, on nodes that are alive. */
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
