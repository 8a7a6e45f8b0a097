import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import type { CredentialDescriptor, PasskeyUse, VerifiedPasskey } from '../../webauthn/index.ts'
import { challengeSeconds } from '../../webauthn/index.ts'

/** Passkey of an administrator. */
export interface StoredPasskey extends CredentialDescriptor {
  readonly id: string
  readonly administrator_id: string
  readonly public_key: Buffer
  readonly display_name: string
  readonly is_backup_eligible: boolean
  /** True if the passkey has verified its holder at its enrolment or beside another factor. */
  readonly is_user_verified: boolean
  readonly created_at: Date
  readonly last_used_at: Date | null
}

const columns = sql`id, administrator_id, credential_id, public_key, transports, display_name, is_backup_eligible,
  is_user_verified, created_at, last_used_at`

/** Returns the passkeys of an administrator, the oldest first. */
export async function listPasskeys(database: Queryable, administratorId: string): Promise<StoredPasskey[]> {
  return await database.many<StoredPasskey>(sql`
    select ${columns} from basalt.administrator_passkeys
    where administrator_id = ${administratorId} order by created_at, id`)
}

export async function findPasskey(
  database: Queryable,
  credentialId: string,
): Promise<StoredPasskey | undefined> {
  return await database.maybeOne<StoredPasskey>(sql`
    select ${columns} from basalt.administrator_passkeys where credential_id = ${credentialId}`)
}

/** Adds a passkey. @returns undefined if its credential id is known. One of several concurrent calls succeeds. */
export async function insertPasskey(
  transaction: Queryable,
  administratorId: string,
  {
    displayName,
    transports,
    ...passkey
  }: VerifiedPasskey & {
    readonly transports: readonly string[]
    readonly displayName: string
  },
): Promise<StoredPasskey | undefined> {
  const { credentialId, publicKey, signCount, aaguid } = passkey
  return await transaction.maybeOne<StoredPasskey>(sql`
    insert into basalt.administrator_passkeys (administrator_id, credential_id, public_key, sign_count, transports,
      display_name, is_backup_eligible, is_backed_up, is_user_verified, aaguid)
    values (${administratorId}, ${credentialId}, ${Buffer.from(publicKey)}, ${signCount}, ${transports}::text[],
      ${displayName}, ${passkey.isBackupEligible}, ${passkey.isBackedUp}, ${passkey.isUserVerified}, ${aaguid})
    on conflict (credential_id) do nothing
    returning ${columns}`)
}

/** Stores a use. @returns false if the counter does not grow, unless the passkey does not count (WebAuthn L3 §7.2) */
export async function recordPasskeyUse(
  transaction: Queryable,
  id: string,
  { signCount, isBackedUp, isUserVerified }: PasskeyUse,
): Promise<boolean> {
  const changed = await transaction.count(sql`
    update basalt.administrator_passkeys
    set sign_count = ${signCount}::bigint, is_backed_up = ${isBackedUp},
      is_user_verified = is_user_verified or ${isUserVerified}::bool, last_used_at = now()
    where id = ${id} and (sign_count < ${signCount}::bigint or (sign_count = 0 and ${signCount}::bigint = 0))`)
  return changed > 0
}

export async function deletePasskey(
  transaction: Queryable,
  administratorId: string,
  id: string,
): Promise<boolean> {
  const deleted = await transaction.count(sql`
    delete from basalt.administrator_passkeys where id = ${id} and administrator_id = ${administratorId}`)
  return deleted > 0
}

/** Purpose of a challenge. A sign-in by passkey alone names no administrator. */
export type ChallengePurpose = 'enroll' | 'verify' | 'sign_in'

/** Inserts a challenge, and deletes expired ones. @returns its id */
export async function insertChallenge(
  database: Queryable,
  purpose: ChallengePurpose,
  administratorId: string | null,
  challenge: string,
): Promise<string> {
  const { id } = await database.one<{ id: string }>(sql`
    with dead as (delete from basalt.administrator_challenges where expires_at <= now())
    insert into basalt.administrator_challenges (purpose, administrator_id, challenge, expires_at)
    values (${purpose}, ${administratorId}, ${challenge}, now() + make_interval(secs => ${challengeSeconds}::int))
    returning id`)
  return id
}

/** Consumes a challenge by its id. One of several concurrent calls succeeds. @returns the challenge */
export async function consumeChallenge(
  transaction: Queryable,
  purpose: ChallengePurpose,
  administratorId: string | null,
  id: string,
): Promise<string | undefined> {
  const row = await transaction.maybeOne<{ challenge: string }>(sql`
    delete from basalt.administrator_challenges
    where id = ${id} and purpose = ${purpose} and administrator_id is not distinct from ${administratorId}::uuid
      and expires_at > now()
    returning challenge`)
  return row?.challenge
}

/** Consumes the enrolment that has the challenge. One of several concurrent calls succeeds. */
export async function consumeEnrollment(
  transaction: Queryable,
  administratorId: string,
  challenge: string,
): Promise<boolean> {
  const consumed = await transaction.count(sql`
    delete from basalt.administrator_challenges
    where purpose = 'enroll' and administrator_id = ${administratorId} and challenge = ${challenge}
      and expires_at > now()`)
  return consumed > 0
}
