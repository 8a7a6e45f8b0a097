import { sql } from '../../../../database/sql.ts'
import { ok, operation } from '../../../../http/operation.ts'
import { recordAudit } from '../../../operations/audit/index.ts'
import type { AccountContext } from '../context.ts'
import { requireUser } from '../users.ts'
import { changeAndEndSessions } from './end-sessions.ts'
import { AdminUser, getListedUser } from './listed-user.ts'
import { administration, userParams } from './user-id.ts'

/** Members that every description below shares. */
const common = {
  ...administration,
  method: 'POST',
  params: userParams,
  success: ok(AdminUser),
} as const

export const disableUser = operation({
  ...common,
  id: 'users.disable',
  permission: 'users.act',
  path: '/api/admin/users/:id/disable',
  summary: "Disable a user, which ends the user's sessions and rejects sign-ins",
  async handle(context: AccountContext, { params: { id }, origin }) {
    await changeAndEndSessions(context, id, { action: 'users.disable', origin }, (transaction) =>
      transaction.count(sql`
        update basalt.users set disabled_at = coalesce(disabled_at, now()), updated_at = now()
        where id = ${id}`),
    )
    return await getListedUser(context.database, id)
  },
})

export const enableUser = operation({
  ...common,
  id: 'users.enable',
  permission: 'users.act',
  path: '/api/admin/users/:id/enable',
  summary: 'Enable a disabled user',
  async handle({ database }: AccountContext, { params: { id }, origin }) {
    await requireUser(database, id)
    await database.transaction(async (transaction) => {
      await transaction.count(sql`
        update basalt.users set disabled_at = null, updated_at = now()
        where id = ${id}`)
      await recordAudit(transaction, { actor: 'admin', action: 'users.enable', target: id, origin })
    })
    return await getListedUser(database, id)
  },
})
