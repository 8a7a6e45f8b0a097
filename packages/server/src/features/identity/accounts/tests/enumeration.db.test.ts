import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { insertUser } from '../../../../../test/account-nodes.ts'
import { type AccountsApp, createAccountsApp, goodPassword, newEmail } from '../../../../../test/accounts.ts'
import { openReceiver, type Receiver } from '../../../../../test/mail-receiver.ts'
import type { TestResponse } from '../../../../../test/test-app.ts'

/** Mail server that responds slowly, so that waiting for it would show. */
let receiver: Receiver
let accounts: AccountsApp
beforeAll(async () => {
  receiver = await openReceiver({ delayMs: 250 })
  accounts = await createAccountsApp({
    hashesAtFullCost: true,
    config: {
      'email.webhook.url': receiver.url,
      'auth.sms_webhook_url': receiver.url,
      'auth.limits.login_failures': '100000',
      'auth.limits.mails_per_hour': '10000',
      'auth.limits.sms_per_hour': '1000',
    },
  })
})
afterAll(async () => {
  await accounts[Symbol.asyncDispose]()
  await receiver[Symbol.asyncDispose]()
})

// Hashing hundreds of passwords is slow on a busy machine.
vi.setConfig({ testTimeout: 120_000 })

type SendRequest = () => Promise<TestResponse>
const rounds = 20

/** Returns everything that a caller sees of a response, except its duration. */
function visible({ status, text, headers }: TestResponse): string {
  const own = ['date', 'x-request-id', 'connection', 'keep-alive']
  const rest = [...headers].filter(([name]) => !own.includes(name))
  return JSON.stringify({ status, text, rest })
}

interface Comparison {
  /** Distinct responses. */
  readonly responses: ReadonlySet<string>
  /** Ratio of the slowest lower quartile to the fastest. Other load on the machine affects it less than the median. */
  readonly ratio: number
}

/** Sends each request in turn, again and again, so that other load on the machine affects all alike. */
async function compare(requests: readonly SendRequest[]): Promise<Comparison> {
  const times = requests.map((): number[] => [])
  const responses = new Set<string>()
  for (const send of requests) await send()
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, send] of requests.entries()) {
      const begunAt = performance.now()
      const response = await send()
      times[index]?.push(performance.now() - begunAt)
      responses.add(visible(response))
    }
  }
  const quartiles = times.map((each) => each.sort((a, b) => a - b)[rounds / 4] ?? 0)
  return { responses, ratio: Math.max(...quartiles) / Math.min(...quartiles) }
}

/**
 * Tolerated ratio. Work that only one case does, such as a hash or a mail, takes at least ten times as long
 * as the rest.
 */
const band = 3

async function expectAlike(requests: readonly SendRequest[]): Promise<TestResponse> {
  const { responses, ratio } = await compare(requests)
  expect([...responses]).toHaveLength(1)
  expect(ratio).toBeLessThan(band)
  const [answer] = responses
  return JSON.parse(answer ?? '')
}

const users = async (change: string, password?: string) => {
  const user = await insertUser(accounts.app, password === undefined ? {} : { password })
  await accounts.app.sql(`update basalt.users set ${change} where id = $1`, [user.id])
  return user.email
}

describe('POST /api/auth/login › account enumeration', () => {
  test('responds alike to an unknown address, a wrong password and a disabled account', async () => {
    const cases: readonly [string, string][] = [
      [newEmail(), goodPassword],
      [await users('email_verified_at = now()', goodPassword), 'a wrong password'],
      [await users('disabled_at = now()', goodPassword), goodPassword],
    ]
    const requests = cases.map(
      ([email, password]) =>
        () =>
          accounts.post('login', { email, password }),
    )
    expect(await expectAlike(requests)).toMatchObject({ status: 401 })
  })
})

describe('POST /api/auth/register › account enumeration', () => {
  test('takes equally long for an existing address, which it must report', async () => {
    const existing = await users('email_verified_at = now()')
    const { responses, ratio } = await compare([
      () => accounts.post('register', { email: existing, password: goodPassword }),
      async () => {
        const response = await accounts.post('register', { email: newEmail(), password: goodPassword })
        return { ...response, text: '', headers: new Headers() }
      },
    ])
    expect([...responses].map((answer) => JSON.parse(answer).status).sort()).toEqual([201, 409])
    expect(ratio).toBeLessThan(band)
  })
})

describe.each(['password-reset', 'magic-link'])('POST /api/auth/%s › account enumeration', (path) => {
  test('responds alike for every kind of account and for none', async () => {
    const emails = [
      newEmail(),
      await users('email_verified_at = now()', goodPassword),
      await users('email_verified_at = null', goodPassword),
      await users('disabled_at = now()'),
    ]
    expect(await expectAlike(emails.map((email) => () => accounts.post(path, { email })))).toMatchObject({
      status: 200,
    })
  })
})

describe('POST /api/auth/sms › account enumeration', () => {
  const [known, unknown, disabled] = ['+12025550170', '+12025550171', '+12025550172']
  beforeAll(async () => {
    await accounts.app.sql('insert into basalt.users (phone, disabled_at) values ($1, null), ($2, now())', [
      known,
      disabled,
    ])
  })

  test('responds alike whether or not the number has an account', async () => {
    const requests = [known, unknown, disabled].map((phone) => () => accounts.post('sms', { phone }))
    expect(await expectAlike(requests)).toMatchObject({ status: 200 })
  })

  test('responds alike to a number without messages and to a text that is not a number', async () => {
    const responses = new Set<string>()
    for (const phone of [known, '+4915112345678', '+1', 'not a number', '\u0000', '+١٢٠٢٥٥٥٠١٧٠']) {
      responses.add(visible(await accounts.post('sms', { phone })))
    }
    expect([...responses]).toHaveLength(1)
  })

  test('responds alike to a wrong code, whether or not a code was sent', async () => {
    const requests = [known, unknown, '+12025550179', 'not a number'].map(
      (phone) => () => accounts.post('sms/confirm', { phone, code: '000000' }),
    )
    const responses = new Set<string>()
    for (const send of requests) responses.add(visible(await send()))
    expect([...responses].map((answer) => JSON.parse(answer).status)).toEqual([401])
  })
})
