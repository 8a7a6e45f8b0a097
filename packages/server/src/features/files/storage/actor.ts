import type { CallerScope } from '../../../database/caller/caller-scope.ts'
import { requireTable } from '../../../http/access/grants.ts'
import { anonymousIdentity, type Identity } from '../../../http/access/identity.ts'

/** Identity that reads and writes objects. */
export interface Actor {
  readonly scope: CallerScope
  /** Owner of what the actor makes; null for administrators, and for programs that act for no user. */
  readonly userId: string | null
  readonly appId: string
  /** The API key that the actor presented. */
  readonly keyId?: string | undefined
  /** The client of the OAuth server that acts. */
  readonly clientId?: string | undefined
  /** The grant of the client. */
  readonly grantId?: string | undefined
  /** The session that acts; of a token without a session the user's id. Undefined for programs. */
  readonly sessionId?: string | undefined
}

/** @param identity undefined for a request without a token */
export function actorOf(identity: Identity | undefined): Actor {
  const { scope, appId, keyId, ...rest } = identity ?? anonymousIdentity
  if (rest.kind === 'admin') return { scope, appId, userId: null, sessionId: rest.sessionId }
  if (rest.kind !== 'user') return { scope, appId, userId: null }
  const { clientId, grantId } = rest
  const isProgram = keyId !== undefined || clientId !== undefined
  const sessionId = isProgram ? undefined : (rest.sessionId ?? rest.userId)
  // A program that acts for no user has an empty id.
  const userId = rest.userId === '' ? null : rest.userId
  return { scope, appId, userId, keyId, clientId, grantId, sessionId }
}

/** Returns one text for the administrators, one for each user, and one for the programs of each app that act for no user. */
export function nameOf({ scope, appId, userId }: Actor): string {
  if (scope.kind === 'unrestricted') return 'administrators'
  return userId === null ? `app ${appId}` : `user ${userId}`
}

/** Makes sure that a program may touch a bucket: it is allowed `storage:bucket`. @throws AppError insufficient_scope */
export function requireBucket({ scope }: Pick<Actor, 'scope'>, bucket: string): void {
  requireTable(scope, `storage:${bucket}`)
}
