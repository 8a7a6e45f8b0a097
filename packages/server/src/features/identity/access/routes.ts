import type { FastifyReply, FastifyRequest } from 'fastify'
import { originOf } from '../../../http/requests/request-origin.ts'
import type { HttpServer } from '../../../http/server.ts'
import * as schemas from './schemas.ts'
import type { AccessService, Asking } from './service.ts'

const path = '/api/admin/access'

/** Why callers may do what they do. */
export function accessRoutes(app: HttpServer, access: AccessService): void {
  app.post(
    `${path}/explain`,
    { config: { guard: 'admin', operation: 'access.explain' }, schema: schemas.explainSchema },
    async (request, reply) => reply.send(await access.explain(request.body, askingOf(request, reply))),
  )
  app.post(
    `${path}/parts`,
    { config: { guard: 'admin', operation: 'access.takeApart' }, schema: schemas.partsSchema },
    async (request, reply) => reply.send(await access.takeApart(request.body, askingOf(request, reply))),
  )
  app.post(
    `${path}/compare`,
    { config: { guard: 'admin', operation: 'access.compare' }, schema: schemas.compareSchema },
    async (request, reply) => reply.send(await access.compare(request.body, askingOf(request, reply))),
  )
  app.post(
    `${path}/cases`,
    { config: { guard: 'admin', operation: 'access.saveCase' }, schema: schemas.saveSchema },
    async (request, reply) => reply.send(await access.save(request.body, askingOf(request, reply))),
  )
}

/** What runs is cancelled when the client leaves before it has the answer. */
function askingOf(request: FastifyRequest, { raw }: FastifyReply): Asking {
  const controller = new AbortController()
  raw.once('close', () => {
    if (!raw.writableFinished) controller.abort()
  })
  return { origin: originOf(request), signal: controller.signal }
}
