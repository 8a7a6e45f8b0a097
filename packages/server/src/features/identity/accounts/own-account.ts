import type { Queryable } from '../../../database/system-database.ts'
import { userOf } from '../../../http/access/authentication.ts'
import type { UserIdentity } from '../../../http/access/identity.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import { noContent, ok, operation } from '../../../http/operation.ts'
import { Message } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import type { AccountContext } from './context.ts'
import { password, refuseBreached, requireNewPassword, requireText } from './credentials.ts'
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
  UserObject,
} from './users.ts'

/** Members that every description below shares. */
const common = { guard: 'bearer', tag: 'accounts' } as const

export const me = operation({
  ...common,
  id: 'accounts.me',
  method: 'GET',
  path: '/api/auth/me',
  summary: 'Get the signed-in user',
  success: ok(UserObject),
  handle: async (context: AccountContext, { http }) => describeUser(await requireSelf(context, userOf(http))),
})

export const deleteMe = operation({
  ...common,
  id: 'accounts.deleteMe',
  method: 'DELETE',
  path: '/api/auth/me',
  summary: 'Delete the signed-in user',
  description:
    'Sessions, tokens and codes are deleted with the user. With a second factor enrolled, this requires an aal2 session.',
  success: noContent,
  async handle(context: AccountContext, { http }) {
    const { database, endedSessions } = context
    const caller = userOf(http)
    const ended = await database.transaction(async (transaction) => {
      await lockSelf(transaction, caller)
      await requirePassedFactor(context, transaction, caller)
      const sessions = await endSessionsOf(transaction, caller.userId)
      const isDeleted = await deleteUser(transaction, caller.userId, accountErrors.accountReferenced)
      return isDeleted ? sessions : undefined
    })
    if (ended === undefined) throw httpErrors.invalidToken()
    for (const id of ended) endedSessions.add(id)
  },
})

export const changePassword = operation({
  ...common,
  id: 'accounts.changePassword',
  method: 'POST',
  path: '/api/auth/change-password',
  summary: 'Change the password',
  description: 'All other sessions end. A user without a password sets one without `currentPassword`.',
  body: Type.Object({
    currentPassword: Type.Optional(Type.String({ maxLength: 8192 })),
    newPassword: password,
  }),
  success: ok(Message),
  async handle(context: AccountContext, { body, http }) {
    const { database, passwords, throttle, endedSessions } = context
    const caller = userOf(http)
    const user = await requireSelf(context, caller)
    if (user.is_anonymous) throw accountErrors.emailRequired()
    await requirePassedFactor(context, database, caller)
    if (user.password_hash !== null) {
      // A borrowed token is not enough.
      const current = requireText(body.currentPassword, 'currentPassword')
      const { password_hash: hash } = user
      const counted = { limit: accountLimits(context).signIn, key: user.id, onSuccess: 'reset' } as const
      await countFailures(throttle, [counted], async () => {
        if (!(await passwords.verify(current, hash))) throw accountErrors.wrongPassword()
      })
    }
    const password = await requireNewPassword(context, requireText(body.newPassword, 'newPassword'))
    await refuseBreached(context, password, 'newPassword')
    const hash = await passwords.hash(password)
    const ended = await database.transaction(async (transaction) => {
      const current = await lockSelf(transaction, caller)
      // Another request may have set a different password in the meantime.
      if (current.password_hash !== user.password_hash) throw accountErrors.wrongPassword()
      await requirePassedFactor(context, transaction, caller)
      await setPassword(transaction, user.id, hash)
      await voidMailedTokens(transaction, user.email ?? '', ['password_reset', 'magic_link'])
      return await endSessionsOf(transaction, user.id, caller.sessionId)
    })
    for (const id of ended) endedSessions.add(id)
    return { message: 'password has been changed' }
  },
})

/** Returns the caller as stored now. A deleted caller is no longer signed in. @throws AppError invalid_token */
async function requireSelf({ database }: AccountContext, { userId }: UserIdentity): Promise<User> {
  const user = await findUserById(database, userId)
  if (user === undefined || user.disabled_at !== null) throw httpErrors.invalidToken()
  return user
}

/**
 * Returns the caller's account, locked until the transaction ends. Operations whose effect outlives the
 * session need the lock, because a node may accept tokens for a second after their session ended.
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

/**
 * Rejects a session that passed only the first factor. If stolen, it must not be enough to take the account
 * away.
 *
 * @throws AppError insufficient_aal
 */
export async function requirePassedFactor(
  { secondFactors }: AccountContext,
  database: Queryable,
  { userId, aal }: UserIdentity,
): Promise<void> {
  if (aal !== 'aal2' && (await secondFactors.isEnrolled(database, userId))) throw httpErrors.insufficientAal()
}
