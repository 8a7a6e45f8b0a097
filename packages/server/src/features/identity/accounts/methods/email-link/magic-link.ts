import type { SystemTransaction } from '../../../../../database/system-database.ts'
import { optionalUserOf } from '../../../../../http/access/authentication.ts'
import type { UserIdentity } from '../../../../../http/access/identity.ts'
import { ok, operation } from '../../../../../http/operation.ts'
import { Message } from '../../../../../http/schemas.ts'
import { Type } from '../../../../../lib/type.ts'
import { captchaHeaders, captchaOf } from '../../../captcha/index.ts'
import { admitAccount, type SignUp } from '../../account-functions.ts'
import type { AccountContext } from '../../context.ts'
import { email, requireText, text } from '../../credentials.ts'
import { accountErrors } from '../../errors.ts'
import { lockSelf } from '../../own-account.ts'
import { findOrMakeOwner } from '../../owner.ts'
import { type Client, clientOf } from '../../sessions/sessions.ts'
import {
  type Authentication,
  AuthenticationOrPending,
  finishFirstFactor,
  type PendingAuthentication,
} from '../../sign-in.ts'
import { linkEmail, type User } from '../../users.ts'
import { requestMailTo } from '../password/password-reset.ts'
import { consumeMailedToken, findMailedToken } from './mailed-tokens.ts'

export const requestMagicLinkOperation = operation({
  guard: 'public',
  tag: 'accounts',
  id: 'accounts.requestMagicLink',
  method: 'POST',
  path: '/api/auth/magic-link',
  summary: 'Request a sign-in link',
  headers: captchaHeaders,
  body: Type.Object({ email }),
  success: ok(Message),
  async handle(context: AccountContext, { body, http, origin }) {
    await requestMagicLink(context, body.email, origin.address, captchaOf(http))
    return { message: 'if valid, a login link has been sent' }
  },
})

export const confirmMagicLinkOperation = operation({
  guard: 'optional',
  tag: 'accounts',
  id: 'accounts.confirmMagicLink',
  method: 'POST',
  path: '/api/auth/magic-link/confirm',
  summary: 'Sign in by a mailed token',
  description: 'With the access token of an anonymous user, that account gets the address and keeps its id.',
  body: Type.Object({
    token: text('Token of the link.', 4096),
  }),
  success: ok(AuthenticationOrPending),
  handle: (context: AccountContext, { body, http }) =>
    confirmMagicLink(context, body.token, optionalUserOf(http), clientOf(http)),
})

/**
 * Requests a sign-in link, in the same way for every address.
 *
 * @param captcha response of the captcha
 * @throws AppError magic_link_disabled, captcha_required, captcha_failed, too_many_requests
 */
export async function requestMagicLink(
  context: AccountContext,
  email: string | undefined,
  address: string,
  captcha: string | undefined,
): Promise<void> {
  requireEnabled(context)
  await context.captcha.require('magic_link', captcha, address)
  await requestMailTo(context, 'magic_link', email, address)
}

/**
 * Signs in by a mailed token. An anonymous caller's account gets the address. For any other caller, a missing
 * account is created. If the address was never verified, the account's sessions and tokens end and
 * `takeOverUnverified` clears it.
 *
 * @param caller of the request, if it carried a token
 * @throws AppError magic_link_disabled, invalid_magic_link_token, invalid_token, email_of_another
 */
export async function confirmMagicLink(
  context: AccountContext,
  mailedToken: string | undefined,
  caller: UserIdentity | undefined,
  client: Client,
): Promise<Authentication | PendingAuthentication> {
  requireEnabled(context)
  const token = requireText(mailedToken, 'token')
  const signUp = { method: 'magic_link', requestId: client.requestId } as const
  const { session, ended } = await context.functions.transaction(context.database, async (transaction) => {
    const ended: string[] = []
    const mailed = await findMailedToken(transaction, 'magic_link', token)
    if (mailed === undefined) throw accountErrors.invalidMagicLinkToken()
    const anonymous = caller?.isAnonymous === true ? caller : undefined
    const user = await findOrMakeUser(context, transaction, mailed.email, anonymous, ended, signUp)
    const used = await consumeMailedToken(transaction, 'magic_link', token)
    if (used === undefined) throw accountErrors.invalidMagicLinkToken()
    const session = await finishFirstFactor(context, transaction, user, 'otp', client)
    if (session === undefined) throw accountErrors.invalidMagicLinkToken()
    return { session, ended }
  })
  for (const id of ended) context.endedSessions.add(id)
  return session
}

async function findOrMakeUser(
  context: AccountContext,
  database: SystemTransaction,
  email: string,
  anonymous: UserIdentity | undefined,
  ended: string[],
  signUp: SignUp,
): Promise<User> {
  if (anonymous !== undefined) {
    const { id } = await lockSelf(database, anonymous)
    const linked = await linkEmail(database, id, { email, isVerified: true })
    if (linked !== undefined)
      return await admitAccount(context, database, linked, { ...signUp, wasAnonymous: true })
  }
  const owner = await findOrMakeOwner(context, database, email, ended, signUp)
  if (owner === undefined) throw accountErrors.invalidMagicLinkToken()
  return owner
}

function requireEnabled({ settings }: AccountContext): void {
  if (!settings.current.magic_link_enabled) throw accountErrors.magicLinkDisabled()
}
