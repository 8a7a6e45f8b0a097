import { randomBytes } from 'node:crypto'
import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { httpErrors } from '../../../../http/errors/errors.ts'
import type { RequestOrigin } from '../../../../http/requests/request-origin.ts'
import { isStorableText } from '../../../../lib/storable-text.ts'
import { isUuid } from '../../../../lib/uuid.ts'
import { recordAudit } from '../../../operations/audit/index.ts'
import type { AccountContext } from '../context.ts'
import { requireText } from '../credentials.ts'
import { accountErrors } from '../errors.ts'
import { signAccessToken } from '../sessions/access-token.ts'
import { claimsOf } from '../sign-in.ts'
import { lockUser } from '../users.ts'

/** Long enough to look into a complaint, short enough to be forgotten about. */
const mostSeconds = 15 * 60
const actor = 'admin'
const mostListed = 1000

export interface ImpersonationRequest {
  readonly reason?: string | undefined
  readonly aal?: 'aal1' | 'aal2' | undefined
}

/**
 * Starts a session in which an administrator acts as the user: without a refresh token, and marked in its row and in its
 * access token. It ends with the administrator's own session.
 *
 * @throws AppError field_required, invalid_request, user_not_found, user_disabled, admin_required
 */
export async function impersonate(
  context: AccountContext,
  userId: string,
  { reason: givenReason, aal = 'aal1' }: ImpersonationRequest,
  { origin, administratorSession }: { readonly origin: RequestOrigin; readonly administratorSession: string },
) {
  const { database, clock, keys } = context
  const reason = requireText(givenReason?.replaceAll('\0', '').trim(), 'reason')
  if (!isStorableText(reason)) throw httpErrors.invalidRequest('reason: expected Unicode text without NUL')
  const begunAt = clock.now()
  const { user, id, expiresAt, lifetimeSeconds } = await database.transaction(async (transaction) => {
    const found = await lockUser(transaction, userId)
    if (found === undefined) throw accountErrors.userNotFound()
    if (found.disabled_at !== null) throw accountErrors.userDisabled()
    const lifetimeSeconds = await holdAdministrator(transaction, administratorSession)
    const expiresAt = new Date((Math.floor(begunAt.getTime() / 1000) + lifetimeSeconds) * 1000)
    const session = await transaction.one<{ id: string }>(sql`
      insert into basalt.sessions (user_id, aal, amr, user_agent, ip_address, expires_at, tokens_expire_at,
        impersonated_by, impersonation_reason, administrator_session)
      values (${userId}, ${aal}, array['impersonation'], 'impersonation', ${origin.address},
        now() + make_interval(secs => ${lifetimeSeconds}::int), ${expiresAt.toISOString()}::timestamptz,
        ${actor}, ${reason}, ${administratorSession})
      returning id`)
    const detail = {
      reason,
      aal,
      sessionId: session.id,
      expiresAt: expiresAt.toISOString(),
      administratorSession,
    }
    await recordAudit(transaction, { actor, action: 'users.impersonate', target: userId, detail, origin })
    return { user: found, id: session.id, expiresAt, lifetimeSeconds }
  })
  const claims = {
    ...claimsOf(user),
    sid: id,
    aal,
    amr: ['impersonation'],
    act: { sub: actor },
    jti: randomBytes(16).toString('hex'),
  }
  // At the same instant, so that the token ends when the answer and the audit say.
  const at = { now: () => begunAt }
  const token = signAccessToken(claims, lifetimeSeconds, { secret: keys.access, clock: at })
  return { id, token, expiresAt: expiresAt.toISOString() }
}

/**
 * Locks the administrator's session until the transaction ends: a sign-out at the same time waits, and ends what was begun,
 * or comes first, and this fails.
 *
 * @returns how many seconds to act in
 */
async function holdAdministrator(transaction: Queryable, sessionId: string): Promise<number> {
  const held = await transaction.maybeOne<{ seconds: number }>(sql`
    select least(${mostSeconds}::int, extract(epoch from least(expires_at, idle_expires_at) - now())::int) as seconds
    from basalt.admin_sessions
    where id = ${sessionId} and least(expires_at, idle_expires_at) > now()
    for key share`)
  if (held === undefined) throw httpErrors.adminRequired()
  return held.seconds
}

interface ImpersonationRow {
  readonly id: string
  readonly user_id: string
  readonly email: string | null
  readonly impersonated_by: string
  readonly impersonation_reason: string
  readonly aal: 'aal1' | 'aal2'
  readonly created_at: Date
  readonly expires_at: Date
  readonly [column: string]: unknown
}

/** Those in force, the newest first. */
export async function listImpersonations({ database }: AccountContext) {
  const rows = await database.many<ImpersonationRow>(sql`
    select s.id, s.user_id, u.email, s.impersonated_by, s.impersonation_reason, s.aal, s.created_at, s.expires_at
    from basalt.sessions s join basalt.users u on u.id = s.user_id
    where s.impersonated_by is not null and s.expires_at > now()
    order by s.created_at desc, s.id limit ${mostListed}`)
  return rows.map((row) => ({
    id: row.id,
    userId: row.user_id,
    email: row.email ?? '',
    impersonatedBy: row.impersonated_by,
    reason: row.impersonation_reason,
    aal: row.aal,
    createdAt: row.created_at.toISOString(),
    expiresAt: row.expires_at.toISOString(),
  }))
}

/** @throws AppError impersonation_not_found */
export async function endImpersonation(
  { database, endedSessions }: AccountContext,
  id: string,
  origin: RequestOrigin,
): Promise<void> {
  if (!isUuid(id)) throw accountErrors.impersonationNotFound()
  await database.transaction(async (transaction) => {
    const ended = await transaction.maybeOne<{ user_id: string }>(sql`
      delete from basalt.sessions where id = ${id} and impersonated_by is not null and expires_at > now()
      returning user_id`)
    if (ended === undefined) throw accountErrors.impersonationNotFound()
    const detail = { sessionId: id }
    const target = ended.user_id
    await recordAudit(transaction, { actor, action: 'users.end_impersonation', target, detail, origin })
  })
  endedSessions.add(id)
}
