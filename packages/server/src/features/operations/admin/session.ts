import type { Queryable } from '../../../database/system-database.ts'
import { createToken, hashToken } from '../../../lib/tokens.ts'
import { type AuditEntry, recordAudit } from '../audit/index.ts'
import { insertSession } from './queries.ts'

export const adminTokenPrefix = 'basalt_admin_'

/** Twelve hours. */
const sessionSeconds = 12 * 60 * 60
/** Two hours without a request end a session in a cookie, which stays where a person has left it. */
export const idleLife = { idleSeconds: 2 * 60 * 60, moveSeconds: 60 } as const

/** Where the session is kept: by a program, or by a browser in a cookie. */
export type SessionKeeper = 'program' | 'browser'

export interface AdminSession {
  readonly token: string
  readonly expiresAt: Date
}

export async function startSession(
  transaction: Queryable,
  keeper: SessionKeeper,
  entry: AuditEntry,
): Promise<AdminSession> {
  const token = createToken(adminTokenPrefix)
  const idleSeconds = keeper === 'browser' ? idleLife.idleSeconds : undefined
  const life = { seconds: sessionSeconds, idleSeconds }
  const { expires_at } = await insertSession(transaction, hashToken(token), life)
  await recordAudit(transaction, entry)
  return { token, expiresAt: expires_at }
}
