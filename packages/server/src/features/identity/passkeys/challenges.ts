import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { isUuid } from '../../../lib/uuid.ts'
import {
  type CredentialDescriptor,
  challengeSeconds,
  createChallenge,
  type PasskeyRequestOptions,
  type RelyingParty,
  requestOptions,
} from '../../operations/webauthn/index.ts'
import { refuseDeletedUser } from '../mfa/index.ts'

/**
 * Use of an assertion: as second factor of a user, or to sign in, by email or by the user that the passkey
 * names. A challenge is valid for one use only. A sign-in challenge names no user, and one is also made for
 * an address without an account.
 */
export type ChallengeUse =
  | { readonly kind: 'second_factor'; readonly userId: string }
  | { readonly kind: 'email' }
  | { readonly kind: 'discoverable' }

/** Challenge that an assertion has consumed. */
export interface SpentChallenge {
  /** Challenge in base64url. */
  readonly challenge: string
  /** Ids of the requested passkeys. Undefined when any passkey is accepted. */
  readonly credentialIds: readonly string[] | undefined
}

export type ChallengeState = 'live' | 'used' | 'unknown'

const expiry = sql`now() + make_interval(secs => ${challengeSeconds}::int)`

/** Inserts an enrolment and voids the user's earlier unconfirmed one. */
export async function insertEnrollment(
  database: Queryable,
  userId: string,
  challenge: string,
): Promise<void> {
  await database.count(sql`
    with superseded as (
      delete from basalt.mfa_challenges where user_id = ${userId} and method = 'webauthn' and purpose = 'enroll')
    insert into basalt.mfa_challenges (user_id, method, purpose, challenge, expires_at)
    values (${userId}, 'webauthn', 'enroll', ${challenge}, ${expiry})`)
}

/** Returns whether {@link consumeEnrollment} would succeed. */
export async function isEnrollmentWaiting(
  database: Queryable,
  userId: string,
  challenge: string,
): Promise<boolean> {
  const found = await database.count(sql`
    select 1 from basalt.mfa_challenges where ${matchesEnrollment(userId, challenge)}`)
  return found > 0
}

/** Consumes the enrolment that has this challenge. One of several concurrent calls succeeds. */
export async function consumeEnrollment(
  database: Queryable,
  userId: string,
  challenge: string,
): Promise<boolean> {
  const count = await database.count(sql`
    update basalt.mfa_challenges set used_at = now()
    where ${matchesEnrollment(userId, challenge)}`)
  return count > 0
}

function matchesEnrollment(userId: string, challenge: string) {
  return sql`user_id = ${userId} and method = 'webauthn' and purpose = 'enroll' and challenge = ${challenge}
    and used_at is null and expires_at > now()`
}

/**
 * Stores a challenge, and returns it for the browser.
 *
 * @param allowed accepted passkeys; undefined for a discoverable sign-in
 * @throws AppError no_pending_mfa when the user has been deleted in the meantime
 */
export async function requestAssertion(
  database: Queryable,
  party: RelyingParty,
  use: ChallengeUse,
  allowed?: readonly CredentialDescriptor[],
): Promise<PasskeyRequestOptions> {
  const challenge = createChallenge()
  const ids = allowed?.map(({ credential_id }) => credential_id) ?? null
  const insertion = database.one<{ id: string }>(sql`
    insert into basalt.mfa_challenges (user_id, method, purpose, challenge, credential_ids, expires_at)
    values (${ownerOf(use)}, 'webauthn', ${purposeOf(use)}, ${challenge}, ${ids}::text[], ${expiry})
    returning id`)
  const { id } = await insertion.catch(refuseDeletedUser)
  const verification = use.kind === 'second_factor' ? 'preferred' : 'required'
  return { challenge_id: id, options: requestOptions(party, challenge, verification, allowed) }
}

/** Returns the state of a challenge. An expired one is unknown. */
export async function findChallengeState(
  database: Queryable,
  use: ChallengeUse,
  id: string,
): Promise<ChallengeState> {
  if (!isUuid(id)) return 'unknown'
  const row = await database.maybeOne<{ is_used: boolean }>(sql`
    select used_at is not null as is_used from basalt.mfa_challenges
    where ${matches(use, id)} and (used_at is not null or expires_at > now())`)
  if (row === undefined) return 'unknown'
  return row.is_used ? 'used' : 'live'
}

/** Consumes the challenge. One of several concurrent calls succeeds. */
export async function consumeChallenge(
  database: Queryable,
  use: ChallengeUse,
  id: string,
): Promise<SpentChallenge | undefined> {
  if (!isUuid(id)) return undefined
  const row = await database.maybeOne<{ challenge: string; credential_ids: string[] | null }>(sql`
    update basalt.mfa_challenges set used_at = now()
    where ${matches(use, id)} and used_at is null and expires_at > now()
    returning challenge, credential_ids`)
  return row && { challenge: row.challenge, credentialIds: row.credential_ids ?? undefined }
}

function matches(use: ChallengeUse, id: string) {
  return sql`id = ${id} and method = 'webauthn' and purpose = ${purposeOf(use)}
    and user_id is not distinct from ${ownerOf(use)}::uuid
    and (credential_ids is null) = ${use.kind === 'discoverable'}::bool`
}

function purposeOf({ kind }: ChallengeUse): string {
  return kind === 'second_factor' ? 'verify' : 'sign_in'
}

function ownerOf(use: ChallengeUse): string | null {
  return use.kind === 'second_factor' ? use.userId : null
}
