import { adminOf } from '../../../http/access/authentication.ts'
import { originOf } from '../../../http/requests/request-origin.ts'
import type { HttpServer } from '../../../http/server.ts'
import { signInSchema, signOutSchema, statusSchema } from './schemas.ts'
import type { AdminService } from './service.ts'
import type { AdminTokenVerifier } from './token-verifier.ts'

/** Signing in and out as administrator. */
export function adminRoutes(app: HttpServer, service: AdminService, tokens: AdminTokenVerifier): void {
  app.get(
    '/api/admin/status',
    { config: { guard: 'public', operation: 'admin.status' }, schema: statusSchema },
    async (_request, reply) => reply.send({ auth: await service.hasPassword() }),
  )

  app.post(
    '/api/admin/auth',
    { config: { guard: 'public', operation: 'admin.signIn' }, schema: signInSchema },
    async (request, reply) => {
      const { token, expiresAt } = await service.signIn(request.body, 'program', originOf(request))
      return reply.header('cache-control', 'no-store').send({ token, expiresAt: expiresAt.toISOString() })
    },
  )

  app.post(
    '/api/admin/auth/logout',
    { config: { guard: 'admin', operation: 'admin.signOut' }, schema: signOutSchema },
    async (request, reply) => {
      const { sessionId } = adminOf(request)
      await service.signOut(sessionId, originOf(request))
      tokens.forget(sessionId)
      return reply.code(204).send()
    },
  )
}
