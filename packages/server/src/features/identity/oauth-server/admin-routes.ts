import type { FastifyRequest } from 'fastify'
import { originOf } from '../../../http/requests/request-origin.ts'
import type { HttpServer } from '../../../http/server.ts'
import { requireUser } from '../accounts/index.ts'
import type { ClientAdministration } from './clients/administration.ts'
import { type OAuthContext, requireEnabled } from './context.ts'
import * as schemas from './schemas.ts'
import { listGrants, revokeGrantOf } from './user-grants.ts'

/** Clients and what users let them do, for administrators. */
export function adminRoutes(app: HttpServer, context: OAuthContext, clients: ClientAdministration): void {
  const path = '/api/admin/oauth/clients'
  const by = (request: FastifyRequest) => ({ actor: 'admin', origin: originOf(request) })
  app.get(
    path,
    { config: { guard: 'admin', operation: 'oauthClients.list' }, schema: schemas.clientSchemas.list },
    async (request, reply) => {
      requireEnabled(context)
      return reply.send(await clients.list(request.query))
    },
  )
  app.post(
    path,
    { config: { guard: 'admin', operation: 'oauthClients.create' }, schema: schemas.clientSchemas.create },
    async (request, reply) => {
      requireEnabled(context)
      return reply.code(201).send(await clients.create(request.body, by(request)))
    },
  )
  app.get(
    `${path}/:clientId`,
    { config: { guard: 'admin', operation: 'oauthClients.get' }, schema: schemas.clientSchemas.get },
    async (request, reply) => {
      requireEnabled(context)
      return reply.send(await clients.get(request.params.clientId))
    },
  )
  app.put(
    `${path}/:clientId`,
    { config: { guard: 'admin', operation: 'oauthClients.update' }, schema: schemas.clientSchemas.update },
    async (request, reply) => {
      requireEnabled(context)
      return reply.send(await clients.update(request.params.clientId, request.body, by(request)))
    },
  )
  app.delete(
    `${path}/:clientId`,
    { config: { guard: 'admin', operation: 'oauthClients.revoke' }, schema: schemas.clientSchemas.revoke },
    async (request, reply) => {
      requireEnabled(context)
      await clients.revoke(request.params.clientId, by(request))
      return reply.code(204).send()
    },
  )
  app.post(
    `${path}/:clientId/rotate-secret`,
    {
      config: { guard: 'admin', operation: 'oauthClients.rotateSecret' },
      schema: schemas.clientSchemas.rotateSecret,
    },
    async (request, reply) => {
      requireEnabled(context)
      return reply.send(await clients.rotateSecret(request.params.clientId, by(request)))
    },
  )
  app.get(
    `${path}/:clientId/grants`,
    { config: { guard: 'admin', operation: 'oauthClients.listGrants' }, schema: schemas.clientGrantsSchema },
    async (request, reply) => {
      requireEnabled(context)
      const { id } = await clients.get(request.params.clientId)
      return reply.send(await listGrants(context, { clientRowId: id }))
    },
  )
  app.get(
    '/api/admin/users/:id/grants',
    { config: { guard: 'admin', operation: 'users.listGrants' }, schema: schemas.userGrantsSchema },
    async (request, reply) => {
      requireEnabled(context)
      await requireUser(context.database, request.params.id)
      return reply.send(await listGrants(context, { userId: request.params.id }))
    },
  )
  app.delete(
    '/api/admin/users/:id/grants/:grantId',
    { config: { guard: 'admin', operation: 'users.revokeGrant' }, schema: schemas.revokeUserGrantSchema },
    async (request, reply) => {
      requireEnabled(context)
      const { id, grantId } = request.params
      await requireUser(context.database, id)
      await revokeGrantOf(context, id, grantId, by(request))
      return reply.code(204).send()
    },
  )
}
