import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import {
  type AccountNodes,
  createAccountNodes,
  insertUser,
  together,
} from '../../../../../test/account-nodes.ts'
import { goodPassword, newEmail, type SignedIn } from '../../../../../test/accounts.ts'
import { openReceiver, type Received, type Receiver } from '../../../../../test/mail-receiver.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

let receiver: Receiver
let nodes: AccountNodes
beforeAll(async () => {
  receiver = await openReceiver()
  nodes = await createAccountNodes({
    config: {
      'email.webhook.url': receiver.url,
      'auth.sms_webhook_url': receiver.url,
      // A test that waited for a hanging mail would time out.
      'email.webhook.timeout': '120',
      'server.shutdown_timeout': '0',
      // A mail that another node sends again is identical to the letter.
      'auth.site_url': 'https://app.example.com',
    },
  })
})
afterEach(() => receiver.behave({}))
afterAll(async () => {
  // Requests that still hang end here.
  await receiver[Symbol.asyncDispose]()
  await nodes[Symbol.asyncDispose]()
})

interface JobRow {
  readonly state: string
  readonly attempts: number
}
/** Lists the jobs of a recipient. The state `retried` means queued after failed attempts. */
const jobsOf = (to: string) =>
  nodes.sql<JobRow & { id: string }>(
    `select id, case when state = 'queued' and attempts > 0 then 'retried' else state end as state, attempts
     from basalt.jobs where $1 in (payload ->> 'email', payload ->> 'phone')`,
    [to],
  )
const receivedBy = (to: string): readonly Received[] => receiver.received.filter((each) => each.to === to)
const secretIn = ({ text }: Received) => /(?:token=|code is: )(\w+)/.exec(text)?.[1] ?? ''

/** Waits until the only job of a recipient is in this state. */
const waitForState = (to: string, state: string) =>
  waitFor(`the job to be ${state}`, async () => {
    const [job, ...more] = await jobsOf(to)
    return more.length === 0 && job?.state === state && job
  })
/** Makes jobs that wait for a retry due now. */
const makeRetriesDue = () =>
  nodes.sql("update basalt.jobs set run_at = now() where state = 'queued' and attempts > 0")

/** Sends every request that mails something and returns each status and recipient. */
async function requestEveryMail(): Promise<readonly { status: number; to: string }[]> {
  const { first, second } = nodes
  const emails = Array.from({ length: 4 }, newEmail) as [string, string, string, string]
  const [registered, linked, linkless, known] = emails
  await insertUser(nodes, { email: known })
  const guest: SignedIn = (await first.post('anonymous')).json
  const answers = await Promise.all([
    first.post('register', { email: registered, password: goodPassword }),
    second.post('link/email', { email: linked, password: goodPassword }, guest.token),
    first.post('magic-link', { email: linkless }),
    second.post('password-reset', { email: known }),
  ])
  return answers.map(({ status }, index) => ({ status, to: emails[index] ?? '' }))
}

describe('mail faults › while the mail server', () => {
  const faults = {
    'is dead': { begin: () => receiver.die(), end: () => receiver.revive() },
    'responds with 500': {
      begin: async () => receiver.behave({ status: 500 }),
      end: async () => receiver.behave({}),
    },
    'is overloaded': {
      begin: async () => receiver.behave({ status: 429 }),
      end: async () => receiver.behave({}),
    },
  }

  test.each(Object.entries(faults))(
    '%s, requests succeed, and each mail arrives afterwards',
    async (_name, fault) => {
      await fault.begin()
      const responses = await requestEveryMail()
      expect(responses.map(({ status }) => status)).toEqual([201, 200, 200, 200])
      for (const { to } of responses) await waitForState(to, 'retried')
      const before = new Map(responses.map(({ to }) => [to, receivedBy(to)]))
      await fault.end()
      await makeRetriesDue()
      for (const { to } of responses) {
        await waitForState(to, 'completed')
        const [last, ...more] = receivedBy(to).slice(before.get(to)?.length)
        expect(more).toEqual([])
        // A receiver that already has the mail recognizes it by its id and its content.
        for (const earlier of before.get(to) ?? []) expect(earlier).toEqual(last)
      }
      const [{ to = '' } = {}] = responses
      const [mail] = receivedBy(to).slice(-1)
      expect((await nodes.second.post('verify', { token: secretIn(mail as Received) })).status).toBe(200)
    },
  )

  test('hangs, requests succeed', async () => {
    receiver.behave({ hangs: true })
    const responses = await requestEveryMail()
    expect(responses.map(({ status }) => status)).toEqual([201, 200, 200, 200])
    for (const { to } of responses) await waitForState(to, 'running')
    const phone = '+12025550180'
    expect((await nodes.first.post('sms', { phone })).status).toBe(200)
    await waitForState(phone, 'running')
  })
})

describe('mail faults › a message that arrived although sending it failed', () => {
  const arriveOnce = async (to: string, request: () => Promise<{ status: number }>): Promise<string> => {
    receiver.behave({ status: 500 })
    expect((await request()).status).toBe(200)
    await waitForState(to, 'retried')
    receiver.behave({})
    const [message] = receivedBy(to)
    return secretIn(message as Received)
  }
  const tryAgain = async (to: string) => {
    await makeRetriesDue()
    await waitForState(to, 'completed')
  }

  test('does not revive a used link', async () => {
    const email = newEmail()
    const token = await arriveOnce(email, () => nodes.first.post('magic-link', { email }))
    expect((await nodes.second.post('magic-link/confirm', { token })).status).toBe(200)
    await tryAgain(email)
    expect((await nodes.first.post('magic-link/confirm', { token })).status).toBe(400)
    expect(receivedBy(email)).toHaveLength(1)
  })

  test('does not revive a link that a later one replaced', async () => {
    const email = newEmail()
    const token = await arriveOnce(email, () => nodes.first.post('magic-link', { email }))
    expect((await nodes.second.post('magic-link', { email })).status).toBe(200)
    await waitFor('the second mail', () => receivedBy(email).length === 2)
    const later = secretIn(receivedBy(email)[1] as Received)
    await makeRetriesDue()
    await waitFor('both jobs', async () => (await jobsOf(email)).every(({ state }) => state === 'completed'))
    expect((await nodes.first.post('magic-link/confirm', { token })).status).toBe(400)
    expect((await nodes.first.post('magic-link/confirm', { token: later })).status).toBe(200)
  })

  test('does not revive a link that a new password voided', async () => {
    const { email } = await insertUser(nodes)
    const link = await arriveOnce(email, () => nodes.first.post('magic-link', { email }))
    expect((await nodes.first.post('password-reset', { email })).status).toBe(200)
    await waitFor('the second mail', () => receivedBy(email).length === 2)
    const token = secretIn(receivedBy(email)[1] as Received)
    expect((await nodes.first.post('password-reset/confirm', { token, password: goodPassword })).status).toBe(
      200,
    )
    await makeRetriesDue()
    await waitFor('both jobs', async () => (await jobsOf(email)).every(({ state }) => state === 'completed'))
    expect((await nodes.first.post('magic-link/confirm', { token: link })).status).toBe(400)
    expect(receivedBy(email)).toHaveLength(2)
  })

  test('does not revive a used code', async () => {
    const phone = '+12025550181'
    const code = await arriveOnce(phone, () => nodes.first.post('sms', { phone }))
    expect((await nodes.second.post('sms/confirm', { phone, code })).status).toBe(200)
    await tryAgain(phone)
    expect((await nodes.first.post('sms/confirm', { phone, code })).status).toBe(401)
    expect(receivedBy(phone)).toHaveLength(1)
  })

  test('gives a code no further attempts', async () => {
    const phone = '+12025550182'
    const code = await arriveOnce(phone, () => nodes.first.post('sms', { phone }))
    const wrong = code.replace(/.$/, (digit) => String((Number(digit) + 1) % 10))
    for (let miss = 0; miss < 3; miss += 1) {
      expect((await nodes.second.post('sms/confirm', { phone, code: wrong })).status).toBe(401)
    }
    await tryAgain(phone)
    expect((await nodes.first.post('sms/confirm', { phone, code })).status).toBe(401)
  })
})

test('mail faults › a link stays valid while its mail cannot be sent for longer than its lifetime', async () => {
  const email = newEmail()
  receiver.behave({ status: 503 })
  expect((await nodes.first.post('magic-link', { email })).status).toBe(200)
  await waitForState(email, 'retried')
  await nodes.sql('update basalt.mailed_tokens set expires_at = now() where email = $1', [email])
  receiver.behave({})
  await makeRetriesDue()
  await waitForState(email, 'completed')
  const token = secretIn(receivedBy(email).at(-1) as Received)
  expect((await nodes.second.post('magic-link/confirm', { token })).status).toBe(200)
})

test.each([400, 404, 410, 422])(
  'mail faults › a mail that is permanently rejected with %d is not sent again',
  async (status) => {
    const email = newEmail()
    receiver.behave({ status })
    expect((await nodes.first.post('magic-link', { email })).status).toBe(200)
    expect(await waitForState(email, 'failed')).toMatchObject({ attempts: 1 })
    receiver.behave({})
    await makeRetriesDue()
    expect(receivedBy(email)).toHaveLength(1)
    const lines = nodes.both.flatMap(({ app }) => app.log).filter((line) => line.includes('job failed'))
    expect(lines.join()).not.toContain(secretIn(receivedBy(email)[0] as Received))
  },
)

test('mail faults › two nodes send each of many mails once', async () => {
  const emails = Array.from({ length: 40 }, newEmail)
  await together(nodes, 40, (node, index) => node.post('magic-link', { email: emails[index] }))
  await waitFor('the mails', () => emails.every((email) => receivedBy(email).length > 0))
  for (const email of emails) await waitForState(email, 'completed')
  expect(receiver.received.filter(({ to }) => emails.includes(to))).toHaveLength(40)
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBeGreaterThanOrEqual(40)
})

test('mail faults › a payload, a failure and the log contain no secret of a message', async () => {
  const [email, phone] = [newEmail(), '+12025550183']
  receiver.behave({ status: 500 })
  await nodes.first.post('magic-link', { email })
  await nodes.first.post('sms', { phone })
  await waitForState(email, 'retried')
  await waitForState(phone, 'retried')
  const stored = JSON.stringify([
    await nodes.sql('select * from basalt.jobs'),
    await nodes.sql('select * from basalt.mailed_tokens'),
    await nodes.sql("select encode(code_hash, 'hex'), phone from basalt.phone_codes"),
    nodes.both.map(({ app }) => app.log),
  ])
  for (const to of [email, phone]) expect(stored).not.toContain(secretIn(receivedBy(to)[0] as Received))
})
