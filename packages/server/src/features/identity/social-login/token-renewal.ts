import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { JobQueue } from '../../../job-queue.ts'
import { messageOf } from '../../../lib/errors.ts'
import type { SocialLoginContext } from './context.ts'
import type { ProviderTokens } from './provider-client.ts'
import { openTokens, sealTokens } from './provider-tokens.ts'
import { ProviderFailure } from './providers/provider.ts'
import { expiryOf } from './queries.ts'

/** Time before their expiry at which tokens are renewed. The job runs every five minutes. */
const windowSeconds = 600
/** Number of identities that one node renews at once. */
const batchSize = 8
/** Lifetime of a claim, longer than a provider may take. Afterwards another node renews the identity. */
const claimSeconds = 60
/** Pause after a failure, doubled for each consecutive one. */
const firstPauseSeconds = 60
const longestPauseSeconds = 21_600

interface Payload {
  readonly window_seconds?: number
}

/**
 * Defines the job that renews stored tokens before they expire.
 *
 * @param context undefined without auth: there are none
 */
export function defineTokenRenewal(queue: JobQueue, context: SocialLoginContext | undefined): void {
  queue.define<Payload>({
    name: 'oauth_provider_tokens_refresh',
    retry: { attempts: 3, delay: 60, delayMax: 600, backoff: 2 },
    timeout: 240,
    findProblem: ({ window_seconds: seconds }) =>
      seconds === undefined ||
      (Number.isInteger(seconds) && Number(seconds) >= 1 && Number(seconds) <= 86_400)
        ? undefined
        : 'window_seconds must be an integer from 1 to 86400',
    async handle({ window_seconds: seconds = windowSeconds }, { signal }) {
      if (context !== undefined) await renewTokens(context, seconds, signal)
    },
  })
}

/** Renews tokens that expire within the window, each identity by one node. */
async function renewTokens(context: SocialLoginContext, seconds: number, signal: AbortSignal): Promise<void> {
  const providers = context.registry
    .listUsable()
    .map(({ name }) => name)
    .filter((name) => context.registry.find(name)?.settings.storesTokens === true)
  while (providers.length > 0 && !signal.aborted) {
    const claimed = await claimExpiring(context.accounts.database, providers, seconds)
    await Promise.all(claimed.map((identity) => renew(context, identity)))
    if (claimed.length < batchSize) return
  }
}

interface ClaimedIdentity {
  readonly provider: string
  readonly subject: string
  readonly tokens: string
  readonly renewal_failures: number
  readonly [column: string]: unknown
}

/** Claims identities for this node. Concurrent nodes claim different ones. */
async function claimExpiring(
  database: Queryable,
  providers: readonly string[],
  seconds: number,
): Promise<ClaimedIdentity[]> {
  return await database.many<ClaimedIdentity>(sql`
    update basalt.social_identities i
    set renew_after = now() + make_interval(secs => ${sql.integer(claimSeconds)})
    from (
      select provider, subject from basalt.social_identities
      where tokens_renewable and tokens_expire_at < now() + make_interval(secs => ${seconds}::int)
        and coalesce(renew_after <= now(), true) and provider = any(${providers}::text[])
      order by tokens_expire_at limit ${sql.integer(batchSize)}
      for update skip locked
    ) as due
    where i.provider = due.provider and i.subject = due.subject
    returning i.provider, i.subject, i.tokens, i.renewal_failures`)
}

async function renew(context: SocialLoginContext, identity: ClaimedIdentity): Promise<void> {
  const { accounts, registry, secrets } = context
  const { database, log } = accounts
  const { provider } = identity
  try {
    const refreshToken = openTokens(secrets, identity, identity.tokens)?.refreshToken
    if (refreshToken === undefined) throw new ProviderFailure('no key opens the stored tokens')
    const renewed = await registry.find(provider)?.refresh(refreshToken)
    if (renewed !== undefined) {
      await storeRenewed(database, secrets, identity, renewed)
    } else if (registry.find(provider) !== undefined) {
      log.info({ provider }, 'the provider has revoked a refresh token; its tokens are no longer renewed')
      await storeRevoked(database, identity)
    }
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error
    const pause = Math.min(longestPauseSeconds, firstPauseSeconds * 2 ** identity.renewal_failures)
    const reason = messageOf(error)
    log.warn({ provider, reason }, `failed to renew tokens of a provider; retrying in ${pause} s`)
    await storeFailure(database, identity, pause)
  }
}

/** Builds the condition that a sign-in has not replaced the tokens in the meantime. */
function unchanged({ provider, subject, tokens }: ClaimedIdentity) {
  return sql`provider = ${provider} and subject = ${subject} and tokens = ${tokens}`
}

async function storeRenewed(
  database: Queryable,
  secrets: SocialLoginContext['secrets'],
  identity: ClaimedIdentity,
  renewed: ProviderTokens,
): Promise<void> {
  const { sealed = null, ...storedTokens } = sealTokens(secrets, identity, renewed)
  await database.count(sql`
    update basalt.social_identities set tokens = ${sealed},
      tokens_expire_at = ${expiryOf(storedTokens)}, renewal_failure = null,
      renewal_failed_at = null, renewal_failures = 0, renew_after = null
    where ${unchanged(identity)}`)
}

async function storeRevoked(database: Queryable, identity: ClaimedIdentity): Promise<void> {
  await database.count(sql`
    update basalt.social_identities set tokens_renewable = false, renewal_failure = 'revoked',
      renewal_failed_at = now(), renew_after = null
    where ${unchanged(identity)}`)
}

async function storeFailure(database: Queryable, identity: ClaimedIdentity, pause: number): Promise<void> {
  await database.count(sql`
    update basalt.social_identities set renewal_failure = 'unavailable', renewal_failed_at = now(),
      renewal_failures = least(renewal_failures + 1, 30),
      renew_after = now() + make_interval(secs => ${pause}::int)
    where ${unchanged(identity)}`)
}
