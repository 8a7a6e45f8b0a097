import { noContent, ok, operation } from '../../../http/operation.ts'
import { uuidByHandler } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { lockUser, requireUser, userNotFound } from '../accounts/index.ts'
import { findFactor, removeFactor } from '../mfa/index.ts'
import type { PasskeyContext } from './context.ts'
import { passkeyErrors } from './errors.ts'
import { PasskeyList } from './manage.ts'
import { deletePasskey, describePasskey, listPasskeys } from './passkey.ts'

/** Members that every description below shares. */
const common = { guard: 'admin', permission: 'users.read', tag: 'admin' } as const

const list = operation({
  ...common,
  id: 'users.listPasskeys',
  method: 'GET',
  path: '/api/admin/users/:id/passkeys',
  summary: 'List the passkeys of a user',
  params: Type.Object({ id: uuidByHandler() }),
  success: ok(PasskeyList),
  async handle({ mfa }: PasskeyContext, { params: { id } }) {
    const { database } = mfa.accounts
    await requireUser(database, id)
    return { credentials: (await listPasskeys(database, id)).map(describePasskey) }
  },
})

const remove = operation({
  ...common,
  id: 'users.removePasskey',
  permission: 'owner',
  method: 'DELETE',
  path: '/api/admin/users/:id/passkeys/:credential_id',
  summary: 'Remove a passkey of a user',
  description: 'The factor is removed with the last passkey, and the backup codes with the last factor.',
  params: Type.Object({ id: uuidByHandler(), credential_id: Type.String() }),
  success: noContent,
  async handle({ mfa }: PasskeyContext, { params, origin }) {
    const { id: userId, credential_id: credentialId } = params
    await mfa.accounts.database.transaction(async (transaction) => {
      // The lock orders concurrent removals, so that two of them do not leave a factor without a passkey.
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
  },
})

/** Operations of administrators on passkeys of users. They work even while passkeys are disabled. */
export const administrationOperations = [list, remove]
