import { memberAt, parseJson } from '../../../lib/json.ts'
import { isUuid } from '../../../lib/uuid.ts'
import { billingErrors } from './errors.ts'

export const billingStatuses = ['unpaid', 'active', 'past_due', 'canceled', 'trialing', 'incomplete'] as const
export type BillingStatus = (typeof billingStatuses)[number]

/** Content of an event, independent of the provider. */
export interface BillingEvent {
  readonly id: string
  readonly type: string
  /** Time in seconds since 1970. */
  readonly happenedAt: number
  /** App of a checkout, which the subscription is for. */
  readonly appId?: string | undefined
  readonly subscriptionId?: string | undefined
  readonly customerId?: string | undefined
  readonly plan?: string | undefined
  readonly status?: BillingStatus | undefined
}

/** Statuses of subscriptions by Stripe's names. */
const statuses: Readonly<Record<string, BillingStatus>> = {
  unpaid: 'unpaid',
  active: 'active',
  past_due: 'past_due',
  canceled: 'canceled',
  trialing: 'trialing',
  incomplete: 'incomplete',
  incomplete_expired: 'canceled',
  paused: 'unpaid',
}

export interface PlanNames {
  /** Plans by the id of their price. */
  readonly plans: Readonly<Record<string, string>>
  readonly free: string
}

/** Readers of event types. Events of other types are only recorded. */
const readers: Readonly<Record<string, (object: unknown, names: PlanNames) => Partial<BillingEvent>>> = {
  'checkout.session.completed': (session) => {
    const app = textAt(session, 'metadata', 'tenant_id')
    return {
      appId: app !== undefined && isUuid(app) ? app.toLowerCase() : undefined,
      subscriptionId: textAt(session, 'subscription'),
      status: 'active',
    }
  },
  'customer.subscription.created': readSubscription,
  'customer.subscription.updated': readSubscription,
  'customer.subscription.deleted': (subscription, { free }) => ({
    subscriptionId: textAt(subscription, 'id'),
    plan: free,
    status: 'canceled',
  }),
  'invoice.paid': (invoice) => ({ subscriptionId: subscriptionOf(invoice), status: 'active' }),
  'invoice.payment_failed': (invoice) => ({ subscriptionId: subscriptionOf(invoice), status: 'past_due' }),
}

/** Parses an event. @throws AppError invalid_billing_event */
export function readStripeEvent(body: Buffer, names: PlanNames): BillingEvent {
  const event = parse(body)
  const [id, type] = [textAt(event, 'id'), textAt(event, 'type')]
  const happenedAt = memberAt(event, 'created')
  if (id === undefined) throw billingErrors.invalidBillingEvent('id is required')
  if (type === undefined) throw billingErrors.invalidBillingEvent('type is required')
  if (!isTime(happenedAt)) throw billingErrors.invalidBillingEvent('created: expected seconds since 1970')
  const object = memberAt(event, 'data', 'object')
  const content = Object.hasOwn(readers, type) ? readers[type]?.(object, names) : undefined
  const base = { id, type, happenedAt, customerId: textAt(object, 'customer') }
  // An event without a subscription is a payment of another kind.
  return content?.subscriptionId === undefined ? base : { ...base, ...content }
}

function readSubscription(subscription: unknown, { plans, free }: PlanNames): Partial<BillingEvent> {
  const price = textAt(subscription, 'items', 'data', 0, 'price', 'id')
  const name = textAt(subscription, 'status')
  const status = name !== undefined && Object.hasOwn(statuses, name) ? statuses[name] : undefined
  const plan = price !== undefined && Object.hasOwn(plans, price) ? plans[price] : undefined
  return {
    subscriptionId: textAt(subscription, 'id'),
    plan: status === 'canceled' ? free : plan,
    status,
  }
}

/** Returns the subscription of an invoice, from its position in Stripe's API since 2025-03-31, or the earlier one. */
function subscriptionOf(invoice: unknown): string | undefined {
  return textAt(invoice, 'parent', 'subscription_details', 'subscription') ?? textAt(invoice, 'subscription')
}

function parse(body: Buffer): unknown {
  const value = parseJson(body.toString('utf8'))
  if (value === undefined) throw billingErrors.invalidBillingEvent('invalid JSON body')
  return value
}

function isTime(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) < 253_402_300_800
}

/** Returns a text that can be an id: not empty, not long, and valid in PostgreSQL. */
function textAt(value: unknown, ...path: readonly (string | number)[]): string | undefined {
  const text = memberAt(value, ...path)
  return typeof text === 'string' && /^[\x21-\x7e]{1,255}$/.test(text) ? text : undefined
}
