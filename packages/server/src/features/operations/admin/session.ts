import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import { createToken, hashToken } from '../../../lib/tokens.ts'
import { type NewAuditEntry, recordAudit } from '../audit/index.ts'
import { deleteSession, insertSession, type SessionProof } from './queries.ts'

export const adminTokenPrefix = 'basalt_admin_'

/** Maximum lifetime of a session, twelve hours. */
const sessionSeconds = 12 * 60 * 60
/** Idle time of a session in a cookie, two hours. A cookie stays in the browser that a person has left. */
export const idleLife = { idleSeconds: 2 * 60 * 60, moveSeconds: 60 } as const

/**
 * Returns the hash of a token that may have fewer rights than an owner. Nodes of the previous version, which know no
 * roles, never compute it.
 */
export function hashNamedToken(token: string): Buffer {
  return hashToken(`named ${token}`)
}

/** Returns the hashes that a session of the token may have. */
export function hashesOf(token: string): readonly Buffer[] {
  return [hashToken(token), hashNamedToken(token)]
}

/** Holder of a session: a program, or a browser with a cookie. */
export type SessionKeeper = 'program' | 'browser'

export interface AdminSession {
  readonly token: string
  readonly expiresAt: Date
}

export async function startSession(
  transaction: Queryable,
  administrator: { readonly id: string; readonly is_first: boolean | null } | undefined,
  keeper: SessionKeeper,
  entry: NewAuditEntry,
  userAgent?: string,
  proof: SessionProof = {},
): Promise<AdminSession> {
  const token = createToken(adminTokenPrefix)
  const idleSeconds = keeper === 'browser' ? idleLife.idleSeconds : undefined
  const life = { seconds: sessionSeconds, idleSeconds }
  const { expiresAt } = await insertSession(transaction, {
    tokenHash: administrator?.is_first === null ? hashNamedToken(token) : hashToken(token),
    administratorId: administrator?.id ?? null,
    address: entry.origin?.address,
    userAgent,
    proof,
    ...life,
  })
  await recordAudit(transaction, entry)
  return { token, expiresAt }
}

/**
 * Starts a session of no administrator, with the role owner. It is for operators who already have access to the
 * database.
 */
export async function createSession(database: SystemDatabase, actor: string): Promise<AdminSession> {
  const entry = { actor, action: 'admin.create_token' }
  return await database.transaction((transaction) => startSession(transaction, undefined, 'program', entry))
}

export async function endSession(database: SystemDatabase, id: string, origin: RequestOrigin): Promise<void> {
  await database.transaction(async (transaction) => {
    await deleteSession(transaction, id)
    await recordAudit(transaction, { actor: 'admin', action: 'admin.sign_out', origin })
  })
}
