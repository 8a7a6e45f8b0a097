import { userOf } from '../../../http/access/authentication.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import { noContent, ok, operation } from '../../../http/operation.ts'
import { type Answered, choice, component, uuidByHandler } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { maskPhone } from '../../messaging/sms/index.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { findUserById, lockSelf, lockUser, requireUser, userNotFound } from '../accounts/index.ts'
import type { MfaContext } from './context.ts'
import { mfaErrors } from './errors.ts'
import { factorMethods, listFactors, removeAllFactors, removeFactor, type StoredFactor } from './factors.ts'

/** Factor in responses to its user. */
const Factor = component(
  'Factor',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    method: choice(factorMethods),
    label: Type.String(),
    phone: Type.Optional(Type.String({ description: 'Masked.' })),
    email: Type.Optional(Type.String({ description: 'Masked.' })),
  }),
)
type Factor = Answered<typeof Factor>

const FactorList = Type.Object({ factors: Type.Array(Factor) })
const item = '/api/auth/mfa/factors/:id'
const params = Type.Object({ id: Type.String() })

const list = operation({
  id: 'mfa.listFactors',
  method: 'GET',
  path: '/api/auth/mfa/factors',
  guard: 'bearerOrMfa',
  tag: 'mfa',
  summary: 'List the factors of the user',
  success: ok(FactorList),
  async handle(context: MfaContext, { http }) {
    const { userId } = http.pending ?? userOf(http)
    return { factors: await describeFactors(context, userId) }
  },
})

const get = operation({
  id: 'mfa.getFactor',
  method: 'GET',
  path: item,
  guard: 'aal2',
  tag: 'mfa',
  summary: 'Get a factor of the user',
  params,
  success: ok(Factor),
  async handle(context: MfaContext, { params, http }) {
    const factors = await describeFactors(context, userOf(http).userId)
    const found = factors.find(({ id }) => id === params.id)
    if (found === undefined) throw mfaErrors.factorNotFound()
    return found
  },
})

const remove = operation({
  id: 'mfa.removeFactor',
  method: 'DELETE',
  path: item,
  guard: 'aal2',
  tag: 'mfa',
  summary: 'Remove a factor',
  params,
  success: noContent,
  async handle({ accounts }: MfaContext, { params, http }) {
    const isRemoved = await accounts.database.transaction(async (transaction) => {
      // The second of two concurrent requests sees the remaining factors. The backup codes go with the last one.
      const { id } = await lockSelf(transaction, userOf(http))
      return await removeFactor(transaction, id, params.id)
    })
    if (!isRemoved) throw mfaErrors.factorNotFound()
  },
})

/** Members that the descriptions for administrators share. */
const administrative = { guard: 'admin', permission: 'users.manage', tag: 'admin' } as const
const ofUser = '/api/admin/users/:id/factors'
const userParams = Type.Object({ id: uuidByHandler() })

const listOfUser = operation({
  ...administrative,
  id: 'users.listFactors',
  permission: 'users.read',
  method: 'GET',
  path: ofUser,
  summary: 'List the factors of a user',
  params: userParams,
  success: ok(FactorList),
  async handle(context: MfaContext, { params: { id } }) {
    await requireUser(context.accounts.database, id)
    return { factors: await describeFactors(context, id) }
  },
})

const removeOfUser = operation({
  ...administrative,
  id: 'users.removeFactor',
  permission: 'owner',
  method: 'DELETE',
  path: `${ofUser}/:factorId`,
  summary: 'Remove a second factor of a user',
  description: 'The backup codes are removed with the last factor.',
  params: Type.Object({ id: uuidByHandler(), factorId: Type.String() }),
  success: noContent,
  async handle({ accounts }: MfaContext, { params: { id, factorId }, origin }) {
    await accounts.database.transaction(async (transaction) => {
      if ((await lockUser(transaction, id)) === undefined) throw userNotFound()
      if (!(await removeFactor(transaction, id, factorId))) throw mfaErrors.factorNotFound()
      const entry = { action: 'users.remove_factor', target: id, detail: { factorId } }
      await recordAudit(transaction, { actor: 'admin', ...entry, origin })
    })
  },
})

const resetOfUser = operation({
  ...administrative,
  id: 'users.resetFactors',
  permission: 'owner',
  method: 'DELETE',
  path: ofUser,
  summary: 'Remove all second factors of a user',
  params: userParams,
  success: noContent,
  async handle({ accounts }: MfaContext, { params: { id }, origin }) {
    await accounts.database.transaction(async (transaction) => {
      if ((await lockUser(transaction, id)) === undefined) throw userNotFound()
      await removeAllFactors(transaction, id)
      await recordAudit(transaction, { actor: 'admin', action: 'users.reset_factors', target: id, origin })
    })
  },
})

export const factorOperations = [list, get, remove, listOfUser, removeOfUser, resetOfUser]

/**
 * Returns the confirmed factors of a user.
 *
 * @throws AppError invalid_token when the user has been deleted in the meantime
 */
export async function describeFactors({ accounts }: MfaContext, userId: string): Promise<Factor[]> {
  const { database } = accounts
  const user = await findUserById(database, userId)
  if (user === undefined) throw httpErrors.invalidToken()
  return (await listFactors(database, userId)).map((factor) => describe(factor, user.email ?? ''))
}

function describe({ id, method, phone }: StoredFactor, address: string): Factor {
  switch (method) {
    case 'totp':
      return { id, method, label: 'Authenticator app' }
    case 'webauthn':
      return { id, method, label: 'Passkey' }
    case 'sms': {
      const masked = maskPhone(phone ?? '')
      return { id, method, label: `SMS (${masked})`, phone: masked }
    }
    case 'email': {
      const masked = address.replace(/^(.).*@/u, '$1***@')
      return { id, method, label: `Email (${masked})`, email: masked }
    }
  }
}
