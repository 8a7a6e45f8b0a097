import type { SystemTransaction } from '../../../database/system-database.ts'
import { admitAccount, type SignUp } from './account-functions.ts'
import type { AccountContext } from './context.ts'
import { voidMailedTokens } from './methods/email-link/mailed-tokens.ts'
import { endSessionsOf } from './sessions/sessions.ts'
import { insertUser, lockUserByEmail, takeOverUnverified, type User } from './users.ts'

/**
 * Returns the account of a person who proved to own the address, and creates it when there is none. If the
 * address was never verified, the account's sessions and tokens end and {@link takeOverUnverified} clears it.
 *
 * @param email normalized
 * @param ended gets the sessions that have ended
 * @param signUp of a new account
 * @returns undefined when the account has been deleted in the meantime
 */
export async function findOrMakeOwner(
  context: AccountContext,
  database: SystemTransaction,
  email: string,
  ended: string[],
  signUp: SignUp,
): Promise<User | undefined> {
  const made = await insertUser(database, { email, isEmailVerified: true })
  if (made !== undefined) return await admitAccount(context, database, made, signUp)
  // The account may also have been registered with the address a moment ago.
  const owner = await lockUserByEmail(database, email)
  if (owner === undefined || owner.email_verified_at !== null) return owner
  await voidMailedTokens(database, email, ['password_reset', 'email_verification'])
  ended.push(...(await endSessionsOf(database, owner.id)))
  const hasFactor = await context.secondFactors.isEnrolled(database, owner.id)
  return await takeOverUnverified(database, owner.id, { hasFactor })
}
