import type { SystemDatabase } from '../../../database/system-database.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import { ok, operation } from '../../../http/operation.ts'
import {
  instantParameter,
  limitParameter,
  offsetParameter,
  readTimeRange,
  uuidParameter,
} from '../../../http/requests/filters.ts'
import { bodyOf, described, offsetPageOf, refusedWith, uuid } from '../../../http/schemas.ts'
import type { Clock } from '../../../lib/clock.ts'
import { Type } from '../../../lib/type.ts'
import { billingErrors } from './errors.ts'
import { LoggedEvent, listEvents } from './event-log.ts'
import { BillingState, findBilling, processEvent } from './queries.ts'
import { type PlanNames, readStripeEvent } from './stripe-event.ts'
import { isSignedByStripe } from './stripe-signature.ts'

export interface BillingOperationDeps {
  readonly database: SystemDatabase
  readonly names: PlanNames
  readonly secret: string
  readonly clock: Clock
}

/** Members that the descriptions for administrators share. */
const common = { guard: 'admin', permission: 'apps.read', tag: 'billing' } as const
const text = Type.Optional(Type.String())
const eventLimit = limitParameter(100, 500)

const list = operation({
  ...common,
  id: 'billing.listEvents',
  method: 'GET',
  path: '/api/admin/billing/events',
  summary: 'List events of the billing provider',
  description: 'The newest events come first.',
  query: Type.Object({
    app_id: described("Events of this app's subscriptions.", uuidParameter('app_id')),
    subscription_id: text,
    customer_id: text,
    type: text,
    from: instantParameter,
    to: instantParameter,
    limit: eventLimit.schema,
    offset: offsetParameter,
  }),
  success: ok(offsetPageOf(LoggedEvent)),
  async handle({ database }: BillingOperationDeps, { query: { from, to, limit, offset = 0, ...filter } }) {
    const page = { limit: eventLimit.read(limit), offset }
    const items = await listEvents(database, { ...filter, ...readTimeRange({ from, to }) }, page)
    return { items, count: items.length, ...page }
  },
})

const get = operation({
  ...common,
  id: 'billing.get',
  method: 'GET',
  path: '/api/admin/apps/:id/billing',
  summary: 'Get the subscription of an app',
  params: Type.Object({ id: refusedWith({ invalid: billingErrors.invalidBilledApp }, uuid) }),
  success: ok(BillingState),
  async handle({ database }: BillingOperationDeps, { params: { id } }) {
    const state = await findBilling(database, id)
    if (state === undefined) throw billingErrors.billedAppNotFound()
    return state
  },
})

/** Receives an event of the provider, in a scope of raw bodies. */
export const reportOperation = operation({
  id: 'billing.report',
  method: 'POST',
  path: '/api/webhooks/billing',
  guard: 'public',
  tag: 'callbacks',
  summary: 'Report an event of the billing provider',
  description:
    'Stripe signs the event (`Stripe-Signature`, at most 300 s old). An event counts once, whatever the order of arrival. Events of other types are only recorded. At most 64 KiB.',
  documentedBody: bodyOf('application/json', Type.Object({}, { additionalProperties: true })),
  bodyLimit: 64 * 1024,
  success: ok(Type.Object({ ok: Type.Boolean() })),
  async handle({ database, names, secret, clock }: BillingOperationDeps, { http }) {
    const body = Buffer.isBuffer(http.body) ? http.body : Buffer.alloc(0)
    if (!isSignedByStripe(http.headers['stripe-signature'], body, secret, clock.now())) {
      throw httpErrors.invalidWebhookSignature()
    }
    // One transaction records and applies the event. If it fails, the provider reports the event again.
    await database.runTogether(processEvent(readStripeEvent(body, names)))
    return { ok: true }
  },
})

/** Operations on the events of the provider and their effect. */
export const billingOperations = [list, get]
