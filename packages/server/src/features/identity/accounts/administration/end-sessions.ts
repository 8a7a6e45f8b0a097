import type { Queryable } from '../../../../database/system-database.ts'
import type { RequestOrigin } from '../../../../http/requests/request-origin.ts'
import { isUuid } from '../../../../lib/uuid.ts'
import { recordAudit } from '../../../operations/audit/index.ts'
import type { AccountContext } from '../context.ts'
import { accountErrors } from '../errors.ts'
import { endSession, endSessionsOf, findSessionOwner } from '../sessions/sessions.ts'
import { lockUser, requireUser } from '../users.ts'

/** @throws AppError user_not_found, invalid_session_id, session_not_found */
export async function endUserSession(
  { database, endedSessions }: AccountContext,
  { id, sessionId }: { readonly id: string; readonly sessionId: string },
  origin: RequestOrigin,
): Promise<void> {
  await requireUser(database, id)
  if (!isUuid(sessionId)) throw accountErrors.invalidSessionId()
  await database.transaction(async (transaction) => {
    const isOfUser = (await findSessionOwner(transaction, sessionId)) === id.toLowerCase()
    if (!isOfUser || !(await endSession(transaction, sessionId))) throw accountErrors.sessionNotFound()
    const entry = { action: 'users.end_session', target: id, detail: { sessionId } }
    await recordAudit(transaction, { actor: 'admin', ...entry, origin })
  })
  endedSessions.add(sessionId)
}

/** @throws AppError user_not_found */
export async function endUserSessions(
  context: AccountContext,
  id: string,
  origin: RequestOrigin,
): Promise<void> {
  await changeAndEndSessions(context, id, { action: 'users.end_sessions', origin }, async () => undefined)
}

/** Changes the user and ends all sessions, with the audit row, in one transaction. @throws AppError user_not_found */
export async function changeAndEndSessions(
  { database, endedSessions }: AccountContext,
  id: string,
  { action, origin }: { readonly action: string; readonly origin: RequestOrigin },
  change: (transaction: Queryable) => Promise<unknown>,
): Promise<void> {
  await requireUser(database, id)
  const ended = await database.transaction(async (transaction) => {
    // A sign-in that is in flight holds the row: its session ends too, or never begins.
    await lockUser(transaction, id)
    await change(transaction)
    const sessions = await endSessionsOf(transaction, id)
    await recordAudit(transaction, { actor: 'admin', action, target: id, origin })
    return sessions
  })
  for (const session of ended) endedSessions.add(session)
}
