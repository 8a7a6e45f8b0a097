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

/** WebAuthn L3 §7.2: each test breaks one step and expects a rejection for that reason, on each of the three paths. */

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
const paths: readonly [
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

describe.each(paths)('passkey assertion (WebAuthn §7.2) › %s', (name, refusal, assert) => {
  async function expectRefusal(flaws: AssertionFlaws, reason: RegExp): Promise<void> {
    const before = await Promise.all([storedPasskeys(), sessions(), challengesUsed()])
    expect(envelope(await assert(flaws))).toEqual(refusal)
    expect(lastReason(accounts)).toMatch(reason)
    expect(await Promise.all([storedPasskeys(), sessions(), challengesUsed()])).toEqual(before)
  }

  test('succeeds and stores the state of a valid assertion', async () => {
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
    'rejects the type "%s"',
    async (type) => {
      await expectRefusal({ clientData: { type } }, /Unexpected authentication response type/)
    },
  )

  test('rejects another challenge', async () => {
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
  ])('rejects the origin %s', async (origin) => {
    await expectRefusal({ clientData: { origin } }, /Unexpected authentication response origin/)
  })

  test.each([
    [{ crossOrigin: true }],
    [{ crossOrigin: 'false' }],
    [{ topOrigin: 'https://app.example.com' }],
    [{ crossOrigin: true, topOrigin: 'https://evil.example' }],
  ])('rejects a frame, %o', async (clientData) => {
    await expectRefusal({ clientData }, /in a frame of another site/)
  })

  test.each(['example.com', 'evil.example', 'localhost'])('rejects the relying party %s', async (rpId) => {
    await expectRefusal({ rpId }, /Unexpected RP ID hash/)
  })

  test('rejects an assertion without the presence of the user', async () => {
    await expectRefusal({ flags: { up: false } }, /User not present/)
  })

  test('rejects a passkey that is backed up but cannot be', async () => {
    await expectRefusal({ flags: { bs: true } }, /Single-device credential .* backed up/)
  })

  test('rejects a passkey that can suddenly be backed up', async () => {
    await expectRefusal({ flags: { be: true } }, /changed whether it can be backed up/)
    await expectRefusal({ flags: { be: true, bs: true } }, /changed whether it can be backed up/)
  })

  test('rejects a signature of another key', async () => {
    await expectRefusal({ signedBy: generateKeys('ES256').privateKey }, /signature is wrong/)
  })

  test('rejects a signature by the passkey of another user', async () => {
    const { privateKey } = stranger.authenticator.passkeys[0] ?? expect.fail()
    await expectRefusal({ signedBy: privateKey }, /signature is wrong/)
  })

  test.each<[string, (right: Buffer) => Buffer]>([
    ['one bit', (right) => Buffer.concat([right.subarray(0, -1), Buffer.from([(right.at(-1) ?? 0) ^ 1])])],
    ['its form', () => Buffer.alloc(64, 1)],
    ['its length', (right) => right.subarray(0, -2)],
  ])('rejects a signature that is wrong in %s', async (_name, signature) => {
    await expectRefusal({ signature }, /./)
  })

  test('rejects the passkey of another user', async () => {
    const passkey = stranger.authenticator.passkeys[0] ?? expect.fail()
    if (name === 'a discoverable sign-in') {
      // On this path the passkey is the right one, because no particular user was requested.
      expect((await assert({ passkey })).json.user.id).toBe(stranger.user.id)
    } else {
      await expectRefusal({ passkey }, /the passkey is unknown|was not requested|signature is wrong/)
    }
  })

  test('rejects an unknown passkey', async () => {
    await expectRefusal({ id: randomBytes(32) }, /signature is wrong/)
  })

  test.each([
    ['another user', () => stranger.user.id],
    ['an unknown user', () => crypto.randomUUID()],
    ['the user in capitals', () => user.user.id.toUpperCase()],
    ['the bytes of the id', () => Buffer.from(user.user.id.replaceAll('-', ''), 'hex')],
  ])('rejects a user handle of %s', async (_name, id) => {
    const userHandle = Buffer.from(id()).toString('base64url')
    await expectRefusal({ userHandle }, /names another user/)
  })

  test('accepts a missing user handle where the user is known', async () => {
    for (const userHandle of [null, '']) {
      if (name === 'a discoverable sign-in') await expectRefusal({ userHandle }, /names no user/)
      else expect((await assert({ userHandle })).status).toBe(200)
    }
  })

  test('accepts a missing user verification after a password only', async () => {
    if (name === 'a second factor') expect((await assert({ flags: { uv: false } })).status).toBe(200)
    else await expectRefusal({ flags: { uv: false } }, /User verification required/)
  })

  test('accepts extensions', async () => {
    const extensions = Buffer.from('a1647061796df5', 'hex')
    const flags = { ed: true }
    const authenticatorData = (right: Buffer) => Buffer.concat([right, extensions])
    expect((await assert({ flags, authenticatorData })).status).toBe(200)
  })

  describe('passkey counter', () => {
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

    test('reveals a copy when it goes back or stays: the stored one stays, and the log warns', async () => {
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

    test('is ignored in a forged assertion', async () => {
      const who = await passkeyUser(accounts)
      expect((await assert({ signCount: 100 }, who)).status).toBe(200)
      const warnings = cloneWarnings().length
      const { privateKey } = generateKeys('ES256')
      expect(envelope(await assert({ signCount: 1, signedBy: privateKey }, who))).toEqual(refusal)
      expect(envelope(await assert({ signCount: 1000, signedBy: privateKey }, who))).toEqual(refusal)
      expect(cloneWarnings()).toHaveLength(warnings)
      expect(await countOf(who)).toBe('100')
    })

    test('stays zero for a synced passkey', async () => {
      const who = await passkeyUser(accounts, newAuthenticator({ counts: false, isBackupEligible: true }))
      for (let time = 0; time < 3; time += 1) expect((await assert({}, who)).status).toBe(200)
      expect(await countOf(who)).toBe('0')
      // A passkey that begins to count must keep counting.
      expect((await assert({ signCount: 5 }, who)).status).toBe(200)
      expect(envelope(await assert({ signCount: 0 }, who))).toEqual(cloned)
    })
  })

  test('comes with the backup state of a synced passkey, which is stored', async () => {
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

describe('passkey assertion › a passkey from after the challenge', () => {
  test('is rejected as not requested', async () => {
    const who = await passkeyUser(accounts)
    const { email } = who.user
    const late = newAuthenticator()
    const challenge = (await accounts.post('webauthn/login/begin', { email })).json
    const { json: session } = await signInByEmail(accounts, email, who.authenticator)
    expect((await enroll(accounts, session.token, late)).status).toBe(200)
    const respond = (authenticator: typeof late) =>
      accounts.post('webauthn/login/finish', {
        challenge_id: challenge.challenge_id,
        assertion_response: authenticator.get({ ...challenge.options, allowCredentials: undefined }),
      })
    expect(envelope(await respond(late))).toEqual(wrong)
    expect(lastReason(accounts)).toBe('the passkey was not requested')
    expect((await respond(who.authenticator)).status).toBe(200)
  })
})

describe('passkey assertion › a passkey without user verification at its enrolment', () => {
  test('signs in by itself only after it has verified its user in addition to another factor', async () => {
    const authenticator = newAuthenticator({ verifiesUser: false })
    const who = await passkeyUser(accounts, authenticator)
    const { email } = who.user
    const [passkey = expect.fail()] = authenticator.passkeys
    const offered = async () => {
      const { options } = (await accounts.post('webauthn/login/begin', { email })).json
      return options.allowCredentials.some(({ id }: { id: string }) => id === who.credentialId)
    }
    // A finder of the key may have set a PIN.
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
    // Once is enough, but each sign-in by the passkey alone requires it again.
    expect((await signInByEmail(accounts, email, authenticator)).status).toBe(401)
  })
})
