import { integer, secret, table, text } from '../../../config/keys.ts'
import { type Static, Type } from '../../../lib/type.ts'

/** `billing`: who reports what apps pay for. */
export const billingConfig = Type.Object({
  provider: text(
    '',
    'Who reports subscriptions of apps to `/api/webhooks/billing`; empty: the route is off.',
    {
      pattern: '^(stripe)?$',
      expects: 'stripe, or nothing',
    },
  ),
  webhook_secret: secret('Signing secret of the endpoint at the provider; empty: the route is off.'),
  plans: table(Type.String({ minLength: 1 }), 'Plans of `usage.plans` by the id of their price.', {
    expects: 'a table such as {price_1Nx = "pro"}',
  }),
  free_plan: text('free', 'Plan of an app whose subscription has ended.', {
    expects: 'a name',
    minLength: 1,
  }),
  retention_days: integer(
    365,
    'Days that events are kept which the state of no app follows from.',
    // Stripe delivers an event again for a month.
    31,
    3650,
  ),
})

export type BillingConfig = Static<typeof billingConfig>
