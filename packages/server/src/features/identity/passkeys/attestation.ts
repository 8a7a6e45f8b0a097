import type { RegistrationResponseJSON } from '@simplewebauthn/server'
import type { AttestationObject } from '@simplewebauthn/server/helpers'
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

/** Response of `navigator.credentials.create` in the right form, not verified. */
export interface Attestation {
  readonly response: RegistrationResponseJSON
  readonly clientData: ClientData
  readonly transports: readonly string[]
}

/** Verified passkey, as it is stored. */
export interface VerifiedPasskey {
  /** Unpadded base64url. */
  readonly credentialId: string
  /** COSE_Key. */
  readonly publicKey: Uint8Array
  readonly signCount: number
  readonly isUserVerified: boolean
  readonly isBackupEligible: boolean
  readonly isBackedUp: boolean
  readonly aaguid: string
}

/** WebAuthn L3 §7.1, step 25. */
const longestCredentialIdBytes = 1023
const longestAttestation = 16_384
const mostTransports = 10

export const credential = credentialOf(
  'What `navigator.credentials.create` answered, by `toJSON()`.',
  Type.Object({
    clientDataJSON: base64url,
    attestationObject: base64url,
    transports: Type.Optional(
      Type.Array(Type.String({ pattern: '^[A-Za-z0-9_-]{1,32}$' }), { maxItems: mostTransports }),
    ),
  }),
)

/** Parses an attestation; undefined when the form is wrong. */
export function parseAttestation(given: unknown): Attestation | undefined {
  if (!isObject(given) || !isObject(given.response)) return undefined
  const { id, rawId = id, type, response } = given
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
      // Read from the decoded bytes above and again by the library.
      response: { clientDataJSON: String(clientDataJSON), attestationObject },
      clientExtensionResults: {},
    },
  }
}

/**
 * Verifies a new passkey (WebAuthn L3 §7.1). That its challenge is the right one and its id not taken is for the caller
 * to see to: both are decided in the database.
 *
 * @throws Error that says which step failed, for the log
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
  // We asked for none (§5.4.7). Certificates are not looked at: they could name addresses to fetch revocations from.
  if (format !== 'none' && !isSelfAttested) throw new Error(`attestation was not asked for: ${format}`)

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
  if (credential.id !== response.id) throw new Error('the credential id is not that of the authenticator')
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

/** Self attestation is signed with the algorithm of the passkey's own key (§8.2). @throws Error for the log */
function requireSameAlgorithm(attestationObject: AttestationObject): void {
  const { credentialPublicKey } = webauthnHelpers().parseAuthenticatorData(attestationObject.get('authData'))
  if (credentialPublicKey === undefined) throw new Error('there is no public key')
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

/** Unknown ones are kept too (WebAuthn L3 §5.2.1.1). */
function areTransports(value: unknown): value is string[] {
  return (
    Array.isArray(value) &&
    value.length <= mostTransports &&
    value.every((each) => typeof each === 'string' && /^[\w-]{1,32}$/.test(each))
  )
}

/** Copies bytes: the decoder would read a view into a larger buffer from the beginning of that. */
function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(text, 'base64url'))
}
