import type { Queryable } from '../../../database/system-database.ts'
import type { UserIdentity } from '../../../http/access/identity.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import type { AccountContext } from './context.ts'
import { requireNewPassword, requireText } from './credentials.ts'
import { accountErrors } from './errors.ts'
import { accountLimits, countFailures } from './limits.ts'
import { voidMailedTokens } from './methods/email-link/mailed-tokens.ts'
import { endSessionsOf, findSessionOwner } from './sessions/sessions.ts'
import {
  deleteUser,
  describeUser,
  findUserById,
  lockUser,
  setPassword,
  type User,
  type UserObject,
} from './users.ts'

/** The caller as stored now; a deleted one is no longer signed in. @throws AppError invalid_token */
async function requireSelf({ database }: AccountContext, { userId }: UserIdentity): Promise<User> {
  const user = await findUserById(database, userId)
  if (user === undefined || user.disabled_at !== null) throw httpErrors.invalidToken()
  return user
}

/**
 * The caller's account, locked until the transaction ends, for what outlives the session: a node may accept its tokens for a
 * second after it has ended.
 *
 * @throws AppError invalid_token
 */
export async function lockSelf(
  transaction: Queryable,
  { userId, sessionId }: Pick<UserIdentity, 'userId' | 'sessionId'>,
): Promise<User> {
  const user = await lockUser(transaction, userId)
  if (user === undefined || user.disabled_at !== null) throw httpErrors.invalidToken()
  if (sessionId !== undefined && (await findSessionOwner(transaction, sessionId)) !== user.id) {
    throw httpErrors.invalidToken()
  }
  return user
}

export async function describeSelf(context: AccountContext, identity: UserIdentity): Promise<UserObject> {
  return describeUser(await requireSelf(context, identity))
}

/** A stolen session of the first factor alone must not take the account away. @throws AppError insufficient_aal */
export async function requirePassedFactor(
  { secondFactors }: AccountContext,
  database: Queryable,
  { userId, aal }: UserIdentity,
): Promise<void> {
  if (aal !== 'aal2' && (await secondFactors.isEnrolled(database, userId))) throw httpErrors.insufficientAal()
}

/**
 * Replaces the caller's password, or sets the first one; every other session ends. A user who has a password must give
 * it: a borrowed token is not enough.
 *
 * @throws AppError insufficient_aal, field_required, wrong_password, password_too_short, …
 */
export async function changePassword(
  context: AccountContext,
  identity: UserIdentity,
  given: { currentPassword?: string | undefined; newPassword?: string | undefined },
): Promise<void> {
  const { database, passwords, throttle, endedSessions } = context
  const user = await requireSelf(context, identity)
  if (user.is_anonymous) throw accountErrors.emailRequired()
  await requirePassedFactor(context, database, identity)
  if (user.password_hash !== null) {
    const current = requireText(given.currentPassword, 'currentPassword')
    const { password_hash: hash } = user
    const counted = { limit: accountLimits(context).signIn, key: user.id, onSuccess: 'reset' } as const
    await countFailures(throttle, [counted], async () => {
      if (!(await passwords.verify(current, hash))) throw accountErrors.wrongPassword()
    })
  }
  const password = await requireNewPassword(context, requireText(given.newPassword, 'newPassword'))
  const hash = await passwords.hash(password)
  const ended = await database.transaction(async (transaction) => {
    const current = await lockSelf(transaction, identity)
    // Meanwhile another request may have set another password.
    if (current.password_hash !== user.password_hash) throw accountErrors.wrongPassword()
    await requirePassedFactor(context, transaction, identity)
    await setPassword(transaction, user.id, hash)
    await voidMailedTokens(transaction, user.email ?? '', ['password_reset', 'magic_link'])
    return await endSessionsOf(transaction, user.id, identity.sessionId)
  })
  for (const id of ended) endedSessions.add(id)
}

/** Deletes the caller with sessions, tokens and codes. @throws AppError invalid_token, insufficient_aal, account_referenced */
export async function deleteSelf(context: AccountContext, identity: UserIdentity): Promise<void> {
  const { database, endedSessions } = context
  const ended = await database.transaction(async (transaction) => {
    await lockSelf(transaction, identity)
    await requirePassedFactor(context, transaction, identity)
    const sessions = await endSessionsOf(transaction, identity.userId)
    const isDeleted = await deleteUser(transaction, identity.userId, accountErrors.accountReferenced)
    return isDeleted ? sessions : undefined
  })
  if (ended === undefined) throw httpErrors.invalidToken()
  for (const id of ended) endedSessions.add(id)
}
