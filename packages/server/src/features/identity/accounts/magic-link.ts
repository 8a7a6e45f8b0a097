import type { Queryable } from '../../../database/system-database.ts'
import type { UserIdentity } from '../../../http/identity.ts'
import type { AccountContext } from './context.ts'
import { requireText } from './credentials.ts'
import { accountErrors } from './errors.ts'
import { consumeMailedToken, findMailedToken, voidMailedTokens } from './mailed-tokens.ts'
import { requestMailTo } from './password-reset.ts'
import { type Client, endSessionsOf } from './sessions.ts'
import { type AuthenticationResponse, finishFirstFactor, type PendingResponse } from './sign-in.ts'
import { insertUser, linkEmail, lockUserByEmail, takeOverUnverified, type User } from './users.ts'

/** Asks for a sign-in link; the same for every address. @throws AppError magic_link_disabled, too_many_requests */
export async function requestMagicLink(
  context: AccountContext,
  givenEmail: string | undefined,
  address: string,
): Promise<void> {
  requireEnabled(context)
  await requestMailTo(context, 'magic_link', givenEmail, address)
}

/**
 * Signs in by a mailed token. The account is made when there is none; an anonymous caller's own account becomes it.
 * Of an account whose address was never verified the password, phone, sessions and tokens end; its factors stay.
 *
 * @param caller who sent the token along, if any caller did
 * @throws AppError magic_link_disabled, invalid_magic_link_token, email_of_another
 */
export async function confirmMagicLink(
  context: AccountContext,
  given: string | undefined,
  caller: UserIdentity | undefined,
  client: Client,
): Promise<AuthenticationResponse | PendingResponse> {
  requireEnabled(context)
  const token = requireText(given, 'token')
  const ended: string[] = []
  const response = await context.database.transaction(async (transaction) => {
    const mailed = await findMailedToken(transaction, 'magic_link', token)
    if (mailed === undefined) throw accountErrors.invalidMagicLinkToken()
    const anonymousId = caller?.isAnonymous === true ? caller.userId : undefined
    const user = await findOrMakeUser(context, transaction, mailed.email, anonymousId, ended)
    const used = await consumeMailedToken(transaction, 'magic_link', token)
    if (used === undefined) throw accountErrors.invalidMagicLinkToken()
    const session = await finishFirstFactor(context, transaction, user, 'otp', client)
    if (session === undefined) throw accountErrors.invalidMagicLinkToken()
    return session
  })
  for (const id of ended) context.endedSessions.add(id)
  return response
}

async function findOrMakeUser(
  { secondFactors }: AccountContext,
  database: Queryable,
  email: string,
  anonymousId: string | undefined,
  ended: string[],
): Promise<User> {
  if (anonymousId !== undefined) {
    const linked = await linkEmail(database, anonymousId, { email, isVerified: true })
    if (linked !== undefined) return linked
  }
  const made = await insertUser(database, { email, isEmailVerified: true })
  if (made !== undefined) return made
  // Also the account that registered the address a moment ago.
  const owner = await lockUserByEmail(database, email)
  if (owner === undefined) throw accountErrors.invalidMagicLinkToken()
  if (owner.email_verified_at !== null) return owner
  await voidMailedTokens(database, email, ['password_reset', 'email_verification'])
  ended.push(...(await endSessionsOf(database, owner.id)))
  const hasFactor = await secondFactors.isEnrolled(database, owner.id)
  return await takeOverUnverified(database, owner.id, { hasFactor })
}

function requireEnabled({ settings }: AccountContext): void {
  if (!settings.current.magic_link_enabled) throw accountErrors.magicLinkDisabled()
}
