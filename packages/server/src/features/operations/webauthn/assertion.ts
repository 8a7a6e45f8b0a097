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

/** Assertion in a body, which {@link parseAssertion} checks. */
export const assertionResponse = checkedByHandler(
  { allOf: [component('PasskeyAssertionResponse', credential)] },
  Type.Unknown(),
)

export const PasskeyAssertion = component(
  'PasskeyAssertion',
  Type.Object({
    challenge_id: requiredByHandler(Type.String({ maxLength: 64 })),
    assertion_response: requiredByHandler(assertionResponse),
    challengeId: olderName(Type.String({ maxLength: 64 })),
    assertion: olderName(Type.Unknown()),
  }),
)

/** Assertion of a client, with its challenge. */
export interface AssertionInput {
  readonly challenge_id?: string | undefined
  readonly assertion_response?: unknown
}

/** Returns the members of a body by their names. It reads the older names if only those were sent. */
export function readAssertionInput(body: Static<typeof PasskeyAssertion>): AssertionInput {
  return {
    challenge_id: body.challenge_id ?? body.challengeId,
    assertion_response: body.assertion_response ?? body.assertion,
  }
}

/** Parsed, unverified response of `navigator.credentials.get`. */
export interface Assertion {
  readonly credentialId: string
  /** User handle of the passkey in base64url. */
  readonly userHandle: string | undefined
  readonly clientData: ClientData
  readonly response: AuthenticationResponseJSON
}

/** Values that an assertion is verified against. */
export interface ExpectedAssertion {
  /** Challenge in base64url. */
  readonly challenge: string
  readonly party: RelyingParty
  readonly publicKey: Uint8Array
  readonly isBackupEligible: boolean
  readonly isUserVerificationRequired: boolean
}

/** State of a passkey after a verified assertion. */
export interface PasskeyUse {
  readonly signCount: number
  readonly isBackedUp: boolean
  readonly isUserVerified: boolean
}

const longest = 8192

/** Parses an assertion. Returns undefined if it is malformed. */
export function parseAssertion(value: unknown): Assertion | undefined {
  if (!isObject(value) || !isObject(value.response)) return undefined
  const { id, rawId = id, type, response } = value
  const { clientDataJSON, authenticatorData, signature, userHandle } = response
  const clientData = parseClientData(clientDataJSON)
  if (!isBase64url(id, longestCredentialId) || rawId !== id || type !== 'public-key') return undefined
  if (clientData === undefined || !isBase64url(signature, longest)) return undefined
  if (!isBase64url(authenticatorData, longest) || !isReadable(authenticatorData)) return undefined
  // A passkey without a user handle sends null or an empty text.
  const hasUserHandle = userHandle !== undefined && userHandle !== null && userHandle !== ''
  if (hasUserHandle && !isBase64url(userHandle, longest)) return undefined
  return {
    credentialId: id,
    userHandle: hasUserHandle ? userHandle : undefined,
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
 * Verifies a sign-in (WebAuthn L3 §7.2). The caller has checked the owner of the passkey and whether it was
 * requested. The counter is compared in the database, after the signature proved right.
 *
 * @throws Error that names the failed step, for the log
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
    // With a counter of zero, the library accepts every other one.
    credential: { id: response.id, publicKey: new Uint8Array(publicKey), counter: 0 },
  })
  if (!verified) throw new Error('the signature is wrong')
  const { newCounter, credentialDeviceType, credentialBackedUp, userVerified } = authenticationInfo
  if ((credentialDeviceType === 'multiDevice') !== isBackupEligible) {
    throw new Error('the passkey changed whether it can be backed up')
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
