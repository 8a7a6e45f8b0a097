import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { AccountsApp } from '../../../../../test/accounts.ts'
import { type AssertionFlaws, generateKeys } from '../../../../../test/authenticator.ts'
import {
  createPasskeysApp,
  enroll,
  lastReason,
  newAuthenticator,
  type PasskeyUser,
  passkeyUser,
  passSecondFactor,
  signInByEmail,
  signInDiscoverably,
} from '../../../../../test/passkeys.ts'
import { envelope, type TestResponse } from '../../../../../test/test-app.ts'

/** WebAuthn L3 §7.2: each step by itself is broken, and refused for just that reason, on each of the three ways. */

let accounts: AccountsApp
let user: PasskeyUser
let stranger: PasskeyUser
beforeAll(async () => {
  accounts = await createPasskeysApp()
  user = await passkeyUser(accounts)
  stranger = await passkeyUser(accounts)
})
beforeEach(() => accounts.app.sql('delete from basalt.attempts'))
afterAll(() => accounts[Symbol.asyncDispose]())

const wrong = { code: 401, message: 'invalid email or passkey', error: 'invalid_passkey' }
const ways: readonly [
  string,
  object,
  (flaws?: AssertionFlaws, who?: PasskeyUser) => Promise<TestResponse>,
][] = [
  [
    'a sign-in by email',
    wrong,
    (flaws, { user: { email }, authenticator } = user) =>
      signInByEmail(accounts, email, authenticator, flaws),
  ],
  [
    'a discoverable sign-in',
    wrong,
    (flaws, { authenticator } = user) => signInDiscoverably(accounts, authenticator, flaws),
  ],
  [
    'a second factor',
    { code: 401, message: 'WebAuthn assertion failed', error: 'webauthn_assertion_failed' },
    (flaws, { user: { email }, authenticator } = user) =>
      passSecondFactor(accounts, email, authenticator, flaws),
  ],
]

const storedPasskeys = () => accounts.app.sql('select * from basalt.passkeys order by id')
const sessions = () => accounts.app.sql('select id from basalt.sessions order by id')
const challengesUsed = () =>
  accounts.app.sql('select id from basalt.mfa_challenges where used_at is not null order by id')

describe.each(ways)('%s', (name, refusal, assert) => {
  async function expectRefusal(flaws: AssertionFlaws, reason: RegExp): Promise<void> {
    const before = await Promise.all([storedPasskeys(), sessions(), challengesUsed()])
    expect(envelope(await assert(flaws))).toEqual(refusal)
    expect(lastReason(accounts)).toMatch(reason)
    expect(await Promise.all([storedPasskeys(), sessions(), challengesUsed()])).toEqual(before)
  }

  test('that is right in everything passes, and keeps what it says', async () => {
    const before = await storedPasskeys()
    const response = await assert()
    expect(response.status).toBe(200)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.json).toEqual({
      token: expect.any(String),
      refreshToken: expect.any(String),
      user: { ...user.user, emailVerified: false, is_anonymous: false, updatedAt: expect.any(String) },
    })
    const used = (await storedPasskeys()).filter(({ credential_id: id }) => id === user.credentialId)
    const [old] = before.filter(({ credential_id: id }) => id === user.credentialId)
    expect(used).toEqual([
      { ...old, sign_count: String(Number(old?.sign_count) + 1), last_used_at: expect.any(Date) },
    ])
  })

  test.each([['webauthn.create'], ['webauthn.Get'], ['payment.get'], ['']])(
    'of the type "%s" is refused',
    async (type) => {
      await expectRefusal({ clientData: { type } }, /Unexpected authentication response type/)
    },
  )

  test('with another challenge is refused', async () => {
    const challenge = randomBytes(32).toString('base64url')
    await expectRefusal({ clientData: { challenge } }, /Unexpected authentication response challenge/)
  })

  test.each([
    'https://evil.example',
    'http://app.example.com',
    'https://app.example.com:8443',
    'https://sub.app.example.com',
    'https://app.example.com/',
    'https://APP.example.com',
    'android:apk-key-hash:abc',
  ])('of the origin %s is refused', async (origin) => {
    await expectRefusal({ clientData: { origin } }, /Unexpected authentication response origin/)
  })

  test.each([
    [{ crossOrigin: true }],
    [{ crossOrigin: 'false' }],
    [{ topOrigin: 'https://app.example.com' }],
    [{ crossOrigin: true, topOrigin: 'https://evil.example' }],
  ])('of a frame, %o, is refused', async (clientData) => {
    await expectRefusal({ clientData }, /in a frame of another site/)
  })

  test.each(['example.com', 'evil.example', 'localhost'])(
    'for the relying party %s is refused',
    async (rpId) => {
      await expectRefusal({ rpId }, /Unexpected RP ID hash/)
    },
  )

  test('without the presence of the user is refused', async () => {
    await expectRefusal({ flags: { up: false } }, /User not present/)
  })

  test('of a passkey that is backed up but cannot be is refused', async () => {
    await expectRefusal({ flags: { bs: true } }, /Single-device credential .* backed up/)
  })

  test('of a passkey that can suddenly be backed up is refused', async () => {
    await expectRefusal({ flags: { be: true } }, /otherwise than before whether it can be backed up/)
    await expectRefusal({ flags: { be: true, bs: true } }, /otherwise than before/)
  })

  test('signed by another key is refused', async () => {
    await expectRefusal({ signedBy: generateKeys('ES256').privateKey }, /signature is wrong/)
  })

  test('signed by the passkey of another user is refused', async () => {
    const { privateKey } = stranger.authenticator.passkeys[0] ?? expect.fail()
    await expectRefusal({ signedBy: privateKey }, /signature is wrong/)
  })

  test.each<[string, (right: Buffer) => Buffer]>([
    ['one bit', (right) => Buffer.concat([right.subarray(0, -1), Buffer.from([(right.at(-1) ?? 0) ^ 1])])],
    ['its form', () => Buffer.alloc(64, 1)],
    ['its length', (right) => right.subarray(0, -2)],
  ])('whose signature is wrong in %s is refused', async (_name, signature) => {
    await expectRefusal({ signature }, /./)
  })

  test('by the passkey of another user is refused', async () => {
    const passkey = stranger.authenticator.passkeys[0] ?? expect.fail()
    if (name === 'a discoverable sign-in') {
      // There it is the right one: no user in particular was asked.
      expect((await assert({ passkey })).json.user.id).toBe(stranger.user.id)
    } else {
      await expectRefusal({ passkey }, /there is no such passkey|was not asked for|signature is wrong/)
    }
  })

  test('by an unknown passkey is refused', async () => {
    await expectRefusal({ id: randomBytes(32) }, /signature is wrong/)
  })

  test.each([
    ['another user', () => stranger.user.id],
    ['an unknown user', () => crypto.randomUUID()],
    ['the same in capitals', () => user.user.id.toUpperCase()],
    ['the bytes of the id', () => Buffer.from(user.user.id.replaceAll('-', ''), 'hex')],
  ])('that says that it belongs to %s is refused', async (_name, id) => {
    const userHandle = Buffer.from(id()).toString('base64url')
    await expectRefusal({ userHandle }, /belongs to another user/)
  })

  test('that does not say whom it belongs to passes where that is known', async () => {
    for (const userHandle of [null, '']) {
      if (name === 'a discoverable sign-in') await expectRefusal({ userHandle }, /does not tell/)
      else expect((await assert({ userHandle })).status).toBe(200)
    }
  })

  test('without the verification of the user passes beside a password alone', async () => {
    if (name === 'a second factor') expect((await assert({ flags: { uv: false } })).status).toBe(200)
    else await expectRefusal({ flags: { uv: false } }, /User verification required/)
  })

  test('is as good with extensions in it', async () => {
    const extensions = Buffer.from('a1647061796df5', 'hex')
    const flags = { ed: true }
    const authenticatorData = (right: Buffer) => Buffer.concat([right, extensions])
    expect((await assert({ flags, authenticatorData })).status).toBe(200)
  })

  describe('the counter', () => {
    const cloned = { code: 401, message: 'cloned authenticator detected', error: 'cloned_authenticator' }
    const countOf = async (who: PasskeyUser) =>
      (
        await accounts.app.sql('select sign_count from basalt.passkeys where credential_id = $1', [
          who.credentialId,
        ])
      )[0]?.sign_count
    const cloneWarnings = () =>
      accounts.app.log.flatMap((line) =>
        line.includes('"cloned authenticator detected"') ? [JSON.parse(line)] : [],
      )

    test('that goes back or stays is that of a copy; what is stored stays, and the log warns', async () => {
      const who = await passkeyUser(accounts)
      expect((await assert({ signCount: 100 }, who)).status).toBe(200)
      for (const signCount of [100, 99, 1, 0]) {
        const warnings = cloneWarnings().length
        const before = await storedPasskeys()
        const response = await assert({ signCount }, who)
        expect(envelope(response)).toEqual(cloned)
        expect(await storedPasskeys()).toEqual(before)
        expect(cloneWarnings().slice(warnings)).toMatchObject([{ level: 40, userId: who.user.id, signCount }])
      }
      expect(await countOf(who)).toBe('100')
      expect((await assert({ signCount: 101 }, who)).status).toBe(200)
      expect((await assert({ signCount: 0xffff_ffff }, who)).status).toBe(200)
      expect(await countOf(who)).toBe('4294967295')
    })

    test('of a forged assertion is not believed', async () => {
      const who = await passkeyUser(accounts)
      expect((await assert({ signCount: 100 }, who)).status).toBe(200)
      const warnings = cloneWarnings().length
      const { privateKey } = generateKeys('ES256')
      expect(envelope(await assert({ signCount: 1, signedBy: privateKey }, who))).toEqual(refusal)
      expect(envelope(await assert({ signCount: 1000, signedBy: privateKey }, who))).toEqual(refusal)
      expect(cloneWarnings()).toHaveLength(warnings)
      expect(await countOf(who)).toBe('100')
    })

    test('of a synced passkey stays zero', async () => {
      const who = await passkeyUser(accounts, newAuthenticator({ counts: false, isBackupEligible: true }))
      for (let time = 0; time < 3; time += 1) expect((await assert({}, who)).status).toBe(200)
      expect(await countOf(who)).toBe('0')
      // One that begins to count keeps counting.
      expect((await assert({ signCount: 5 }, who)).status).toBe(200)
      expect(envelope(await assert({ signCount: 0 }, who))).toEqual(cloned)
    })
  })

  test('of a synced passkey says whether it is backed up', async () => {
    const who = await passkeyUser(accounts, newAuthenticator({ counts: false, isBackupEligible: true }))
    const isBackedUp = async () =>
      (
        await accounts.app.sql('select is_backed_up from basalt.passkeys where credential_id = $1', [
          who.credentialId,
        ])
      )[0]?.is_backed_up
    for (const bs of [true, false, true]) {
      expect((await assert({ flags: { bs } }, who)).status).toBe(200)
      expect(await isBackedUp()).toBe(bs)
    }
    expect(envelope(await assert({ flags: { be: false, bs: false } }, who))).toEqual(refusal)
    expect(await isBackedUp()).toBe(true)
  })
})

describe('a passkey that was added after the challenge', () => {
  test('was not asked for', async () => {
    const who = await passkeyUser(accounts)
    const { email } = who.user
    const late = newAuthenticator()
    const begun = (await accounts.post('webauthn/login/begin', { email })).json
    const { json: session } = await signInByEmail(accounts, email, who.authenticator)
    expect((await enroll(accounts, session.token, late)).status).toBe(200)
    const answer = (authenticator: typeof late) =>
      accounts.post('webauthn/login/finish', {
        challenge_id: begun.challenge_id,
        assertion_response: authenticator.get({ ...begun.options, allowCredentials: undefined }),
      })
    expect(envelope(await answer(late))).toEqual(wrong)
    expect(lastReason(accounts)).toBe('the passkey was not asked for')
    expect((await answer(who.authenticator)).status).toBe(200)
  })
})

describe('a passkey that was enrolled without verifying its user', () => {
  test('signs in by itself only after it has done so beside another factor', async () => {
    const authenticator = newAuthenticator({ verifiesUser: false })
    const who = await passkeyUser(accounts, authenticator)
    const { email } = who.user
    const [passkey = expect.fail()] = authenticator.passkeys
    const offered = async () => {
      const { options } = (await accounts.post('webauthn/login/begin', { email })).json
      return options.allowCredentials.some(({ id }: { id: string }) => id === who.credentialId)
    }
    // Whoever found the key may have set a PIN.
    const stolen = { passkey, flags: { uv: true } }
    expect(await offered()).toBe(false)
    expect((await signInByEmail(accounts, email, authenticator, stolen)).status).toBe(401)
    expect((await signInDiscoverably(accounts, authenticator, stolen)).status).toBe(401)
    expect(lastReason(accounts)).toBe('the passkey has never verified its user beside another factor')

    expect((await passSecondFactor(accounts, email, authenticator)).status).toBe(200)
    expect(await offered()).toBe(false)
    expect((await passSecondFactor(accounts, email, authenticator, stolen)).status).toBe(200)
    expect(await offered()).toBe(true)
    expect((await signInByEmail(accounts, email, authenticator, stolen)).status).toBe(200)
    expect((await signInDiscoverably(accounts, authenticator, stolen)).status).toBe(200)
    // Once is enough, and each time by itself it has to do so again.
    expect((await signInByEmail(accounts, email, authenticator)).status).toBe(401)
  })
})
