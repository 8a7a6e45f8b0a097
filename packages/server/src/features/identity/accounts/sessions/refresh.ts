import { ok, operation } from '../../../../http/operation.ts'
import type { JsonObject } from '../../../../lib/json.ts'
import { Type } from '../../../../lib/type.ts'
import { describeAccount } from '../account-functions.ts'
import type { AccountContext } from '../context.ts'
import { requiredText } from '../credentials.ts'
import { accountErrors } from '../errors.ts'
import { Authentication, respond, tokenExpiryOf } from '../sign-in.ts'
import { readRefreshToken } from './refresh-token.ts'
import { RotationQueue } from './rotation-queue.ts'
import {
  clientOf,
  endReplayedSession,
  findSessionUser,
  findUnverifiedEmail,
  type Rotation,
  renewSession,
  rotateSessions,
} from './sessions.ts'

export interface RefreshContext extends AccountContext {
  readonly rotations: RotationQueue
}

export const refreshToken = requiredText(
  'refreshToken',
  'Refresh token from the latest sign-in or refresh of the session.',
)

export const refresh = operation({
  guard: 'public',
  tag: 'accounts',
  id: 'accounts.refresh',
  method: 'POST',
  path: '/api/auth/refresh',
  summary: 'Get new tokens for a session',
  description:
    'Replaces the refresh token and keeps the assurance level. The old token gets the same successor for ten seconds. A later use ends the session.',
  body: Type.Object({ refreshToken }),
  success: ok(Authentication),
  async handle(context: RefreshContext, { body, http }) {
    const { database, keys, config, endedSessions, rotations } = context
    const content = readRefreshToken(body.refreshToken, keys.refresh)
    if (content === undefined) throw accountErrors.invalidRefreshToken()
    const { sessionId, generation } = content
    const client = clientOf(http)
    // The claims come first: a session whose token cannot be made keeps its refresh token.
    const custom = await customClaimsOf(context, content, client.requestId)
    const session = await rotations.renew({ sessionId, generation, client })
    if (session === undefined) {
      // This check comes first: a session that may not be used yet keeps its refresh token.
      if (config.require_verified_email && (await findUnverifiedEmail(database, sessionId)) !== undefined) {
        throw accountErrors.emailNotVerified()
      }
      if (await endReplayedSession(database, sessionId, generation)) endedSessions.add(sessionId)
      throw accountErrors.invalidRefreshToken()
    }
    const { aal, amr } = session
    return respond(context, session, { sessionId, generation: generation + 1, aal, amr }, custom)
  },
})

/** Returns the claims of a function for the user of a session. @throws AppError */
async function customClaimsOf(
  { functions, database, config }: AccountContext,
  content: Pick<Rotation, 'sessionId' | 'generation'>,
  requestId: string,
): Promise<JsonObject | undefined> {
  if (!functions.has('claims')) return undefined
  const user = await findSessionUser(database, content, {
    requiresVerifiedEmail: config.require_verified_email,
  })
  // The session has ended, its user is disabled, or its token is replayed. The renewal reports that.
  return user && (await functions.claims(database, describeAccount(user), requestId))
}

/** Creates the queue that rotates the sessions of this node. */
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
