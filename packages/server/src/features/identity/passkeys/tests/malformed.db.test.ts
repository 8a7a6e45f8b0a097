import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { AccountsApp } from '../../../../../test/accounts.ts'
import { generateKeys } from '../../../../../test/authenticator.ts'
import { anyBroken } from '../../../../../test/malformed-passkeys.ts'
import {
  createPasskeysApp,
  newAuthenticator,
  type PasskeyUser,
  passkeyUser,
} from '../../../../../test/passkeys.ts'
import { pendingToken } from '../../../../../test/second-factors.ts'

/** Malformed browser responses of every kind are rejected with 400 or 401, and change nothing. */

let accounts: AccountsApp
let user: PasskeyUser
beforeAll(async () => {
  accounts = await createPasskeysApp({ config: { 'auth.limits.login_failures_per_address': '1000000' } })
  user = await passkeyUser(accounts)
})
afterAll(() => accounts[Symbol.asyncDispose]())

test('passkeys › a malformed response is never a server error', async () => {
  const { token } = await accounts.register()
  const options = (await accounts.post('mfa/webauthn/enroll', undefined, token)).json
  const attestation = newAuthenticator({ transports: ['usb'] }).create(options)
  const pending = await pendingToken(accounts, user.user.email)
  const challenges = {
    finish: (await accounts.post('webauthn/login/begin', { email: user.user.email })).json,
    discover: (await accounts.post('webauthn/login/discover/begin')).json,
    verify: (await accounts.post('mfa/webauthn/challenge', undefined, pending)).json,
  }
  const endpoints = {
    finish: ['webauthn/login/finish', undefined],
    discover: ['webauthn/login/discover/finish', undefined],
    verify: ['mfa/webauthn/verify', pending],
  } as const
  // Everything but the signature is right. Whatever is omitted or changed, none may pass.
  const { privateKey } = generateKeys('ES256')
  const assertions = fc.constantFrom('finish', 'discover', 'verify').chain((use) =>
    anyBroken(user.authenticator.get(challenges[use].options, { signedBy: privateKey })).map(
      (assertion_response) => {
        const [path, bearer] = endpoints[use]
        return { path, bearer, body: { challenge_id: challenges[use].challenge_id, assertion_response } }
      },
    ),
  )
  const attestations = anyBroken({ ...attestation, id: 'AAAA' }).map((attestation_response) => ({
    path: 'mfa/webauthn/enroll/confirm',
    bearer: token,
    body: { attestation_response },
  }))
  const before = await accounts.app.sql('select * from basalt.passkeys')
  await fc.assert(
    fc.asyncProperty(fc.oneof(assertions, attestations), async ({ path, bearer, body }) => {
      const response = await accounts.post(path, body, bearer)
      expect([400, 401]).toContain(response.status)
      await accounts.app.sql(`delete from basalt.attempts where key like 'mfa.failures:%'`)
    }),
    { numRuns: 400 },
  )
  expect(await accounts.app.sql('select * from basalt.passkeys')).toEqual(before)
  expect(accounts.app.log.filter((line) => line.includes('"request failed"'))).toEqual([])
})

test('passkeys › a body with very many members is rejected at once', async () => {
  const { challenge_id } = (await accounts.post('webauthn/login/discover/begin')).json
  const assertion_response = user.authenticator.get({ rpId: 'app.example.com', challenge: 'AAAA' })
  const response = { ...assertion_response.response, clientDataJSON: 'A'.repeat(900_000) }
  const body = { challenge_id, assertion_response: { ...assertion_response, response } }
  expect((await accounts.post('webauthn/login/discover/finish', body)).status).toBe(400)
})
