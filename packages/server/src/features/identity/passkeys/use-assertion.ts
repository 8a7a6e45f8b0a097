import type { Queryable } from '../../../database/system-database.ts'
import { type AppError, messageOf } from '../../../lib/errors.ts'
import {
  type Assertion,
  type PasskeyUse,
  type RelyingParty,
  userHandleOf,
  verifyAssertion,
} from '../../operations/webauthn/index.ts'
import { challengeUsed } from '../mfa/index.ts'
import { type ChallengeUse, consumeChallenge, findChallengeState } from './challenges.ts'
import type { PasskeyContext } from './context.ts'
import { decoyKey } from './decoy.ts'
import { passkeyErrors } from './errors.ts'
import { lockPasskey, recordUse, type StoredPasskey } from './passkey.ts'

/** Assertion with its challenge. */
export interface AssertionAttempt {
  readonly use: ChallengeUse
  readonly challengeId: string
  readonly assertion: Assertion
  readonly party: RelyingParty
  /**
   * Errors for an unknown challenge and a failed assertion. They are the same where a difference would reveal
   * an account.
   */
  readonly refusals: { readonly unknownChallenge: () => AppError; readonly failed: () => AppError }
}

/**
 * Verifies an assertion, and consumes its challenge and counter (WebAuthn L3 §7.2). Callers start the session
 * in the same transaction.
 *
 * @throws AppError challenge_used, cloned_authenticator, those of `refusals`
 */
export async function useAssertion(
  context: PasskeyContext,
  transaction: Queryable,
  attempt: AssertionAttempt,
): Promise<StoredPasskey> {
  const { use, challengeId, assertion, party, refusals } = attempt
  const { log } = context
  const { credentialId } = assertion
  const userId = use.kind === 'second_factor' ? use.userId : null
  const passkey = await lockPasskey(transaction, credentialId, userId)
  const challenge = await consumeChallenge(transaction, use, challengeId)
  if (challenge === undefined) {
    const state = await findChallengeState(transaction, use, challengeId)
    throw state === 'used' ? challengeUsed() : refusals.unknownChallenge()
  }

  const isSignIn = use.kind !== 'second_factor'
  let verified: PasskeyUse
  try {
    const { publicKey, isBackupEligible } = passkey === undefined ? decoyKey : keyOf(passkey)
    verified = await verifyAssertion(assertion, {
      challenge: challenge.challenge,
      party,
      publicKey,
      isBackupEligible,
      // Alone, a passkey must count as two factors. After a password, possession is enough.
      isUserVerificationRequired: isSignIn,
    })
    requireRequested(passkey, attempt, challenge.credentialIds)
  } catch (error) {
    log.info({ credentialId, reason: messageOf(error).slice(0, 500) }, 'passkey refused')
    throw refusals.failed()
  }
  if (!(await recordUse(transaction, passkey.id, verified))) {
    const { user_id, id } = passkey
    log.warn(
      { userId: user_id, passkeyId: id, signCount: verified.signCount },
      'cloned authenticator detected',
    )
    throw passkeyErrors.clonedAuthenticator()
  }
  return passkey
}

function keyOf({ public_key, is_backup_eligible }: StoredPasskey) {
  return { publicKey: public_key, isBackupEligible: is_backup_eligible }
}

/** Rejects a passkey that was not requested (WebAuthn L3 §7.2, steps 5 and 6). @throws Error for the log */
function requireRequested(
  passkey: StoredPasskey | undefined,
  { use, assertion }: AssertionAttempt,
  credentialIds: readonly string[] | undefined,
): asserts passkey is StoredPasskey {
  if (passkey === undefined) throw new Error('the passkey is unknown')
  if (credentialIds?.includes(passkey.credential_id) === false)
    throw new Error('the passkey was not requested')
  const { userHandle } = assertion
  if (userHandle === undefined && use.kind === 'discoverable') {
    throw new Error('the passkey names no user')
  }
  if (userHandle !== undefined && userHandle !== userHandleOf(passkey.user_id)) {
    throw new Error('the passkey names another user')
  }
  // The holder of a key that never verified its user may have set a PIN (WebAuthn L3 §4, uvInitialized).
  if (use.kind !== 'second_factor' && !passkey.is_user_verified) {
    throw new Error('the passkey has never verified its user beside another factor')
  }
}
