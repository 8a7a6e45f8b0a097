import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { type Answered, choice, component, nullable, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { type BillingEvent, billingStatuses } from './stripe-event.ts'

/**
 * Returns the statements that record a new event and update the app of its subscription. They are statements
 * of one transaction, because each of the last two must see everything that committed while the previous one
 * waited for its lock.
 */
export function processEvent(event: BillingEvent): readonly Sql[] {
  const { subscriptionId } = event
  if (subscriptionId === undefined) return [insertEvent(event)]
  return [
    lockSubscription(subscriptionId),
    insertEvent(event),
    lockAppOf(subscriptionId),
    updateBilling(event.id, subscriptionId),
  ]
}

/**
 * Locks a subscription, so that its events are processed one after the other on all nodes. Each must see
 * those before it.
 */
function lockSubscription(subscriptionId: string): Sql {
  return sql`select pg_advisory_xact_lock(hashtextextended('basalt billing ' || ${subscriptionId}, 0))`
}

/** Inserts an event. Does nothing when the event is known. */
function insertEvent(event: BillingEvent): Sql {
  const { id, type, happenedAt, appId, subscriptionId, customerId, plan, status } = event
  return sql`
    insert into basalt.billing_events
      (id, type, happened_at, app_id, subscription_id, customer_id, plan, status)
    values (${id}, ${type}, to_timestamp(${String(happenedAt)}::float8),
      (select a.id from basalt.apps a where a.id = ${appId ?? null}::uuid),
      ${subscriptionId ?? null}, ${customerId ?? null}, ${plan ?? null}, ${status ?? null})
    on conflict (id) do nothing`
}

/**
 * Selects the app that a checkout gave the subscription to. A subscription belongs to no app before its
 * checkout is reported, but its earlier events count then, too.
 */
function appOf(subscriptionId: string): Sql {
  return sql`
    select app_id from basalt.billing_events
    where subscription_id = ${subscriptionId} and app_id is not null
    order by happened_at desc, number desc limit 1`
}

/** Locks the app, since its subscriptions may change concurrently. */
function lockAppOf(subscriptionId: string): Sql {
  return sql`select from basalt.apps where id = (${appOf(subscriptionId)}) for no key update`
}

/**
 * Updates the state of an app from the events of its newest subscription: the latest with a plan, and the
 * latest with a status. The end of a subscription is final, whatever is reported later. An event that was
 * known before this transaction changes nothing.
 */
function updateBilling(eventId: string, subscriptionId: string): Sql {
  return sql`
    with app as (
      select app_id from (${appOf(subscriptionId)}) found
      where exists (
        select from basalt.billing_events where id = ${eventId} and xmin = pg_current_xact_id()::xid
      )
    ), current as (
      select subscription_id from basalt.billing_events join app using (app_id)
      order by happened_at desc, number desc limit 1
    ), events as (
      select e.* from basalt.billing_events e join current using (subscription_id)
    ), state as (
      select app.app_id, c.subscription_id,
        (select customer_id from events where customer_id is not null order by happened_at desc limit 1) as customer_id,
        (select plan from events where plan is not null
          order by (status = 'canceled') is true desc, happened_at desc, number desc limit 1) as plan,
        (select status from events where status is not null
          order by (status = 'canceled') desc, happened_at desc, number desc limit 1) as status
      from app, current c
    ), planned as (
      update basalt.apps a set plan = s.plan, updated_at = now()
      from state s where a.id = s.app_id and s.plan is not null and a.plan <> s.plan
    )
    insert into basalt.app_billing as b (app_id, subscription_id, customer_id, plan, status)
    select app_id, subscription_id, customer_id, plan, status from state
    on conflict (app_id) do update set subscription_id = excluded.subscription_id, customer_id = excluded.customer_id,
      plan = excluded.plan, status = excluded.status, updated_at = now()
    where (b.subscription_id, b.customer_id, b.plan, b.status)
      is distinct from (excluded.subscription_id, excluded.customer_id, excluded.plan, excluded.status)`
}

const text = nullable(Type.String())

export const BillingState = component(
  'BillingState',
  Type.Object({
    app_id: Type.String({ format: 'uuid' }),
    plan: Type.String(),
    status: nullable(choice(billingStatuses), { description: 'null without a subscription.' }),
    subscription_id: text,
    customer_id: text,
    updated_at: nullable(timestamp),
  }),
)
type BillingState = Answered<typeof BillingState>

export async function findBilling(database: Queryable, appId: string): Promise<BillingState | undefined> {
  return await database.maybeOne<BillingState>(sql`
    select a.id as app_id, a.plan, b.status, b.subscription_id, b.customer_id, b.updated_at
    from basalt.apps a left join basalt.app_billing b on b.app_id = a.id
    where a.id = ${appId}::uuid`)
}
