import { randomBytes } from 'node:crypto'
import type { Queryable } from '../../database/system-database.ts'
import { signAccessToken } from './access-token.ts'
import type { AccountContext } from './context.ts'
import { createRefreshToken } from './refresh-token.ts'
import { type Client, insertSession } from './sessions.ts'
import { describeUser, type User, type UserObject } from './users.ts'

/** What signs a user in: the first factor, or both (interface, Access token claims). */
export type AuthenticationMethod = 'password' | 'otp' | 'sms' | 'anonymous'

/** The authentication response of the interface. */
export interface AuthenticationResponse {
  readonly token: string
  readonly refreshToken: string
  readonly user: UserObject
}

export interface SessionTokens {
  readonly sessionId: string
  readonly generation: number
  readonly aal: 'aal1' | 'aal2'
  readonly amr: readonly string[]
}

/**
 * Starts a session for a user whose first factor has passed.
 *
 * @returns undefined when the user has meanwhile been deleted or disabled, or has another password
 */
export async function startSession(
  context: AccountContext,
  database: Queryable,
  user: User,
  method: AuthenticationMethod,
  client: Client,
): Promise<AuthenticationResponse | undefined> {
  const start = {
    userId: user.id,
    aal: 'aal1',
    amr: [method],
    lifetimeSeconds: context.config.refresh_token_duration,
    client,
    ...(method === 'password' && user.password_hash !== null ? { passwordHash: user.password_hash } : {}),
  } as const
  const session = await insertSession(database, start)
  if (session === undefined) return undefined
  return respond(context, user, { sessionId: session.id, generation: 1, aal: start.aal, amr: start.amr })
}

/** Tokens for a session at one of its generations. */
export function respond(context: AccountContext, user: User, tokens: SessionTokens): AuthenticationResponse {
  const { config, keys, clock } = context
  const { sessionId, generation, aal, amr } = tokens
  const claims = {
    sub: user.id,
    email: user.email ?? '',
    sid: sessionId,
    aal,
    amr,
    is_anonymous: user.is_anonymous,
    jti: randomBytes(16).toString('hex'),
  }
  return {
    token: signAccessToken(claims, config.token_duration, { secret: keys.access, clock }),
    refreshToken: createRefreshToken({ sessionId, generation }, keys.refresh),
    user: describeUser(user),
  }
}
