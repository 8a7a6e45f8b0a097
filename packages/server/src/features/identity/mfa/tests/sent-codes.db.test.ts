import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type AccountsApp, claimsOf, type SignedIn } from '../../../../../test/accounts.ts'
import { createMfaApp, pendingToken, sentCode } from '../../../../../test/second-factors.ts'
import { envelope, type TestApp } from '../../../../../test/test-app.ts'

let accounts: AccountsApp
let other: TestApp
beforeAll(async () => {
  accounts = await createMfaApp({ config: { 'auth.sms_test_phone_numbers': '+15005550006=123456' } })
  other = await accounts.secondNode()
})
afterAll(async () => {
  await other[Symbol.asyncDispose]()
  await accounts[Symbol.asyncDispose]()
})

let count = 0
const wrong = (code: string) => code.replace(/.$/, (digit) => String((Number(digit) + 1) % 10))

interface Kind {
  readonly method: 'email' | 'sms'
  /** Creates a user, with the destination of codes. */
  readonly prepare: () => Promise<{ user: SignedIn; to: string; enrollBody: object }>
  readonly sent: string
  readonly confirmed: string
  readonly wrongCode: object
  readonly expired: object
  readonly enrolled: object
  readonly noEnrollment: object
  readonly noFactor: object
  readonly tries: number
}

const kinds: readonly Kind[] = [
  {
    method: 'email',
    async prepare() {
      const user = await accounts.register()
      await accounts.inbox.take(user.user.email)
      return { user, to: user.user.email, enrollBody: {} }
    },
    sent: 'verification code sent to your email',
    confirmed: 'email MFA enrollment confirmed',
    wrongCode: { code: 401, message: 'invalid email MFA code', error: 'invalid_email_mfa_code' },
    expired: { code: 410, message: 'email MFA code expired', error: 'email_mfa_code_expired' },
    enrolled: { code: 409, message: 'email MFA already enrolled', error: 'email_mfa_enrolled' },
    noEnrollment: {
      code: 404,
      message: 'no pending email MFA enrollment found',
      error: 'no_email_mfa_enrollment',
    },
    noFactor: { code: 404, message: 'no email MFA factor enrolled', error: 'no_email_mfa_factor' },
    tries: 5,
  },
  {
    method: 'sms',
    async prepare() {
      const user = await accounts.register()
      count += 1
      const to = `+1202555${String(count).padStart(4, '0')}`
      return { user, to, enrollBody: { phone: to } }
    },
    sent: 'verification code sent',
    confirmed: 'MFA enrollment confirmed',
    wrongCode: { code: 401, message: 'invalid or expired code', error: 'invalid_sms_mfa_code' },
    expired: { code: 401, message: 'invalid or expired code', error: 'invalid_sms_mfa_code' },
    enrolled: { code: 409, message: 'SMS MFA already enrolled', error: 'sms_mfa_enrolled' },
    noEnrollment: {
      code: 404,
      message: 'no pending SMS MFA enrollment found',
      error: 'no_sms_mfa_enrollment',
    },
    noFactor: { code: 404, message: 'no SMS MFA factor enrolled', error: 'no_sms_mfa_factor' },
    tries: 3,
  },
]

describe.each(kinds)('MFA codes by $method', (kind) => {
  const path = (name: string) => `mfa/${kind.method}/${name}`

  async function enroll() {
    const prepared = await kind.prepare()
    const response = await accounts.post(path('enroll'), prepared.enrollBody, prepared.user.token)
    expect([response.status, response.json]).toEqual([200, { message: kind.sent }])
    return { ...prepared, code: await sentCode(accounts, prepared.to) }
  }

  async function enrolled() {
    const { user, to, code } = await enroll()
    const confirmed = await accounts.post(path('enroll/confirm'), { code }, user.token)
    expect([confirmed.status, confirmed.json]).toEqual([200, { message: kind.confirmed }])
    const token = await pendingToken(accounts, user.user.email)
    return { user, to, token }
  }

  async function challenged() {
    const prepared = await enrolled()
    const response = await accounts.post(path('challenge'), undefined, prepared.token)
    expect(response.status).toBe(200)
    expect(response.json).toEqual({
      challenge_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      ...(kind.method === 'sms' ? { message: 'verification code sent' } : {}),
    })
    const { challenge_id } = response.json
    return { ...prepared, challenge_id, code: await sentCode(accounts, prepared.to) }
  }

  test('enrol, and verify a sign-in', async () => {
    const { user, token, challenge_id, code } = await challenged()
    const response = await accounts.post(path('verify'), { challenge_id, code }, token)
    expect(response.status).toBe(200)
    expect(claimsOf(response.json.token)).toMatchObject({
      sub: user.user.id,
      aal: 'aal2',
      amr: ['password', kind.method],
    })
    expect(envelope(await accounts.post(path('verify'), { challenge_id, code }, token))).toEqual({
      code: 409,
      message: 'challenge already verified',
      error: 'challenge_used',
    })
    expect(
      envelope(await accounts.post(path('enroll'), (await kind.prepare()).enrollBody, response.json.token)),
    ).toEqual(kind.enrolled)
  })

  test('are listed masked', async () => {
    const { to, token } = await enrolled()
    const { factors } = (await accounts.app.request('GET', '/api/auth/mfa/factors', { token })).json
    const masked =
      kind.method === 'sms' ? `+${'*'.repeat(to.length - 5)}${to.slice(-4)}` : `${to[0]}***@example.com`
    const label = kind.method === 'sms' ? `SMS (${masked})` : `Email (${masked})`
    const where = kind.method === 'sms' ? { phone: masked } : { email: masked }
    expect(factors).toEqual([{ id: expect.any(String), method: kind.method, label, ...where }])
  })

  test('work once for ten concurrent requests on two nodes', async () => {
    const { token, challenge_id, code } = await challenged()
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        (index % 2 ? other : accounts.app).request('POST', `/api/auth/${path('verify')}`, {
          token,
          body: { challenge_id, code },
        }),
      ),
    )
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(responses.filter(({ status }) => ![200, 401, 409].includes(status))).toEqual([])
  })

  test('are void after too many attempts, even right ones', async () => {
    const { token, challenge_id, code } = await challenged()
    for (let tries = 0; tries < kind.tries; tries += 1) {
      expect(
        envelope(await accounts.post(path('verify'), { challenge_id, code: wrong(code) }, token)),
      ).toEqual(kind.wrongCode)
    }
    expect(envelope(await accounts.post(path('verify'), { challenge_id, code }, token))).toEqual(
      kind.wrongCode,
    )
  })

  test('allow no more attempts to concurrent requests', async () => {
    const { token, challenge_id, code } = await challenged()
    await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        (index % 2 ? other : accounts.app).request('POST', `/api/auth/${path('verify')}`, {
          token,
          body: { challenge_id, code: wrong(code) },
        }),
      ),
    )
    expect(
      await accounts.app.sql('select attempts from basalt.mfa_challenges where id = $1', [challenge_id]),
    ).toEqual([{ attempts: kind.tries }])
  })

  test('expire, at verification and at enrolment', async () => {
    const { token, challenge_id, code } = await challenged()
    await accounts.app.sql('update basalt.mfa_challenges set expires_at = now() where id = $1', [
      challenge_id,
    ])
    expect(envelope(await accounts.post(path('verify'), { challenge_id, code }, token))).toEqual(kind.expired)
    const enrolment = await enroll()
    await accounts.app.sql('update basalt.mfa_challenges set expires_at = now() where user_id = $1', [
      enrolment.user.user.id,
    ])
    expect(
      envelope(await accounts.post(path('enroll/confirm'), { code: enrolment.code }, enrolment.user.token)),
    ).toEqual(kind.expired)
  })

  test('are bound to user and purpose', async () => {
    const mine = await challenged()
    const theirs = await challenged()
    for (const challenge_id of [theirs.challenge_id, 'nonsense']) {
      expect(
        envelope(await accounts.post(path('verify'), { challenge_id, code: theirs.code }, mine.token)),
      ).toEqual({
        code: 404,
        message: 'challenge not found or expired',
        error: 'challenge_not_found',
      })
    }
    const enrolment = await enroll()
    const [row] = await accounts.app.sql(
      "select id from basalt.mfa_challenges where user_id = $1 and purpose = 'enroll'",
      [enrolment.user.user.id],
    )
    expect(
      (await accounts.post(path('verify'), { challenge_id: row?.id, code: enrolment.code }, mine.token))
        .status,
    ).toBe(404)
  })

  test('are stored only as hashes, and no job holds one', async () => {
    const { code, challenge_id } = await challenged()
    const dump = JSON.stringify([
      await accounts.app.sql("select *, encode(code_hash, 'hex') from basalt.mfa_challenges where id = $1", [
        challenge_id,
      ]),
      await accounts.app.sql(
        "select payload, last_error from basalt.jobs where payload->>'challengeId' = $1",
        [challenge_id],
      ),
    ])
    expect(dump.replace(challenge_id, '')).not.toContain(`"${code}"`)
  })

  test('require a pending enrolment, a factor, and a code', async () => {
    const { user } = await kind.prepare()
    expect(envelope(await accounts.post(path('enroll/confirm'), { code: '123456' }, user.token))).toEqual(
      kind.noEnrollment,
    )
    expect(envelope(await accounts.post(path('enroll/confirm'), {}, user.token))).toEqual({
      code: 400,
      message: 'code is required',
      error: 'field_required',
    })
    const { token } = await enrolled()
    const another = kind.method === 'email' ? kinds[1] : kinds[0]
    expect(envelope(await accounts.post(`mfa/${another?.method}/challenge`, undefined, token))).toEqual(
      another?.noFactor,
    )
    expect(envelope(await accounts.post(path('verify'), { challenge_id: 'x' }, token))).toMatchObject({
      message: 'code is required',
    })
  })
})

describe('MFA codes by email', () => {
  test('are sent three times in ten minutes', async () => {
    const user = await accounts.register()
    await accounts.inbox.take(user.user.email)
    for (let times = 0; times < 3; times += 1) {
      expect((await accounts.post('mfa/email/enroll', undefined, user.token)).status).toBe(200)
    }
    const refused = await accounts.post('mfa/email/enroll', undefined, user.token)
    expect(envelope(refused)).toEqual({
      code: 429,
      message: 'too many email challenges, try again later',
      error: 'too_many_email_challenges',
    })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(500)
  })

  test('require an address', async () => {
    const phone = '+15005550006'
    await accounts.post('sms', { phone })
    const { token } = (await accounts.post('sms/confirm', { phone, code: '123456' })).json
    expect(envelope(await accounts.post('mfa/email/enroll', undefined, token))).toEqual({
      code: 400,
      message: 'the account has no email',
      error: 'email_for_mfa_missing',
    })
  })
})

describe('MFA codes by SMS', () => {
  let token = ''
  beforeEach(async () => {
    token = (await accounts.register()).token
  })

  test.each([
    [{}, 'phone is required'],
    [{ phone: 'nonsense' }, 'invalid phone number format'],
    [{ phone: '+49 30 901820' }, 'invalid phone number format'],
    [{ phone: '+1 900 234 5678' }, 'invalid phone number format'],
  ])('reject %j', async (body, message) => {
    expect(envelope(await accounts.post('mfa/sms/enroll', body, token))).toMatchObject({ code: 400, message })
  })

  test('are sent to an unconfirmed number a few times an hour, over all accounts', async () => {
    const users = await Promise.all(Array.from({ length: 7 }, () => accounts.register()))
    const responses = await Promise.all(
      users.map((user) => accounts.post('mfa/sms/enroll', { phone: '+12025559099' }, user.token)),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([...Array(5).fill(200), 429, 429])
    const refused = responses.find(({ status }) => status === 429)
    expect(refused?.json.error).toBe('too_many_sms_challenges')
    const tests = await Promise.all(
      users.map((user) => accounts.post('mfa/sms/enroll', { phone: '+15005550006' }, user.token)),
    )
    // Nothing is sent to a test number.
    expect(tests.map(({ status }) => status)).toEqual(Array(7).fill(200))
  })

  test('are confirmed only with the phone they were sent to, if it is repeated', async () => {
    await accounts.post('mfa/sms/enroll', { phone: '+12025559001' }, token)
    const code = await sentCode(accounts, '+12025559001')
    expect(
      (await accounts.post('mfa/sms/enroll/confirm', { phone: '+12025559002', code }, token)).status,
    ).toBe(404)
    expect(
      (await accounts.post('mfa/sms/enroll/confirm', { phone: '+1 (202) 555-9001', code }, token)).status,
    ).toBe(200)
  })

  test('are verified without a challenge id', async () => {
    const { user, token: bearer } = await accounts.register()
    await accounts.post('mfa/sms/enroll', { phone: '+15005550006' }, bearer)
    await expect
      .poll(async () => (await accounts.post('mfa/sms/enroll/confirm', { code: '123456' }, bearer)).status)
      .toBe(200)
    const pending = await pendingToken(accounts, user.email)
    await accounts.post('mfa/sms/challenge', undefined, pending)
    await expect
      .poll(async () => (await accounts.post('mfa/sms/verify', { code: '123456' }, pending)).status)
      .toBe(200)
  })

  test('differ from the codes of a sign-in', async () => {
    const phone = '+12025559003'
    await accounts.post('mfa/sms/enroll', { phone }, token)
    const mfaCode = await sentCode(accounts, phone)
    await accounts.post('sms', { phone })
    const signInCode = await sentCode(accounts, phone)
    if (mfaCode !== signInCode) {
      expect((await accounts.post('sms/confirm', { phone, code: mfaCode })).status).toBe(401)
      expect((await accounts.post('mfa/sms/enroll/confirm', { code: signInCode }, token)).status).toBe(401)
    }
    expect((await accounts.post('mfa/sms/enroll/confirm', { code: mfaCode }, token)).status).toBe(200)
  })
})
