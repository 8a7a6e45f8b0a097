import {
  adminCookieOf,
  clearAdminCookie,
  requireOwnPage,
  setAdminCookie,
} from '../../../http/access/admin-cookie.ts'
import { adminOf } from '../../../http/access/authentication.ts'
import type { Origins } from '../../../http/access/origins.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import { originOf } from '../../../http/requests/request-origin.ts'
import type { HttpServer } from '../../../http/server.ts'
import { endSessionSchema, sessionSchema, startSessionSchema } from './schemas.ts'
import type { AdminService } from './service.ts'
import type { AdminTokenVerifier } from './token-verifier.ts'

export interface SessionRouteDeps {
  readonly service: AdminService
  readonly tokens: AdminTokenVerifier
  readonly origins: Origins
}

/** The administrator's session in a cookie, for the pages of this server: no script of theirs ever has the token. */
export function sessionRoutes(app: HttpServer, { service, tokens, origins }: SessionRouteDeps): void {
  const path = '/api/admin/session'

  app.post(
    path,
    { config: { guard: 'public', operation: 'admin.startSession' }, schema: startSessionSchema },
    async (request, reply) => {
      requireOwnPage(request, origins)
      const { token, expiresAt } = await service.signIn(request.body, 'browser', originOf(request))
      const replaced = adminCookieOf(request)
      if (replaced !== undefined) await service.endReplaced(replaced)
      setAdminCookie(request, reply, token)
      return reply.header('cache-control', 'no-store').send({ expiresAt: expiresAt.toISOString() })
    },
  )

  app.get(
    path,
    { config: { guard: 'admin', operation: 'admin.session' }, schema: sessionSchema },
    async (request, reply) => {
      const expiresAt = await service.findSessionEnd(adminOf(request).sessionId)
      // Ended since the guard has looked.
      if (expiresAt === undefined) throw httpErrors.adminRequired()
      return reply.send({ expiresAt: expiresAt.toISOString() })
    },
  )

  app.delete(
    path,
    { config: { guard: 'admin', operation: 'admin.endSession' }, schema: endSessionSchema },
    async (request, reply) => {
      const { sessionId } = adminOf(request)
      await service.signOut(sessionId, originOf(request))
      tokens.forget(sessionId)
      clearAdminCookie(reply)
      return reply.code(204).send()
    },
  )
}
