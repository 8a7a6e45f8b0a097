import { adminOf } from '../../../../http/access/authentication.ts'
import { originOf } from '../../../../http/requests/request-origin.ts'
import type { HttpServer } from '../../../../http/server.ts'
import type { AccountContext } from '../context.ts'
import { endImpersonation, impersonate, listImpersonations } from './impersonation.ts'
import { getListedUser } from './list-users.ts'
import * as schemas from './schemas.ts'

/** Administrators who act as users. */
export function impersonationRoutes(app: HttpServer, context: AccountContext): void {
  app.post(
    '/api/admin/users/:id/impersonate',
    { config: { guard: 'admin', operation: 'users.impersonate' }, schema: schemas.impersonateSchema },
    async (request, reply) => {
      const { id } = request.params
      const by = { origin: originOf(request), administratorSession: adminOf(request).sessionId }
      const impersonation = await impersonate(context, id, request.body, by)
      const user = await getListedUser(context.database, id)
      return reply.code(201).send({ ...impersonation, user })
    },
  )
  app.get(
    '/api/admin/impersonations',
    {
      config: { guard: 'admin', operation: 'impersonations.list' },
      schema: schemas.listImpersonationsSchema,
    },
    async (_request, reply) => reply.send({ items: await listImpersonations(context) }),
  )
  app.delete(
    '/api/admin/impersonations/:id',
    { config: { guard: 'admin', operation: 'impersonations.end' }, schema: schemas.endImpersonationSchema },
    async (request, reply) => {
      await endImpersonation(context, request.params.id, originOf(request))
      return reply.code(204).send()
    },
  )
}
