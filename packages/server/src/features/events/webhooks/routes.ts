import { originOf } from '../../../http/requests/request-origin.ts'
import { readPage } from '../../../http/schemas.ts'
import type { HttpServer } from '../../../http/server.ts'
import { webhookErrors } from './errors.ts'
import * as schemas from './schemas.ts'
import type { WebhookService } from './service.ts'

const path = '/api/webhooks'

/** Outbound webhooks and their deliveries. */
export function webhookRoutes(app: HttpServer, service: WebhookService): void {
  app.get(
    path,
    { config: { guard: 'admin', operation: 'webhooks.list' }, schema: schemas.listWebhooksSchema },
    async (_request, reply) => reply.send({ items: await service.list() }),
  )

  app.post(
    path,
    { config: { guard: 'admin', operation: 'webhooks.create' }, schema: schemas.createWebhookSchema },
    async (request, reply) => reply.code(201).send(await service.create(request.body, originOf(request))),
  )

  app.get(
    `${path}/:id`,
    { config: { guard: 'admin', operation: 'webhooks.get' }, schema: schemas.getWebhookSchema },
    async (request, reply) => reply.send(await service.get(request.params.id)),
  )

  app.patch(
    `${path}/:id`,
    { config: { guard: 'admin', operation: 'webhooks.update' }, schema: schemas.updateWebhookSchema },
    async (request, reply) =>
      reply.send(await service.update(request.params.id, request.body, originOf(request))),
  )

  app.delete(
    `${path}/:id`,
    { config: { guard: 'admin', operation: 'webhooks.delete' }, schema: schemas.deleteWebhookSchema },
    async (request, reply) => {
      await service.delete(request.params.id, originOf(request))
      return reply.code(204).send()
    },
  )

  app.post(
    `${path}/:id/test`,
    { config: { guard: 'admin', operation: 'webhooks.test' }, schema: schemas.testWebhookSchema },
    async (request, reply) => reply.send(await service.test(request.params.id, originOf(request))),
  )

  app.get(
    `${path}/:id/deliveries`,
    {
      config: { guard: 'admin', operation: 'webhooks.listDeliveries' },
      schema: schemas.listDeliveriesSchema,
    },
    async (request, reply) => {
      const { page, perPage, failed_only } = request.query
      return reply.send(
        await service.listDeliveries(request.params.id, {
          ...readPage({ page: readInteger('page', page), perPage: readInteger('perPage', perPage) }),
          failedOnly: readFlag('failed_only', failed_only),
        }),
      )
    },
  )

  app.get(
    `${path}/:id/deliveries/:deliveryId`,
    { config: { guard: 'admin', operation: 'webhooks.getDelivery' }, schema: schemas.getDeliverySchema },
    async (request, reply) =>
      reply.send(await service.getDelivery(request.params.id, request.params.deliveryId)),
  )

  app.post(
    `${path}/:id/deliveries/:deliveryId/replay`,
    { config: { guard: 'admin', operation: 'webhooks.replay' }, schema: schemas.replayDeliverySchema },
    async (request, reply) => {
      const { id, deliveryId } = request.params
      return reply.send(await service.replay(id, deliveryId, originOf(request)))
    },
  )
}

/** @throws AppError invalid_webhook */
function readInteger(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^-?\d{1,12}$/.test(text)) throw webhookErrors.invalidWebhook(`${name}: expected an integer`)
  return Number(text)
}

/** @throws AppError invalid_webhook */
function readFlag(name: string, text = 'false'): boolean {
  if (text !== 'true' && text !== 'false') {
    throw webhookErrors.invalidWebhook(`${name}: expected true or false`)
  }
  return text === 'true'
}
