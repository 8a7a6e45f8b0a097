import type { UserIdentity } from '../../../http/access/identity.ts'
import { lockSelf, requireText } from '../accounts/index.ts'
import { findFactor, removeFactor } from '../mfa/index.ts'
import { isBase64url, longestCredentialId } from './client-data.ts'
import type { PasskeyContext } from './context.ts'
import { readDisplayName } from './display-name.ts'
import { passkeyErrors } from './errors.ts'
import { deletePasskey, listPasskeys, type Passkey, renamePasskey } from './queries.ts'
import { requireRelyingParty } from './relying-party.ts'
import { requireTwoFactors } from './two-factors.ts'

/** Passkey metadata. */
export interface PasskeyObject {
  /** Base64url. */
  readonly credential_id: string
  readonly display_name: string
  readonly transports: readonly string[]
  readonly created_at: string
  /** Only once it was used. */
  readonly last_used_at?: string
}

export function describePasskey({
  credential_id,
  display_name,
  transports,
  created_at,
  last_used_at,
}: Passkey): PasskeyObject {
  return {
    credential_id,
    display_name,
    transports,
    created_at: created_at.toISOString(),
    ...(last_used_at === null ? {} : { last_used_at: last_used_at.toISOString() }),
  }
}

/** The oldest first. @throws AppError webauthn_disabled */
export async function describePasskeys(
  context: PasskeyContext,
  { userId }: UserIdentity,
): Promise<PasskeyObject[]> {
  requireRelyingParty(context)
  return (await listPasskeys(context.mfa.accounts.database, userId)).map(describePasskey)
}

/** @throws AppError webauthn_disabled, field_required, passkey_not_found */
export async function rename(
  context: PasskeyContext,
  { userId }: UserIdentity,
  credentialId: string,
  given: string | undefined,
): Promise<PasskeyObject> {
  requireRelyingParty(context)
  const displayName = requireText(readDisplayName(given), 'display_name')
  if (!isBase64url(credentialId, longestCredentialId)) throw passkeyErrors.passkeyNotFound()
  const renamed = await renamePasskey(context.mfa.accounts.database, userId, credentialId, displayName)
  if (renamed === undefined) throw passkeyErrors.passkeyNotFound()
  return describePasskey(renamed)
}

/**
 * Deletes one of several passkeys.
 *
 * @throws AppError webauthn_disabled, insufficient_aal, passkey_not_found, last_passkey
 */
export async function removePasskey(
  context: PasskeyContext,
  identity: UserIdentity,
  credentialId: string,
): Promise<void> {
  requireRelyingParty(context)
  requireTwoFactors(identity)
  const { userId } = identity
  await context.mfa.accounts.database.transaction(async (transaction) => {
    // One after the other: two at once must not delete the last two.
    await lockSelf(transaction, identity)
    const passkeys = await listPasskeys(transaction, userId)
    const found = passkeys.find(({ credential_id }) => credential_id === credentialId)
    if (found === undefined) throw passkeyErrors.passkeyNotFound()
    if (passkeys.length === 1) throw passkeyErrors.lastPasskey()
    await deletePasskey(transaction, found.id)
  })
}

/**
 * Removes all passkeys and the factor; when it was the last factor, the backup codes too.
 *
 * @throws AppError webauthn_disabled, insufficient_aal, no_webauthn_factor
 */
export async function removeAllPasskeys(context: PasskeyContext, identity: UserIdentity): Promise<void> {
  requireRelyingParty(context)
  requireTwoFactors(identity)
  const { userId } = identity
  await context.mfa.accounts.database.transaction(async (transaction) => {
    await lockSelf(transaction, identity)
    const factor = await findFactor(transaction, userId, 'webauthn')
    if (factor === undefined) throw passkeyErrors.noWebauthnFactor()
    await removeFactor(transaction, userId, factor.id)
  })
}
