import { randomBytes } from 'node:crypto'
import type { SystemDatabase, SystemTransaction } from '../../../database/system-database.ts'
import type { PendingIdentity } from '../../../http/access/identity.ts'
import { type Answered, component } from '../../../http/schemas.ts'
import type { JsonObject } from '../../../lib/json.ts'
import { Type } from '../../../lib/type.ts'
import { describeAccount } from './account-functions.ts'
import type { AccountContext } from './context.ts'
import { accountErrors } from './errors.ts'
import { signAccessToken } from './sessions/access-token.ts'
import { createRefreshToken } from './sessions/refresh-token.ts'
import {
  type Client,
  findPendingSignIn,
  insertPendingSignIn,
  insertSession,
  type SessionStart,
} from './sessions/sessions.ts'
import { describeUser, markEmailVerified, type User, UserObject } from './users.ts'

/** Authentication method of a sign-in: the first factor, or one of both. */
export type AuthenticationMethod = 'password' | 'otp' | 'sms' | 'anonymous' | 'webauthn' | 'oauth'

/** New session. */
export const Authentication = component(
  'Authentication',
  Type.Object({
    token: Type.String({ description: 'Access token, a JWT.' }),
    refreshToken: Type.String({ description: 'Opaque token, replaced at every refresh.' }),
    user: UserObject,
  }),
)
export type Authentication = Answered<typeof Authentication>

/** Sign-in that waits for a second factor. */
export const PendingAuthentication = component(
  'PendingAuthentication',
  Type.Object({
    mfa_pending: Type.Literal(true),
    mfa_token: Type.String({
      description: 'Token for the endpoints of the second factor. It is valid for five minutes.',
    }),
  }),
)
export type PendingAuthentication = Answered<typeof PendingAuthentication>

/** Response to a first factor. */
export const AuthenticationOrPending = Type.Union([Authentication, PendingAuthentication])

/** Response to new credentials. An unverified address that must be verified gets no session. */
export const AuthenticationOrUnverified = Type.Union([
  Authentication,
  component('UnverifiedAccount', Type.Object({ user: UserObject, message: Type.String() })),
])

export function describeUnverified(user: User) {
  return {
    user: describeUser(user),
    message: 'verify your email address to sign in; a link has been sent to it',
  }
}

export interface SessionTokens {
  readonly sessionId: string
  readonly generation: number
  readonly aal: 'aal1' | 'aal2'
  readonly amr: readonly string[]
}

/** Method of a second factor. */
export type SecondMethod = 'totp' | 'email' | 'sms' | 'webauthn' | 'backup_code'

/** First factor of a sign-in link. */
const mailMethod: AuthenticationMethod = 'otp'

/** Seconds for which a sign-in waits for its second factor. */
const pendingSeconds = 300

/**
 * Continues after a first factor has passed: starts a session, or waits for the second factor of a user who
 * has one.
 *
 * @returns undefined when the user has been deleted or disabled, or has another password
 * @throws AppError email_not_verified
 */
export async function finishFirstFactor(
  context: AccountContext,
  database: SystemDatabase | SystemTransaction,
  user: User,
  method: AuthenticationMethod,
  client: Client,
  /**
   * True if the factor proves the address of the user. The address is verified at the latest when the second
   * factor passes.
   */
  provesEmail = method === mailMethod,
): Promise<Authentication | PendingAuthentication | undefined> {
  const { secondFactors, keys, clock } = context
  if (!provesEmail && isUnverified(context, user)) throw accountErrors.emailNotVerified()
  if (!(await secondFactors.isEnrolled(database, user.id))) {
    return await startSession(context, database, user, method, client)
  }
  const pending = await insertPendingSignIn(database, {
    userId: user.id,
    method,
    provesEmail,
    lifetimeSeconds: pendingSeconds,
    ...checkedPassword(user, method),
  })
  if (pending === undefined) return undefined
  const claims = {
    sub: user.id,
    email: user.email ?? '',
    aal: 'aal1',
    amr: [method],
    mfa_pending: true,
    jti: pending.id,
  } as const
  return {
    mfa_pending: true,
    mfa_token: signAccessToken(claims, pendingSeconds, { secret: keys.access, clock }),
  }
}

/** Returns the password hash that a sign-in by password was checked against. */
function checkedPassword({ password_hash }: User, method: AuthenticationMethod): { passwordHash?: string } {
  return method === 'password' && password_hash !== null ? { passwordHash: password_hash } : {}
}

/**
 * Starts a session by a first factor alone.
 *
 * @returns undefined as in {@link finishFirstFactor}
 * @throws AppError email_not_verified
 */
export async function startSession(
  context: AccountContext,
  database: SystemDatabase | SystemTransaction,
  user: User,
  method: AuthenticationMethod,
  client: Client,
): Promise<Authentication | undefined> {
  const amr = [method]
  return await start(context, database, user, { aal: 'aal1', amr, ...checkedPassword(user, method) }, client)
}

/**
 * Completes a sign-in that waited for its second factor. It must run in the transaction that consumes the
 * factor.
 *
 * @returns undefined when the sign-in no longer waits
 * @throws AppError email_not_verified
 */
export async function finishSecondFactor(
  context: AccountContext,
  database: SystemTransaction,
  pending: PendingIdentity,
  method: SecondMethod,
  client: Client,
): Promise<Authentication | undefined> {
  const found = await findPendingSignIn(database, pending)
  if (found === undefined) return undefined
  const session = { aal: 'aal2', amr: [found.method, method] } as const
  // The sign-in proved the address and passed the factor, so both belong to this user.
  const provesEmail = found.proves_email || found.method === mailMethod
  const isProven = provesEmail && found.email !== null && found.email_verified_at === null
  const user = isProven ? await markEmailVerified(database, found.id, found.email) : found
  return user && (await start(context, database, user, session, client))
}

async function start(
  context: AccountContext,
  database: SystemDatabase | SystemTransaction,
  user: User,
  session: Pick<SessionStart, 'aal' | 'amr' | 'passwordHash'>,
  client: Client,
): Promise<Authentication | undefined> {
  if (isUnverified(context, user)) throw accountErrors.emailNotVerified()
  if (user.disabled_at !== null) return undefined
  // A slow function must not hold the lock of the new session's user.
  const custom = await context.functions.claims(database, describeAccount(user), client.requestId)
  const started = await insertSession(database, {
    userId: user.id,
    lifetimeSeconds: context.config.refresh_token_duration,
    tokenExpiresAt: tokenExpiryOf(context),
    client,
    ...session,
  })
  if (started === undefined) return undefined
  const tokens = { sessionId: started.id, generation: 1, aal: session.aal, amr: session.amr }
  return respond(context, user, tokens, custom)
}

/**
 * Returns whether the user must verify the address before signing in. A user without an address has nothing
 * to verify, and a disabled user does not sign in anyway.
 */
export function isUnverified({ config }: Pick<AccountContext, 'config'>, user: User): boolean {
  const { email, email_verified_at, disabled_at } = user
  return config.require_verified_email && email !== null && email_verified_at === null && disabled_at === null
}

/**
 * Seconds added to the stored expiry of a token. The token is signed after its expiry is stored, by a
 * statement that may wait for a lock.
 */
const statementSeconds = 60

/** Returns the latest expiry of the access token that is signed next. */
export function tokenExpiryOf({ clock, config }: Pick<AccountContext, 'clock' | 'config'>): Date {
  return new Date(clock.now().getTime() + (config.token_duration + statementSeconds) * 1000)
}

/** Returns the claims about the user, which are the same for every session. */
export function claimsOf(user: User) {
  return {
    sub: user.id,
    email: user.email ?? '',
    email_verified: user.email_verified_at !== null,
    is_anonymous: user.is_anonymous,
  }
}

/** Makes tokens for a session at one of its generations. @param custom claims of a function */
export function respond(
  context: AccountContext,
  user: User,
  tokens: SessionTokens,
  custom: JsonObject | undefined,
): Authentication {
  const { config, keys, clock } = context
  const { sessionId, generation, aal, amr } = tokens
  const claims = {
    ...claimsOf(user),
    sid: sessionId,
    aal,
    amr,
    jti: randomBytes(16).toString('hex'),
    ...(custom === undefined ? {} : { custom_claims: custom }),
  }
  return {
    token: signAccessToken(claims, config.token_duration, { secret: keys.access, clock }),
    refreshToken: createRefreshToken({ sessionId, generation }, keys.refresh),
    user: describeUser(user),
  }
}
