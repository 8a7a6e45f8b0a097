import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { AccountsApp, SignedIn } from '../../../../../test/accounts.ts'
import {
  type AuthenticatorOptions,
  type CreationFlaws,
  cbor,
  coseKey,
  generateKeys,
  signWith,
} from '../../../../../test/authenticator.ts'
import {
  createPasskeysApp,
  enroll,
  lastReason,
  newAuthenticator,
  signInByEmail,
} from '../../../../../test/passkeys.ts'
import { envelope } from '../../../../../test/test-app.ts'

/** WebAuthn L3 §7.1: each test breaks one step and expects a rejection for that reason. */

let accounts: AccountsApp
let caller: SignedIn
beforeAll(async () => {
  accounts = await createPasskeysApp()
  caller = await accounts.register()
})
beforeEach(async () => {
  for (const table of ['passkeys', 'mfa_factors', 'mfa_challenges']) {
    await accounts.app.sql(`delete from basalt.${table}`)
  }
})
afterAll(() => accounts[Symbol.asyncDispose]())

async function expectRefusal(
  flaws: CreationFlaws,
  reason: RegExp,
  options: Partial<AuthenticatorOptions> = {},
): Promise<void> {
  const response = await enroll(accounts, caller.token, newAuthenticator(options), flaws)
  expect(envelope(response)).toEqual({
    code: 400,
    message: 'WebAuthn enrollment verification failed',
    error: 'webauthn_enrollment_failed',
  })
  expect(lastReason(accounts)).toMatch(reason)
  await expectNothingKept()
}

async function expectMalformed(flaws: CreationFlaws): Promise<void> {
  const response = await enroll(accounts, caller.token, newAuthenticator(), flaws)
  expect(envelope(response)).toEqual({
    code: 400,
    message: 'invalid attestation response',
    error: 'invalid_attestation_response',
  })
  await expectNothingKept()
}

/** Checks that neither passkey nor factor was stored, and that the challenge is still valid. */
async function expectNothingKept(): Promise<void> {
  const rows = await accounts.app.sql(
    `select (select count(*)::int from basalt.passkeys where user_id = u.id) as passkeys,
       (select count(*)::int from basalt.mfa_factors where user_id = u.id) as factors,
       (select count(*)::int from basalt.mfa_challenges where user_id = u.id and used_at is null) as challenges
     from basalt.users u where id = $1`,
    [caller.user.id],
  )
  expect(rows).toEqual([{ passkeys: 0, factors: 0, challenges: 1 }])
}

describe('passkey attestation (WebAuthn §7.1) › client data', () => {
  test.each([['webauthn.get'], ['webauthn.Create'], ['']])('rejects the type "%s"', async (type) => {
    await expectRefusal({ clientData: { type } }, /Unexpected registration response type/)
  })

  test('rejects another challenge', async () => {
    const challenge = randomBytes(32).toString('base64url')
    await expectRefusal({ clientData: { challenge } }, /no enrolment of the user waits for this challenge/)
  })

  test.each([
    'https://evil.example',
    'http://app.example.com',
    'https://app.example.com:8443',
    'https://example.com',
    'https://sub.app.example.com',
    'https://app.example.com.evil.example',
    'https://app.example.com/',
    'https://APP.example.com',
    'null',
  ])('rejects the origin %s', async (origin) => {
    await expectRefusal({ clientData: { origin } }, /Unexpected registration response origin/)
  })

  test.each([
    [{ crossOrigin: true }],
    [{ crossOrigin: 'false' }],
    [{ topOrigin: 'https://app.example.com' }],
    [{ crossOrigin: true, topOrigin: 'https://evil.example' }],
  ])('rejects a frame, %o', async (clientData) => {
    await expectRefusal({ clientData }, /in a frame of another site/)
  })

  test('accepts client data without the members about frames', async () => {
    const flaws = { clientData: { crossOrigin: undefined } }
    expect((await enroll(accounts, caller.token, newAuthenticator(), flaws)).status).toBe(200)
  })
})

describe('passkey attestation (WebAuthn §7.1) › authenticator data', () => {
  test.each(['example.com', 'evil.example', 'https://app.example.com', 'localhost'])(
    'rejects the relying party %s',
    async (rpId) => {
      await expectRefusal({ rpId }, /Unexpected RP ID hash/)
    },
  )

  test('rejects a missing presence of the user', async () => {
    await expectRefusal({ flags: { up: false } }, /User presence was required/)
  })

  test('accepts a missing user verification for a passkey that is a second factor only', async () => {
    const authenticator = newAuthenticator({ verifiesUser: false })
    expect((await enroll(accounts, caller.token, authenticator)).status).toBe(200)
    const flags = { uv: true }
    const response = await signInByEmail(accounts, caller.user.email, authenticator, {
      passkey: authenticator.passkeys[0] ?? expect.fail(),
      flags,
    })
    expect(response.status).toBe(401)
  })

  test('rejects a passkey that is backed up but cannot be', async () => {
    await expectRefusal({ flags: { be: false, bs: true } }, /Single-device credential .* backed up/)
  })

  test('rejects a missing passkey', async () => {
    const authenticatorData = (right: Buffer) => right.subarray(0, 37)
    await expectRefusal({ flags: { at: false }, authenticatorData }, /No credential ID/)
  })

  test('rejects an empty id', async () => {
    await expectMalformed({ id: Buffer.alloc(0) })
  })

  test('rejects an id of 1024 bytes', async () => {
    await expectRefusal({ id: Buffer.alloc(1024, 1) }, /longer than 1023 bytes/)
  })

  test('rejects trailing bytes as malformed', async () => {
    await expectMalformed({ authenticatorData: (right) => Buffer.concat([right, Buffer.alloc(1)]) })
  })

  test.each([0, 1, 36, 40, 55, 80])('rejects data cut off after %i bytes as malformed', async (length) => {
    await expectMalformed({ authenticatorData: (right) => right.subarray(0, length) })
  })

  test('rejects announced but missing extensions as malformed', async () => {
    await expectMalformed({ flags: { ed: true } })
  })

  test('accepts extensions', async () => {
    const extensions = cbor(new Map([['credProtect', 2]]))
    const flaws = {
      flags: { ed: true },
      authenticatorData: (right: Buffer) => Buffer.concat([right, extensions]),
    }
    expect((await enroll(accounts, caller.token, newAuthenticator(), flaws)).status).toBe(200)
  })
})

describe('passkey attestation (WebAuthn §7.1) › public key', () => {
  test.each([
    ['ES384', -35],
    ['ES512', -36],
    ['ES256K', -47],
    ['PS256', -37],
    ['RS1', -65535],
    ['HS256', 5],
  ])('rejects an algorithm that was not offered, %s', async (_name, alg) => {
    await expectRefusal({ publicKey: (right) => right.set(3, alg) }, /Unexpected public key alg/)
  })

  test('rejects a missing algorithm', async () => {
    const publicKey = (right: Map<number, unknown>) => {
      right.delete(3)
      return right
    }
    await expectRefusal({ publicKey }, /missing numeric alg/)
  })

  test.each<[string, (right: Map<number, unknown>) => Map<number, unknown>]>([
    ['of another kind', (right) => right.set(1, 3)],
    ['of another curve', (right) => right.set(-1, 2)],
    ['with half a point', (right) => right.set(-3, null)],
  ])('rejects a key that does not fit its algorithm, %s', async (_name, publicKey) => {
    await expectRefusal({ publicKey }, /does not fit its algorithm/)
  })

  test('rejects a key off its curve', async () => {
    await expectRefusal({ publicKey: (right) => right.set(-3, Buffer.alloc(32, 1)) }, /JWK|EC|point/i)
  })

  test('rejects an RSA key that is too short', async () => {
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
    await expectRefusal({ publicKey: () => coseKey(publicKey, 'RS256') }, /RSA key is too short/)
  })
})

describe('passkey attestation (WebAuthn §7.1) › attestation statement', () => {
  test.each(['android-safetynet', 'android-key', 'apple', 'tpm', 'fido-u2f', 'made-up', ''])(
    'rejects the format "%s", which was not requested',
    async (format) => {
      await expectRefusal({ format }, /attestation was not requested/)
    },
  )

  test('rejects certificates, and fetches nothing that they name', async () => {
    const statement = () => new Map([['x5c', [Buffer.from('a certificate')]]])
    await expectRefusal({ format: 'packed', statement }, /attestation was not requested: packed/)
  })

  test('rejects a statement with the format none', async () => {
    const statement = () => new Map([['sig', Buffer.alloc(64)]])
    await expectRefusal({ statement }, /None attestation had unexpected attestation statement/)
  })

  test('rejects a self attestation signed by another key', async () => {
    const { privateKey } = generateKeys('ES256')
    const statement = (signed: Buffer) => packed(-7, signWith(privateKey, 'ES256', signed))
    await expectRefusal({ format: 'packed', statement }, /not signed by the key of the passkey/)
  })

  test('rejects a self attestation over other data', async () => {
    const statement: CreationFlaws['statement'] = (signed, key) =>
      packed(-7, signWith(key, 'ES256', Buffer.concat([signed, signed])))
    await expectRefusal({ format: 'packed', statement }, /not signed by the key of the passkey/)
  })

  test.each([
    ['ES256', -257],
    ['ES256', -8],
    ['EdDSA', -7],
    ['ES256', undefined],
  ] as const)(
    'rejects a self attestation of a key for %s that states algorithm %s',
    async (algorithm, stated) => {
      const statement = (signed: Buffer, key: KeyObject) =>
        new Map<string, unknown>([
          ...(stated === undefined ? [] : ([['alg', stated]] as const)),
          ['sig', signWith(key, algorithm, signed)],
        ])
      await expectRefusal({ format: 'packed', statement }, /the self attestation states algorithm/, {
        algorithm,
      })
    },
  )

  test('rejects a self attestation without a signature', async () => {
    await expectRefusal(
      { format: 'packed', statement: () => new Map([['alg', -7]]) },
      /No attestation signature/,
    )
  })
})

test('passkey attestation › rejects a credential id that does not match the authenticator data', async () => {
  const begun = await accounts.post('mfa/webauthn/enroll', undefined, caller.token)
  const id = randomBytes(32).toString('base64url')
  const attestation_response = { ...newAuthenticator().create(begun.json), id, rawId: id }
  const response = await accounts.post('mfa/webauthn/enroll/confirm', { attestation_response }, caller.token)
  expect(envelope(response).error).toBe('webauthn_enrollment_failed')
  expect(lastReason(accounts)).toBe('the credential id does not match the authenticator data')
  await expectNothingKept()
})

function packed(alg: number, sig: Buffer): Map<string, unknown> {
  return new Map<string, unknown>([
    ['alg', alg],
    ['sig', sig],
  ])
}
