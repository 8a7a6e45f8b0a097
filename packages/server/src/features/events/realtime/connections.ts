import { sql } from '../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import { type Answered, choice, component, nullable, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import type { Listener, Stream } from './stream.ts'

/** Seconds after which an unseen node is dead, together with its streams. */
export const nodeLifeSeconds = 10

/** Open stream of a client. */
export const RealtimeConnection = component(
  'RealtimeConnection',
  Type.Object({
    id: Type.String({ format: 'uuid', description: 'The `clientId` of the event `connected`.' }),
    transport: choice(['sse', 'ws']),
    userId: nullable(Type.String(), {
      description:
        'Id of the user. null for administrators, for programs that act for no user, for requests without a token, and while auth is off.',
    }),
    address: Type.String(),
    node: Type.String({ format: 'uuid' }),
    tables: Type.Array(Type.String()),
    channels: Type.Array(Type.String()),
    connectedAt: timestamp,
  }),
)
export type RealtimeConnection = Answered<typeof RealtimeConnection>

/** Maximum number of streams of one user, and of one address without a token, over all nodes. */
export interface ConnectionLimits {
  readonly perUser: number
  readonly perAddress: number
}

/** Prefix of an app’s account in `user_id`, by which the streams of a user or app are counted. */
const appPrefix = 'app '

function accountOf({ userId, appId }: Listener): string | null {
  return userId ?? (appId === undefined ? null : `${appPrefix}${appId}`)
}

/**
 * Inserts a stream unless its user, or its address if it has no token, has reached the limit. @returns true if it was
 * inserted
 */
export async function insertConnection(
  database: Queryable,
  node: string,
  { id, transport, listener, address }: Stream,
  { perUser, perAddress }: ConnectionLimits,
): Promise<boolean> {
  const { is_open } = await database.one<{ is_open: boolean }>(sql`
    select basalt.open_realtime_connection(
      ${id}::uuid, ${node}::uuid, ${transport.name}, ${accountOf(listener)}, ${address}, ${perUser}::int,
      ${listener.scope.kind === 'anonymous' ? perAddress : null}::int
    ) as is_open`)
  return is_open
}

/** Saves the subscriptions of streams of this node, including streams whose rows were lost. */
export async function saveConnections(
  database: Queryable,
  node: string,
  streams: readonly Stream[],
): Promise<void> {
  const rows = streams.map((stream) => ({
    id: stream.id,
    transport: stream.transport.name,
    user_id: accountOf(stream.listener),
    address: stream.address,
    tables: stream.tables,
    channels: [...stream.channels.keys()],
    connected_at: stream.connectedAt.toISOString(),
  }))
  await database.count(sql`
    insert into basalt.realtime_connections
      (id, node, transport, user_id, address, tables, channels, connected_at)
    select id, ${node}::uuid, transport, user_id, address, tables, channels, connected_at
    from json_to_recordset(${JSON.stringify(rows)}::json) as r (
      id uuid, transport text, user_id text, address text, tables text[], channels text[], connected_at timestamptz
    )
    on conflict (id) do update set tables = excluded.tables, channels = excluded.channels`)
}

export async function deleteConnections(database: Queryable, ids: readonly string[]): Promise<void> {
  await database.count(sql`delete from basalt.realtime_connections where id = any (${ids}::uuid[])`)
}

/** Marks the node as alive. @returns false if the node was unknown */
export async function touchNode(
  database: Queryable,
  node: string,
  counters: { readonly droppedMessages: number; readonly heartbeatFailures: number },
): Promise<boolean> {
  const count = await database.count(sql`
    update basalt.realtime_nodes set seen_at = now(),
      dropped_messages = ${counters.droppedMessages}::bigint,
      heartbeat_failures = ${counters.heartbeatFailures}::bigint
    where id = ${node}::uuid`)
  return count === 1
}

export async function insertNode(database: Queryable, node: string): Promise<void> {
  await database.count(sql`
    insert into basalt.realtime_nodes (id) values (${node}::uuid)
    on conflict (id) do update set seen_at = now()`)
}

/** Deletes a node together with its connections. */
export async function deleteNode(database: Queryable, node: string): Promise<void> {
  await database.count(sql`delete from basalt.realtime_nodes where id = ${node}::uuid`)
}

/** Lists the streams of live nodes, oldest first. */
export function listConnections(database: SystemDatabase): Promise<RealtimeConnection[]> {
  return database.many<RealtimeConnection>(sql`
    select c.id, c.node, c.transport,
      case when not starts_with(c.user_id, ${appPrefix}) then c.user_id end as "userId", c.address, c.tables, c.channels,
      c.connected_at as "connectedAt"
    from basalt.realtime_connections c
    join basalt.realtime_nodes n on n.id = c.node
    where n.seen_at > now() - make_interval(secs => ${nodeLifeSeconds}::int)
    order by c.connected_at, c.id`)
}

/** Sets the mark by which the node of the stream ends it. @returns false if there is no such stream */
export async function requestDisconnect(database: Queryable, id: string): Promise<boolean> {
  const count = await database.count(sql`
    update basalt.realtime_connections c set is_unwanted = true
    from basalt.realtime_nodes n
    where c.id = ${id}::uuid and n.id = c.node
      and n.seen_at > now() - make_interval(secs => ${nodeLifeSeconds}::int)`)
  return count === 1
}

export async function findDisconnectRequests(database: Queryable, node: string): Promise<readonly string[]> {
  const rows = await database.many<{ id: string }>(sql`
    select id from basalt.realtime_connections where node = ${node}::uuid and is_unwanted`)
  return rows.map(({ id }) => id)
}

/** Returns the sums of the counters of live nodes. */
export async function sumCounters(
  database: Queryable,
): Promise<{ droppedMessages: number; heartbeatFailures: number }> {
  return await database.one<{ droppedMessages: number; heartbeatFailures: number }>(sql`
    select coalesce(sum(dropped_messages), 0)::float8 as "droppedMessages",
      coalesce(sum(heartbeat_failures), 0)::float8 as "heartbeatFailures"
    from basalt.realtime_nodes
    where seen_at > now() - make_interval(secs => ${nodeLifeSeconds}::int)`)
}
