import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createAuthenticator } from '../../../../test/authenticator.ts'
import { anyBroken } from '../../../../test/malformed-passkeys.ts'
import { parseAssertion, verifyAssertion } from '../../operations/webauthn/assertion.ts'
import { parseAttestation, verifyAttestation } from '../../operations/webauthn/attestation.ts'
import { decoyKey } from './decoy.ts'

const party = { id: 'app.example.com', origin: 'https://app.example.com' }
const challenge = 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'
const creation = { rp: party, user: { id: 'AAAA' }, challenge, excludeCredentials: [] }

test('passkeys › parsing of random attestations returns a value or undefined, and never throws', async () => {
  const right = createAuthenticator({ origin: party.origin, transports: ['usb'] }).create(creation)
  await fc.assert(
    fc.asyncProperty(anyBroken(right), async (broken) => {
      const attestation = parseAttestation(broken)
      if (attestation === undefined) return
      // A well-formed attestation is verified, or rejected by an error for the log.
      await verifyAttestation(attestation, party).catch((error) => expect(error).toBeInstanceOf(Error))
    }),
    { numRuns: 2000 },
  )
})

test('passkeys › parsing of random assertions returns a value or undefined, and none is verified', async () => {
  const authenticator = createAuthenticator({ origin: party.origin })
  authenticator.create(creation)
  const right = authenticator.get({ rpId: party.id, challenge })
  const expected = { challenge, party, isUserVerificationRequired: true, ...decoyKey }
  await fc.assert(
    fc.asyncProperty(anyBroken(right), async (broken) => {
      const assertion = parseAssertion(broken)
      if (assertion === undefined) return
      await expect(verifyAssertion(assertion, expected)).rejects.toBeInstanceOf(Error)
    }),
    { numRuns: 2000 },
  )
})
