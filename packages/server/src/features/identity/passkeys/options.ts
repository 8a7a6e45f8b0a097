import { randomBytes } from 'node:crypto'
import type { User } from '../accounts/index.ts'
import type { RelyingParty } from './relying-party.ts'

/** How long a challenge lasts. */
export const challengeSeconds = 300

/** EdDSA, ES256, RS256: what WebAuthn L3 §5.4 advises to offer, in its order. */
export const algorithms: readonly number[] = [-8, -7, -257]

/** A passkey as the browser receives it. */
export interface CredentialDescriptor {
  readonly credential_id: string
  readonly transports: readonly string[]
}

export function createChallenge(): string {
  return randomBytes(32).toString('base64url')
}

/** What a passkey remembers of its user: the bytes of the id as text, the same for good. */
export function userHandleOf(userId: string): string {
  return Buffer.from(userId, 'utf8').toString('base64url')
}

/** For `PublicKeyCredential.parseRequestOptionsFromJSON`. */
export interface RequestOptions {
  readonly rpId: string
  /** Base64url. */
  readonly challenge: string
  /** Milliseconds. */
  readonly timeout: number
  readonly userVerification: 'required' | 'preferred'
  readonly allowCredentials?: readonly { type: 'public-key'; id: string; transports?: readonly string[] }[]
}

/** For `PublicKeyCredential.parseCreationOptionsFromJSON`. */
export function creationOptions(
  { id, name }: { readonly id: string; readonly name: string },
  user: User,
  existing: readonly CredentialDescriptor[],
  challenge: string,
) {
  const userName = user.email ?? user.phone ?? user.id
  return {
    rp: { id, name },
    user: { id: userHandleOf(user.id), name: userName, displayName: userName },
    challenge,
    pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key' as const, alg })),
    timeout: challengeSeconds * 1000,
    excludeCredentials: existing.map(describe),
    authenticatorSelection: {
      // Security keys without room for another passkey are still good as a second factor.
      residentKey: 'preferred',
      requireResidentKey: false,
      userVerification: 'preferred',
    },
    attestation: 'none' as const,
    extensions: { credProps: true },
  }
}

/** @param allowed undefined when the passkey is to tell whom it belongs to */
export function requestOptions(
  { id }: RelyingParty,
  challenge: string,
  userVerification: 'required' | 'preferred',
  allowed?: readonly CredentialDescriptor[],
): RequestOptions {
  return {
    rpId: id,
    challenge,
    timeout: challengeSeconds * 1000,
    userVerification,
    ...(allowed === undefined ? {} : { allowCredentials: allowed.map(describe) }),
  }
}

function describe({ credential_id, transports }: CredentialDescriptor) {
  return {
    type: 'public-key' as const,
    id: credential_id,
    ...(transports.length === 0 ? {} : { transports }),
  }
}
