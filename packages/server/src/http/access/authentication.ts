import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { createAllowlist } from '../../lib/addresses.ts'
import { AppError } from '../../lib/errors.ts'
import { httpErrors } from '../errors/errors.ts'
import { addressKey } from '../requests/client-address.ts'
import { upgradeOfferOf } from '../requests/upgrade.ts'
import type { AdmitsAnonymous, Guard, ProgramAccess, ProgramAccessOf, StepUp } from '../route-config.ts'
import { adminCookieOf, judgeCookieUse } from './admin-cookie.ts'
import { type CallerLimiter, countOperations } from './caller-limiter.ts'
import { insufficientRole, insufficientScope, lacksStepUp, refuseAction, refuseWrite } from './grants.ts'
import {
  type AdminIdentity,
  anonymousIdentity,
  type Identity,
  openIdentity,
  type PendingIdentity,
  type TokenVerifier,
  type UserIdentity,
  type Verdict,
} from './identity.ts'
import type { Origins } from './origins.ts'
import { holds, type Permission } from './permissions.ts'

export interface AuthenticationOptions {
  /** False while `auth.enabled` is false. */
  readonly isRequired: boolean
  /** Verifiers in order of precedence; the first that recognizes a token decides. */
  readonly verifiers: readonly TokenVerifier[]
  readonly limiter: RequestLimiter
  /** Limiter of users and addresses on the data API; undefined without limits. */
  readonly callerLimiter?: CallerLimiter | undefined
  /** URL where programs learn how to get tokens (RFC 9728); undefined while they cannot get any. */
  readonly resourceMetadataUrl?: (() => string) | undefined
}

/** Limiter of app requests. */
export interface RequestLimiter {
  /**
   * Counts a request of an app with a limit. It is on the path of every request, so it returns without a
   * promise where it can.
   *
   * @returns the error with which the request is rejected
   */
  admit(identity: UserIdentity): AppError | undefined | Promise<AppError | undefined>
}

/**
 * Gives every route its guard, which runs before the body is read. The server does not start with a route that
 * has none.
 *
 * @param origins whose pages may use the administrator's cookie
 */
export function addAuthentication(
  app: FastifyInstance,
  options: AuthenticationOptions,
  origins: Origins,
): void {
  app.decorateRequest('identity', undefined)
  app.decorateRequest('pending', undefined)
  app.decorateRequest('countOperations', undefined)
  app.decorateRequest('token', undefined)
  app.decorateRequest('isStillAdmitted', undefined)
  app.decorateRequest('isStillSignedIn', undefined)
  app.addHook('onRoute', (route) => {
    const {
      guard,
      operation,
      programs,
      permission,
      stepUp,
      admitsUnenrolled,
      admitsAnonymous,
      upgrade,
      countsOperations,
    } = route.config ?? {}
    if (guard === undefined || operation === undefined) {
      throw new Error(`route ${String(route.method)} ${route.url} must declare its guard and operation`)
    }
    if (guard === 'admin' && permission === undefined) {
      throw new Error(`route ${String(route.method)} ${route.url} must declare its permission`)
    }
    if (guard === 'public') return
    const hooks = route.onRequest ?? []
    const guardHook = createGuard(
      { guard, programs, permission, stepUp, admitsUnenrolled, admitsAnonymous, upgrade, countsOperations },
      options,
      origins,
    )
    route.onRequest = [guardHook, ...(Array.isArray(hooks) ? hooks : [hooks])]
  })
}

/** Returns the caller of a route that is not public. */
export function identityOf(request: FastifyRequest): Identity {
  if (request.identity === undefined) throw new Error('the route has no guard')
  return request.identity
}

/** Returns the caller of a route with the guard `bearer`. */
export function userOf(request: FastifyRequest): UserIdentity {
  const identity = identityOf(request)
  if (identity.kind !== 'user') throw new Error('the route is not guarded for users')
  return identity
}

/** Returns the caller of a route with the guard `mfa`. */
export function pendingOf({ pending }: FastifyRequest): PendingIdentity {
  if (pending === undefined) throw new Error('the route is not guarded for pending sign-ins')
  return pending
}

/** Returns the caller of a route with the guard `optional`, if it is a signed-in user. */
export function optionalUserOf({ identity }: FastifyRequest): UserIdentity | undefined {
  return identity?.kind === 'user' ? identity : undefined
}

/** Returns the caller of a route with the guard `admin`. */
export function adminOf(request: FastifyRequest): AdminIdentity {
  const identity = identityOf(request)
  if (identity.kind !== 'admin') throw new Error('the route is not guarded for administrators')
  return identity
}

/** Returns the key of `basalt.settings` for a setting of the administrator. The command line has one of its own. */
export function settingOf(name: string, { administratorId }: AdminIdentity): string {
  return administratorId === undefined ? name : `${name} ${administratorId}`
}

type Done = (error?: Error) => void
type GuardHook = (request: FastifyRequest, reply: FastifyReply, done: Done) => void

interface Entrance {
  readonly guard: Exclude<Guard, 'public'>
  readonly programs: ProgramAccess | ProgramAccessOf | undefined
  readonly permission: Permission | undefined
  readonly stepUp?: StepUp | undefined
  readonly admitsUnenrolled?: boolean | undefined
  readonly admitsAnonymous: AdmitsAnonymous | undefined
  readonly upgrade: boolean | undefined
  readonly countsOperations: true | undefined
}

function createGuard(
  {
    guard,
    programs,
    permission = permissionOf(programs),
    stepUp,
    admitsUnenrolled,
    admitsAnonymous,
    upgrade,
    countsOperations,
  }: Entrance,
  {
    isRequired,
    verifiers,
    limiter,
    callerLimiter: limiterOfCallers,
    resourceMetadataUrl,
  }: AuthenticationOptions,
  origins: Origins,
): GuardHook {
  const metadataUrl = programs === undefined ? undefined : resourceMetadataUrl
  const challenge = createChallenge(metadataUrl)
  const callerLimiter = limitedGuards.has(guard) ? limiterOfCallers : undefined
  // RFC 6750 §3.1: the response to a request without a token has no error code.
  const challengeToken = createChallenge(metadataUrl, 'invalid_token')
  return (request, reply, done) => {
    reply.header('cache-control', 'no-store')
    // Browsers cannot set headers on a WebSocket, so its handler authenticates it. No cookie counts there.
    if (upgrade === true && upgradeOfferOf(request) !== undefined) {
      if (callerLimiter === undefined) done()
      else countHandshake(request, callerLimiter, done)
      return
    }
    const count = () => {
      if (callerLimiter === undefined) countRequest(request, limiter, done)
      else countCaller(request, reply, callerLimiter, countsOperations, countApp)
    }
    const countApp = (refusal?: Error) => {
      if (refusal === undefined) countRequest(request, limiter, done)
      else done(refusal)
    }
    const settle = (verdict: Verdict, isInCookie = false, isCurrent = false) => {
      // The session may have proved a factor on another node since the verdict was cached.
      if (!isCurrent && 'identity' in verdict && mayImprove(verdict.identity, stepUp)) {
        verifyAgain(verifiers, request.token ?? '').then((known) => settle(known, isInCookie, true), done)
        return
      }
      const access = typeof programs === 'function' ? programs(request) : programs
      const refusal = isInCookie
        ? judgeCookieSession(guard, verdict, challenge)
        : judge(guard, access, verdict, challengeToken)
      if (refusal !== undefined) {
        done(refusal)
        return
      }
      if ('identity' in verdict) {
        const { identity } = verdict
        const refusal =
          identity.kind === 'admin'
            ? refuseAdministrator(identity, { permission, stepUp, admitsUnenrolled }, request.ip)
            : undefined
        if (refusal !== undefined) {
          done(refusal)
          return
        }
        if (identity.kind === 'admin') {
          const token = request.token ?? ''
          request.isStillAdmitted = async () =>
            isAdmitted(await verifyToken(verifiers, token), { permission, admitsUnenrolled }, request.ip)
        }
        if (identity.kind === 'user') {
          const token = request.token ?? ''
          request.isStillSignedIn = async () =>
            judge(guard, access, await verifyToken(verifiers, token), challengeToken) === undefined
        }
        request.identity = identity
      }
      if ('pending' in verdict) request.pending = verdict.pending
      count()
    }
    if (openGuards.has(guard) && !isRequired) {
      if (origins.mayCallWithoutToken(request)) settle({ identity: openIdentity })
      else done(httpErrors.foreignPage())
      return
    }
    const cookie = isWithoutToken(guard, request) ? adminCookieOf(request) : undefined
    const use = cookie === undefined ? false : judgeCookieUse(request, origins)
    if (use instanceof AppError) {
      done(use)
      return
    }
    const enterWith = (token: string, isInCookie: boolean) => {
      const verdict = verifyToken(verifiers, token)
      request.token = token
      // Most tokens are verified synchronously; a promise would delay every request until the next microtask.
      if (verdict instanceof Promise) verdict.then((known) => settle(known, isInCookie), done)
      else settle(verdict, isInCookie)
    }
    if (cookie !== undefined && use) {
      enterWith(cookie, true)
      return
    }
    if (needsNoToken(guard, request)) {
      count()
      return
    }
    const missingToken = () => challenge((missing[guard] ?? httpErrors.missingAuthorization)())
    if (admitsAnonymous !== undefined && isWithoutToken(guard, request)) {
      enterAnonymously(request, admitsAnonymous(request), missingToken, (refusal) =>
        refusal === undefined ? count() : done(refusal),
      )
      return
    }
    const token = guard === 'stream' ? streamTokenOf(request) : headerTokenOf(request)
    if (token === undefined) {
      const isUnproved = guard === 'admin' && cookie !== undefined
      done(isUnproved ? httpErrors.dashboardHeaderRequired() : missingToken())
      return
    }
    enterWith(token, false)
  }
}

/** Returns true if a verdict on an administrator may have been better on another node meanwhile. */
function mayImprove(identity: Identity, stepUp: StepUp | undefined): boolean {
  if (identity.kind !== 'admin') return false
  const { secondFactor } = identity
  return (
    secondFactor.mustEnroll || (stepUp !== undefined && secondFactor.canProve && lacksStepUp(secondFactor))
  )
}

/** Requirements of a route on an administrator. */
export type AdminRequirements = Pick<Entrance, 'permission' | 'stepUp' | 'admitsUnenrolled'>

/**
 * Returns the error for an administrator who lacks the permission or a second factor, or uses a token from another
 * address.
 */
export function refuseAdministrator(
  { role, allowedAddresses, secondFactor }: AdminIdentity,
  { permission, stepUp, admitsUnenrolled }: AdminRequirements,
  address: string,
): AppError | undefined {
  if (allowedAddresses !== undefined && !createAllowlist(allowedAddresses)(address)) {
    return httpErrors.tokenAddressRefused()
  }
  if (secondFactor.mustEnroll && admitsUnenrolled !== true) return httpErrors.secondFactorRequired()
  if (permission !== undefined && !holds(role, permission)) return insufficientRole(permission)
  return stepUp === 'always' && lacksStepUp(secondFactor) ? httpErrors.stepUpRequired() : undefined
}

/** Returns true if the verdict is that of an administrator whom the route admits. */
function isAdmitted(verdict: Verdict, requirements: AdminRequirements, address: string): boolean {
  if (!('identity' in verdict) || verdict.identity.kind !== 'admin') return false
  return refuseAdministrator(verdict.identity, requirements, address) === undefined
}

/** Returns the permission that an administrator needs on a route for data; undefined for a route without data. */
function permissionOf(programs: Entrance['programs']): Permission | undefined {
  if (programs === undefined) return undefined
  return programs === 'read' ? 'rows.read' : 'rows.write'
}

/** Guards of the data API, whose requests count for the limits per user and per address. */
const limitedGuards: ReadonlySet<Guard> = new Set(['data', 'stream'])

/** Counts a request for the limits of its caller. A handler that counts operations does so once it has read them. */
function countCaller(
  request: FastifyRequest,
  reply: FastifyReply,
  limiter: CallerLimiter,
  countsOperations: true | undefined,
  done: Done,
): void {
  if (countsOperations === undefined) {
    countOperations(limiter, request, reply).then(done, done)
    return
  }
  let isCounted = false
  request.countOperations = async (operations) => {
    // A handler with an outdated catalog is repeated.
    if (isCounted) return
    isCounted = true
    const refusal = await countOperations(limiter, request, reply, operations)
    if (refusal !== undefined) throw refusal
  }
  done()
}

/** Counts the handshake of a WebSocket for its address. Its user is counted once the token is known. */
function countHandshake(request: FastifyRequest, limiter: CallerLimiter, done: Done): void {
  limiter.admit({ address: addressKey(request) }).then(({ refusal }) => done(refusal), done)
}

/** Counts a request of an app with a limit. */
function countRequest({ identity }: FastifyRequest, limiter: RequestLimiter, done: Done): void {
  if (identity?.kind !== 'user' || identity.appLimit === undefined) {
    done()
    return
  }
  const refusal = limiter.admit(identity)
  if (refusal instanceof Promise) refusal.then(done, done)
  else done(refusal)
}

/** Admits a request without a token if the anonymous role has a grant for the route. */
function enterAnonymously(
  request: FastifyRequest,
  admission: boolean | Promise<boolean>,
  missingToken: () => AppError,
  done: Done,
): void {
  const enter = (isAdmitted: boolean) => {
    if (isAdmitted) request.identity = anonymousIdentity
    done(isAdmitted ? undefined : missingToken())
  }
  if (admission instanceof Promise) admission.then(enter, done)
  else enter(admission)
}

/** Verifies a token of any kind. */
export function verifyToken(verifiers: readonly TokenVerifier[], token: string): Verdict | Promise<Verdict> {
  const verifier = verifiers.find((candidate) => candidate.recognizes(token))
  return verifier?.verify(token) ?? { refusal: 'invalid' }
}

/** Verifies a token without a cache, where its verifier has one. */
async function verifyAgain(verifiers: readonly TokenVerifier[], token: string): Promise<Verdict> {
  const verifier = verifiers.find((candidate) => candidate.recognizes(token))
  return (await verifier?.verifyAgain?.(token)) ?? (await verifyToken(verifiers, token))
}

/** Guards that treat all callers alike while `auth.enabled` is false. */
const openGuards: ReadonlySet<Guard> = new Set(['data', 'stream', 'optional'])

/** Errors for a caller without a token, by guard. */
const missing: Partial<Record<Guard, () => AppError>> = {
  admin: httpErrors.adminRequired,
  mfa: httpErrors.noPendingMfa,
  stream: httpErrors.authenticationRequired,
}

function judge(
  guard: Exclude<Guard, 'public'>,
  programs: ProgramAccess | undefined,
  verdict: Verdict,
  challenge: Challenge,
): AppError | undefined {
  if ('refusal' in verdict) {
    const isPending = verdict.refusal === 'pending' && verdict.pending !== undefined
    if (isPending && (guard === 'mfa' || guard === 'bearerOrMfa')) return undefined
    if (guard === 'admin') return challenge(httpErrors.adminRequired())
    if (guard === 'mfa') return challenge(httpErrors.noPendingMfa())
    return challenge(verdict.refusal === 'pending' ? httpErrors.mfaRequired() : httpErrors.invalidToken())
  }
  const { identity } = verdict
  if (identity.kind === 'user' && identity.scope.grant !== undefined) {
    const refusal = judgeProgram(programs, identity)
    if (refusal !== undefined) return refusal
  }
  // An administrator acts as the user on data and files, where programs may; never on the account itself.
  if (identity.kind === 'user' && identity.impersonator !== undefined && programs === undefined) {
    return httpErrors.impersonationRefused()
  }
  if (guard === 'mfa') return challenge(httpErrors.noPendingMfa())
  if (guard === 'admin') return identity.kind === 'admin' ? undefined : challenge(httpErrors.adminRequired())
  if (guard === 'data' || guard === 'optional') return undefined
  if (guard === 'stream' && identity.kind === 'open') return undefined
  if (identity.kind !== 'user') return challenge(httpErrors.invalidToken())
  return guard === 'aal2' && identity.aal !== 'aal2' ? httpErrors.insufficientAal() : undefined
}

/** Judges a session in a cookie, which may hold the administrator's token and no other. */
function judgeCookieSession(
  guard: Exclude<Guard, 'public'>,
  verdict: Verdict,
  challenge: Challenge,
): AppError | undefined {
  const isAdministrator = 'identity' in verdict && verdict.identity.kind === 'admin'
  return judge(guard, undefined, isAdministrator ? verdict : { refusal: 'invalid' }, challenge)
}

/** Returns the error with which a program is rejected on a route; undefined if it may call it. */
function judgeProgram(
  programs: ProgramAccess | undefined,
  { scope }: Pick<UserIdentity, 'scope'>,
): AppError | undefined {
  if (programs === undefined) return insufficientScope(scope, 'scope does not permit access to this endpoint')
  if (programs === 'read') return undefined
  return programs === 'write' ? refuseWrite(scope) : refuseAction(scope, programs)
}

/** Returns true if the requested stream waits for a sign-in. It has no token yet and carries no data. */
export function isSignInStream({ query }: FastifyRequest): boolean {
  return (query as { oauth?: unknown }).oauth === 'true'
}

/** Returns true if the route accepts this request without a token. */
function needsNoToken(guard: Guard, request: FastifyRequest): boolean {
  if (guard === 'optional') return request.headers.authorization === undefined
  return guard === 'stream' && isSignInStream(request)
}

/** Returns true if the request sends no token at all, not even an unreadable one. */
function isWithoutToken(guard: Guard, { headers, query }: FastifyRequest): boolean {
  if (headers.authorization !== undefined) return false
  return guard !== 'stream' || (query as { token?: unknown }).token === undefined
}

/**
 * Returns the token of a stream request. Browsers cannot set headers on an `EventSource` or a `WebSocket`, so a
 * parameter may carry it.
 */
export function streamTokenOf(request: FastifyRequest): string | undefined {
  return request.headers.authorization === undefined ? tokenParameter(request.query) : headerTokenOf(request)
}

function headerTokenOf({ raw, headers }: FastifyRequest): string | undefined {
  return hasOneAuthorization(raw.rawHeaders) ? bearerToken(headers.authorization) : undefined
}

function tokenParameter(query: unknown): string | undefined {
  const { token } = query as { token?: unknown }
  return typeof token === 'string' && token !== '' ? token : undefined
}

/** Returns the token of RFC 6750 §2.1; the scheme may be in any case (RFC 9110 §11.1). */
function bearerToken(header: string | undefined): string | undefined {
  if (header === undefined || !(header.startsWith('Bearer ') || /^bearer /i.test(header))) return undefined
  const token = header.slice('Bearer '.length).trim()
  return token === '' ? undefined : token
}

/**
 * Returns false for two headers: a proxy before us may have judged the other one (RFC 9110 §5.3: only lists may
 * repeat).
 */
function hasOneAuthorization(rawHeaders: readonly string[]): boolean {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length === 13 && name.toLowerCase() === 'authorization') count += 1
  }
  return count === 1
}

/** Function that adds the scheme to a 401 (RFC 9110 §11.6.1). */
type Challenge = (error: AppError) => AppError

/**
 * @param resourceMetadataUrl of a route that programs may call (RFC 9728 §5.1)
 * @param code of the token's fault (RFC 6750 §3.1)
 */
function createChallenge(resourceMetadataUrl: (() => string) | undefined, code?: string): Challenge {
  return (error) => {
    const parameters = [
      ...(code === undefined ? [] : [`error="${code}"`]),
      ...(resourceMetadataUrl === undefined ? [] : [`resource_metadata="${resourceMetadataUrl()}"`]),
    ]
    return error.with({ headers: { 'www-authenticate': `Bearer ${parameters.join(', ')}`.trimEnd() } })
  }
}
