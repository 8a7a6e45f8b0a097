import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { type Answered, component, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import {
  base64url,
  type CredentialDescriptor,
  type PasskeyUse,
  type VerifiedPasskey,
} from '../../operations/webauthn/index.ts'

/** Passkey in responses to its user. */
export const Passkey = component(
  'Passkey',
  Type.Object(
    {
      credential_id: base64url,
      display_name: Type.String(),
      transports: Type.Array(Type.String()),
      created_at: timestamp,
      last_used_at: Type.Optional(timestamp),
    },
    { description: 'Passkey. `last_used_at` is missing until it is used.' },
  ),
)

/** Stored passkey, without its counter. */
export interface StoredPasskey extends CredentialDescriptor {
  readonly id: string
  readonly user_id: string
  readonly public_key: Buffer
  readonly display_name: string
  readonly is_backup_eligible: boolean
  /** True once the passkey has verified its user in addition to another factor. */
  readonly is_user_verified: boolean
  readonly created_at: Date
  readonly last_used_at: Date | null
  readonly [column: string]: unknown
}

export function describePasskey(stored: StoredPasskey): Answered<typeof Passkey> {
  const { credential_id, display_name, transports, created_at, last_used_at } = stored
  return { credential_id, display_name, transports, created_at, last_used_at: last_used_at ?? undefined }
}

const columns = sql`p.id, p.user_id, p.credential_id, p.public_key, p.transports, p.display_name, p.is_backup_eligible,
  p.is_user_verified, p.created_at, p.last_used_at`

/** Returns the passkeys of a user, the oldest first. */
export async function listPasskeys(database: Queryable, userId: string): Promise<StoredPasskey[]> {
  return await database.many<StoredPasskey>(sql`
    select ${columns} from basalt.passkeys p where p.user_id = ${userId} order by p.created_at, p.id`)
}

/**
 * Returns the passkeys that sign in to an account by themselves. The one statement is the same with or
 * without an account.
 */
export async function listSignInPasskeys(
  database: Queryable,
  email: string,
): Promise<CredentialDescriptor[]> {
  return await database.many<CredentialDescriptor & { [column: string]: unknown }>(sql`
    select p.credential_id, p.transports
    from basalt.users u join basalt.passkeys p on p.user_id = u.id
    where u.email = ${email} and p.is_user_verified
    order by p.created_at, p.id`)
}

/**
 * Locks a passkey, and its user first, as {@link lockUser} requires.
 *
 * @param userId of the only accepted owner; null accepts any
 */
export async function lockPasskey(
  database: Queryable,
  credentialId: string,
  userId: string | null,
): Promise<StoredPasskey | undefined> {
  return await database.maybeOne<StoredPasskey>(sql`
    with owner as materialized (
      select u.id from basalt.users u
      where u.id = (select user_id from basalt.passkeys where credential_id = ${credentialId})
        and (${userId}::uuid is null or u.id = ${userId}::uuid)
      for share)
    select ${columns} from basalt.passkeys p join owner on owner.id = p.user_id
    where p.credential_id = ${credentialId}
    for update of p`)
}

/** Adds a passkey. Returns undefined when any user has its credential id. One of several concurrent calls succeeds. */
export async function insertPasskey(
  database: Queryable,
  userId: string,
  passkey: VerifiedPasskey & { readonly transports: readonly string[]; readonly displayName: string },
): Promise<StoredPasskey | undefined> {
  const { credentialId, publicKey, signCount, transports, displayName, aaguid } = passkey
  return await database.maybeOne<StoredPasskey>(sql`
    insert into basalt.passkeys as p (user_id, credential_id, public_key, sign_count, transports, display_name,
      is_backup_eligible, is_backed_up, is_user_verified, aaguid)
    values (${userId}, ${credentialId}, ${Buffer.from(publicKey)}, ${signCount}, ${transports}::text[],
      ${displayName}, ${passkey.isBackupEligible}, ${passkey.isBackedUp}, ${passkey.isUserVerified}, ${aaguid})
    on conflict (credential_id) do nothing
    returning ${columns}`)
}

/**
 * Stores the state of a verified assertion. Returns false and changes nothing when the counter does not go
 * up, unless the passkey does not count (WebAuthn L3 §7.2). One of several calls with the same counter
 * succeeds.
 */
export async function recordUse(database: Queryable, id: string, use: PasskeyUse): Promise<boolean> {
  const { signCount, isBackedUp, isUserVerified } = use
  const changed = await database.count(sql`
    update basalt.passkeys
    set sign_count = ${signCount}::bigint, is_backed_up = ${isBackedUp},
      is_user_verified = is_user_verified or ${isUserVerified}::bool, last_used_at = now()
    where id = ${id} and (sign_count < ${signCount}::bigint or (sign_count = 0 and ${signCount}::bigint = 0))`)
  return changed > 0
}

export async function renamePasskey(
  database: Queryable,
  userId: string,
  credentialId: string,
  displayName: string,
): Promise<StoredPasskey | undefined> {
  return await database.maybeOne<StoredPasskey>(sql`
    update basalt.passkeys p set display_name = ${displayName}
    where p.user_id = ${userId} and p.credential_id = ${credentialId}
    returning ${columns}`)
}

export async function deletePasskey(database: Queryable, id: string): Promise<void> {
  await database.count(sql`delete from basalt.passkeys where id = ${id}`)
}
