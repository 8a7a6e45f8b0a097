import 'fastify'
import type { FastifyRequest } from 'fastify'
import type { Action } from './access/actions.ts'
import type { Identity, PendingIdentity } from './access/identity.ts'
import type { Permission } from './access/permissions.ts'

/**
 * Callers that a route admits.
 * - `public`: everybody; a token is ignored
 * - `optional`: everybody; a token that is sent must be valid, and is ignored while `auth.enabled` is false
 * - `bearer`: a signed-in user
 * - `aal2`: a signed-in user whose second factor has passed
 * - `mfa`: a user whose second factor is due
 * - `bearerOrMfa`: either
 * - `admin`: an administrator, by token or by the dashboard's cookie, which counts wherever the token would
 * - `data`: a signed-in user or an administrator, or everybody while `auth.enabled` is false; requests
 *   without a token where {@link AdmitsAnonymous} returns true
 * - `stream`: a signed-in user, by header or by the parameter `token`, or everybody while `auth.enabled` is
 *   false. Requests without a token are admitted where {@link AdmitsAnonymous} returns true. With `oauth=true`
 *   everybody is, because such a stream waits for a sign-in. An administrator is admitted by cookie only
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
 * Access that a route requires of a program with an API key or an OAuth token: to read data, to write data, or
 * a granted action. Routes without it are for people only.
 */
export type ProgramAccess = 'read' | 'write' | Action

/** Decides the access of programs by the request, before the body is read. Undefined: only people are admitted. */
export type ProgramAccessOf = (request: FastifyRequest) => ProgramAccess | undefined

/**
 * Check whether a request without a token is admitted, because the operator has granted the anonymous role the
 * access that the route needs. It runs before the body is read.
 */
export type AdmitsAnonymous = (request: FastifyRequest) => boolean | Promise<boolean>

/**
 * Check that an administrator with a second factor has proved it within the last ten minutes. The guard checks it, or
 * the handler does by `requireStepUp`, depending on the body.
 */
export type StepUp = 'always' | 'byHandler'

// Every route declares its guard and operation; `authentication.ts` rejects a route without them at startup.
// The guard sets the identity before a handler runs.
declare module 'fastify' {
  interface FastifyContextConfig {
    guard?: Guard
    /** Stable name for logs, metrics and the API document: `collections.list`. */
    operation?: string
    programs?: ProgramAccess | ProgramAccessOf
    /**
     * Permission that an administrator needs. Routes with the guard `admin` have one. Other routes require `rows.read`
     * for reads, and otherwise `rows.write`, unless they have one.
     */
    permission?: Permission
    /** Requirement of a fresh second factor, for administrators with a factor. */
    stepUp?: StepUp
    /** True if administrators without a second factor are admitted while one is required of all. */
    admitsUnenrolled?: boolean
    admitsAnonymous?: AdmitsAnonymous
    /** True if the handler counts the operations of the request for the limits of its caller. */
    countsOperations?: true
    /** True if the route responds with server-sent events. */
    eventStream?: boolean
    /** True if the route also accepts WebSocket handshakes, which its handler authenticates. */
    upgrade?: boolean
  }
  interface FastifyRequest {
    identity: Identity | undefined
    /** Set on routes with the guard `mfa` or `bearerOrMfa`. */
    pending: PendingIdentity | undefined
    /** Counts operations for the limits of the caller. @throws AppError too_many_requests. Undefined without limits */
    countOperations: ((count: number) => Promise<void>) | undefined
    /** Token that the guard has checked. */
    token: string | undefined
    /**
     * Returns true if the guard would still admit the administrator, for long responses. Set for
     * administrators.
     */
    isStillAdmitted: (() => Promise<boolean>) | undefined
    /** Returns true if the guard would still admit the token of the user, for long responses. Set for users. */
    isStillSignedIn: (() => Promise<boolean>) | undefined
  }
}
