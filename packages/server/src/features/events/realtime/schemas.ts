import {
  bearerSecurity,
  component,
  listOf,
  noContent,
  requiredByHandler,
  responses,
} from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

const tags = ['realtime']
const timestamp = Type.String({ description: 'RFC 3339, UTC.' })

const streamParameters = {
  tables: Type.Optional(Type.String({ description: 'Tables to listen to, separated by commas. Required.' })),
  filter: Type.Optional(
    Type.String({
      description:
        '`column=operator.value`, joined by commas, all of which must hold; operators are eq, neq, gt, gte, lt, ' +
        'lte and in, whose values are separated by `|`. A value with a comma goes in double quotes.',
    }),
  ),
  lastEventId: Type.Optional(
    Type.String({ description: 'What `Last-Event-ID` says, where headers cannot be set.' }),
  ),
}

const streamResponse = responses({
  200: {
    description: 'The stream.',
    content: { 'text/event-stream': { schema: Type.String() } },
  },
})

export const streamSchema = {
  tags,
  security: bearerSecurity,
  summary: 'Listen to changes',
  description:
    'Server-sent events. First `connected` with `{"clientId"}`; then for each change an event without a name, ' +
    '`{"action","table","record"}`: the whole record after a create or update, the primary key as texts after a ' +
    'delete. A record that changes so that the caller may no longer read it is delivered as deleted. `gap` says that ' +
    'events are missing, `close` with `{"reason","message","retryMs"}` why the stream ends and when to reconnect, if at ' +
    'all. A request that accepts `text/event-stream` and is refused for the moment only, as while a node stops, is ' +
    'answered by such a `close` alone; others by 503 or 429. Every event has an id: sent back as `Last-Event-ID` it ' +
    'resumes the stream after that event.',
  querystring: Type.Object({
    ...streamParameters,
    token: Type.Optional(Type.String({ description: 'The access token, where headers cannot be set.' })),
    oauth: Type.Optional(
      Type.String({
        description:
          '`true`: without a token; waits for a sign-in with a provider in another window of this browser, whose ' +
          '`state` is the `clientId`, and ends with one event `oauth`.',
      }),
    ),
  }),
  response: streamResponse,
}

export const adminStreamSchema = {
  tags,
  security: bearerSecurity,
  summary: 'Listen to changes as an administrator',
  description:
    'As `GET /api/realtime`, without policies: every change of every row, with every column. It ends with the ' +
    'session of the administrator.',
  querystring: Type.Object(streamParameters),
  response: streamResponse,
}

export const websocketSchema = {
  tags,
  summary: 'Open a WebSocket',
  description:
    'Changes of tables, broadcasts and presence (RFC 6455). The token comes with the request or in a first message ' +
    '`auth` within 10 seconds; tables that are open to requests without a token need none. Messages are JSON objects with a `type`, and a `ref` that is repeated in the `reply`. ' +
    'Clients send auth, subscribe, unsubscribe, channel_subscribe, channel_unsubscribe, broadcast, presence_track, ' +
    'presence_untrack and presence_sync; they are sent connected, reply, event, broadcast, presence, error and ' +
    'system. `event` carries the `id` to resume with as `last_event_id` of `subscribe`. Closed with 4401 when the ' +
    'token is not good or its session ends, 4008 beyond the limits of `realtime`, 4000 by an ' +
    'administrator, 1013 when the client reads too slowly, 1009 with the limit after a message that is far too long, ' +
    '1001 when the server stops or nothing is subscribed to. There is no subprotocol: those that are offered are passed over.',
  querystring: Type.Object({
    token: Type.Optional(Type.String({ description: 'The access token, where headers cannot be set.' })),
  }),
  response: responses({ 101: Type.Null({ description: 'The connection is a WebSocket.' }) }),
}

const connection = component(
  'RealtimeConnection',
  Type.Object({
    id: Type.String({ description: 'The `clientId` of `connected`.' }),
    transport: Type.Union([Type.Literal('sse'), Type.Literal('ws')]),
    userId: Type.Union([Type.String(), Type.Null()], {
      description:
        'null of an administrator, of a program that acts for no user, without a token, and while auth is off.',
    }),
    address: Type.String(),
    node: Type.String(),
    tables: Type.Array(Type.String()),
    channels: Type.Array(Type.String()),
    connectedAt: timestamp,
  }),
)

const counts = Type.Record(Type.String(), Type.Integer(), { description: 'Streams by name.' })

export const statsSchema = {
  tags,
  security: bearerSecurity,
  summary: 'Count open streams',
  description: 'Over all nodes; as of a second ago.',
  response: responses({
    200: Type.Object({
      version: Type.String(),
      timestamp,
      connections: Type.Object({ sse: Type.Integer(), ws: Type.Integer(), total: Type.Integer() }),
      subscriptions: Type.Object({
        tables: counts,
        channels: Type.Object({ broadcast: counts, presence: counts }),
      }),
      counters: Type.Object({
        dropped_messages: Type.Integer({ description: 'Streams and messages given up for slow clients.' }),
        heartbeat_failures: Type.Integer({ description: 'WebSockets that did not answer a ping in time.' }),
      }),
    }),
  }),
}

export const connectionsSchema = {
  tags,
  security: bearerSecurity,
  summary: 'List open streams',
  description: 'Of all nodes, the oldest first; as of a second ago.',
  response: responses({ 200: listOf(connection) }),
}

export const subscriptionsSchema = {
  tags,
  security: bearerSecurity,
  summary: 'List subscriptions',
  response: responses({
    200: Type.Object({
      items: Type.Array(
        Type.Object({
          kind: Type.Union([Type.Literal('table'), Type.Literal('channel')]),
          name: Type.String(),
          connections: Type.Integer(),
        }),
      ),
      count: Type.Integer(),
    }),
  }),
}

export const disconnectSchema = {
  tags,
  security: bearerSecurity,
  summary: 'End a stream',
  description: 'On whichever node it is; there within a second or two.',
  params: Type.Object({ id: Type.String() }),
  response: responses({ 204: noContent }),
}

export const previewSchema = {
  tags,
  security: bearerSecurity,
  summary: 'Preview what a subscriber would have been sent',
  description:
    'Of the log of changes, oldest first, by the policies and the rows of other tables as they are now. A page that has items, or looked at a part of the log, has a `nextCursor`.',
  querystring: Type.Object({
    as: Type.Optional(
      Type.String({ description: '`admin` (unless given), `anonymous` or the id of a user.' }),
    ),
    tables: requiredByHandler(Type.String({ description: 'Collections, separated by commas.' })),
    filter: Type.Optional(Type.String({ description: 'As of a stream.' })),
    since: Type.Optional(Type.String({ description: 'RFC 3339 or YYYY-MM-DD; the whole log unless given.' })),
    limit: Type.Optional(
      Type.String({ description: 'Changes to decide about: an integer; 100 unless given, 500 at most.' }),
    ),
    cursor: Type.Optional(Type.String({ description: '`nextCursor` of the page before.' })),
  }),
  response: responses({
    200: Type.Object({
      items: Type.Array(
        Type.Object({
          id: Type.String({ description: 'Of the event.' }),
          happenedAt: Type.String(),
          data: Type.String({ description: 'JSON as a stream is sent it.' }),
        }),
      ),
      decided: Type.Integer({ description: 'Changes of the tables that were decided about.' }),
      hasGap: Type.Boolean({ description: 'Whether some of them could not be decided.' }),
      nextCursor: Type.Optional(Type.String()),
    }),
  }),
}
