import type { UserIdentity } from '../../../../http/access/identity.ts'
import { isUuid } from '../../../../lib/uuid.ts'
import type { AccountContext } from '../context.ts'
import { requireText } from '../credentials.ts'
import { accountErrors } from '../errors.ts'
import { type AuthenticationResponse, respond, tokenExpiryOf } from '../sign-in.ts'
import { lockUser } from '../users.ts'
import { readRefreshToken } from './refresh-token.ts'
import { RotationQueue } from './rotation-queue.ts'
import {
  type Client,
  endReplayedSession,
  endSession,
  endSessionsOf,
  findSessionOwner,
  findUnverifiedEmail,
  listSessions,
  renewSession,
  rotateSessions,
} from './sessions.ts'

/**
 * New tokens for a session. The refresh token is replaced; a replay within ten seconds gets the same successor, a later
 * one ends the session. The level of assurance stays as it is.
 *
 * @throws AppError field_required, invalid_refresh_token, email_not_verified
 */
export async function refresh(
  context: AccountContext,
  rotations: RotationQueue,
  refreshToken: string | undefined,
  client: Client,
): Promise<AuthenticationResponse> {
  const { database, keys, config, endedSessions } = context
  const content = readRefreshToken(requireText(refreshToken, 'refreshToken'), keys.refresh)
  if (content === undefined) throw accountErrors.invalidRefreshToken()
  const { sessionId, generation } = content
  const session = await rotations.renew({ sessionId, generation, client })
  if (session === undefined) {
    // First: a session that may not be used yet keeps its refresh token.
    if (config.require_verified_email && (await findUnverifiedEmail(database, sessionId)) !== undefined) {
      throw accountErrors.emailNotVerified()
    }
    if (await endReplayedSession(database, sessionId, generation)) endedSessions.add(sessionId)
    throw accountErrors.invalidRefreshToken()
  }
  const { aal, amr } = session
  return respond(context, session, { sessionId, generation: generation + 1, aal, amr })
}

/** Rotates the sessions that this node refreshes. */
export function createRotationQueue(context: AccountContext): RotationQueue {
  const { database, config } = context
  const renewal = () => ({
    lifetimeSeconds: config.refresh_token_duration,
    tokenExpiresAt: tokenExpiryOf(context),
    requiresVerifiedEmail: config.require_verified_email,
  })
  return new RotationQueue({
    rotateAll: (rotations) => rotateSessions(database, rotations, renewal()),
    renewOne: (rotation) => renewSession(database, rotation, renewal()),
  })
}

/** Ends the session of a refresh token, an old one included; says nothing of whether there was one. */
export async function logOut(context: AccountContext, refreshToken: string | undefined): Promise<void> {
  const { database, keys, endedSessions } = context
  const content = readRefreshToken(requireText(refreshToken, 'refreshToken'), keys.refresh)
  if (content === undefined) return
  if (await endSession(database, content.sessionId)) endedSessions.add(content.sessionId)
}

/** A session as its user sees it. */
export interface SessionObject {
  readonly id: string
  readonly user_agent: string
  readonly ip_address: string
  readonly created_at: string
  readonly last_active_at: string
  /** Whether it is the one of the request. */
  readonly current: boolean
  /** The administrator who acts as the user in it. */
  readonly impersonated_by?: string
}

export async function describeSessions(
  { database }: AccountContext,
  userId: string,
  currentId: string | undefined,
): Promise<SessionObject[]> {
  const sessions = await listSessions(database, userId)
  return sessions.map(({ id, user_agent, ip_address, created_at, last_active_at, impersonated_by }) => ({
    id,
    user_agent,
    ip_address,
    created_at: created_at.toISOString(),
    last_active_at: last_active_at.toISOString(),
    current: id === currentId,
    ...(impersonated_by === null ? {} : { impersonated_by }),
  }))
}

/** @throws AppError invalid_session_id, session_not_found, foreign_session */
export async function revokeSession(
  context: AccountContext,
  { userId }: UserIdentity,
  id: string,
): Promise<void> {
  const { database, endedSessions } = context
  if (!isUuid(id)) throw accountErrors.invalidSessionId()
  const owner = await findSessionOwner(database, id)
  if (owner === undefined) throw accountErrors.sessionNotFound()
  if (owner !== userId) throw accountErrors.foreignSession()
  if (!(await endSession(database, id))) throw accountErrors.sessionNotFound()
  endedSessions.add(id)
}

/** @throws AppError no_current_session */
export async function revokeOtherSessions(context: AccountContext, identity: UserIdentity): Promise<void> {
  const { database, endedSessions } = context
  if (identity.sessionId === undefined) throw accountErrors.noCurrentSession()
  const ended = await database.transaction(async (transaction) => {
    await lockUser(transaction, identity.userId)
    return await endSessionsOf(transaction, identity.userId, identity.sessionId)
  })
  for (const id of ended) endedSessions.add(id)
}
