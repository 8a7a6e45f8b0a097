import { noContent, ok, operation } from '../../../http/operation.ts'
import { uuidByHandler } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { lockUser, requireUser, userNotFound } from '../accounts/index.ts'
import type { SocialLoginContext } from './context.ts'
import { socialLoginErrors } from './errors.ts'
import { forgetTokens, readTokens, StoredTokens } from './provider-tokens.ts'
import { deleteIdentities, listIdentities, ProviderIdentity } from './queries.ts'

/** Members that every description below shares. */
const common = { guard: 'admin', permission: 'users.manage', tag: 'admin' } as const
const identities = '/api/admin/users/:id/identities'
const tokens = '/api/admin/users/:id/provider-tokens'
const userParams = Type.Object({ id: uuidByHandler() })
const itemParams = Type.Object({ id: uuidByHandler(), provider: Type.String() })

const list = operation({
  ...common,
  id: 'users.listIdentities',
  permission: 'users.read',
  method: 'GET',
  path: identities,
  summary: "List a user's identities at providers",
  params: userParams,
  success: ok(Type.Array(ProviderIdentity)),
  async handle({ accounts: { database } }: SocialLoginContext, { params: { id } }) {
    await requireUser(database, id)
    return await listIdentities(database, id)
  },
})

const remove = operation({
  ...common,
  id: 'users.removeIdentity',
  method: 'DELETE',
  path: `${identities}/:provider`,
  summary: 'Unlink a provider from a user',
  description: 'Even the last sign-in method can be removed.',
  params: itemParams,
  success: noContent,
  async handle({ accounts }: SocialLoginContext, { params: { id, provider }, origin }) {
    await accounts.database.transaction(async (transaction) => {
      if ((await lockUser(transaction, id)) === undefined) throw userNotFound()
      const count = await deleteIdentities(transaction, id, provider)
      if (count === 0) throw socialLoginErrors.identityNotFound()
      const entry = { action: 'users.remove_identity', target: id, detail: { provider } }
      await recordAudit(transaction, { actor: 'admin', ...entry, origin })
    })
  },
})

const listTokens = operation({
  ...common,
  id: 'users.listProviderTokens',
  stepUp: 'always',
  method: 'GET',
  path: tokens,
  summary: "List a user's provider tokens",
  params: userParams,
  success: ok(Type.Array(StoredTokens)),
  async handle({ accounts: { database }, secrets }: SocialLoginContext, { params: { id }, origin }) {
    await requireUser(database, id)
    await recordAudit(database, { actor: 'admin', action: 'users.read_provider_tokens', target: id, origin })
    return await readTokens(database, secrets, id)
  },
})

const removeTokens = operation({
  ...common,
  id: 'users.removeProviderTokens',
  method: 'DELETE',
  path: `${tokens}/:provider`,
  summary: "Remove a user's tokens of a provider",
  params: itemParams,
  success: noContent,
  async handle({ accounts: { database } }: SocialLoginContext, { params: { id, provider }, origin }) {
    await requireUser(database, id)
    await database.transaction(async (transaction) => {
      const count = await forgetTokens(transaction, id, provider)
      if (count === 0) throw socialLoginErrors.identityNotFound()
      const entry = { action: 'users.remove_provider_tokens', target: id, detail: { provider } }
      await recordAudit(transaction, { actor: 'admin', ...entry, origin })
    })
  },
})

/** Operations of administrators on users' provider identities and their stored tokens. */
export const identityAdministration = [list, remove, listTokens, removeTokens]
