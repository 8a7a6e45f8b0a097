import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import { acceptRaw } from '../../../http/requests/body.ts'
import { bearerSecurity, bodyOf, component, responses, uuidByHandler } from '../../../http/schemas.ts'
import type { HttpServer } from '../../../http/server.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'
import type { Clock } from '../../../lib/clock.ts'
import { Type } from '../../../lib/type.ts'
import { isUuid } from '../../../lib/uuid.ts'
import type { BillingConfig } from './config.ts'
import { billingErrors } from './errors.ts'
import { deleteEvents, eventLogRoute } from './event-log.ts'
import * as queries from './queries.ts'
import { readStripeEvent } from './stripe-event.ts'
import { isSignedByStripe } from './stripe-signature.ts'

export { billingErrorTable } from './errors.ts'

export interface BillingDeps {
  readonly config: BillingConfig
  readonly database: SystemDatabase
  readonly queue: JobQueue
  readonly clock: Clock
}

const bodyLimit = 64 * 1024
const nullable = Type.Union([Type.String(), Type.Null()])
const billingState = component(
  'BillingState',
  Type.Object({
    app_id: Type.String({ format: 'uuid' }),
    plan: Type.String(),
    status: Type.Union([Type.String(), Type.Null()], {
      description: 'unpaid, active, past_due, canceled, trialing or incomplete; null without a subscription',
    }),
    subscription_id: nullable,
    customer_id: nullable,
    updated_at: nullable,
  }),
)

/** What apps pay for: events of the billing provider, and the plan and status that follow from them. */
export function billing({ config, database, queue, clock }: BillingDeps): Feature {
  queue.define(
    housekeeping('billing_event_retention', ({ retention_days = config.retention_days }) =>
      deleteEvents(database, retention_days),
    ),
  )
  const isEnabled = config.provider !== '' && config.webhook_secret !== ''
  const names = { plans: config.plans, free: config.free_plan }
  return {
    name: 'billing',
    routes(app) {
      eventLogRoute(app, database)
      app.get(
        '/api/admin/apps/:id/billing',
        {
          config: { guard: 'admin', operation: 'billing.get' },
          schema: {
            tags: ['billing'],
            summary: 'What an app pays for',
            security: bearerSecurity,
            params: Type.Object({ id: uuidByHandler() }),
            response: responses({ 200: billingState }),
          },
        },
        async (request, reply) => reply.send(await getBilling(database, request.params.id)),
      )
      void app.register(async (scope: HttpServer) => {
        acceptRaw(scope)
        scope.addHook('onRequest', async (_request, reply) => {
          void reply.header('cache-control', 'no-store')
        })
        scope.addHook('preParsing', async () => {
          if (!isEnabled) throw billingErrors.billingNotEnabled()
        })
        scope.post(
          '/api/webhooks/billing',
          {
            config: { guard: 'public', operation: 'billing.report' },
            schema: {
              tags: ['callbacks'],
              summary: 'The billing provider reports an event',
              description:
                'Signed by Stripe (`Stripe-Signature`, at most 300 s old). An event counts once, whatever order events arrive in; other events are recorded. At most 64 KiB.',
              documentedBody: bodyOf('application/json', Type.Object({}, { additionalProperties: true })),
              response: responses({ 200: Type.Object({ ok: Type.Boolean() }) }),
            },
            bodyLimit,
          },
          async (request, reply) => {
            const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
            const signature = request.headers['stripe-signature']
            if (!isSignedByStripe(signature, body, config.webhook_secret, clock.now())) {
              throw httpErrors.invalidWebhookSignature()
            }
            // In one transaction, so that an event is known and in force, or neither and reported again.
            await database.runTogether(queries.takeEvent(readStripeEvent(body, names)))
            return reply.send({ ok: true })
          },
        )
      })
    },
  }
}

async function getBilling(database: SystemDatabase, id: string) {
  if (!isUuid(id)) throw billingErrors.invalidBilledApp()
  const row = await queries.findBilling(database, id)
  if (row === undefined) throw billingErrors.billedAppNotFound()
  return { ...row, updated_at: row.updated_at?.toISOString() ?? null }
}
