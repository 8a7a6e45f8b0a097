import { userOf } from '../../../http/access/authentication.ts'
import { noContent, ok, operation } from '../../../http/operation.ts'
import { requiredByHandler } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import {
  displayName,
  isBase64url,
  longestCredentialId,
  readDisplayName,
} from '../../operations/webauthn/index.ts'
import { lockSelf, requireText } from '../accounts/index.ts'
import { findFactor, removeFactor } from '../mfa/index.ts'
import type { PasskeyContext } from './context.ts'
import { passkeyErrors } from './errors.ts'
import { deletePasskey, describePasskey, listPasskeys, Passkey, renamePasskey } from './passkey.ts'
import { requireRelyingParty } from './relying-party.ts'
import { requireTwoFactors } from './two-factors.ts'

/** Members that every description below shares. */
const common = { guard: 'bearer', tag: 'passkeys' } as const
const factor = '/api/auth/mfa/webauthn'
const item = `${factor}/credentials/:credential_id`
const params = Type.Object({ credential_id: Type.String() })

/** Passkeys of a user, the oldest first. */
export const PasskeyList = Type.Object({ credentials: Type.Array(Passkey) })

const list = operation({
  ...common,
  id: 'passkeys.list',
  method: 'GET',
  path: `${factor}/credentials`,
  summary: 'List the passkeys of the user',
  success: ok(PasskeyList),
  async handle(context: PasskeyContext, { http }) {
    requireRelyingParty(context)
    const passkeys = await listPasskeys(context.mfa.accounts.database, userOf(http).userId)
    return { credentials: passkeys.map(describePasskey) }
  },
})

const rename = operation({
  ...common,
  id: 'passkeys.rename',
  method: 'PATCH',
  path: item,
  summary: 'Rename a passkey',
  params,
  body: Type.Object({ display_name: requiredByHandler(displayName) }),
  success: ok(Passkey),
  async handle(context: PasskeyContext, { params: { credential_id: id }, body, http }) {
    requireRelyingParty(context)
    const name = requireText(readDisplayName(body.display_name), 'display_name')
    if (!isBase64url(id, longestCredentialId)) throw passkeyErrors.passkeyNotFound()
    const renamed = await renamePasskey(context.mfa.accounts.database, userOf(http).userId, id, name)
    if (renamed === undefined) throw passkeyErrors.passkeyNotFound()
    return describePasskey(renamed)
  },
})

const remove = operation({
  ...common,
  id: 'passkeys.remove',
  method: 'DELETE',
  path: item,
  summary: 'Delete one of several passkeys',
  description: 'The session must have passed two factors.',
  params,
  success: noContent,
  async handle(context: PasskeyContext, { params, http }) {
    const identity = userOf(http)
    requireRelyingParty(context)
    requireTwoFactors(identity)
    await context.mfa.accounts.database.transaction(async (transaction) => {
      // The lock orders concurrent requests, so that two of them do not delete the last two passkeys.
      await lockSelf(transaction, identity)
      const passkeys = await listPasskeys(transaction, identity.userId)
      const found = passkeys.find(({ credential_id }) => credential_id === params.credential_id)
      if (found === undefined) throw passkeyErrors.passkeyNotFound()
      if (passkeys.length === 1) throw passkeyErrors.lastPasskey()
      await deletePasskey(transaction, found.id)
    })
  },
})

const removeAll = operation({
  ...common,
  id: 'passkeys.removeAll',
  method: 'DELETE',
  path: factor,
  summary: 'Remove all passkeys',
  description: 'The session must have passed two factors. The backup codes are removed with the last factor.',
  success: noContent,
  async handle(context: PasskeyContext, { http }) {
    const identity = userOf(http)
    const { userId } = identity
    requireRelyingParty(context)
    requireTwoFactors(identity)
    await context.mfa.accounts.database.transaction(async (transaction) => {
      await lockSelf(transaction, identity)
      const factor = await findFactor(transaction, userId, 'webauthn')
      if (factor === undefined) throw passkeyErrors.noWebauthnFactor()
      await removeFactor(transaction, userId, factor.id)
    })
  },
})

/** Operations of the signed-in user on own passkeys. */
export const manageOperations = [list, rename, remove, removeAll]
