import type { Operations } from './operations.ts'

type Creation = Operations['administrators.enrollPasskey']['answer']
type Request = Operations['administrators.challengePasskey']['answer']
type Attestation = Operations['administrators.confirmPasskey']['body']['attestation_response']
type Assertion = NonNullable<Operations['administrators.stepUp']['body']['assertion_response']>

/** Returns true if the browser knows passkeys. */
export const hasPasskeys = typeof window !== 'undefined' && 'PublicKeyCredential' in window

/** Creates a passkey. @throws Error if the person cancels */
export async function createPasskey(options: Creation): Promise<Attestation> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(
    // The server sends the form of WebAuthn L3 §5.1.
    options as unknown as PublicKeyCredentialCreationOptionsJSON,
  )
  const credential = await navigator.credentials.create({ publicKey })
  if (!(credential instanceof PublicKeyCredential)) throw new Error('The browser has created no passkey.')
  // The documented form is that of `toJSON()`.
  return credential.toJSON() as unknown as Attestation
}

/** Uses a passkey. @throws Error if the person cancels */
export async function getPasskey({ challenge_id, options }: Request) {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(
    options as unknown as PublicKeyCredentialRequestOptionsJSON,
  )
  const credential = await navigator.credentials.get({ publicKey })
  if (!(credential instanceof PublicKeyCredential)) throw new Error('The browser has used no passkey.')
  return { challenge_id, assertion_response: credential.toJSON() as unknown as Assertion }
}
