import type { SystemDatabase } from '../../../database/system-database.ts'
import { type TokenVerifier, unattributed, type Verdict } from '../../../http/access/identity.ts'
import { Lru } from '../../../lib/lru.ts'
import { hashToken, isToken } from '../../../lib/tokens.ts'
import { findSession, moveIdleEnd } from './queries.ts'
import { adminTokenPrefix, idleLife } from './session.ts'

/** Time after the end of a session during which another node may still accept its token. */
const trustMs = 1000

export interface AdminTokenVerifier extends TokenVerifier {
  /** Removes the session's token from the cache of this node. */
  invalidate(sessionId: string): void
}

/** Creates a verifier that looks up each admin token in the database, at most once a second. */
export function createAdminTokenVerifier(database: SystemDatabase): AdminTokenVerifier {
  const cache = new Lru<
    string,
    { readonly verdict: Verdict; readonly sessionId: string; readonly at: number }
  >(1000)

  async function lookUp(token: string): Promise<Verdict> {
    // The time from before the query counts, because the session may end while the response is in flight.
    const at = performance.now()
    const session = await findSession(database, hashToken(token), idleLife)
    if (session === undefined) {
      cache.delete(token)
      return { refusal: 'invalid' }
    }
    // A database that accepts no writes must not lock the administrator out. The session then ends at its old time.
    if (session.is_due) await moveIdleEnd(database, session.id, idleLife).catch(() => undefined)
    const verdict: Verdict = {
      identity: { kind: 'admin', sessionId: session.id, scope: { kind: 'unrestricted' }, ...unattributed },
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
    invalidate(sessionId) {
      cache.deleteWhere((entry) => entry.sessionId === sessionId)
    },
  }
}
