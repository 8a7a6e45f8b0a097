import {
  adminCookieOf,
  clearAdminCookie,
  requireOwnPage,
  setAdminCookie,
} from '../../../http/access/admin-cookie.ts'
import { adminOf } from '../../../http/access/authentication.ts'
import { administratorRoles, holds, permissions } from '../../../http/access/permissions.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import { noContent, ok, operation } from '../../../http/operation.ts'
import { atLeastOne, bodyOf, choice, component, nullable, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import type { AdminContext } from './context.ts'
import { deleteSessionOf, findSessionEnd, hasPassword } from './queries.ts'
import { passkeyMembers } from './second-factor/operations.ts'
import { endSession, hashesOf } from './session.ts'
import { signIn } from './sign-in.ts'

const members = {
  email: Type.Optional(
    Type.String({
      maxLength: 320,
      description: 'Address. Without it, the first administrator signs in while they are an owner.',
    }),
  ),
  password: Type.Optional(Type.String({ maxLength: 1024 })),
  code: Type.Optional(
    Type.String({
      maxLength: 200,
      description:
        'Code of a one-time sign-in link. With `mfa_token`: code of the authenticator app, or a backup code.',
    }),
  ),
  mfa_token: Type.Optional(
    Type.String({ maxLength: 200, description: 'Token of the sign-in that waits for its second factor.' }),
  ),
  ...passkeyMembers,
}
const isEither = atLeastOne(
  { required: ['password'] },
  atLeastOne({ required: ['code'] }, { required: ['challenge_id', 'assertion_response'] }),
)
const credentials = {
  body: Type.Object(members),
  documentedBody: bodyOf('application/json', component('AdminCredentials', Type.Object(members, isEither))),
}

const AdminSession = component('AdminSession', Type.Object({ expiresAt: timestamp }))

/** Sign-in that waits for a second factor. */
const PendingAdminSession = component(
  'PendingAdminSession',
  Type.Object({
    mfa_pending: Type.Literal(true),
    mfa_token: Type.String({
      description: 'Token that is sent with the second factor. It is valid for five minutes.',
    }),
  }),
)

/** Session of this request, and the administrator who began it. */
const CurrentAdminSession = component(
  'CurrentAdminSession',
  Type.Object({
    expiresAt: timestamp,
    administratorId: nullable(Type.String({ format: 'uuid' }), {
      description: 'null for a token of the command line.',
    }),
    email: nullable(Type.String()),
    role: choice(administratorRoles),
    permissions: Type.Array(choice(permissions), { description: 'Permissions of the role.' }),
    hasSecondFactor: Type.Boolean({ description: 'True if the administrator has a second factor.' }),
    hasIdentity: Type.Boolean({
      description:
        'True if the administrator can authenticate again at the OpenID provider, for sensitive operations.',
    }),
    mustEnroll: Type.Boolean({
      description:
        'True if only the enrolment of a second factor is admitted: `admin.require_second_factor`.',
    }),
  }),
)

const status = operation({
  id: 'admin.status',
  guard: 'public',
  method: 'GET',
  path: '/api/admin/status',
  tag: 'admin',
  summary: 'Report whether an administrator password is set',
  success: ok(Type.Object({ auth: Type.Boolean() })),
  handle: async ({ database }: AdminContext) => ({ auth: await hasPassword(database) }),
})

const authenticate = operation({
  id: 'admin.signIn',
  guard: 'public',
  method: 'POST',
  path: '/api/admin/auth',
  tag: 'admin',
  summary: 'Sign in as administrator',
  description:
    'Requires the address and the password, the password of the first administrator, the code of a one-time sign-in link, or a passkey. An administrator with a second factor gets `mfa_pending`, and completes the sign-in with `mfa_token` and a code or a passkey.',
  ...credentials,
  success: ok(
    Type.Union([
      component('AdminToken', Type.Object({ token: Type.String(), expiresAt: timestamp })),
      PendingAdminSession,
    ]),
  ),
  async handle(context: AdminContext, { body, http, origin }, reply) {
    const session = await signIn(context, body, 'program', origin, http.headers['user-agent'])
    void reply.header('cache-control', 'no-store')
    return session
  },
})

const signOut = operation({
  id: 'admin.signOut',
  guard: 'admin',
  permission: 'account',
  admitsUnenrolled: true,
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
  success: ok(Type.Union([AdminSession, PendingAdminSession])),
  async handle(context: AdminContext, { body, http, origin }, reply) {
    requireOwnPage(http, context.origins)
    const signedIn = await signIn(context, body, 'browser', origin, http.headers['user-agent'])
    void reply.header('cache-control', 'no-store')
    if ('mfa_pending' in signedIn) return signedIn
    const { token, expiresAt } = signedIn
    const replaced = adminCookieOf(http)
    if (replaced !== undefined) await deleteSessionOf(context.database, hashesOf(replaced))
    setAdminCookie(http, reply, token)
    return { expiresAt }
  },
})

const getSession = operation({
  id: 'admin.session',
  guard: 'admin',
  permission: 'account',
  admitsUnenrolled: true,
  method: 'GET',
  path: '/api/admin/session',
  tag: 'admin',
  summary: 'Get the session of this cookie or admin token',
  description: 'Further requests may extend the session.',
  success: ok(CurrentAdminSession),
  async handle({ database }: AdminContext, { http }) {
    const { sessionId, administratorId = null, email = null, role, secondFactor } = adminOf(http)
    const expiresAt = await findSessionEnd(database, sessionId)
    // The session has ended since the guard's check.
    if (expiresAt === undefined) throw httpErrors.adminRequired()
    const own = permissions.filter((permission) => holds(role, permission))
    const { isEnrolled: hasSecondFactor, hasIdentity, mustEnroll } = secondFactor
    return {
      expiresAt,
      administratorId,
      email,
      role,
      permissions: own,
      hasSecondFactor,
      hasIdentity,
      mustEnroll,
    }
  },
})

const endOwnSession = operation({
  id: 'admin.endSession',
  guard: 'admin',
  permission: 'account',
  admitsUnenrolled: true,
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
