import { sql } from '../../../../database/sql.ts'
import type { RequestOrigin } from '../../../../http/requests/request-origin.ts'
import { recordAudit } from '../../../operations/audit/index.ts'
import type { AccountContext } from '../context.ts'
import { requireUser } from '../users.ts'
import { changeAndEndSessions } from './end-sessions.ts'

/** Refuses further sign-ins and ends all sessions. @throws AppError user_not_found */
export async function disableUser(context: AccountContext, id: string, origin: RequestOrigin): Promise<void> {
  await changeAndEndSessions(context, id, { action: 'users.disable', origin }, (transaction) =>
    transaction.count(sql`
      update basalt.users set disabled_at = coalesce(disabled_at, now()), updated_at = now()
      where id = ${id}`),
  )
}

/** @throws AppError user_not_found */
export async function enableUser(
  { database }: AccountContext,
  id: string,
  origin: RequestOrigin,
): Promise<void> {
  await requireUser(database, id)
  await database.transaction(async (transaction) => {
    await transaction.count(sql`
      update basalt.users set disabled_at = null, updated_at = now()
      where id = ${id}`)
    await recordAudit(transaction, { actor: 'admin', action: 'users.enable', target: id, origin })
  })
}
