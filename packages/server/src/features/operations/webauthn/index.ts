export {
  type Assertion,
  type AssertionInput,
  assertionResponse,
  PasskeyAssertion,
  type PasskeyUse,
  parseAssertion,
  readAssertionInput,
  verifyAssertion,
} from './assertion.ts'
export {
  attestationResponse,
  parseAttestation,
  type VerifiedPasskey,
  verifyAttestation,
} from './attestation.ts'
export { base64url, isBase64url, longestCredentialId } from './client-data.ts'
export { displayName, readDisplayName } from './display-name.ts'
export {
  type CredentialDescriptor,
  challengeSeconds,
  createChallenge,
  creationOptions,
  PasskeyCreationOptions,
  PasskeyRequestOptions,
  requestOptions,
  userHandleOf,
} from './options.ts'
export { type RelyingParty, relyingPartyOf } from './relying-party.ts'
