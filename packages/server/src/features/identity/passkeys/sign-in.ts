import { AppError } from '../../../lib/errors.ts'
import { type AttemptLimit, requireAllowed } from '../../operations/throttle/index.ts'
import {
  type AuthenticationResponse,
  accountLimits,
  type Client,
  fieldRequired,
  findUserById,
  requireEmail,
  requireText,
  startSession,
} from '../accounts/index.ts'
import { parseAssertion } from './assertion.ts'
import { type ChallengeUse, insertChallenge } from './challenges.ts'
import type { PasskeyContext } from './context.ts'
import { decoyCredentials } from './decoy.ts'
import { passkeyErrors } from './errors.ts'
import { createChallenge, type RequestOptions, requestOptions } from './options.ts'
import { listSignInPasskeys } from './queries.ts'
import { requireRelyingParty } from './relying-party.ts'
import { useAssertion } from './use-assertion.ts'

const refusals = { unknownChallenge: passkeyErrors.invalidPasskey, failed: passkeyErrors.invalidPasskey }

export interface AskedAssertion {
  readonly challenge_id: string
  readonly options: RequestOptions
}

export interface GivenAssertion {
  readonly challenge_id?: string | undefined
  /** What `navigator.credentials.get` answered. */
  readonly assertion_response?: unknown
}

/**
 * Asks for a passkey of the account with this address. Without such an account, or when it has none that it can be entered
 * with, made-up ones are asked for: the answer says nothing, and takes the same steps.
 *
 * @throws AppError webauthn_disabled, field_required, invalid_email, too_many_requests
 */
export async function beginSignInByEmail(
  context: PasskeyContext,
  given: string | undefined,
  address: string,
): Promise<AskedAssertion> {
  const party = requireRelyingParty(context)
  const { database, keys } = context.mfa.accounts
  const email = requireEmail(given)
  await requireAttempt(context, limitsOf(context).begun, address)
  const passkeys = await listSignInPasskeys(database, email)
  const decoys = decoyCredentials(keys, email)
  const asked = passkeys.length > 0 ? passkeys : decoys
  const challenge = createChallenge()
  const ids = asked.map(({ credential_id }) => credential_id)
  return {
    challenge_id: await insertChallenge(database, { kind: 'email' }, challenge, ids),
    options: requestOptions(party, challenge, 'required', asked),
  }
}

/** Asks for any passkey of this site. @throws AppError webauthn_disabled, too_many_requests */
export async function beginDiscoverableSignIn(
  context: PasskeyContext,
  address: string,
): Promise<AskedAssertion> {
  const party = requireRelyingParty(context)
  await requireAttempt(context, limitsOf(context).begun, address)
  const challenge = createChallenge()
  return {
    challenge_id: await insertChallenge(context.mfa.accounts.database, { kind: 'discoverable' }, challenge),
    options: requestOptions(party, challenge, 'required'),
  }
}

/**
 * Signs in by a passkey. It has verified its user, so no other factor is asked for; the session is of level aal1, with
 * `amr` saying how it came about.
 *
 * @throws AppError webauthn_disabled, field_required, invalid_assertion_response, invalid_passkey, challenge_used,
 * cloned_authenticator, too_many_requests
 */
export async function finishSignIn(
  context: PasskeyContext,
  kind: 'email' | 'discoverable',
  given: GivenAssertion,
  client: Client,
  address: string,
): Promise<AuthenticationResponse> {
  const party = requireRelyingParty(context)
  const challengeId = requireText(given.challenge_id, 'challenge_id')
  if (given.assertion_response == null) throw fieldRequired('assertion_response')
  const { accounts } = context.mfa
  const { failed } = limitsOf(context)
  requireAllowed(await accounts.throttle.check(failed, address))
  const use: ChallengeUse = { kind }
  try {
    const assertion = parseAssertion(given.assertion_response)
    if (assertion === undefined) throw passkeyErrors.invalidAssertionResponse()
    return await accounts.database.transaction(async (transaction) => {
      const attempt = { use, challengeId, assertion, party, refusals }
      const { user_id } = await useAssertion(context, transaction, attempt)
      const user = await findUserById(transaction, user_id)
      const session = user && (await startSession(accounts, transaction, user, 'webauthn', client))
      if (session === undefined) throw passkeyErrors.invalidPasskey()
      return session
    })
  } catch (error) {
    if (error instanceof AppError && error.status < 500) await accounts.throttle.attempt(failed, address)
    throw error
  }
}

/** Guessing is hopeless; this keeps one address from keeping the server busy. */
function limitsOf({ mfa }: PasskeyContext) {
  const { attempts, windowSeconds } = accountLimits(mfa.accounts).signInFromAddress
  return {
    failed: { name: 'passkeys.failed_from_address', attempts, windowSeconds },
    // A page that offers passkeys in its form begins a sign-in whenever it is opened.
    begun: { name: 'passkeys.begun_from_address', attempts: 10 * attempts, windowSeconds },
  } satisfies Record<string, AttemptLimit>
}

async function requireAttempt({ mfa }: PasskeyContext, limit: AttemptLimit, key: string): Promise<void> {
  requireAllowed(await mfa.accounts.throttle.attempt(limit, key))
}
