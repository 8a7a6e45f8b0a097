import type { SystemDatabase } from '../../../database/system-database.ts'
import { type TokenVerifier, unattributed, type Verdict } from '../../../http/access/identity.ts'
import { Lru } from '../../../lib/lru.ts'
import { hashToken, isToken } from '../../../lib/tokens.ts'
import { findSession, moveIdleEnd } from './queries.ts'
import { adminTokenPrefix, idleLife } from './session.ts'

/** Within this time after a session ends, its token may still be believed on another node. */
const trustMs = 1000

export interface AdminTokenVerifier extends TokenVerifier {
  /** Stops believing the session's token at once on this node. */
  forget(sessionId: string): void
}

/** Looks each admin token up in the database, at most once a second. */
export function createAdminTokenVerifier(database: SystemDatabase): AdminTokenVerifier {
  const believed = new Lru<
    string,
    { readonly verdict: Verdict; readonly sessionId: string; readonly at: number }
  >(1000)

  async function look(token: string): Promise<Verdict> {
    // From before the question: the session may end while the answer is in flight.
    const at = performance.now()
    const session = await findSession(database, hashToken(token), idleLife)
    if (session === undefined) {
      believed.delete(token)
      return { refusal: 'invalid' }
    }
    // A database that takes no writes must not lock the administrator out: the session ends as it would have.
    if (session.is_due) await moveIdleEnd(database, session.id, idleLife).catch(() => undefined)
    const verdict: Verdict = {
      identity: { kind: 'admin', sessionId: session.id, scope: { kind: 'unrestricted' }, ...unattributed },
    }
    believed.set(token, { verdict, sessionId: session.id, at })
    return verdict
  }

  return {
    recognizes: (token) => token.startsWith(adminTokenPrefix),
    verify(token) {
      if (!isToken(adminTokenPrefix, token)) return { refusal: 'invalid' }
      const known = believed.get(token)
      if (known !== undefined && performance.now() - known.at < trustMs) return known.verdict
      return look(token)
    },
    forget(sessionId) {
      believed.deleteWhere((entry) => entry.sessionId === sessionId)
    },
  }
}
