import type { RequestOrigin } from '../../../../http/requests/request-origin.ts'
import { recordAudit } from '../../../operations/audit/index.ts'
import type { AccountContext } from '../context.ts'
import { accountErrors } from '../errors.ts'
import { endSessionsOf } from '../sessions/sessions.ts'
import { deleteUser, lockUser, requireUser } from '../users.ts'

/** Deletes the user with sessions, tokens and codes. @throws AppError user_not_found, user_referenced */
export async function removeUser(
  { database, endedSessions }: AccountContext,
  id: string,
  origin: RequestOrigin,
): Promise<void> {
  await requireUser(database, id)
  const ended = await database.transaction(async (transaction) => {
    await lockUser(transaction, id)
    const sessions = await endSessionsOf(transaction, id)
    if (!(await deleteUser(transaction, id, accountErrors.userReferenced))) throw accountErrors.userNotFound()
    await recordAudit(transaction, { actor: 'admin', action: 'users.delete', target: id, origin })
    return sessions
  })
  for (const session of ended) endedSessions.add(session)
}
