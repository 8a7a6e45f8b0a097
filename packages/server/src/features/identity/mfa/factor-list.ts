import type { UserIdentity } from '../../../http/access/identity.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import { maskPhone } from '../../messaging/sms/index.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { findUserById, lockSelf, lockUser, userNotFound } from '../accounts/index.ts'
import type { MfaContext } from './context.ts'
import { mfaErrors } from './errors.ts'
import { type Factor, listFactors, removeAllFactors, removeFactor } from './factors.ts'

/** A factor as its user sees it. */
export interface FactorObject {
  readonly id: string
  readonly method: string
  readonly label: string
  /** Masked. */
  readonly phone?: string
  /** Masked. */
  readonly email?: string
}

export async function describeFactors({ accounts }: MfaContext, userId: string): Promise<FactorObject[]> {
  const { database } = accounts
  const user = await findUserById(database, userId)
  if (user === undefined) throw httpErrors.invalidToken()
  return (await listFactors(database, userId)).map((factor) => describe(factor, user.email ?? ''))
}

function describe({ id, method, phone }: Factor, address: string): FactorObject {
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

/** @throws AppError factor_not_found */
export async function findOwnFactor(
  context: MfaContext,
  identity: UserIdentity,
  id: string,
): Promise<FactorObject> {
  const found = (await describeFactors(context, identity.userId)).find((factor) => factor.id === id)
  if (found === undefined) throw mfaErrors.factorNotFound()
  return found
}

/** @throws AppError factor_not_found */
export async function removeOwnFactor(
  { accounts }: MfaContext,
  identity: UserIdentity,
  factorId: string,
): Promise<void> {
  const isRemoved = await accounts.database.transaction(async (transaction) => {
    // Of two at once the second one sees what is left: backup codes go with the last factor.
    const { id } = await lockSelf(transaction, identity)
    return await removeFactor(transaction, id, factorId)
  })
  if (!isRemoved) throw mfaErrors.factorNotFound()
}

/** For an administrator, as when the user has lost it. @throws AppError user_not_found, factor_not_found */
export async function removeFactorOf(
  { accounts }: MfaContext,
  userId: string,
  factorId: string,
  origin: RequestOrigin,
): Promise<void> {
  await accounts.database.transaction(async (transaction) => {
    if ((await lockUser(transaction, userId)) === undefined) throw userNotFound()
    if (!(await removeFactor(transaction, userId, factorId))) throw mfaErrors.factorNotFound()
    const entry = { action: 'users.remove_factor', target: userId, detail: { factorId } }
    await recordAudit(transaction, { actor: 'admin', ...entry, origin })
  })
}

/** For an administrator: the user has no second factor any more. @throws AppError user_not_found */
export async function resetFactorsOf(
  { accounts }: MfaContext,
  userId: string,
  origin: RequestOrigin,
): Promise<void> {
  await accounts.database.transaction(async (transaction) => {
    if ((await lockUser(transaction, userId)) === undefined) throw userNotFound()
    await removeAllFactors(transaction, userId)
    const action = 'users.reset_factors'
    await recordAudit(transaction, { actor: 'admin', action, target: userId, origin })
  })
}
