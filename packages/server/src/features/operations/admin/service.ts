import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import { hashToken } from '../../../lib/tokens.ts'
import { recordAudit } from '../audit/index.ts'
import type { AdminDeps } from './context.ts'
import { ensurePassword, type FirstSignIn, resetPassword } from './password.ts'
import * as queries from './queries.ts'
import { type AdminSession, type SessionKeeper, startSession } from './session.ts'
import { type Credentials, signIn } from './sign-in.ts'

export interface AdminService {
  /**
   * Puts the configured password in force, or makes one when there is none yet.
   *
   * @returns what a person needs to sign in, when this call made it
   */
  ensurePassword(configured: string): Promise<FirstSignIn | undefined>
  hasPassword(): Promise<boolean>
  /** @throws AppError missing_credentials, invalid_password, invalid_sign_in_code, too_many_requests */
  signIn(credentials: Credentials, keeper: SessionKeeper, origin: RequestOrigin): Promise<AdminSession>
  /** When the session ends unless further requests come; undefined when it has ended. */
  findSessionEnd(sessionId: string): Promise<Date | undefined>
  /** Ends the session of a token that another one replaces. */
  endReplaced(token: string): Promise<void>
  signOut(sessionId: string, origin: RequestOrigin): Promise<void>
  /** A new password; every session and link of the old one ends. */
  resetPassword(actor: string): Promise<string>
  /** A session without a password, for operators who already have access to the database. */
  createSession(actor: string): Promise<AdminSession>
}

export function createAdminService(deps: AdminDeps): AdminService {
  const { database } = deps
  return {
    ensurePassword: (configured) => ensurePassword(deps, configured),
    hasPassword: async () => (await queries.findPasswordHash(database)) !== undefined,
    signIn: (credentials, keeper, origin) => signIn(deps, credentials, keeper, origin),
    findSessionEnd: (sessionId) => queries.findSessionEnd(database, sessionId),
    endReplaced: (token) => queries.deleteSessionOf(database, hashToken(token)),
    signOut: (sessionId, origin) =>
      database.transaction(async (transaction) => {
        await queries.deleteSession(transaction, sessionId)
        await recordAudit(transaction, { actor: 'admin', action: 'admin.sign_out', origin })
      }),
    resetPassword: (actor) => resetPassword(deps, actor),
    createSession: (actor) =>
      database.transaction((transaction) =>
        startSession(transaction, 'program', { actor, action: 'admin.create_token' }),
      ),
  }
}
