import { noContent, operation } from '../../../../http/operation.ts'
import { recordAudit } from '../../../operations/audit/index.ts'
import type { AccountContext } from '../context.ts'
import { accountErrors } from '../errors.ts'
import { endSessionsOf } from '../sessions/sessions.ts'
import { deleteUser, lockUser, requireUser } from '../users.ts'
import { administration, userParams } from './user-id.ts'

export const removeUser = operation({
  ...administration,
  id: 'users.delete',
  method: 'DELETE',
  path: '/api/admin/users/:id',
  summary: 'Delete a user',
  description: 'Sessions, tokens and codes are deleted with the user.',
  params: userParams,
  success: noContent,
  async handle({ database, endedSessions }: AccountContext, { params: { id }, origin }) {
    await requireUser(database, id)
    const ended = await database.transaction(async (transaction) => {
      await lockUser(transaction, id)
      const sessions = await endSessionsOf(transaction, id)
      if (!(await deleteUser(transaction, id, accountErrors.userReferenced)))
        throw accountErrors.userNotFound()
      await recordAudit(transaction, { actor: 'admin', action: 'users.delete', target: id, origin })
      return sessions
    })
    for (const session of ended) endedSessions.add(session)
  },
})
