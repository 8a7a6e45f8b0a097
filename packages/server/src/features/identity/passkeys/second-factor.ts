import type { PendingIdentity } from '../../../http/access/identity.ts'
import { type AuthenticationResponse, type Client, fieldRequired, requireText } from '../accounts/index.ts'
import { challengeNotFound, challengeUsed, passSecondFactor } from '../mfa/index.ts'
import { parseAssertion } from './assertion.ts'
import { findChallengeState, insertChallenge } from './challenges.ts'
import type { PasskeyContext } from './context.ts'
import { passkeyErrors } from './errors.ts'
import { createChallenge, requestOptions } from './options.ts'
import { listPasskeys } from './queries.ts'
import { requireRelyingParty } from './relying-party.ts'
import type { AskedAssertion, GivenAssertion } from './sign-in.ts'
import { useAssertion } from './use-assertion.ts'

const refusals = { unknownChallenge: challengeNotFound, failed: passkeyErrors.webauthnAssertionFailed }

/** Asks for a passkey of a sign-in that waits. @throws AppError webauthn_disabled, no_webauthn_factor */
export async function challengePasskey(
  context: PasskeyContext,
  { userId }: PendingIdentity,
): Promise<AskedAssertion> {
  const party = requireRelyingParty(context)
  const { database } = context.mfa.accounts
  const passkeys = await listPasskeys(database, userId)
  if (passkeys.length === 0) throw passkeyErrors.noWebauthnFactor()
  const challenge = createChallenge()
  const ids = passkeys.map(({ credential_id }) => credential_id)
  return {
    challenge_id: await insertChallenge(database, { kind: 'second_factor', userId }, challenge, ids),
    options: requestOptions(party, challenge, 'preferred', passkeys),
  }
}

/**
 * Completes a sign-in by a passkey of its user.
 *
 * @throws AppError webauthn_disabled, field_required, challenge_not_found, challenge_used, invalid_assertion_response,
 * webauthn_assertion_failed, cloned_authenticator, too_many_mfa_failures
 */
export async function verifyPasskey(
  context: PasskeyContext,
  pending: PendingIdentity,
  given: GivenAssertion,
  client: Client,
): Promise<AuthenticationResponse> {
  const party = requireRelyingParty(context)
  const challengeId = requireText(given.challenge_id, 'challenge_id')
  if (given.assertion_response == null) throw fieldRequired('assertion_response')
  const use = { kind: 'second_factor', userId: pending.userId } as const
  return await passSecondFactor(context.mfa, pending, 'webauthn', client, async (transaction) => {
    const state = await findChallengeState(transaction, use, challengeId)
    if (state === 'used') throw challengeUsed()
    if (state === 'unknown') throw challengeNotFound()
    const assertion = parseAssertion(given.assertion_response)
    if (assertion === undefined) throw passkeyErrors.invalidAssertionResponse()
    await useAssertion(context, transaction, { use, challengeId, assertion, party, refusals })
  })
}
