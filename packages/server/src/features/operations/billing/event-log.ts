import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import {
  limitParameter,
  offsetParameter,
  readTimeRange,
  readUuid,
  type TimeRange,
} from '../../../http/requests/filters.ts'
import { bearerSecurity, offsetPageOf, responses } from '../../../http/schemas.ts'
import type { HttpServer } from '../../../http/server.ts'
import { Type } from '../../../lib/type.ts'

interface EventRow {
  readonly id: string
  readonly type: string
  readonly happened_at: Date
  readonly app_id: string | null
  readonly subscription_id: string | null
  readonly customer_id: string | null
  readonly plan: string | null
  readonly status: string | null
  readonly received_at: Date
  readonly [column: string]: unknown
}

const nullable = Type.Union([Type.String(), Type.Null()])
const filter = Type.Optional(Type.String())
const eventLimit = limitParameter(100, 500)
const listSchema = {
  tags: ['billing'],
  summary: 'What the billing provider reported, the newest first',
  security: bearerSecurity,
  querystring: Type.Object({
    app_id: Type.Optional(Type.String({ description: 'Events of the subscriptions of this app.' })),
    subscription_id: filter,
    customer_id: filter,
    type: filter,
    from: Type.Optional(Type.String({ description: 'When it happened: RFC 3339 or YYYY-MM-DD.' })),
    to: filter,
    limit: eventLimit.schema,
    offset: offsetParameter,
  }),
  response: responses({
    200: offsetPageOf(
      Type.Object({
        id: Type.String(),
        type: Type.String(),
        happened_at: Type.String(),
        app_id: Type.Union([Type.String(), Type.Null()], { description: 'Of a checkout.' }),
        subscription_id: nullable,
        customer_id: nullable,
        plan: Type.Union([Type.String(), Type.Null()], { description: 'What the event says of it.' }),
        status: Type.Union([Type.String(), Type.Null()], { description: 'What the event says of it.' }),
        received_at: Type.String(),
      }),
    ),
  }),
}

/** `GET /api/admin/billing/events` */
export function eventLogRoute(app: HttpServer, database: SystemDatabase): void {
  app.get(
    '/api/admin/billing/events',
    { config: { guard: 'admin', operation: 'billing.listEvents' }, schema: listSchema },
    async (request, reply) => {
      const { app_id: appId, subscription_id, customer_id, type, from, to, limit, offset } = request.query
      const range = { limit: eventLimit.read(limit), offset: offset ?? 0 }
      const filter = {
        appId: appId === undefined ? undefined : readUuid('app_id filter', appId),
        texts: { subscription_id, customer_id, type },
        happened: readTimeRange({ from, to }),
      }
      const items = (await listEvents(database, filter, range)).map(
        ({ happened_at, received_at, ...row }) => ({
          ...row,
          happened_at: happened_at.toISOString(),
          received_at: received_at.toISOString(),
        }),
      )
      return reply.send({ items, count: items.length, ...range })
    },
  )
}

interface EventFilter {
  readonly appId: string | undefined
  /** By the name of the column. */
  readonly texts: Readonly<Record<string, string | undefined>>
  readonly happened: TimeRange
}

function listEvents(
  database: Queryable,
  { appId, texts, happened: { from, to } }: EventFilter,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<EventRow[]> {
  const conditions: Sql[] = [
    sql`true`,
    ...(appId === undefined
      ? []
      : [
          sql`subscription_id in (select subscription_id from basalt.billing_events where app_id = ${appId})`,
        ]),
    ...Object.entries(texts).flatMap(([name, text]) =>
      text === undefined ? [] : [sql`${sql.id(name)} = ${text}`],
    ),
    ...(from === undefined ? [] : [sql`happened_at >= ${from.toISOString()}::timestamptz`]),
    ...(to === undefined ? [] : [sql`happened_at < ${to.toISOString()}::timestamptz`]),
  ]
  return database.many<EventRow>(sql`
    select id, type, happened_at, app_id, subscription_id, customer_id, plan, status, received_at
    from basalt.billing_events where ${sql.join(conditions, sql` and `)}
    order by happened_at desc, number desc limit ${limit} offset ${offset}`)
}

/**
 * Removes events of so many days ago, but not those that the state of a subscription follows from: its checkout and its
 * end, and the last ones that name plan, status and customer.
 */
export function deleteEvents(database: Queryable, days: number): Promise<number> {
  const isReplaced = (column: string) => sql`(e.${sql.id(column)} is null or exists (
    select from basalt.billing_events later
    where later.subscription_id = e.subscription_id and later.${sql.id(column)} is not null
      and (later.happened_at, later.number) > (e.happened_at, e.number)))`
  return database.count(sql`
    delete from basalt.billing_events e
    where e.received_at < now() - make_interval(days => ${days}) and (
      e.subscription_id is null
      or e.app_id is null and e.status is distinct from 'canceled'
        and ${isReplaced('plan')} and ${isReplaced('status')} and ${isReplaced('customer_id')})`)
}
