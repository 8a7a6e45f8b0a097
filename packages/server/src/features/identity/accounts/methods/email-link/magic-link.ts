import type { Queryable } from '../../../../../database/system-database.ts'
import type { UserIdentity } from '../../../../../http/access/identity.ts'
import type { AccountContext } from '../../context.ts'
import { requireText } from '../../credentials.ts'
import { accountErrors } from '../../errors.ts'
import { lockSelf } from '../../own-account.ts'
import { findOrMakeOwner } from '../../owner.ts'
import type { Client } from '../../sessions/sessions.ts'
import { type AuthenticationResponse, finishFirstFactor, type PendingResponse } from '../../sign-in.ts'
import { linkEmail, type User } from '../../users.ts'
import { requestMailTo } from '../password/password-reset.ts'
import { consumeMailedToken, findMailedToken } from './mailed-tokens.ts'

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
 * Of an account whose address was never verified the sessions and tokens end, and all that `takeOverUnverified` takes.
 *
 * @param caller who sent the token along, if any caller did
 * @throws AppError magic_link_disabled, invalid_magic_link_token, invalid_token, email_of_another
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
    const anonymous = caller?.isAnonymous === true ? caller : undefined
    const user = await findOrMakeUser(context, transaction, mailed.email, anonymous, ended)
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
  context: AccountContext,
  database: Queryable,
  email: string,
  anonymous: UserIdentity | undefined,
  ended: string[],
): Promise<User> {
  if (anonymous !== undefined) {
    const { id } = await lockSelf(database, anonymous)
    const linked = await linkEmail(database, id, { email, isVerified: true })
    if (linked !== undefined) return linked
  }
  const owner = await findOrMakeOwner(context, database, email, ended)
  if (owner === undefined) throw accountErrors.invalidMagicLinkToken()
  return owner
}

function requireEnabled({ settings }: AccountContext): void {
  if (!settings.current.magic_link_enabled) throw accountErrors.magicLinkDisabled()
}
