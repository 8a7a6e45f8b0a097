import type { Queryable } from '../../../../database/system-database.ts'
import { noContent, ok, operation } from '../../../../http/operation.ts'
import type { RequestOrigin } from '../../../../http/requests/request-origin.ts'
import { uuidByHandler } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import { isUuid } from '../../../../lib/uuid.ts'
import { recordAudit } from '../../../operations/audit/index.ts'
import type { AccountContext } from '../context.ts'
import { accountErrors } from '../errors.ts'
import { endSession, endSessionsOf, findSessionOwner, listSessions, Session } from '../sessions/sessions.ts'
import { lockUser, requireUser } from '../users.ts'
import { administration, userParams } from './user-id.ts'

export const listUserSessions = operation({
  ...administration,
  id: 'users.listSessions',
  permission: 'users.read',
  method: 'GET',
  path: '/api/admin/users/:id/sessions',
  summary: 'List sessions of a user',
  params: userParams,
  success: ok(Type.Array(Session)),
  async handle({ database }: AccountContext, { params: { id } }) {
    await requireUser(database, id)
    return await listSessions(database, id)
  },
})

export const endUserSession = operation({
  ...administration,
  id: 'users.endSession',
  permission: 'users.act',
  method: 'DELETE',
  path: '/api/admin/users/:id/sessions/:sessionId',
  summary: 'End a session of a user',
  params: Type.Object({ ...userParams.properties, sessionId: uuidByHandler() }),
  success: noContent,
  async handle({ database, endedSessions }: AccountContext, { params: { id, sessionId }, origin }) {
    await requireUser(database, id)
    if (!isUuid(sessionId)) throw accountErrors.invalidSessionId()
    await database.transaction(async (transaction) => {
      const isOfUser = (await findSessionOwner(transaction, sessionId)) === id.toLowerCase()
      if (!isOfUser || !(await endSession(transaction, sessionId))) throw accountErrors.sessionNotFound()
      const entry = { action: 'users.end_session', target: id, detail: { sessionId } }
      await recordAudit(transaction, { actor: 'admin', ...entry, origin })
    })
    endedSessions.add(sessionId)
  },
})

export const endUserSessions = operation({
  ...administration,
  id: 'users.endSessions',
  permission: 'users.act',
  method: 'DELETE',
  path: '/api/admin/users/:id/sessions',
  summary: 'End all sessions of a user',
  params: userParams,
  success: noContent,
  handle: (context: AccountContext, { params, origin }) =>
    changeAndEndSessions(context, params.id, { action: 'users.end_sessions', origin }),
})

/** Changes the user, ends all sessions and writes the audit row in one transaction. @throws AppError user_not_found */
export async function changeAndEndSessions(
  { database, endedSessions }: AccountContext,
  id: string,
  { action, origin }: { readonly action: string; readonly origin: RequestOrigin },
  change?: (transaction: Queryable) => Promise<unknown>,
): Promise<void> {
  await requireUser(database, id)
  const ended = await database.transaction(async (transaction) => {
    // A sign-in in flight holds a lock on the row. Its session therefore ends too, or never begins.
    await lockUser(transaction, id)
    await change?.(transaction)
    const sessions = await endSessionsOf(transaction, id)
    await recordAudit(transaction, { actor: 'admin', action, target: id, origin })
    return sessions
  })
  for (const session of ended) endedSessions.add(session)
}
