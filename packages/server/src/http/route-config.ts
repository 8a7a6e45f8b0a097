import 'fastify'
import type { FastifyRequest } from 'fastify'
import type { Action } from './access/actions.ts'
import type { Identity, PendingIdentity } from './access/identity.ts'

/**
 * Who may call a route.
 * - `public`: everybody; a token is not looked at
 * - `optional`: everybody; a token that is sent must be good, and is not looked at while `auth.enabled` is false
 * - `bearer`: a signed-in user
 * - `aal2`: a signed-in user whose second factor has passed
 * - `mfa`: a user whose second factor is due
 * - `bearerOrMfa`: either
 * - `admin`: an administrator, by token or by the cookie of the dashboard, which counts wherever its token would
 * - `data`: a signed-in user or an administrator, or everybody while `auth.enabled` is false; requests without a token
 *   where {@link AdmitsAnonymous} says so
 * - `stream`: a signed-in user, by header or by the parameter `token`, or everybody while `auth.enabled` is false;
 *   requests without a token where {@link AdmitsAnonymous} says so; with `oauth=true` everybody: such a stream waits for
 *   a sign-in; an administrator by cookie only
 */
export type Guard =
  | 'public'
  | 'optional'
  | 'bearer'
  | 'aal2'
  | 'mfa'
  | 'bearerOrMfa'
  | 'admin'
  | 'data'
  | 'stream'

/**
 * What a program, which presents an API key or an OAuth token, may call a route for: to read or write data, or an action
 * that an administrator has granted to it. Without it, routes are for people only.
 */
export type ProgramAccess = 'read' | 'write' | Action

/** Right that an administrative operation requires of its caller. */
export type Permission = 'owner'

/**
 * Whether a request without a token may come in, because the operator has granted its role what the route does there.
 * Asked before the body is read.
 */
export type AdmitsAnonymous = (request: FastifyRequest) => boolean | Promise<boolean>

// Every route states its guard and operation; `authentication.ts` refuses to start without. The identity is set
// by the guard before a handler runs.
declare module 'fastify' {
  interface FastifyContextConfig {
    guard?: Guard
    /** Stable name for logs, metrics and the API document: `collections.list`. */
    operation?: string
    programs?: ProgramAccess
    /** Right of the administrator, on routes with the guard `admin`. */
    permission?: Permission
    admitsAnonymous?: AdmitsAnonymous
    /** The route answers with server-sent events. */
    eventStream?: boolean
    /** The route also takes requests for a WebSocket. */
    upgrade?: boolean
  }
  interface FastifyRequest {
    identity: Identity | undefined
    /** Set on routes with the guard `mfa` or `bearerOrMfa`. */
    pending: PendingIdentity | undefined
    /** What the guard has looked at. */
    token: string | undefined
  }
}
