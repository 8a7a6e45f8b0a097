import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { BillingEvent } from './stripe-event.ts'

/** Events of one subscription are taken one after the other, on whatever node: each must see those before it. */
export async function lockSubscription(transaction: Queryable, subscriptionId: string): Promise<void> {
  await transaction.many(sql`
    select pg_advisory_xact_lock(hashtextextended('basalt billing ' || ${subscriptionId}, 0))`)
}

/** False when the event is known. */
export async function insertEvent(transaction: Queryable, event: BillingEvent): Promise<boolean> {
  const { id, type, happenedAt, appId, subscriptionId, customerId, plan, status } = event
  const count = await transaction.count(sql`
    insert into basalt.billing_events
      (id, type, happened_at, app_id, subscription_id, customer_id, plan, status)
    values (${id}, ${type}, to_timestamp(${happenedAt}),
      (select a.id from basalt.apps a where a.id = ${appId ?? null}::uuid),
      ${subscriptionId ?? null}, ${customerId ?? null}, ${plan ?? null}, ${status ?? null})
    on conflict (id) do nothing`)
  return count > 0
}

/** The app that a checkout gave the subscription to, locked: its subscriptions may change together. */
export function lockAppOf(
  transaction: Queryable,
  subscriptionId: string,
): Promise<{ readonly id: string } | undefined> {
  return transaction.maybeOne<{ id: string }>(sql`
    select a.id from basalt.apps a
    where a.id = (
      select app_id from basalt.billing_events
      where subscription_id = ${subscriptionId} and app_id is not null
      order by happened_at desc, number desc limit 1
    )
    for no key update`)
}

/**
 * The state of an app, from the events of its newest subscription: the latest that says something of the plan, and the
 * latest that says something of the status. The end of a subscription is final, whatever is reported after it.
 */
export function updateBilling(transaction: Queryable, appId: string): Promise<number> {
  return transaction.count(sql`
    with current as (
      select subscription_id from basalt.billing_events
      where app_id = ${appId} order by happened_at desc, number desc limit 1
    ), events as (
      select e.* from basalt.billing_events e join current using (subscription_id)
    ), state as (
      select c.subscription_id,
        (select customer_id from events where customer_id is not null order by happened_at desc limit 1) as customer_id,
        (select plan from events where plan is not null
          order by (status = 'canceled') is true desc, happened_at desc, number desc limit 1) as plan,
        (select status from events where status is not null
          order by (status = 'canceled') desc, happened_at desc, number desc limit 1) as status
      from current c
    ), planned as (
      update basalt.apps a set plan = s.plan, updated_at = now()
      from state s where a.id = ${appId} and s.plan is not null and a.plan <> s.plan
    )
    insert into basalt.app_billing as b (app_id, subscription_id, customer_id, plan, status)
    select ${appId}::uuid, subscription_id, customer_id, plan, status from state
    on conflict (app_id) do update set subscription_id = excluded.subscription_id, customer_id = excluded.customer_id,
      plan = excluded.plan, status = excluded.status, updated_at = now()
    where (b.subscription_id, b.customer_id, b.plan, b.status)
      is distinct from (excluded.subscription_id, excluded.customer_id, excluded.plan, excluded.status)`)
}

export interface BillingRow {
  readonly app_id: string
  readonly plan: string
  readonly status: string | null
  readonly subscription_id: string | null
  readonly customer_id: string | null
  readonly updated_at: Date | null
  readonly [column: string]: unknown
}

export function findBilling(database: Queryable, appId: string): Promise<BillingRow | undefined> {
  return database.maybeOne<BillingRow>(sql`
    select a.id as app_id, a.plan, b.status, b.subscription_id, b.customer_id, b.updated_at
    from basalt.apps a left join basalt.app_billing b on b.app_id = a.id
    where a.id = ${appId}`)
}
