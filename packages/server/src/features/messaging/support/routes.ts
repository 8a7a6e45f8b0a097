import { userOf } from '../../../http/access/authentication.ts'
import { originOf } from '../../../http/requests/request-origin.ts'
import { contentDisposition } from '../../../http/responses/disposition.ts'
import type { HttpServer } from '../../../http/server.ts'
import { adminSchemas, ownSchemas } from './schemas.ts'
import type { SupportService } from './service.ts'

/** Tickets of the caller. */
export function ownSupportRoutes(app: HttpServer, service: SupportService): void {
  const path = '/api/support/tickets'
  app.get(
    path,
    { config: { guard: 'bearer', operation: 'support.listOwn' }, schema: ownSchemas.list },
    async (request, reply) =>
      reply.send(await service.list({ ...request.query, user_id: userOf(request).userId })),
  )
  app.post(
    path,
    { config: { guard: 'bearer', operation: 'support.open' }, schema: ownSchemas.open },
    async (request, reply) => reply.code(201).send(await service.open(userOf(request).userId, request.body)),
  )
  app.get(
    `${path}/:id`,
    { config: { guard: 'bearer', operation: 'support.getOwn' }, schema: ownSchemas.get },
    async (request, reply) => reply.send(await service.get(request.params.id, userOf(request).userId)),
  )
  app.post(
    `${path}/:id/messages`,
    { config: { guard: 'bearer', operation: 'support.write' }, schema: ownSchemas.write },
    async (request, reply) => {
      const { userId } = userOf(request)
      return reply.code(201).send(await service.write(userId, request.params.id, request.body.body))
    },
  )
}

/** All tickets, for administrators. */
export function adminSupportRoutes(app: HttpServer, service: SupportService): void {
  const path = '/api/admin/support/tickets'
  app.get(
    path,
    { config: { guard: 'admin', operation: 'support.list' }, schema: adminSchemas.list },
    async (request, reply) => reply.send(await service.list(request.query)),
  )
  app.get(
    `${path}/:id`,
    { config: { guard: 'admin', operation: 'support.get' }, schema: adminSchemas.get },
    async (request, reply) => reply.send(await service.get(request.params.id)),
  )
  app.put(
    `${path}/:id`,
    { config: { guard: 'admin', operation: 'support.change' }, schema: adminSchemas.change },
    async (request, reply) =>
      reply.send(await service.change(request.params.id, request.body.status, originOf(request))),
  )
  app.get(
    `${path}/:id/messages/:messageId/attachments/:place`,
    { config: { guard: 'admin', operation: 'support.getAttachment' }, schema: adminSchemas.getAttachment },
    async (request, reply) => {
      const { id, messageId, place } = request.params
      const { filename, content } = await service.getAttachment(id, messageId, place)
      return reply
        .type('application/octet-stream')
        .header('content-disposition', contentDisposition('attachment', filename || 'attachment'))
        .header('content-security-policy', "default-src 'none'; sandbox")
        .send(content)
    },
  )
  app.post(
    `${path}/:id/messages`,
    { config: { guard: 'admin', operation: 'support.answer' }, schema: adminSchemas.answer },
    async (request, reply) => {
      const { id } = request.params
      return reply.code(201).send(await service.answer(id, request.body.body, originOf(request)))
    },
  )
}
