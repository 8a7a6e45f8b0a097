import type { CallerScope } from '../../../database/caller/caller-scope.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import {
  type AdminIdentity,
  type TokenVerifier,
  unattributed,
  type Verdict,
} from '../../../http/access/identity.ts'
import { holds, lesserRole } from '../../../http/access/permissions.ts'
import { Lru } from '../../../lib/lru.ts'
import { isToken } from '../../../lib/tokens.ts'
import { type ActiveSession, findSession, recordUse } from './queries.ts'
import { adminTokenPrefix, hashesOf, idleLife } from './session.ts'

/** Time after the end of a session during which another node may still accept its token. */
const trustMs = 1000

interface VerifierOptions {
  readonly requiresSecondFactor: boolean
  /** Provider at which administrators authenticate again; undefined without one. */
  readonly issuer: string | undefined
}

export interface AdminTokenVerifier extends TokenVerifier {
  /** Removes the session's token from the cache of this node. */
  invalidate(sessionId: string): void
  /** Removes all tokens from the cache of this node, after a change of administrators. */
  invalidateAll(): void
}

/** Creates a verifier that looks up each admin token in the database, at most once a second. */
export function createAdminTokenVerifier(
  database: SystemDatabase,
  { requiresSecondFactor, issuer }: VerifierOptions,
): AdminTokenVerifier {
  const cache = new Lru<
    string,
    { readonly verdict: Verdict; readonly sessionId: string; readonly at: number }
  >(1000)

  async function lookUp(token: string): Promise<Verdict> {
    // The time from before the query counts, because the session may end while the response is in flight.
    const at = performance.now()
    const session = await findSession(database, hashesOf(token), idleLife, issuer)
    if (session === undefined) {
      cache.delete(token)
      return { refusal: 'invalid' }
    }
    // A database that accepts no writes must not lock the administrator out. The session then ends at its old time.
    if (session.is_due) await recordUse(database, session.id, idleLife).catch(() => undefined)
    const verdict: Verdict = {
      identity: identityOf(session, requiresSecondFactor),
    }
    cache.set(token, { verdict, sessionId: session.id, at })
    return verdict
  }

  return {
    recognizes: (token) => token.startsWith(adminTokenPrefix),
    verify(token) {
      if (!isToken(adminTokenPrefix, token)) return { refusal: 'invalid' }
      const cached = cache.get(token)
      if (cached !== undefined && performance.now() - cached.at < trustMs) return cached.verdict
      return lookUp(token)
    },
    verifyAgain: async (token) =>
      isToken(adminTokenPrefix, token) ? await lookUp(token) : { refusal: 'invalid' },
    invalidate(sessionId) {
      cache.deleteWhere((entry) => entry.sessionId === sessionId)
    },
    invalidateAll: () => cache.deleteWhere(() => true),
  }
}

/** Returns the identity of an administrator. Rows are written only in roles that may. */
function identityOf(
  {
    id,
    email,
    administrator_id,
    allowed_addresses,
    is_enrolled,
    has_identity,
    is_fresh,
    is_program,
    ...session
  }: ActiveSession,
  requiresSecondFactor: boolean,
): AdminIdentity {
  const role = lesserRole(session.role, session.session_role ?? session.role)
  return {
    kind: 'admin',
    sessionId: id,
    role,
    administratorId: administrator_id ?? undefined,
    email: email ?? undefined,
    allowedAddresses: allowed_addresses ?? undefined,
    secondFactor: {
      isEnrolled: is_enrolled,
      hasIdentity: has_identity,
      isFresh: is_fresh,
      canProve: !is_program,
      mustEnroll:
        requiresSecondFactor && administrator_id !== null && !is_enrolled && !session.is_multi_factor,
    },
    scope: holds(role, 'rows.write') ? unrestricted : holds(role, 'rows.read') ? readOnly : viewing,
    ...unattributed,
  }
}

const unrestricted: CallerScope = { kind: 'unrestricted' }
const readOnly: CallerScope = { kind: 'unrestricted', isReadOnly: true }
const viewing: CallerScope = { ...readOnly, hidesPersonal: true }
