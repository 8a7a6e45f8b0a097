import type { FastifyRequest } from 'fastify'
import type { Queryable } from '../../../database/system-database.ts'
import { userOf } from '../../../http/access/authentication.ts'
import type { UserIdentity } from '../../../http/access/identity.ts'
import { originOf } from '../../../http/requests/request-origin.ts'
import type { HttpServer } from '../../../http/server.ts'
import { adminSchemas, ownSchemas } from './schemas.ts'
import { type ApiKeyService, defaultGraceSeconds } from './service.ts'

/** Locks the caller's account until the transaction ends. @throws AppError invalid_token when its session has ended */
type LockCaller = (transaction: Queryable, caller: UserIdentity) => Promise<unknown>

export interface CallerLocks {
  readonly lockCaller: LockCaller
  /** As `lockCaller`, for a new secret. @throws AppError insufficient_aal where a factor is enrolled that was not passed */
  readonly lockIssuer: LockCaller
}

/** API keys of all users, for administrators. */
export function apiKeyAdminRoutes(app: HttpServer, service: ApiKeyService): void {
  const path = '/api/admin/api-keys'
  app.get(
    path,
    { config: { guard: 'admin', operation: 'apiKeys.list' }, schema: adminSchemas.list },
    async (request, reply) => reply.send(await service.list(request.query)),
  )
  app.post(
    path,
    { config: { guard: 'admin', operation: 'apiKeys.create' }, schema: adminSchemas.create },
    async (request, reply) =>
      reply.code(201).send(await service.create(request.body, { actor: 'admin', origin: originOf(request) })),
  )
  app.patch(
    `${path}/:id`,
    { config: { guard: 'admin', operation: 'apiKeys.update' }, schema: adminSchemas.update },
    async (request, reply) => {
      const by = { actor: 'admin', origin: originOf(request) }
      return reply.send(await service.update(request.params.id, request.body, by))
    },
  )
  app.post(
    `${path}/:id/rotate`,
    { config: { guard: 'admin', operation: 'apiKeys.rotate' }, schema: adminSchemas.rotate },
    async (request, reply) => {
      const { graceSeconds = defaultGraceSeconds } = request.body ?? {}
      const by = { actor: 'admin', origin: originOf(request) }
      return reply.send(await service.rotate(request.params.id, graceSeconds, by))
    },
  )
  app.delete(
    `${path}/:id`,
    { config: { guard: 'admin', operation: 'apiKeys.revoke' }, schema: adminSchemas.revoke },
    async (request, reply) => {
      await service.revoke(request.params.id, { actor: 'admin', origin: originOf(request) })
      return reply.code(204).send()
    },
  )
}

/** API keys of the caller. */
export function ownApiKeyRoutes(
  app: HttpServer,
  service: ApiKeyService,
  { lockCaller, lockIssuer }: CallerLocks,
): void {
  const path = '/api/auth/api-keys'
  const ownerOf = (request: FastifyRequest, lockOwner = lockCaller) => {
    const caller = userOf(request)
    const lock = (transaction: Queryable) => lockOwner(transaction, caller)
    return { userId: caller.userId, lock }
  }
  app.get(
    path,
    { config: { guard: 'bearer', operation: 'apiKeys.listOwn' }, schema: ownSchemas.list },
    async (request, reply) => reply.send(await service.listOwn(userOf(request).userId)),
  )
  app.post(
    path,
    { config: { guard: 'bearer', operation: 'apiKeys.createOwn' }, schema: ownSchemas.create },
    async (request, reply) =>
      reply.code(201).send(await service.createOwn(request.body, ownerOf(request, lockIssuer))),
  )
  app.patch(
    `${path}/:id`,
    { config: { guard: 'bearer', operation: 'apiKeys.renameOwn' }, schema: ownSchemas.rename },
    async (request, reply) =>
      reply.send(await service.rename(request.params.id, request.body.name, ownerOf(request))),
  )
  app.post(
    `${path}/:id/rotate`,
    { config: { guard: 'bearer', operation: 'apiKeys.rotateOwn' }, schema: ownSchemas.rotate },
    async (request, reply) => {
      const { graceSeconds = defaultGraceSeconds } = request.body ?? {}
      return reply.send(await service.rotate(request.params.id, graceSeconds, ownerOf(request, lockIssuer)))
    },
  )
  app.delete(
    `${path}/:id`,
    { config: { guard: 'bearer', operation: 'apiKeys.revokeOwn' }, schema: ownSchemas.revoke },
    async (request, reply) => {
      await service.revoke(request.params.id, ownerOf(request))
      return reply.code(204).send()
    },
  )
}
