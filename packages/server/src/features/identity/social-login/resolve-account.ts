import type { Queryable, SystemTransaction } from '../../../database/system-database.ts'
import { takeTransactionLock } from '../../../database/transaction-lock.ts'
import { normalizeEmail } from '../../../lib/email-address.ts'
import {
  type AccountContext,
  type AuthenticationResponse,
  admitAccount,
  type Client,
  findOrMakeOwner,
  finishFirstFactor,
  insertUser,
  lockUser,
  type PendingResponse,
  type SignUp,
  type User,
} from '../accounts/index.ts'
import type { SocialLoginContext } from './context.ts'
import { socialLoginErrors } from './errors.ts'
import type { ProviderClient, ProviderTokens } from './provider-client.ts'
import { keepTokens } from './provider-tokens.ts'
import type { Profile } from './providers/provider.ts'
import { findIdentity, saveIdentity } from './queries.ts'

/** Person whom a provider has just identified. */
export interface ProviderLogin {
  readonly provider: string
  readonly at: ProviderClient
  readonly profile: Profile
  readonly tokens: ProviderTokens
}

/**
 * Signs in the account of an identity. A new identity belongs to the account with its address, if the
 * provider says that the address is verified. Otherwise an account is created.
 *
 * @throws AppError sign_in_refused, email_not_verified
 */
export async function signInByProvider(
  { accounts, secrets }: SocialLoginContext,
  login: ProviderLogin,
  client: Client,
): Promise<AuthenticationResponse | PendingResponse> {
  const { provider, profile } = login
  const signUp = { method: 'oauth', provider, requestId: client.requestId } as const
  const { session, ended } = await accounts.functions.transaction(accounts.database, async (transaction) => {
    const ended: string[] = []
    await lockIdentity(transaction, login)
    const email = verifiedEmail(profile)
    const existing = await findProvenUser(transaction, login)
    const user =
      existing ??
      (email === undefined
        ? await createWithoutAddress(accounts, transaction, signUp)
        : await findOrMakeOwner(accounts, transaction, email, ended, signUp))
    if (user === undefined) throw socialLoginErrors.signInRefused()
    const identity = { provider, subject: profile.subject }
    await saveIdentity(transaction, {
      ...identity,
      userId: user.id,
      email: profile.email,
      name: profile.name,
      isProven: true,
      isSignIn: true,
      storedTokens: await keepTokens(transaction, secrets, login.at, identity, login.tokens),
    })
    const provesEmail = existing === undefined && email !== undefined
    const session = await finishFirstFactor(accounts, transaction, user, 'oauth', client, provesEmail)
    if (session === undefined) throw socialLoginErrors.signInRefused()
    return { session, ended }
  })
  for (const id of ended) accounts.endedSessions.add(id)
  return session
}

async function createWithoutAddress(
  accounts: AccountContext,
  transaction: SystemTransaction,
  signUp: SignUp,
): Promise<User | undefined> {
  const user = await insertUser(transaction, {})
  return user && (await admitAccount(accounts, transaction, user, signUp))
}

/** Locks an identity, so that it signs in or is linked once at a time. */
export async function lockIdentity(
  database: Queryable,
  { provider, profile }: Pick<ProviderLogin, 'provider' | 'profile'>,
): Promise<void> {
  await takeTransactionLock(database, `social identity ${provider} ${profile.subject}`)
}

/** Returns the normalized address, if the provider vouches for it. */
export function verifiedEmail({ email, isEmailVerified }: Profile): string | undefined {
  return isEmailVerified && email !== undefined ? normalizeEmail(email) : undefined
}

/**
 * Returns the user of a proven identity. An identity that was linked by a token of unknown audience does not
 * sign in.
 */
async function findProvenUser(
  database: Queryable,
  { provider, profile }: Pick<ProviderLogin, 'provider' | 'profile'>,
): Promise<User | undefined> {
  const identity = await findIdentity(database, provider, profile.subject)
  return identity?.is_proven === true ? await lockUser(database, identity.user_id) : undefined
}
