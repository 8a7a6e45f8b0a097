import { originOf, type RequestOrigin } from '../../../http/requests/request-origin.ts'
import type { HttpServer } from '../../../http/server.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { lockUser, requireUser, userNotFound } from '../accounts/index.ts'
import { findFactor, removeFactor } from '../mfa/index.ts'
import type { PasskeyContext } from './context.ts'
import { passkeyErrors } from './errors.ts'
import { describePasskey } from './manage.ts'
import { deletePasskey, listPasskeys } from './queries.ts'
import * as schemas from './schemas.ts'

/** Passkeys of users, for administrators; also while passkeys are switched off. */
export function passkeyAdminRoutes(app: HttpServer, context: PasskeyContext): void {
  const { database } = context.mfa.accounts
  app.get(
    '/api/admin/users/:id/passkeys',
    { config: { guard: 'admin', operation: 'users.listPasskeys' }, schema: schemas.adminListSchema },
    async (request, reply) => {
      const { id } = request.params
      await requireUser(database, id)
      return reply.send({ credentials: (await listPasskeys(database, id)).map(describePasskey) })
    },
  )
  app.delete(
    '/api/admin/users/:id/passkeys/:credential_id',
    { config: { guard: 'admin', operation: 'users.removePasskey' }, schema: schemas.adminRemoveSchema },
    async (request, reply) => {
      const { id, credential_id } = request.params
      await removePasskeyOf(context, id, credential_id, originOf(request))
      return reply.code(204).send()
    },
  )
}

/** With the last passkey its factor goes, too. @throws AppError user_not_found, passkey_not_found */
async function removePasskeyOf(
  { mfa }: PasskeyContext,
  userId: string,
  credentialId: string,
  origin: RequestOrigin,
): Promise<void> {
  await mfa.accounts.database.transaction(async (transaction) => {
    // One after the other: two at once must not leave a factor without a passkey.
    if ((await lockUser(transaction, userId)) === undefined) throw userNotFound()
    const passkeys = await listPasskeys(transaction, userId)
    const found = passkeys.find(({ credential_id }) => credential_id === credentialId)
    if (found === undefined) throw passkeyErrors.passkeyNotFound()
    const factor = passkeys.length === 1 ? await findFactor(transaction, userId, 'webauthn') : undefined
    await deletePasskey(transaction, found.id)
    if (factor !== undefined) await removeFactor(transaction, userId, factor.id)
    const detail = { credentialId, displayName: found.display_name }
    const entry = { action: 'users.remove_passkey', target: userId, detail }
    await recordAudit(transaction, { actor: 'admin', ...entry, origin })
  })
}
