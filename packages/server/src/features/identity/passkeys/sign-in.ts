import type { FastifyReply } from 'fastify'
import { ok, operation } from '../../../http/operation.ts'
import { addressKey } from '../../../http/requests/client-address.ts'
import { checkedByHandler, requiredByHandler } from '../../../http/schemas.ts'
import { AppError } from '../../../lib/errors.ts'
import { Type } from '../../../lib/type.ts'
import { type AttemptLimit, requireAllowed } from '../../operations/throttle/index.ts'
import {
  type AssertionInput,
  PasskeyAssertion,
  PasskeyRequestOptions,
  parseAssertion,
  readAssertionInput,
} from '../../operations/webauthn/index.ts'
import {
  type AuthenticationResponse,
  accountLimits,
  authenticationSchema,
  type Client,
  clientOf,
  fieldRequired,
  findUserById,
  requireEmail,
  requireText,
  startSession,
} from '../accounts/index.ts'
import { type ChallengeUse, requestAssertion } from './challenges.ts'
import type { PasskeyContext } from './context.ts'
import { decoyCredentials } from './decoy.ts'
import { passkeyErrors } from './errors.ts'
import { listSignInPasskeys } from './passkey.ts'
import { requireRelyingParty } from './relying-party.ts'
import { useAssertion } from './use-assertion.ts'

const refusals = { unknownChallenge: passkeyErrors.invalidPasskey, failed: passkeyErrors.invalidPasskey }

/** Members that every description below shares. */
const common = { method: 'POST', guard: 'public', tag: 'passkeys' } as const
const signIn = '/api/auth/webauthn/login'

const begin = operation({
  ...common,
  id: 'passkeys.beginSignIn',
  path: `${signIn}/begin`,
  summary: 'Start to sign in by a passkey of an account',
  description: 'The response has the same form whether or not the account exists.',
  body: Type.Object({
    email: requiredByHandler(checkedByHandler({ format: 'email' }, Type.String({ maxLength: 320 }))),
  }),
  success: ok(PasskeyRequestOptions),
  async handle(context: PasskeyContext, { body, http }, reply) {
    forbidStorage(reply)
    return await beginSignInByEmail(context, body.email, addressKey(http))
  },
})

const finish = operation({
  ...common,
  id: 'passkeys.finishSignIn',
  path: `${signIn}/finish`,
  summary: 'Sign in by a passkey',
  body: PasskeyAssertion,
  success: ok(authenticationSchema),
  async handle(context: PasskeyContext, { body, http }, reply) {
    forbidStorage(reply)
    return await finishSignIn(context, 'email', readAssertionInput(body), clientOf(http), addressKey(http))
  },
})

const beginDiscoverable = operation({
  ...common,
  id: 'passkeys.beginDiscoverableSignIn',
  path: `${signIn}/discover/begin`,
  summary: 'Start to sign in by any passkey of this site',
  success: ok(PasskeyRequestOptions),
  async handle(context: PasskeyContext, { http }, reply) {
    forbidStorage(reply)
    return await beginDiscoverableSignIn(context, addressKey(http))
  },
})

const finishDiscoverable = operation({
  ...common,
  id: 'passkeys.finishDiscoverableSignIn',
  path: `${signIn}/discover/finish`,
  summary: 'Sign in by a passkey that names its user',
  body: PasskeyAssertion,
  success: ok(authenticationSchema),
  async handle(context: PasskeyContext, { body, http }, reply) {
    forbidStorage(reply)
    const input = readAssertionInput(body)
    return await finishSignIn(context, 'discoverable', input, clientOf(http), addressKey(http))
  },
})

/** Operations that sign in by a passkey alone. */
export const signInOperations = [begin, finish, beginDiscoverable, finishDiscoverable]

function forbidStorage(reply: FastifyReply): void {
  void reply.header('cache-control', 'no-store')
}

/**
 * Requests a passkey of the account with this address. Without an account, or without a passkey that can sign
 * in to it, the response requests invented passkeys. It reveals nothing and takes the same steps.
 *
 * @throws AppError webauthn_disabled, field_required, invalid_email, too_many_requests
 */
async function beginSignInByEmail(
  context: PasskeyContext,
  text: string | undefined,
  address: string,
): Promise<PasskeyRequestOptions> {
  const party = requireRelyingParty(context)
  const { database, keys } = context.mfa.accounts
  const email = requireEmail(text)
  await requireAttempt(context, limitsOf(context).begun, address)
  const passkeys = await listSignInPasskeys(database, email)
  const decoys = decoyCredentials(keys, email)
  return await requestAssertion(database, party, { kind: 'email' }, passkeys.length > 0 ? passkeys : decoys)
}

/** Requests any passkey of this site. @throws AppError webauthn_disabled, too_many_requests */
export async function beginDiscoverableSignIn(
  context: PasskeyContext,
  address: string,
): Promise<PasskeyRequestOptions> {
  const party = requireRelyingParty(context)
  await requireAttempt(context, limitsOf(context).begun, address)
  return await requestAssertion(context.mfa.accounts.database, party, { kind: 'discoverable' })
}

/**
 * Signs in by a passkey. The passkey verified its user, so no other factor is required. The session is at
 * aal1, and its `amr` names the passkey.
 *
 * @throws AppError webauthn_disabled, field_required, invalid_assertion_response, invalid_passkey,
 * challenge_used, cloned_authenticator, too_many_requests
 */
export async function finishSignIn(
  context: PasskeyContext,
  kind: 'email' | 'discoverable',
  input: AssertionInput,
  client: Client,
  address: string,
): Promise<AuthenticationResponse> {
  const party = requireRelyingParty(context)
  const challengeId = requireText(input.challenge_id, 'challenge_id')
  if (input.assertion_response == null) throw fieldRequired('assertion_response')
  const { accounts } = context.mfa
  const { failed } = limitsOf(context)
  requireAllowed(await accounts.throttle.check(failed, address))
  const use: ChallengeUse = { kind }
  try {
    const assertion = parseAssertion(input.assertion_response)
    if (assertion === undefined) throw passkeyErrors.invalidAssertionResponse()
    return await accounts.functions.transaction(
      accounts.database,
      async (transaction) => {
        const attempt = { use, challengeId, assertion, party, refusals }
        const { user_id } = await useAssertion(context, transaction, attempt)
        const user = await findUserById(transaction, user_id)
        const session = user && (await startSession(accounts, transaction, user, 'webauthn', client))
        if (session === undefined) throw passkeyErrors.invalidPasskey()
        return session
      },
      ['claims'],
    )
  } catch (error) {
    if (error instanceof AppError && error.status < 500) await accounts.throttle.attempt(failed, address)
    throw error
  }
}

/**
 * Returns the limits of one client address. Guessing is hopeless, so they only prevent one address from
 * overloading the server.
 */
function limitsOf({ mfa }: PasskeyContext) {
  const { attempts, windowSeconds } = accountLimits(mfa.accounts).signInFromAddress
  return {
    failed: { name: 'passkeys.failed_from_address', attempts, windowSeconds },
    // A page that offers passkeys in its form starts a sign-in whenever it is opened.
    begun: { name: 'passkeys.begun_from_address', attempts: 10 * attempts, windowSeconds },
  } satisfies Record<string, AttemptLimit>
}

async function requireAttempt({ mfa }: PasskeyContext, limit: AttemptLimit, key: string): Promise<void> {
  requireAllowed(await mfa.accounts.throttle.attempt(limit, key))
}
