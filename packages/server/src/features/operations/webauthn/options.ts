import { randomBytes } from 'node:crypto'
import { type Answered, choice, component } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { base64url } from './client-data.ts'
import type { RelyingParty } from './relying-party.ts'

const timeout = Type.Integer({ description: 'Milliseconds.' })
const descriptor = Type.Object({
  type: Type.Literal('public-key'),
  id: base64url,
  transports: Type.Optional(Type.Array(Type.String())),
})

export const PasskeyCreationOptions = component(
  'PasskeyCreationOptions',
  Type.Object(
    {
      rp: Type.Object({ id: Type.String(), name: Type.String() }),
      user: Type.Object({ id: base64url, name: Type.String(), displayName: Type.String() }),
      challenge: base64url,
      pubKeyCredParams: Type.Array(Type.Object({ type: Type.Literal('public-key'), alg: Type.Integer() })),
      timeout,
      excludeCredentials: Type.Array(descriptor),
      authenticatorSelection: Type.Object({
        residentKey: Type.Literal('preferred'),
        requireResidentKey: Type.Boolean(),
        userVerification: Type.Literal('preferred'),
      }),
      attestation: Type.Literal('none'),
      extensions: Type.Object({ credProps: Type.Boolean() }),
    },
    { description: 'Options for `PublicKeyCredential.parseCreationOptionsFromJSON`.' },
  ),
)

export const PasskeyRequestOptions = component(
  'PasskeyRequestOptions',
  Type.Object({
    challenge_id: Type.String({ format: 'uuid' }),
    options: Type.Object(
      {
        rpId: Type.String(),
        challenge: base64url,
        timeout,
        userVerification: choice(['required', 'preferred']),
        allowCredentials: Type.Optional(Type.Array(descriptor)),
      },
      { description: 'Options for `PublicKeyCredential.parseRequestOptionsFromJSON`.' },
    ),
  }),
)
export type PasskeyRequestOptions = Answered<typeof PasskeyRequestOptions>

/** Lifetime of a challenge. */
export const challengeSeconds = 300

/** Offered algorithms: EdDSA, ES256, RS256, as WebAuthn L3 §5.4 advises and in its order. */
export const algorithms: readonly number[] = [-8, -7, -257]

/** Passkey descriptor for the browser. */
export interface CredentialDescriptor {
  readonly credential_id: string
  readonly transports: readonly string[]
}

export function createChallenge(): string {
  return randomBytes(32).toString('base64url')
}

/** Returns the user handle of a passkey: the bytes of the id as text. It never changes. */
export function userHandleOf(userId: string): string {
  return Buffer.from(userId, 'utf8').toString('base64url')
}

export function creationOptions(
  { id, name }: { readonly id: string; readonly name: string },
  user: { readonly id: string; readonly name: string },
  existing: readonly CredentialDescriptor[],
  challenge: string,
): Answered<typeof PasskeyCreationOptions> {
  return {
    rp: { id, name },
    user: { id: userHandleOf(user.id), name: user.name, displayName: user.name },
    challenge,
    pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
    timeout: challengeSeconds * 1000,
    excludeCredentials: existing.map(describe),
    authenticatorSelection: {
      // A security key without storage for another passkey is still valid as a second factor.
      residentKey: 'preferred',
      requireResidentKey: false,
      userVerification: 'preferred',
    },
    attestation: 'none',
    extensions: { credProps: true },
  }
}

/** Builds the options that request an assertion. @param allowed undefined when any passkey of the site is accepted */
export function requestOptions(
  { id }: RelyingParty,
  challenge: string,
  userVerification: 'required' | 'preferred',
  allowed: readonly CredentialDescriptor[] | undefined,
): PasskeyRequestOptions['options'] {
  return {
    rpId: id,
    challenge,
    timeout: challengeSeconds * 1000,
    userVerification,
    allowCredentials: allowed?.map(describe),
  }
}

function describe({ credential_id, transports }: CredentialDescriptor) {
  return {
    type: 'public-key' as const,
    id: credential_id,
    transports: transports.length === 0 ? undefined : transports,
  }
}
