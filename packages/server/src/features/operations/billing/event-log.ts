import { allOf, when } from '../../../database/conditions.ts'
import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { TimeRange } from '../../../http/requests/filters.ts'
import { type Answered, component, nullable, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

const text = nullable(Type.String())
const eventTime = nullable(Type.String(), { description: 'Time according to the event.' })

/** Event of the billing provider. */
export const LoggedEvent = component(
  'BillingEvent',
  Type.Object({
    id: Type.String(),
    type: Type.String(),
    happened_at: timestamp,
    app_id: nullable(Type.String(), { description: 'App of a checkout.' }),
    subscription_id: text,
    customer_id: text,
    plan: eventTime,
    status: eventTime,
    received_at: timestamp,
  }),
)
type LoggedEvent = Answered<typeof LoggedEvent>

export interface EventFilter extends TimeRange {
  readonly app_id?: string | undefined
  readonly subscription_id?: string | undefined
  readonly customer_id?: string | undefined
  readonly type?: string | undefined
}

/** Lists events, the newest first. */
export async function listEvents(
  database: Queryable,
  filter: EventFilter,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<LoggedEvent[]> {
  const matches = [
    when(
      filter.app_id,
      (id) =>
        sql`subscription_id in (select subscription_id from basalt.billing_events where app_id = ${id}::uuid)`,
    ),
    when(filter.subscription_id, (id) => sql`subscription_id = ${id}`),
    when(filter.customer_id, (id) => sql`customer_id = ${id}`),
    when(filter.type, (type) => sql`type = ${type}`),
    when(filter.from, (time) => sql`happened_at >= ${time}::timestamptz`),
    when(filter.to, (time) => sql`happened_at < ${time}::timestamptz`),
  ]
  return await database.many<LoggedEvent>(sql`
    select id, type, happened_at, app_id, subscription_id, customer_id, plan, status, received_at
    from basalt.billing_events
    where ${allOf(matches)}
    order by happened_at desc, number desc
    limit ${limit}::int offset ${offset}::bigint`)
}

/**
 * Deletes events that are this many days old. It keeps those that decide the state of a subscription: its
 * checkout and its end, and the last ones with plan, status and customer.
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
