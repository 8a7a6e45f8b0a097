import { limitParameter, offsetSchema } from '../../../http/requests/filters.ts'
import { bearerSecurity, component, offsetPageOf, responses } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { levelNames } from './entry.ts'
import { statementOrders } from './statements.ts'

const tags = ['operations']
const security = bearerSecurity
const nullable = Type.Union([Type.String(), Type.Null()])
const instant = Type.Optional(
  Type.String({ description: 'RFC 3339, or YYYY-MM-DD, of which the last day is included.' }),
)
const uuid = Type.Optional(Type.String({ description: 'UUID.' }))

const filter = {
  level: Type.Optional(
    Type.String({ description: `${levelNames.join(', ')}: this one and those above it.` }),
  ),
  q: Type.Optional(
    Type.String({
      description:
        'A text in the message or the attributes, in any case. A page of a list searches 20,000 entries.',
    }),
  ),
  requestId: Type.Optional(
    Type.String({ description: 'Entries of one request, the request itself among them.' }),
  ),
}

const entry = component(
  'LogEntry',
  Type.Object({
    time: Type.String(),
    level: Type.String(),
    message: Type.String(),
    attrs: Type.Object({}, { additionalProperties: true }),
    node: Type.String({ description: 'Host and process.' }),
    requestId: nullable,
  }),
)

export const logLimit = limitParameter(100, 1000)
export const requestLimit = limitParameter(100, 500)
export const statementLimit = limitParameter(50, 500)

export const listLogsSchema = {
  tags,
  security,
  summary: 'List the log of all nodes',
  description: 'Newest first.',
  querystring: Type.Object({
    ...filter,
    since: instant,
    until: instant,
    limit: logLimit.schema,
    cursor: Type.Optional(Type.String({ description: 'The `nextCursor` of the page before.' })),
  }),
  response: responses({
    200: Type.Object({
      entries: Type.Array(entry),
      nextCursor: Type.Optional(Type.String({ description: 'Absent on the last page.' })),
      searchedTo: Type.Optional(
        Type.String({
          description:
            'Time of the last entry that was read, where the search for a text ended the page; `nextCursor` continues there.',
        }),
      ),
    }),
  }),
}

export const tailLogsSchema = {
  tags,
  security,
  summary: 'Follow the log of all nodes',
  description: 'Server-sent events named `log`, from now on, or from where `Last-Event-ID` says.',
  querystring: Type.Object(filter),
  response: responses({
    200: {
      description: 'A stream of entries.',
      content: { 'text/event-stream': { schema: Type.String() } },
    },
  }),
}

export const listRequestsSchema = {
  tags,
  security,
  summary: 'List the requests that all nodes answered',
  description:
    'Newest first. Indexes serve `user_id`, `api_key_id`, `request_id`, `from`, `to`, and a `status` from 400 on; the other filters are applied to the newest 20,000 requests of those.',
  querystring: Type.Object({
    method: Type.Optional(Type.String()),
    path: Type.Optional(Type.String({ description: 'A `*` stands for anything.' })),
    status: Type.Optional(Type.String({ description: 'An HTTP status, or a class such as `4xx`.' })),
    min_duration_ms: Type.Optional(Type.String({ description: 'A number.' })),
    user_id: uuid,
    api_key_id: uuid,
    app_id: uuid,
    request_id: Type.Optional(Type.String()),
    from: instant,
    to: instant,
    limit: requestLimit.schema,
    offset: offsetSchema,
  }),
  response: responses({
    200: Type.Object({
      ...offsetPageOf(
        Type.Object({
          id: Type.String(),
          timestamp: Type.String(),
          method: Type.String(),
          path: Type.String(),
          operation: nullable,
          status_code: Type.Integer(),
          duration_ms: Type.Number(),
          user_id: nullable,
          api_key_id: nullable,
          app_id: Type.String(),
          request_size: Type.Number({ description: 'Bytes on the connection, headers included.' }),
          response_size: Type.Number({ description: 'Bytes on the connection, headers included.' }),
          ip_address: nullable,
          request_id: Type.String(),
          impersonated_by: Type.Union([Type.String(), Type.Null()], {
            description: 'The administrator who acted as the user.',
          }),
          node: Type.String(),
        }),
      ).properties,
      searchedTo: Type.Optional(
        Type.String({
          description:
            'When the oldest request that was read happened, where the bound ended the search; `to` with this time continues it.',
        }),
      ),
    }),
  }),
}

export const listStatementsSchema = {
  tags,
  security,
  summary: 'List the statements that take longest',
  description: 'From the extension pg_stat_statements; without it 503.',
  querystring: Type.Object({
    sort: Type.Optional(
      Type.String({ description: `${statementOrders.join(', ')}; total_time unless given.` }),
    ),
    limit: statementLimit.schema,
  }),
  response: responses({
    200: Type.Object({
      items: Type.Array(
        Type.Object({
          query: Type.String(),
          calls: Type.Number(),
          total_time_ms: Type.Number(),
          mean_time_ms: Type.Number(),
          rows: Type.Number(),
          cache_hit_ratio: Type.Union([Type.Number(), Type.Null()]),
        }),
      ),
      count: Type.Integer(),
      index_suggestions: Type.Array(
        Type.Object({ table: Type.String(), scans: Type.Number(), rows_per_scan: Type.Number() }),
        { description: 'Large tables that are often read from one end to the other.' },
      ),
    }),
  }),
}

export const statsSchema = {
  tags,
  security,
  summary: 'Get the state of the node that answers',
  response: responses({
    200: Type.Object({
      uptime_seconds: Type.Number(),
      node: Type.String(),
      node_version: Type.String(),
      active_resources: Type.Integer(),
      memory_alloc: Type.Integer({ description: 'Bytes of the heap in use.' }),
      memory_sys: Type.Integer({ description: 'Bytes of the process in memory.' }),
      gc_cycles: Type.Integer(),
      db_pool_total: Type.Integer(),
      db_pool_idle: Type.Integer(),
      db_pool_in_use: Type.Integer(),
      db_pool_max: Type.Integer(),
    }),
  }),
}
