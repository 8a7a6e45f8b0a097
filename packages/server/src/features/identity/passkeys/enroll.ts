import type { UserIdentity } from '../../../http/access/identity.ts'
import { messageOf } from '../../../lib/errors.ts'
import { fieldRequired } from '../accounts/index.ts'
import {
  beginFactor,
  confirmFactor,
  lockEnroller,
  requireEnroller,
  requirePassedFactor,
} from '../mfa/index.ts'
import { parseAttestation, type VerifiedPasskey, verifyAttestation } from './attestation.ts'
import { insertEnrollment, isEnrollmentWaiting, takeEnrollment } from './challenges.ts'
import type { PasskeyContext } from './context.ts'
import { readDisplayName } from './display-name.ts'
import { passkeyErrors } from './errors.ts'
import { createChallenge, creationOptions } from './options.ts'
import { insertPasskey, listPasskeys } from './queries.ts'
import { requireRelyingParty } from './relying-party.ts'
import { hasTwoFactors } from './two-factors.ts'

/** More than anyone uses; each one travels with every challenge of its user. */
const mostPasskeys = 50

const notWaiting = 'no enrolment of the user waits for this challenge'

/**
 * Begins to add a passkey. A user with a factor must have passed it.
 *
 * @returns what the browser makes the passkey of
 * @throws AppError webauthn_disabled, passkeys_need_domain, link_account_first, insufficient_aal, too_many_passkeys
 */
export async function enrollPasskey(context: PasskeyContext, identity: UserIdentity) {
  const party = requireRelyingParty(context)
  const { database, appName } = context.mfa.accounts
  return await database.transaction(async (transaction) => {
    const user = await lockEnroller(transaction, identity)
    await requirePassedFactor(transaction, identity, hasTwoFactors(identity))
    const existing = await listPasskeys(transaction, user.id)
    if (existing.length >= mostPasskeys) throw passkeyErrors.tooManyPasskeys(mostPasskeys)
    const challenge = createChallenge()
    await insertEnrollment(transaction, user.id, challenge)
    return creationOptions({ id: party.id, name: appName }, user, existing, challenge)
  })
}

export interface GivenPasskey {
  readonly display_name?: string | undefined
  /** What `navigator.credentials.create` answered. */
  readonly attestation_response?: unknown
}

/**
 * Adds the passkey, and with the first one the factor.
 *
 * @throws AppError webauthn_disabled, insufficient_aal, field_required, invalid_attestation_response, webauthn_enrollment_failed,
 * passkey_registered, too_many_passkeys
 */
export async function confirmPasskey(
  context: PasskeyContext,
  identity: UserIdentity,
  given: GivenPasskey,
): Promise<void> {
  const party = requireRelyingParty(context)
  if (given.attestation_response == null) throw fieldRequired('attestation_response')
  const displayName = readDisplayName(given.display_name) ?? 'Passkey'
  const { id: userId } = await requireEnroller(context.mfa, identity)
  const attestation = parseAttestation(given.attestation_response)
  if (attestation === undefined) throw passkeyErrors.invalidAttestationResponse()

  const refuse = (reason: string) => {
    context.log.info({ userId, reason: reason.slice(0, 500) }, 'passkey refused')
    return passkeyErrors.webauthnEnrollmentFailed()
  }
  let passkey: VerifiedPasskey
  try {
    passkey = await verifyAttestation(attestation, party)
  } catch (error) {
    throw refuse(messageOf(error))
  }
  const { clientData, transports } = attestation
  await context.mfa.accounts.database.transaction(async (transaction) => {
    await lockEnroller(transaction, identity)
    const isWaiting = await isEnrollmentWaiting(transaction, userId, clientData.challenge)
    if (!isWaiting) throw refuse(notWaiting)
    await requirePassedFactor(transaction, identity, hasTwoFactors(identity))
    const { length } = await listPasskeys(transaction, userId)
    if (length >= mostPasskeys) throw passkeyErrors.tooManyPasskeys(mostPasskeys)
    const factor = await beginFactor(transaction, userId, 'webauthn')
    if (factor !== undefined) await confirmFactor(transaction, factor)
    const added = await insertPasskey(transaction, userId, { ...passkey, transports, displayName })
    if (added === undefined) throw passkeyErrors.passkeyRegistered()
    // Last, in the order in which all factors are removed: in one order no deadlock arises.
    if (!(await takeEnrollment(transaction, userId, clientData.challenge))) throw refuse(notWaiting)
  })
}
