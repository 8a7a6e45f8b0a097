import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { UserIdentity } from '../../../http/access/identity.ts'
import {
  type AuthenticationResponse,
  admitAccount,
  alreadyLinked,
  type Client,
  fieldRequired,
  findSessionOwner,
  linkEmail,
  lockSelf,
  lockUser,
  markLinked,
  onlyAnonymous,
  requirePassedFactor,
  startSession,
  type User,
} from '../accounts/index.ts'
import type { SocialLoginContext } from './context.ts'
import { socialLoginErrors } from './errors.ts'
import type { ProviderClient } from './provider-client.ts'
import { keepTokens } from './provider-tokens.ts'
import { type Profile, ProviderFailure } from './providers/provider.ts'
import { deleteIdentities, findIdentity, listIdentities, saveIdentity } from './queries.ts'
import { lockIdentity, type ProviderLogin, verifiedEmail } from './resolve-account.ts'

/** Tokens that an application got from a provider. */
export interface LinkBody {
  readonly provider?: string | undefined
  readonly access_token?: string | undefined
  readonly id_token?: string | undefined
}

/**
 * Links an anonymous user to the identity of an access token. If the provider does not report the client of a
 * token, the identity is unproven: the token may come from any other application.
 *
 * @throws AppError only_anonymous, field_required, link_provider_not_configured, user_info_failed,
 * foreign_token, …
 */
export async function linkByAccessToken(
  context: SocialLoginContext,
  caller: UserIdentity,
  body: LinkBody,
  client: Client,
): Promise<AuthenticationResponse> {
  if (!caller.isAnonymous) throw onlyAnonymous()
  if (body.provider === undefined || body.provider === '') throw fieldRequired('provider')
  const { accounts, registry } = context
  const provider = body.provider
  const at = registry.find(provider)
  const token = body.id_token && at?.provider.identifiesByIdToken ? body.id_token : body.access_token
  if (token === undefined || token === '') throw fieldRequired('access_token')
  if (at === undefined) throw socialLoginErrors.linkProviderNotConfigured(provider)
  const { profile, audience } = await inspect(at, token)
  if (audience === 'foreign') throw socialLoginErrors.foreignToken()
  const isProven = audience === 'ours'
  return await accounts.functions.transaction(accounts.database, async (transaction) => {
    await lockIdentity(transaction, { provider, profile })
    await requireFree(transaction, provider, profile.subject, caller.userId)
    const { id } = await lockSelf(transaction, caller)
    const permanent = await makePermanent(transaction, id, isProven ? profile : undefined)
    const user = await admitAccount(accounts, transaction, permanent, {
      ...{ method: 'oauth', provider, requestId: client.requestId, wasAnonymous: true },
    })
    await saveIdentity(transaction, {
      provider,
      subject: profile.subject,
      userId: user.id,
      email: profile.email,
      name: profile.name,
      isProven,
      isSignIn: false,
      storedTokens: { isRenewable: false },
    })
    const response = await startSession(accounts, transaction, user, 'oauth', client)
    if (response === undefined) throw alreadyLinked()
    return response
  })
}

/**
 * Reads the identity of a token.
 *
 * @param token an access token, or an id_token of some providers
 * @throws AppError user_info_failed, invalid_id_token
 */
async function inspect(at: ProviderClient, token: string) {
  try {
    const inspected =
      at.provider.identifiesByIdToken === true ? await at.inspectIdToken(token) : await at.inspect(token)
    if (inspected === undefined) throw socialLoginErrors.invalidIdToken()
    return inspected
  } catch (error) {
    if (error instanceof ProviderFailure) throw socialLoginErrors.userInfoFailed().with({ cause: error })
    throw error
  }
}

/** Links the identity of a redirect flow to the user of the session that began it. @throws AppError */
export async function linkByProvider(
  { accounts, secrets }: SocialLoginContext,
  sessionId: string,
  { provider, at, profile, tokens }: ProviderLogin,
  requestId: string,
): Promise<void> {
  await accounts.functions.transaction(accounts.database, async (transaction) => {
    await lockIdentity(transaction, { provider, profile })
    const userId = await findSessionOwner(transaction, sessionId)
    const user = userId === undefined ? undefined : await lockUser(transaction, userId)
    if (user === undefined || user.disabled_at !== null) throw socialLoginErrors.invalidState()
    // While this waited for the lock, the session may have ended, and with it the credentials of a stranger.
    if ((await findSessionOwner(transaction, sessionId)) !== user.id) throw socialLoginErrors.invalidState()
    await requireFree(transaction, provider, profile.subject, user.id)
    if (user.is_anonymous) {
      const permanent = await makePermanent(transaction, user.id, profile)
      const signUp = { method: 'oauth', provider, requestId, wasAnonymous: true } as const
      await admitAccount(accounts, transaction, permanent, signUp)
    }
    await saveIdentity(transaction, {
      provider,
      subject: profile.subject,
      userId: user.id,
      email: profile.email,
      name: profile.name,
      isProven: true,
      isSignIn: false,
      storedTokens: await keepTokens(
        transaction,
        secrets,
        at,
        { provider, subject: profile.subject },
        tokens,
      ),
    })
  })
}

/**
 * Rejects an identity that is already proven. An unproven one is free for its owner.
 *
 * @throws AppError identity_of_another, identity_already_linked
 */
async function requireFree(
  database: Queryable,
  provider: string,
  subject: string,
  userId: string,
): Promise<void> {
  const identity = await findIdentity(database, provider, subject)
  if (identity?.is_proven !== true) return
  throw identity.user_id === userId
    ? socialLoginErrors.identityAlreadyLinked()
    : socialLoginErrors.identityOfAnother()
}

/**
 * Makes an anonymous account permanent.
 *
 * @param profile with an address that the account gets if the provider vouches for it
 */
async function makePermanent(
  database: Queryable,
  userId: string,
  profile: Profile | undefined,
): Promise<User> {
  const email = profile && verifiedEmail(profile)
  const user =
    email === undefined
      ? await markLinked(database, userId)
      : await linkEmail(database, userId, { email, isVerified: true })
  if (user === undefined) throw alreadyLinked()
  return user
}

/** Unlinks a provider. @throws AppError insufficient_aal, identity_not_found, last_way_in */
export async function unlink(
  { accounts }: SocialLoginContext,
  caller: UserIdentity,
  provider: string,
): Promise<void> {
  await accounts.database.transaction(async (transaction) => {
    // The lock orders concurrent requests, so that each one sees the result of the one before it.
    const user = await lockSelf(transaction, caller)
    await requirePassedFactor(accounts, transaction, caller)
    const identities = await listIdentities(transaction, user.id)
    if (!identities.some((identity) => identity.provider === provider)) {
      throw socialLoginErrors.identityNotFound()
    }
    const staysLinked = identities.some((identity) => identity.proven && identity.provider !== provider)
    const removesWayIn = identities.some((identity) => identity.proven && identity.provider === provider)
    if (
      removesWayIn &&
      !staysLinked &&
      !(await hasOtherWayIn(accounts.settings.current, transaction, user))
    ) {
      throw socialLoginErrors.lastWayIn()
    }
    await deleteIdentities(transaction, user.id, provider)
  })
}

async function hasOtherWayIn(
  settings: {
    readonly magic_link_enabled: boolean
    readonly sms_enabled: boolean
    readonly webauthn_enabled: boolean
  },
  database: Queryable,
  { id, email, password_hash, phone }: User,
): Promise<boolean> {
  if (email !== null && (password_hash !== null || settings.magic_link_enabled)) return true
  if (phone !== null && settings.sms_enabled) return true
  if (!settings.webauthn_enabled) return false
  return (await database.count(sql`select from basalt.passkeys where user_id = ${id} limit 1`)) > 0
}
