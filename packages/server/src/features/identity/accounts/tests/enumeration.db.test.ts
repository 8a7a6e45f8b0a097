import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { insertUser } from '../../../../../test/account-nodes.ts'
import { type AccountsApp, createAccountsApp, goodPassword, newEmail } from '../../../../../test/accounts.ts'
import { openReceiver, type Receiver } from '../../../../../test/mail-receiver.ts'
import type { TestResponse } from '../../../../../test/test-app.ts'

/** A mail server that takes its time: a request that waited for it would show. */
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

// Hashing hundreds of passwords takes its time on a busy machine.
vi.setConfig({ testTimeout: 120_000 })

type Ask = () => Promise<TestResponse>
const rounds = 20

/** What a caller can see of a response, but for its time. */
function visible({ status, text, headers }: TestResponse): string {
  const own = ['date', 'x-request-id', 'connection', 'keep-alive']
  const rest = [...headers].filter(([name]) => !own.includes(name))
  return JSON.stringify({ status, text, rest })
}

interface Comparison {
  /** What was answered, without repetitions. */
  readonly answers: ReadonlySet<string>
  /** The slowest median over the fastest. */
  readonly ratio: number
}

/** Asks each in turn, again and again, so that whatever else the machine does meets all alike. */
async function compare(asks: readonly Ask[]): Promise<Comparison> {
  const times = asks.map((): number[] => [])
  const answers = new Set<string>()
  for (const ask of asks) await ask()
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, ask] of asks.entries()) {
      const begunAt = performance.now()
      const response = await ask()
      times[index]?.push(performance.now() - begunAt)
      answers.add(visible(response))
    }
  }
  const medians = times.map((each) => each.sort((a, b) => a - b)[rounds / 2] ?? 0)
  return { answers, ratio: Math.max(...medians) / Math.min(...medians) }
}

/** Work that only one of the cases does, such as a hash or a mail, is ten times all the rest and more. */
const band = 3

async function expectAlike(asks: readonly Ask[]): Promise<TestResponse> {
  const { answers, ratio } = await compare(asks)
  expect([...answers]).toHaveLength(1)
  expect(ratio).toBeLessThan(band)
  const [answer] = answers
  return JSON.parse(answer ?? '')
}

const users = async (change: string, password?: string) => {
  const user = await insertUser(accounts.app, password === undefined ? {} : { password })
  await accounts.app.sql(`update basalt.users set ${change} where id = $1`, [user.id])
  return user.email
}

describe('login answers alike', () => {
  test('unknown address, wrong password and disabled account', async () => {
    const cases: readonly [string, string][] = [
      [newEmail(), goodPassword],
      [await users('email_verified_at = now()', goodPassword), 'a wrong password'],
      [await users('disabled_at = now()', goodPassword), goodPassword],
    ]
    const asks = cases.map(
      ([email, password]) =>
        () =>
          accounts.post('login', { email, password }),
    )
    expect(await expectAlike(asks)).toMatchObject({ status: 401 })
  })
})

describe('register takes as long', () => {
  test('for an address that is taken, which it has to say', async () => {
    const taken = await users('email_verified_at = now()')
    const { answers, ratio } = await compare([
      () => accounts.post('register', { email: taken, password: goodPassword }),
      async () => {
        const response = await accounts.post('register', { email: newEmail(), password: goodPassword })
        return { ...response, text: '', headers: new Headers() }
      },
    ])
    expect([...answers].map((answer) => JSON.parse(answer).status).sort()).toEqual([201, 409])
    expect(ratio).toBeLessThan(band)
  })
})

describe.each(['password-reset', 'magic-link'])('%s answers alike', (path) => {
  test('whether there is an account, and of what kind', async () => {
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

describe('SMS sign-in answers alike', () => {
  const [known, unknown, disabled] = ['+12025550170', '+12025550171', '+12025550172']
  beforeAll(async () => {
    await accounts.app.sql('insert into basalt.users (phone, disabled_at) values ($1, null), ($2, now())', [
      known,
      disabled,
    ])
  })

  test('whether the number has an account', async () => {
    const asks = [known, unknown, disabled].map((phone) => () => accounts.post('sms', { phone }))
    expect(await expectAlike(asks)).toMatchObject({ status: 200 })
  })

  test('a number that gets nothing, and a text that is none', async () => {
    const answers = new Set<string>()
    for (const phone of [known, '+4915112345678', '+1', 'not a number', '\u0000', '+١٢٠٢٥٥٥٠١٧٠']) {
      answers.add(visible(await accounts.post('sms', { phone })))
    }
    expect([...answers]).toHaveLength(1)
  })

  test('a wrong code, whether one was sent or not', async () => {
    const asks = [known, unknown, '+12025550179', 'not a number'].map(
      (phone) => () => accounts.post('sms/confirm', { phone, code: '000000' }),
    )
    const answers = new Set<string>()
    for (const ask of asks) answers.add(visible(await ask()))
    expect([...answers].map((answer) => JSON.parse(answer).status)).toEqual([401])
  })
})
