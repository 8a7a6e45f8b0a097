import { deleteInBatches } from '../../../database/delete-in-batches.ts'
import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { type Answered, component, nullable, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { signInSeconds } from './browser-cookie.ts'

/** Sign-in that waits for the provider's response. */
export interface WaitingSignIn {
  readonly redirect_to: string | null
  readonly popup_hash: Buffer | null
  readonly link_session_id: string | null
  /** Query of the authorization request whose page the user signs in on. */
  readonly authorize_query: string | null
  readonly [column: string]: unknown
}

export interface NewSignIn {
  readonly stateHash: Buffer
  readonly provider: string
  readonly browserHash: Buffer
  readonly redirectTo: string | undefined
  readonly popupHash: Buffer | undefined
  readonly linkSessionId: string | undefined
  readonly authorizeQuery: string | undefined
}

export async function insertSignIn(database: Queryable, signIn: NewSignIn): Promise<void> {
  await database.count(sql`
    insert into basalt.social_sign_ins
      (state_hash, provider, browser_hash, redirect_to, popup_hash, link_session_id, authorize_query, expires_at)
    values (${signIn.stateHash}, ${signIn.provider}, ${signIn.browserHash}, ${signIn.redirectTo ?? null},
      ${signIn.popupHash ?? null}, ${signIn.linkSessionId ?? null}::uuid, ${signIn.authorizeQuery ?? null},
      now() + make_interval(secs => ${signInSeconds}::int))`)
}

/** Consumes a state. Returns undefined when it is not one of this provider and browser, was used or has expired. */
export async function consumeSignIn(
  database: Queryable,
  signIn: {
    readonly stateHash: Buffer
    readonly provider: string
    readonly browserHashes: readonly Buffer[]
  },
): Promise<WaitingSignIn | undefined> {
  return await database.maybeOne<WaitingSignIn>(sql`
    delete from basalt.social_sign_ins
    where state_hash = ${signIn.stateHash} and provider = ${signIn.provider}
      and browser_hash = any(${signIn.browserHashes}::bytea[]) and expires_at > now()
    returning redirect_to, popup_hash, link_session_id, authorize_query`)
}

/** Link of an account to a person at a provider. */
export const ProviderIdentity = component(
  'ProviderIdentity',
  Type.Object({
    provider: Type.String(),
    subject: Type.String({ description: "The provider's id of the person." }),
    email: nullable(Type.String()),
    name: nullable(Type.String()),
    proven: Type.Boolean({
      description: 'True if the identity can sign in. False: it is linked, but not yet a sign-in method.',
    }),
    createdAt: timestamp,
    lastSignInAt: nullable(timestamp),
  }),
)

export async function findIdentity(
  database: Queryable,
  provider: string,
  subject: string,
): Promise<{ readonly user_id: string; readonly is_proven: boolean } | undefined> {
  return await database.maybeOne(sql`
    select user_id, is_proven from basalt.social_identities where provider = ${provider} and subject = ${subject}`)
}

export async function listIdentities(
  database: Queryable,
  userId: string,
): Promise<Answered<typeof ProviderIdentity>[]> {
  return await database.many(sql`
    select provider, subject, email, name, is_proven as proven, created_at as "createdAt",
      last_sign_in_at as "lastSignInAt"
    from basalt.social_identities where user_id = ${userId} order by created_at, provider, subject`)
}

export interface IdentityValues {
  readonly provider: string
  readonly subject: string
  readonly userId: string
  readonly email: string | undefined
  readonly name: string | undefined
  readonly isProven: boolean
  readonly isSignIn: boolean
  readonly storedTokens: SealedTokens
}

/** Stored tokens of a provider. */
export interface SealedTokens {
  /** Encrypted tokens. Undefined if they are not to be stored. */
  readonly sealed?: string | undefined
  readonly expiresInSeconds?: number | undefined
  /** True if a refresh token is among them. */
  readonly isRenewable: boolean
}

/** Maximum lifetime of tokens, a century. Providers whose tokens never expire send any number of seconds. */
const longestSeconds = 3_155_760_000

/**
 * Returns the expiry of tokens by the database clock, or null for tokens that never expire. The database
 * clock decides when they are renewed.
 */
export function expiryOf({ expiresInSeconds: seconds }: Pick<SealedTokens, 'expiresInSeconds'>) {
  const bounded = seconds === undefined ? null : Math.min(seconds, longestSeconds)
  return sql`now() + make_interval(secs => ${bounded}::float8)`
}

/** Inserts an identity, or updates a known one. An identity of another user moves to this user. */
export async function saveIdentity(database: Queryable, identity: IdentityValues): Promise<void> {
  await database.count(sql`
    insert into basalt.social_identities
      (provider, subject, user_id, email, name, is_proven, tokens, tokens_expire_at, tokens_renewable,
        last_sign_in_at)
    values (${identity.provider}, ${identity.subject}, ${identity.userId}, ${identity.email ?? null},
      ${identity.name ?? null}, ${identity.isProven}::bool, ${identity.storedTokens.sealed ?? null},
      ${expiryOf(identity.storedTokens)}, ${identity.storedTokens.isRenewable}::bool,
      case when ${identity.isSignIn}::bool then now() end)
    on conflict (provider, subject) do update set user_id = excluded.user_id, email = excluded.email,
      name = coalesce(excluded.name, basalt.social_identities.name), is_proven = excluded.is_proven,
      tokens = excluded.tokens, tokens_expire_at = excluded.tokens_expire_at,
      tokens_renewable = excluded.tokens_renewable, renewal_failure = null, renewal_failed_at = null,
      renewal_failures = 0, renew_after = null,
      last_sign_in_at = coalesce(excluded.last_sign_in_at, basalt.social_identities.last_sign_in_at)`)
}

export async function deleteIdentities(
  database: Queryable,
  userId: string,
  provider: string,
): Promise<number> {
  return await database.count(sql`
    delete from basalt.social_identities where user_id = ${userId} and provider = ${provider}`)
}

/** Deletes unfinished sign-ins and popups. */
export async function deleteExpiredSignIns(database: Queryable): Promise<void> {
  await deleteInBatches(database, 'social_sign_ins', sql`expires_at < now()`)
  await deleteInBatches(database, 'social_popups', sql`expires_at < now()`)
}

/** Counts the client secrets of administrators by the key that encrypted them. */
export async function countClientSecretsByKey(database: Queryable): Promise<ReadonlyMap<string, number>> {
  const rows = await database.many<{ key: string; count: number }>(sql`
    select split_part(change ->> 'sealed_secret', '.', 1) as key, count(*)::int as count
    from basalt.settings, jsonb_each(value) as changes (provider, change)
    where settings.key = 'social_providers' and change ? 'sealed_secret'
    group by 1`)
  return new Map(rows.map(({ key, count }) => [key, count]))
}
