import { pendingOf } from '../../../http/access/authentication.ts'
import type { PendingIdentity } from '../../../http/access/identity.ts'
import { ok, operation } from '../../../http/operation.ts'
import {
  type AssertionInput,
  PasskeyAssertion,
  PasskeyRequestOptions,
  parseAssertion,
  readAssertionInput,
} from '../../operations/webauthn/index.ts'
import {
  type AuthenticationResponse,
  authenticationSchema,
  type Client,
  clientOf,
  fieldRequired,
  requireText,
} from '../accounts/index.ts'
import { challengeNotFound, challengeUsed, passSecondFactor } from '../mfa/index.ts'
import { findChallengeState, requestAssertion } from './challenges.ts'
import type { PasskeyContext } from './context.ts'
import { passkeyErrors } from './errors.ts'
import { listPasskeys } from './passkey.ts'
import { requireRelyingParty } from './relying-party.ts'
import { useAssertion } from './use-assertion.ts'

const refusals = { unknownChallenge: challengeNotFound, failed: passkeyErrors.webauthnAssertionFailed }

const challenge = operation({
  id: 'passkeys.challenge',
  method: 'POST',
  path: '/api/auth/mfa/webauthn/challenge',
  guard: 'mfa',
  tag: 'passkeys',
  summary: 'Request a passkey as second factor',
  success: ok(PasskeyRequestOptions),
  handle: async (context: PasskeyContext, { http }) => await challengePasskey(context, pendingOf(http)),
})

const verify = operation({
  id: 'passkeys.verify',
  method: 'POST',
  path: '/api/auth/mfa/webauthn/verify',
  guard: 'mfa',
  tag: 'passkeys',
  summary: 'Complete the sign-in by a passkey',
  body: PasskeyAssertion,
  success: ok(authenticationSchema),
  handle: async (context: PasskeyContext, { body, http }) =>
    await verifyPasskey(context, pendingOf(http), readAssertionInput(body), clientOf(http)),
})

/** Operations on passkeys as second factor. */
export const secondFactorOperations = [challenge, verify]

/** Requests a passkey of the user whose sign-in is pending. @throws AppError webauthn_disabled, no_webauthn_factor */
export async function challengePasskey(
  context: PasskeyContext,
  { userId }: PendingIdentity,
): Promise<PasskeyRequestOptions> {
  const party = requireRelyingParty(context)
  const { database } = context.mfa.accounts
  const passkeys = await listPasskeys(database, userId)
  if (passkeys.length === 0) throw passkeyErrors.noWebauthnFactor()
  return await requestAssertion(database, party, { kind: 'second_factor', userId }, passkeys)
}

/**
 * Completes a pending sign-in by a passkey of its user.
 *
 * @throws AppError webauthn_disabled, field_required, challenge_not_found, challenge_used, invalid_assertion_response,
 * webauthn_assertion_failed, cloned_authenticator, too_many_mfa_failures
 */
export async function verifyPasskey(
  context: PasskeyContext,
  pending: PendingIdentity,
  input: AssertionInput,
  client: Client,
): Promise<AuthenticationResponse> {
  const party = requireRelyingParty(context)
  const challengeId = requireText(input.challenge_id, 'challenge_id')
  if (input.assertion_response == null) throw fieldRequired('assertion_response')
  const use = { kind: 'second_factor', userId: pending.userId } as const
  return await passSecondFactor(context.mfa, pending, 'webauthn', client, async (transaction) => {
    const state = await findChallengeState(transaction, use, challengeId)
    if (state === 'used') throw challengeUsed()
    if (state === 'unknown') throw challengeNotFound()
    const assertion = parseAssertion(input.assertion_response)
    if (assertion === undefined) throw passkeyErrors.invalidAssertionResponse()
    await useAssertion(context, transaction, { use, challengeId, assertion, party, refusals })
  })
}
