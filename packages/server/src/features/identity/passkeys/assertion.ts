import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import { checkedByHandler, component, nullable, olderName, requiredByHandler } from '../../../http/schemas.ts'
import { isObject } from '../../../lib/json.ts'
import { type Static, Type } from '../../../lib/type.ts'
import {
  base64url,
  type ClientData,
  credentialOf,
  isBase64url,
  isFramed,
  longestCredentialId,
  parseClientData,
} from './client-data.ts'
import { webauthn, webauthnHelpers } from './library.ts'
import type { RelyingParty } from './relying-party.ts'

const credential = credentialOf(
  'Result of `navigator.credentials.get`, by `toJSON()`.',
  Type.Object({
    clientDataJSON: base64url,
    authenticatorData: base64url,
    signature: base64url,
    userHandle: Type.Optional(nullable(Type.String({ description: 'Base64url.' }))),
  }),
)

export const PasskeyAssertion = component(
  'PasskeyAssertion',
  Type.Object({
    challenge_id: requiredByHandler(Type.String({ maxLength: 64 })),
    assertion_response: requiredByHandler(checkedByHandler({ ...credential }, Type.Unknown())),
    challengeId: olderName(Type.String({ maxLength: 64 })),
    assertion: olderName(Type.Unknown()),
  }),
)

/** Assertion that a client has sent, and the challenge that it answers. */
export interface AssertionInput {
  readonly challenge_id?: string | undefined
  readonly assertion_response?: unknown
}

/** Returns the members of a body by their names, read from the older ones where only those were sent. */
export function readAssertionInput(body: Static<typeof PasskeyAssertion>): AssertionInput {
  return {
    challenge_id: body.challenge_id ?? body.challengeId,
    assertion_response: body.assertion_response ?? body.assertion,
  }
}

/** Response of `navigator.credentials.get` in the right form, not verified. */
export interface Assertion {
  readonly credentialId: string
  /** Base64url; what the passkey says of whom it belongs to. */
  readonly userHandle: string | undefined
  readonly clientData: ClientData
  readonly response: AuthenticationResponseJSON
}

/** Values that an assertion is verified against. */
export interface ExpectedAssertion {
  /** Base64url. */
  readonly challenge: string
  readonly party: RelyingParty
  readonly publicKey: Uint8Array
  readonly isBackupEligible: boolean
  readonly isUserVerificationRequired: boolean
}

/** State of a passkey, by a verified assertion. */
export interface PasskeyUse {
  readonly signCount: number
  readonly isBackedUp: boolean
  readonly isUserVerified: boolean
}

const longest = 8192

/** Parses an assertion; undefined when the form is wrong. */
export function parseAssertion(given: unknown): Assertion | undefined {
  if (!isObject(given) || !isObject(given.response)) return undefined
  const { id, rawId = id, type, response } = given
  const { clientDataJSON, authenticatorData, signature, userHandle } = response
  const clientData = parseClientData(clientDataJSON)
  if (!isBase64url(id, longestCredentialId) || rawId !== id || type !== 'public-key') return undefined
  if (clientData === undefined || !isBase64url(signature, longest)) return undefined
  if (!isBase64url(authenticatorData, longest) || !isReadable(authenticatorData)) return undefined
  // Null and empty: a passkey that does not tell.
  const isTold = userHandle !== undefined && userHandle !== null && userHandle !== ''
  if (isTold && !isBase64url(userHandle, longest)) return undefined
  return {
    credentialId: id,
    userHandle: isTold ? userHandle : undefined,
    clientData,
    response: {
      id,
      rawId: id,
      type,
      response: { clientDataJSON: String(clientDataJSON), authenticatorData, signature },
      clientExtensionResults: {},
    },
  }
}

/**
 * Verifies a sign-in (WebAuthn L3 §7.2). Whose passkey it is, and whether it was asked for, the caller has found out; the
 * counter is compared where it is stored, once the signature is known to be right.
 *
 * @throws Error that says which step failed, for the log
 */
export async function verifyAssertion(
  { response, clientData }: Assertion,
  { challenge, party, publicKey, isBackupEligible, isUserVerificationRequired }: ExpectedAssertion,
): Promise<PasskeyUse> {
  if (isFramed(clientData)) throw new Error('the passkey was used in a frame of another site')
  const { verified, authenticationInfo } = await webauthn().verifyAuthenticationResponse({
    response,
    expectedChallenge: challenge,
    expectedOrigin: party.origin,
    expectedRPID: party.id,
    requireUserVerification: isUserVerificationRequired,
    // With a counter of zero every other one is accepted here.
    credential: { id: response.id, publicKey: new Uint8Array(publicKey), counter: 0 },
  })
  if (!verified) throw new Error('the signature is wrong')
  const { newCounter, credentialDeviceType, credentialBackedUp, userVerified } = authenticationInfo
  if ((credentialDeviceType === 'multiDevice') !== isBackupEligible) {
    throw new Error('the passkey says otherwise than before whether it can be backed up')
  }
  return { signCount: newCounter, isBackedUp: credentialBackedUp, isUserVerified: userVerified }
}

function isReadable(authenticatorData: string): boolean {
  try {
    webauthnHelpers().parseAuthenticatorData(new Uint8Array(Buffer.from(authenticatorData, 'base64url')))
    return true
  } catch {
    return false
  }
}
