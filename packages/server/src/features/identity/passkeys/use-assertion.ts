import type { Queryable } from '../../../database/system-database.ts'
import { type AppError, messageOf } from '../../../lib/errors.ts'
import { challengeUsed } from '../mfa/index.ts'
import { type Assertion, type PasskeyUse, verifyAssertion } from './assertion.ts'
import { type ChallengeUse, findChallengeState, takeChallenge } from './challenges.ts'
import type { PasskeyContext } from './context.ts'
import { decoyKey } from './decoy.ts'
import { passkeyErrors } from './errors.ts'
import { userHandleOf } from './options.ts'
import { lockPasskey, recordUse, type StoredPasskey } from './passkey.ts'
import type { RelyingParty } from './relying-party.ts'

/** Assertion and the challenge that it answers. */
export interface AssertionAttempt {
  readonly use: ChallengeUse
  readonly challengeId: string
  readonly assertion: Assertion
  readonly party: RelyingParty
  /** Refusals. Where a difference would disclose an account, the two are the same. */
  readonly refusals: { readonly unknownChallenge: () => AppError; readonly failed: () => AppError }
}

/**
 * Verifies an assertion, and uses up its challenge and counter (WebAuthn L3 §7.2). Callers start the session in the same
 * transaction.
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
  const taken = await takeChallenge(transaction, use, challengeId)
  if (taken === undefined) {
    const state = await findChallengeState(transaction, use, challengeId)
    throw state === 'used' ? challengeUsed() : refusals.unknownChallenge()
  }

  const isSignIn = use.kind !== 'second_factor'
  let verified: PasskeyUse
  try {
    const { publicKey, isBackupEligible } = passkey === undefined ? decoyKey : keyOf(passkey)
    verified = await verifyAssertion(assertion, {
      challenge: taken.challenge,
      party,
      publicKey,
      isBackupEligible,
      // By itself a passkey has to stand for two factors; beside a password possession is enough.
      isUserVerificationRequired: isSignIn,
    })
    requireAsked(passkey, attempt, taken.credentialIds)
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

/**
 * Rejects a passkey that was not requested (WebAuthn L3 §7.2, steps 5 and 6).
 *
 * @throws Error for the log
 */
function requireAsked(
  passkey: StoredPasskey | undefined,
  { use, assertion }: AssertionAttempt,
  credentialIds: readonly string[] | undefined,
): asserts passkey is StoredPasskey {
  if (passkey === undefined) throw new Error('there is no such passkey')
  if (credentialIds?.includes(passkey.credential_id) === false)
    throw new Error('the passkey was not asked for')
  const { userHandle } = assertion
  if (userHandle === undefined && use.kind === 'discoverable') {
    throw new Error('the passkey does not tell whom it belongs to')
  }
  if (userHandle !== undefined && userHandle !== userHandleOf(passkey.user_id)) {
    throw new Error('the passkey says that it belongs to another user')
  }
  // The holder of a key that never verified its user may have set it up to (WebAuthn L3 §4, uvInitialized).
  if (use.kind !== 'second_factor' && !passkey.is_user_verified) {
    throw new Error('the passkey has never verified its user beside another factor')
  }
}
