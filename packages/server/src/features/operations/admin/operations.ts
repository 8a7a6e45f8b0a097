import {
  adminCookieOf,
  clearAdminCookie,
  requireOwnPage,
  setAdminCookie,
} from '../../../http/access/admin-cookie.ts'
import { adminOf } from '../../../http/access/authentication.ts'
import type { Origins } from '../../../http/access/origins.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import { noContent, ok, operation } from '../../../http/operation.ts'
import { atLeastOne, bodyOf, component, timestamp } from '../../../http/schemas.ts'
import { hashToken } from '../../../lib/tokens.ts'
import { Type } from '../../../lib/type.ts'
import type { AdminDeps } from './context.ts'
import { deleteSessionOf, findPasswordHash, findSessionEnd } from './queries.ts'
import { endSession } from './session.ts'
import { signIn } from './sign-in.ts'
import type { AdminTokenVerifier } from './token-verifier.ts'

export interface AdminContext extends AdminDeps {
  readonly tokens: AdminTokenVerifier
  readonly origins: Origins
}

const members = {
  password: Type.Optional(Type.String({ maxLength: 1024 })),
  code: Type.Optional(Type.String({ maxLength: 200, description: 'Code of a one-time sign-in link.' })),
}
const isEither = atLeastOne({ required: ['password'] }, { required: ['code'] })
const credentials = {
  body: Type.Object(members),
  documentedBody: bodyOf('application/json', component('AdminCredentials', Type.Object(members, isEither))),
}

const AdminSession = component('AdminSession', Type.Object({ expiresAt: timestamp }))

const status = operation({
  id: 'admin.status',
  guard: 'public',
  method: 'GET',
  path: '/api/admin/status',
  tag: 'admin',
  summary: 'Report whether an administrator password is set',
  success: ok(Type.Object({ auth: Type.Boolean() })),
  handle: async ({ database }: AdminContext) => ({ auth: (await findPasswordHash(database)) !== undefined }),
})

const authenticate = operation({
  id: 'admin.signIn',
  guard: 'public',
  method: 'POST',
  path: '/api/admin/auth',
  tag: 'admin',
  summary: 'Sign in as administrator',
  description: 'Requires the password, or the code of a one-time sign-in link.',
  ...credentials,
  success: ok(Type.Object({ token: Type.String(), expiresAt: timestamp })),
  async handle(context: AdminContext, { body, origin }, reply) {
    const session = await signIn(context, body, 'program', origin)
    void reply.header('cache-control', 'no-store')
    return session
  },
})

const signOut = operation({
  id: 'admin.signOut',
  guard: 'admin',
  permission: 'owner',
  method: 'POST',
  path: '/api/admin/auth/logout',
  tag: 'admin',
  summary: 'End the session of this admin token',
  success: noContent,
  async handle({ database, tokens }: AdminContext, { http, origin }) {
    const { sessionId } = adminOf(http)
    await endSession(database, sessionId, origin)
    tokens.invalidate(sessionId)
  },
})

// Starts a session in a cookie for pages of this server, so that no script ever has the token.

const startSession = operation({
  id: 'admin.startSession',
  guard: 'public',
  method: 'POST',
  path: '/api/admin/session',
  tag: 'admin',
  summary: 'Sign in as administrator in the dashboard',
  description:
    "Sets an HttpOnly cookie that counts as an admin token on every route, for requests of this server's pages with `x-basalt-dashboard: 1`. The session ends after two hours without a request, and after twelve hours.",
  ...credentials,
  success: ok(AdminSession),
  async handle(context: AdminContext, { body, http, origin }, reply) {
    requireOwnPage(http, context.origins)
    const { token, expiresAt } = await signIn(context, body, 'browser', origin)
    const replaced = adminCookieOf(http)
    if (replaced !== undefined) await deleteSessionOf(context.database, hashToken(replaced))
    setAdminCookie(http, reply, token)
    void reply.header('cache-control', 'no-store')
    return { expiresAt }
  },
})

const getSession = operation({
  id: 'admin.session',
  guard: 'admin',
  permission: 'owner',
  method: 'GET',
  path: '/api/admin/session',
  tag: 'admin',
  summary: 'Get the end of the session of this cookie or admin token',
  description: 'Further requests may extend the session.',
  success: ok(AdminSession),
  async handle({ database }: AdminContext, { http }) {
    const expiresAt = await findSessionEnd(database, adminOf(http).sessionId)
    // The session has ended since the guard's check.
    if (expiresAt === undefined) throw httpErrors.adminRequired()
    return { expiresAt }
  },
})

const endOwnSession = operation({
  id: 'admin.endSession',
  guard: 'admin',
  permission: 'owner',
  method: 'DELETE',
  path: '/api/admin/session',
  tag: 'admin',
  summary: 'End the session of this cookie or admin token',
  success: noContent,
  async handle({ database, tokens }: AdminContext, { http, origin }, reply) {
    const { sessionId } = adminOf(http)
    await endSession(database, sessionId, origin)
    tokens.invalidate(sessionId)
    clearAdminCookie(reply)
  },
})

/** Operations on sessions of the administrator. */
export const adminOperations = [status, authenticate, signOut, startSession, getSession, endOwnSession]
