import { integer, secret, table, text } from '../../../config/keys.ts'
import { type Static, Type } from '../../../lib/type.ts'

/** Keys of `billing`, for subscriptions of apps. */
export const billingConfig = Type.Object({
  provider: text(
    '',
    'Provider that reports subscriptions of apps to `/api/webhooks/billing`. Empty disables the route.',
    {
      pattern: '^(stripe)?$',
      expects: 'stripe, or nothing',
    },
  ),
  webhook_secret: secret("Signing secret of the provider's endpoint. Empty disables the route."),
  plans: table(Type.String({ minLength: 1 }), 'Plans of `usage.plans` by the id of their price.', {
    expects: 'a table such as {price_1Nx = "pro"}',
  }),
  free_plan: text('free', 'Plan of an app whose subscription has ended.', {
    expects: 'a name',
    minLength: 1,
  }),
  retention_days: integer(
    365,
    'Days for which most events are kept. Those that decide the state of an app are kept longer.',
    // Stripe delivers an event again for a month.
    31,
    3650,
  ),
})

export type BillingConfig = Static<typeof billingConfig>
