import { sql } from '../../../../database/sql.ts'
import { ok, operation } from '../../../../http/operation.ts'
import { described, nullable } from '../../../../http/schemas.ts'
import { codeOf } from '../../../../lib/errors.ts'
import { Type } from '../../../../lib/type.ts'
import { recordAudit } from '../../../operations/audit/index.ts'
import type { AccountContext } from '../context.ts'
import { requireEmail } from '../credentials.ts'
import { accountErrors } from '../errors.ts'
import { voidMailedTokens } from '../methods/email-link/mailed-tokens.ts'
import { endSessionsOf } from '../sessions/sessions.ts'
import { AppMetadata, lockUser, setAppMetadata } from '../users.ts'
import { email, phone, requirePhone } from './create-user.ts'
import { AdminUser, getListedUser } from './listed-user.ts'
import { administration, userParams } from './user-id.ts'

/**
 * Changes the given members of a user. A new address voids links and codes mailed to the previous one. Tokens
 * that state outdated facts end with their sessions. An anonymous user who gets an address or a phone is no
 * longer anonymous.
 */
export const changeUser = operation({
  ...administration,
  id: 'users.update',
  // With another address, the account belongs to the reader of its mail.
  permission: 'owner',
  method: 'PATCH',
  path: '/api/admin/users/:id',
  summary: 'Change the address, the phone or the app_metadata of a user',
  description:
    'A new address is unverified unless `emailVerified` is true. Sessions end when the address that their ' +
    'tokens name changes or loses its verification.',
  params: userParams,
  body: Type.Object({
    email: Type.Optional(email),
    emailVerified: Type.Optional(Type.Boolean()),
    phone: Type.Optional(nullable(phone, { description: 'null removes it.' })),
    app_metadata: Type.Optional(described('Replaces all of it. At most 8192 bytes.', AppMetadata)),
  }),
  success: ok(AdminUser),
  async handle(context: AccountContext, { params: { id }, body, origin }) {
    const newEmail = body.email === undefined ? undefined : requireEmail(body.email)
    const phone = body.phone == null ? body.phone : requirePhone(context, body.phone)
    const ended = await context.database.transaction(async (transaction) => {
      const user = await lockUser(transaction, id)
      if (user === undefined) throw accountErrors.userNotFound()
      const email = newEmail ?? user.email
      if (email === null && body.emailVerified === true) throw accountErrors.userWithoutEmail()
      const isMoved = email !== user.email
      const wasVerified = user.email_verified_at !== null
      const isVerified = body.emailVerified ?? (wasVerified && !isMoved)
      const endsSessions = isMoved || (wasVerified && !isVerified)
      const sessions = endsSessions ? await endSessionsOf(transaction, id) : []
      if (isMoved && user.email !== null) {
        await voidMailedTokens(transaction, user.email)
        await transaction.count(sql`
          update basalt.mfa_challenges set used_at = now()
          where user_id = ${id} and method = 'email' and used_at is null`)
      }
      const newPhone = phone === undefined ? user.phone : phone
      const gainsCredentials = user.is_anonymous && (email !== null || newPhone !== null)
      const update = transaction.count(sql`
        update basalt.users set email = ${email}, phone = ${newPhone}, updated_at = now(),
          email_verified_at = case when ${isVerified}::bool then
            case when ${wasVerified && !isMoved}::bool then email_verified_at else now() end end,
          is_anonymous = is_anonymous and not ${gainsCredentials}::bool,
          linked_at = case when ${gainsCredentials}::bool then now() else linked_at end
        where id = ${id}`)
      await update.catch((error) => {
        if (codeOf(error) !== '23505') throw error
        throw error.constraint === 'users_phone_key' ? accountErrors.phoneTaken() : accountErrors.emailTaken()
      })
      const detail = {
        ...(isMoved ? { email } : {}),
        ...(isVerified === wasVerified && !isMoved ? {} : { emailVerified: isVerified }),
        ...(newPhone === user.phone ? {} : { phone: newPhone }),
        ...(body.app_metadata === undefined ? {} : { app_metadata: body.app_metadata }),
      }
      if (body.app_metadata !== undefined) await setAppMetadata(transaction, id, body.app_metadata)
      await recordAudit(transaction, { actor: 'admin', action: 'users.update', target: id, detail, origin })
      return sessions
    })
    for (const session of ended) context.endedSessions.add(session)
    return await getListedUser(context.database, id)
  },
})
