import type { Queryable } from '../../database/system-database.ts'
import type { UserIdentity } from '../../http/identity.ts'
import type { AccountContext } from './context.ts'
import { requireText } from './credentials.ts'
import { accountErrors } from './errors.ts'
import { consumeMailedToken } from './mailed-tokens.ts'
import { requestMailTo } from './password-reset.ts'
import { type Client, endSessionsOf } from './sessions.ts'
import { type AuthenticationResponse, startSession } from './sign-in.ts'
import {
  findUserByEmail,
  insertUser,
  linkEmail,
  markEmailVerified,
  takeOverUnverified,
  type User,
} from './users.ts'

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
 * Whoever registered the address without ever verifying it is thrown out.
 *
 * @param caller who sent the token along, if anybody
 * @throws AppError magic_link_disabled, invalid_magic_link_token, email_of_another
 */
export async function confirmMagicLink(
  context: AccountContext,
  given: string | undefined,
  caller: UserIdentity | undefined,
  client: Client,
): Promise<AuthenticationResponse> {
  requireEnabled(context)
  const token = requireText(given, 'token')
  const ended: string[] = []
  const response = await context.database.transaction(async (transaction) => {
    const used = await consumeMailedToken(transaction, 'magic_link', token)
    if (used === undefined) throw accountErrors.invalidMagicLinkToken()
    const anonymousId = caller?.isAnonymous === true ? caller.userId : undefined
    const user = await findOrMakeUser(transaction, used.email, anonymousId, ended)
    const session = await startSession(context, transaction, user, 'otp', client)
    if (session === undefined) throw accountErrors.invalidMagicLinkToken()
    return session
  })
  for (const id of ended) context.endedSessions.add(id)
  return response
}

async function findOrMakeUser(
  database: Queryable,
  email: string,
  anonymousId: string | undefined,
  ended: string[],
): Promise<User> {
  const owner = await findUserByEmail(database, email)
  if (anonymousId !== undefined) {
    if (owner !== undefined && owner.id !== anonymousId) throw accountErrors.emailOfAnother()
    const linked = await linkEmail(database, anonymousId, { email, isVerified: true })
    if (linked !== undefined) return linked
  }
  if (owner !== undefined && owner.email_verified_at === null) {
    await takeOverUnverified(database, owner.id)
    ended.push(...(await endSessionsOf(database, owner.id)))
    await markEmailVerified(database, owner.id, email)
  }
  const user =
    owner === undefined
      ? ((await insertUser(database, { email, isEmailVerified: true })) ??
        (await findUserByEmail(database, email)))
      : await findUserByEmail(database, email)
  if (user === undefined) throw accountErrors.invalidMagicLinkToken()
  return user
}

function requireEnabled({ settings }: AccountContext): void {
  if (!settings.current.magic_link_enabled) throw accountErrors.magicLinkDisabled()
}
