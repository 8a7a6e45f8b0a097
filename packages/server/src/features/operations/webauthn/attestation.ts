import type { RegistrationResponseJSON } from '@simplewebauthn/server'
import type { AttestationObject } from '@simplewebauthn/server/helpers'
import { checkedByHandler, component } from '../../../http/schemas.ts'
import { isObject } from '../../../lib/json.ts'
import { Type } from '../../../lib/type.ts'
import {
  base64url,
  type ClientData,
  credentialOf,
  isBase64url,
  isFramed,
  parseClientData,
} from './client-data.ts'
import { webauthn, webauthnHelpers } from './library.ts'
import { algorithms } from './options.ts'
import { algorithmOf, requireUsableKey } from './public-key.ts'
import type { RelyingParty } from './relying-party.ts'

/** Parsed, unverified response of `navigator.credentials.create`. */
export interface Attestation {
  readonly response: RegistrationResponseJSON
  readonly clientData: ClientData
  readonly transports: readonly string[]
}

/** Verified passkey in its stored form. */
export interface VerifiedPasskey {
  /** Credential id in unpadded base64url. */
  readonly credentialId: string
  /** Public key as COSE_Key. */
  readonly publicKey: Uint8Array
  readonly signCount: number
  readonly isUserVerified: boolean
  readonly isBackupEligible: boolean
  readonly isBackedUp: boolean
  readonly aaguid: string
}

/** Maximum length of a credential id (WebAuthn L3 §7.1, step 25). */
const longestCredentialIdBytes = 1023
const longestAttestation = 16_384
const mostTransports = 10

const credential = credentialOf(
  'Result of `navigator.credentials.create`, by `toJSON()`.',
  Type.Object({
    clientDataJSON: base64url,
    attestationObject: base64url,
    transports: Type.Optional(
      Type.Array(Type.String({ pattern: '^[A-Za-z0-9_-]{1,32}$' }), { maxItems: mostTransports }),
    ),
  }),
)

/** Attestation in a body, which {@link parseAttestation} checks. */
export const attestationResponse = checkedByHandler(
  { allOf: [component('PasskeyAttestationResponse', credential)] },
  Type.Unknown(),
)

/** Parses an attestation. Returns undefined if it is malformed. */
export function parseAttestation(value: unknown): Attestation | undefined {
  if (!isObject(value) || !isObject(value.response)) return undefined
  const { id, rawId = id, type, response } = value
  const { clientDataJSON, attestationObject, transports = [] } = response
  const clientData = parseClientData(clientDataJSON)
  if (!isBase64url(id, longestAttestation) || rawId !== id || type !== 'public-key') return undefined
  if (clientData === undefined || !isBase64url(attestationObject, longestAttestation)) return undefined
  if (!areTransports(transports) || !isReadable(attestationObject)) return undefined
  return {
    clientData,
    transports: [...new Set(transports)],
    response: {
      id,
      rawId: id,
      type,
      // The members above come from the decoded bytes, which the library reads again.
      response: { clientDataJSON: String(clientDataJSON), attestationObject },
      clientExtensionResults: {},
    },
  }
}

/**
 * Verifies a new passkey (WebAuthn L3 §7.1). The caller checks the challenge and that the id is unused,
 * because the database decides both.
 *
 * @throws Error that names the failed step, for the log
 */
export async function verifyAttestation(
  { response, clientData }: Attestation,
  party: RelyingParty,
): Promise<VerifiedPasskey> {
  if (isFramed(clientData)) throw new Error('the passkey was made in a frame of another site')
  const attestationObject = webauthnHelpers().decodeAttestationObject(
    bytesOf(response.response.attestationObject),
  )
  const format = attestationObject.get('fmt')
  const isSelfAttested = format === 'packed' && attestationObject.get('attStmt').get('x5c') === undefined
  // The options request no attestation (§5.4.7). Certificates are not read, because they could name addresses to
  // fetch revocations from.
  if (format !== 'none' && !isSelfAttested) throw new Error(`attestation was not requested: ${format}`)

  if (isSelfAttested) requireSameAlgorithm(attestationObject)

  const { verified, registrationInfo } = await webauthn().verifyRegistrationResponse({
    response,
    expectedChallenge: clientData.challenge,
    expectedOrigin: party.origin,
    expectedRPID: party.id,
    requireUserVerification: false,
    supportedAlgorithmIDs: [...algorithms],
  })
  if (!verified) throw new Error('the attestation is not signed by the key of the passkey')

  const { credential, aaguid, userVerified, credentialDeviceType, credentialBackedUp } = registrationInfo
  if (Buffer.from(credential.id, 'base64url').length > longestCredentialIdBytes) {
    throw new Error('the credential id is longer than 1023 bytes')
  }
  if (credential.id !== response.id)
    throw new Error('the credential id does not match the authenticator data')
  requireUsableKey(credential.publicKey)
  return {
    credentialId: credential.id,
    publicKey: credential.publicKey,
    signCount: credential.counter,
    isUserVerified: userVerified,
    isBackupEligible: credentialDeviceType === 'multiDevice',
    isBackedUp: credentialBackedUp,
    aaguid,
  }
}

/**
 * Rejects a self attestation unless it is signed with the algorithm of the passkey's own key (§8.2).
 *
 * @throws Error for the log
 */
function requireSameAlgorithm(attestationObject: AttestationObject): void {
  const { credentialPublicKey } = webauthnHelpers().parseAuthenticatorData(attestationObject.get('authData'))
  if (credentialPublicKey === undefined) throw new Error('the public key is missing')
  const algorithm = algorithmOf(credentialPublicKey)
  const stated: unknown = attestationObject.get('attStmt').get('alg')
  if (stated !== algorithm) {
    throw new Error(
      `the self attestation states algorithm ${String(stated)}, its key has ${String(algorithm)}`,
    )
  }
}

function isReadable(attestationObject: string): boolean {
  try {
    const decoded = webauthnHelpers().decodeAttestationObject(bytesOf(attestationObject))
    webauthnHelpers().parseAuthenticatorData(decoded.get('authData'))
    return typeof decoded.get('fmt') === 'string' && decoded.get('attStmt') instanceof Map
  } catch {
    return false
  }
}

/** Returns whether the value is a list of transports. Unknown ones are kept too (WebAuthn L3 §5.2.1.1). */
function areTransports(value: unknown): value is string[] {
  return (
    Array.isArray(value) &&
    value.length <= mostTransports &&
    value.every((each) => typeof each === 'string' && /^[\w-]{1,32}$/.test(each))
  )
}

/** Decodes into bytes of their own: the CBOR decoder would read a view from the beginning of its larger buffer. */
function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(text, 'base64url'))
}
