import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createApiKey } from '../../../../../test/api-keys.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { signTwilio } from '../../../../../test/sms-callbacks.ts'
import { smsSettings } from '../../../../../test/sms-config.ts'
import { json, type SmsStandIn, startSmsStandIn } from '../../../../../test/sms-stand-in.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { StoredSms } from '../index.ts'

const to = '+14155550132'
const carol = '33333333-3333-4333-8333-333333333333'
const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/)

let twilio: SmsStandIn
let app: TestApp
let admin: string
let sent = 0
beforeAll(async () => {
  twilio = await startSmsStandIn()
  app = await createTestApp({
    config: {
      ...smsSettings('twilio', twilio.url),
      'auth.sms_enabled': 'true',
      'auth.limits.sms_messages_per_hour': '3',
      'auth.sms_allowed_countries': 'US,CA,GB',
      'sms.policy.senders': 'users',
      'sms.policy.messages_per_number_and_day': '5',
      'sms.policy.messages_per_day': '6',
      'auth.sms_status_url': 'https://api.example.com/api/webhooks/sms/status',
    },
  })
  await app.sql('insert into basalt.users (id) values ($1), ($2), ($3)', [alice, bob, carol])
  admin = await app.adminToken()
})
beforeEach(async () => {
  twilio.answerWith((...exchange) => json(201, { sid: `SM${++sent}` })(...exchange))
  await app.sql('truncate basalt.sms_messages')
  await app.sql('truncate basalt.attempts')
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  await twilio[Symbol.asyncDispose]()
})

const asAdmin = (method: string, path: string, body?: unknown) =>
  app.request(method, `/api/admin/sms${path}`, { token: admin, body })
const as = (user: string, method: string, path: string, body?: unknown) =>
  app.request(method, `/api/messaging/sms${path}`, { token: userToken({ sub: user }), body })

const invalid: [string, object, string, string][] = [
  ['no number', { body: 'Hi' }, 'missing_sms_field', 'to is required'],
  ['a blank number', { to: ' ', body: 'Hi' }, 'missing_sms_field', 'to is required'],
  ['no phone number', { to: '12', body: 'Hi' }, 'invalid_phone_number', 'invalid phone number'],
  [
    'a number of another country',
    { to: '+4915112345678', body: 'Hi' },
    'phone_country_not_allowed',
    'phone number country not allowed',
  ],
  [
    'a premium number',
    { to: '+1 900 234 5678', body: 'Hi' },
    'premium_number_not_allowed',
    'premium phone number not allowed',
  ],
  ['no body', { to }, 'missing_sms_field', 'body is required'],
  ['a blank body', { to, body: ' \n' }, 'missing_sms_field', 'body is required'],
  ['a long body', { to, body: 'x'.repeat(1601) }, 'sms_body_too_long', 'body exceeds maximum length'],
  ['NUL in the body', { to, body: 'a\0b' }, 'invalid_sms_body', 'body: expected Unicode text without NUL'],
  [
    'half a surrogate pair in the body',
    { to, body: 'a\ud800' },
    'invalid_sms_body',
    'body: expected Unicode text without NUL',
  ],
]

describe('POST /api/admin/sms/send', () => {
  test('sends, stores and audits a message', async () => {
    const response = await asAdmin('POST', '/send', { to: '+1 (415) 555-0132', body: 'Your order 123456' })
    expect(response.status).toBe(200)
    expect(response.json).toEqual({ id: uuid, message_id: `SM${sent}`, status: 'accepted', to })
    const form = new URLSearchParams(twilio.onlyRequest().body)
    expect(form.get('StatusCallback')).toBe('https://api.example.com/api/webhooks/sms/status')
    expect((await asAdmin('GET', '/messages')).json).toEqual({
      items: [
        {
          id: response.json.id,
          user_id: null,
          to,
          body: 'Your order 123456',
          provider: 'twilio',
          message_id: `SM${sent}`,
          status: 'accepted',
          error_message: null,
          created_at: timestamp,
          updated_at: timestamp,
        },
      ],
      page: 1,
      perPage: 50,
      totalItems: 1,
      totalPages: 1,
    })
    const audit = await app.sql("select actor, target from basalt.audit where action = 'sms.send'")
    expect(audit).toEqual([{ actor: 'admin', target: to }])
  })

  test('accepts 1600 characters, counted as characters', async () => {
    expect((await asAdmin('POST', '/send', { to, body: '😀'.repeat(1600) })).status).toBe(200)
  })

  test.each(invalid)('is rejected with %s', async (_case, body, error, message) => {
    const response = await asAdmin('POST', '/send', body)
    expect(envelope(response)).toEqual({ code: 400, error, message })
    expect(twilio.requests).toEqual([])
    expect((await asAdmin('GET', '/messages')).json.items).toEqual([])
  })

  test("returns the provider's reason without number or keys, and stores the failure", async () => {
    twilio.answerWith(json(400, { code: 21211, message: `The number ${to} is unknown` }))
    const response = await asAdmin('POST', '/send', { to, body: 'Hi' })
    const reason = 'twilio refused the message: HTTP 400: 21211 The number [redacted] is unknown'
    expect(response.status).toBe(500)
    expect(response.json).toMatchObject({
      error: 'sms_not_sent',
      message: 'failed to send text message',
      data: { reason },
    })
    expect((await asAdmin('GET', '/messages')).json.items).toMatchObject([
      { status: 'failed', message_id: null, error_message: reason },
    ])
  })

  test('returns 404 while text messages are disabled, and works again once they are enabled', async () => {
    const set = async (isOn: boolean) =>
      await app.request('PATCH', '/api/admin/auth-settings', { token: admin, body: { sms_enabled: isOn } })
    await set(false)
    const expected = { code: 404, error: 'sms_not_enabled', message: 'SMS is not enabled' }
    expect(envelope(await asAdmin('POST', '/send', { to, body: 'Hi' }))).toEqual(expected)
    expect(envelope(await as(alice, 'POST', '/send', { to, body: 'Hi' }))).toEqual(expected)
    await set(true)
    expect((await asAdmin('POST', '/send', { to, body: 'Hi' })).status).toBe(200)
  })
})

describe('sms › status callbacks › before the response of the provider', () => {
  test('advance the message once it is known, and ignore other messages', async () => {
    const report = async (MessageSid: string, MessageStatus: string) => {
      const body = new URLSearchParams({ MessageSid, MessageStatus }).toString()
      const url = 'https://api.example.com/api/webhooks/sms/status'
      const headers = signTwilio(smsSettings('twilio')['auth.twilio_token'] ?? '', url, body)
      const response = await app.request('POST', '/api/webhooks/sms/status', { body, headers })
      expect(response.status).toBe(200)
    }
    twilio.answerWith((response, request) => {
      const reports = [
        report('SM-early', 'delivered'),
        report('SM-early', 'sent'),
        report('SM-other', 'failed'),
      ]
      void Promise.all(reports).then(() => json(201, { sid: 'SM-early' })(response, request))
    })
    expect((await asAdmin('POST', '/send', { to, body: 'Hi' })).status).toBe(200)
    expect((await asAdmin('GET', '/messages')).json.items).toMatchObject([
      { message_id: 'SM-early', status: 'delivered', error_message: null },
    ])
    expect(await app.sql('select message_id from basalt.sms_early_reports')).toEqual([
      { message_id: 'SM-other' },
    ])
  })
})

describe('GET /api/admin/sms/messages', () => {
  test('returns pages of 50, at most 200, the newest first', async () => {
    await app.sql(`insert into basalt.sms_messages (recipient, body, provider, created_at)
      select '${to}', n::text, 'twilio', now() - n * interval '1 second' from generate_series(1, 260) n`)
    const { items, ...page } = (await asAdmin('GET', '/messages?page=2')).json
    expect(page).toEqual({ page: 2, perPage: 50, totalItems: 260, totalPages: 6 })
    expect(items.map(({ body }: { body: string }) => body)).toEqual(
      Array.from({ length: 50 }, (_, index) => String(index + 51)),
    )
    const wide = (await asAdmin('GET', '/messages?perPage=1000')).json
    expect([wide.perPage, wide.items.length, wide.totalPages]).toEqual([200, 200, 2])
    expect((await asAdmin('GET', '/messages?perPage=0')).json.perPage).toBe(1)
  })
})

describe('GET /api/admin/sms/health', () => {
  test('is zero without messages', async () => {
    const none = { sent: 0, confirmed: 0, failed: 0, conversion_rate: 0 }
    expect((await asAdmin('GET', '/health')).json).toEqual({ today: none, last_7d: none, last_30d: none })
  })

  test('counts by period and warns of a low rate today', async () => {
    await app.sql(`insert into basalt.sms_messages (recipient, body, provider, message_id, status, created_at)
      select '${to}', '', 'twilio', 'S' || n, case when n = 1 then 'failed' else 'sent' end, now()
      from generate_series(1, 3) n
      union all select '${to}', '', 'twilio', 'W', 'delivered', now() - interval '6 days'
      union all select '${to}', '', 'twilio', 'M', 'undelivered', now() - interval '29 days'
      union all select '${to}', '', 'twilio', 'O', 'delivered', now() - interval '31 days'`)
    expect((await asAdmin('GET', '/health')).json).toEqual({
      today: { sent: 3, confirmed: 0, failed: 1, conversion_rate: 0 },
      last_7d: { sent: 4, confirmed: 1, failed: 1, conversion_rate: 25 },
      last_30d: { sent: 5, confirmed: 1, failed: 2, conversion_rate: 20 },
      warning: 'low conversion rate',
    })
  })
})

describe('sms › messages of a user', () => {
  test('are sent and listed, only for the caller', async () => {
    const response = await as(alice, 'POST', '/send', { to, body: 'Dinner at 1930?' })
    expect(response.status).toBe(201)
    expect(response.json).toEqual({
      id: uuid,
      user_id: alice,
      to,
      body: 'Dinner at 1930?',
      provider: 'twilio',
      message_id: `SM${sent}`,
      status: 'accepted',
      error_message: null,
      created_at: timestamp,
      updated_at: timestamp,
    })
    const { id } = response.json
    expect((await as(alice, 'GET', '/messages')).json).toEqual([response.json])
    expect((await as(alice, 'GET', `/messages/${id}`)).json).toEqual(response.json)
    expect((await as(bob, 'GET', '/messages')).json).toEqual([])
    const missing = { code: 404, error: 'sms_message_not_found', message: 'message not found' }
    expect(envelope(await as(bob, 'GET', `/messages/${id}`))).toEqual(missing)
    expect(envelope(await as(alice, 'GET', '/messages/x'))).toEqual(missing)
  })

  test.each(invalid)('are rejected with %s', async (_case, body, error, message) => {
    expect(envelope(await as(alice, 'POST', '/send', body))).toEqual({ code: 400, error, message })
  })

  test('are refused to anonymous users, who cost nothing to create', async () => {
    const token = userToken({ sub: alice, amr: ['anonymous'], is_anonymous: true })
    const body = { to, body: 'Hi' }
    expect(envelope(await app.request('POST', '/api/messaging/sms/send', { token, body }))).toEqual({
      code: 403,
      error: 'sms_sender_not_permitted',
      message: 'sending text messages is not permitted',
    })
    expect(twilio.requests).toHaveLength(0)
  })

  test('are limited: of ten concurrent ones the quota is sent', async () => {
    const responses = await Promise.all(
      Array.from({ length: 10 }, () => as(alice, 'POST', '/send', { to, body: 'Hi' })),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([201, 201, 201, ...Array(7).fill(429)])
    const refused = responses.find(({ status }) => status === 429)
    expect(refused?.json.message).toBe('too many text messages')
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(twilio.requests).toHaveLength(3)
  })

  test('are limited by user with any credential, by number and by day', async () => {
    const send = async (token: string, number: string) =>
      (await app.request('POST', '/api/messaging/sms/send', { token, body: { to: number, body: 'Hi' } }))
        .status
    const keys = await Promise.all(
      [1, 2].map(() => createApiKey(app, { userId: alice, scope: 'readonly', actions: ['sms:send'] })),
    )
    const tokens = [userToken({ sub: alice }), ...keys.map(({ key }) => key)]
    expect(await Promise.all(tokens.map((token) => send(token, to)))).toEqual([201, 201, 201])
    for (const token of tokens) expect(await send(token, to)).toBe(429)
    const other = userToken({ sub: bob })
    expect([await send(other, to), await send(other, to), await send(other, to)]).toEqual([201, 201, 429])
    const { key: ofCarol } = await createApiKey(app, { userId: carol, actions: ['sms:send'] })
    expect(await send(ofCarol, '+14155550133')).toBe(201)
    expect(await send(ofCarol, '+14155550134')).toBe(429)
    expect(twilio.requests).toHaveLength(6)
  })

  test("reveal nothing of the provider's response", async () => {
    twilio.answerWith(json(400, { code: 21211, message: 'The account AC123 is suspended' }))
    const response = await as(alice, 'POST', '/send', { to, body: 'Hi' })
    expect(envelope(response)).toEqual({
      code: 500,
      error: 'sms_not_sent',
      message: 'failed to send text message',
    })
    const listed = await as(alice, 'GET', '/messages')
    expect(listed.json).toMatchObject([
      { status: 'failed', error_message: 'the message was not delivered', message_id: null },
    ])
    const one = await as(alice, 'GET', `/messages/${listed.json[0].id}`)
    for (const { text } of [response, listed, one]) expect(text).not.toContain('suspended')
  })

  test('are sent only by API keys with the action by default', async () => {
    const config = { ...smsSettings('twilio', twilio.url), 'auth.sms_enabled': 'true' }
    await using usual = await createTestApp({ config, database: app.database })
    await using none = await createTestApp({
      config: { ...config, 'sms.policy.senders': 'none' },
      database: app.database,
    })
    const acting = await createApiKey(app, { userId: alice, actions: ['sms:send'] })
    const plain = await createApiKey(app, { userId: alice, actions: ['email:send'] })
    const send = async (node: TestApp, token: string) => {
      const response = await node.request('POST', '/api/messaging/sms/send', {
        token,
        body: { to, body: 'Hi' },
      })
      return [response.status, response.json.error]
    }
    const notPermitted = [403, 'sms_sender_not_permitted']
    expect(await send(usual, userToken({ sub: alice }))).toEqual(notPermitted)
    expect(await send(usual, plain.key)).toEqual([403, 'insufficient_scope'])
    expect(await send(usual, acting.key)).toEqual([201, undefined])
    expect(await send(none, acting.key)).toEqual(notPermitted)
    expect(twilio.requests).toHaveLength(1)
  })
})

describe('sms › codes', () => {
  test('are not sent to a premium number, which the response does not reveal', async () => {
    for (const phone of ['+19002345678', '+447012345678']) {
      const response = await app.request('POST', '/api/auth/sms', { body: { phone } })
      expect([response.status, response.json]).toEqual([
        200,
        { message: 'if valid, a verification code has been sent' },
      ])
    }
    expect(await app.sql(`select 1 from basalt.jobs where type = 'accounts.send_sms_code'`)).toEqual([])
  })

  test('are sent but not stored', async () => {
    await app.request('POST', '/api/auth/sms', { body: { phone: to } })
    const [message] = await waitFor('the message', async () => {
      const { items } = (await asAdmin('GET', '/messages')).json
      return items[0]?.status === 'accepted' ? items : undefined
    })
    expect(message).toMatchObject({ to, body: 'Your code is: [redacted]', message_id: `SM${sent}` })
    expect(new URLSearchParams(twilio.onlyRequest().body).get('Body')).toMatch(/^Your code is: \d{6}$/)
  })

  test('are not sent again after a crash when the provider has accepted them', async () => {
    const messages = new StoredSms({
      database: app.app.database.system,
      providerName: 'twilio',
      provider: { send: async () => ({ messageId: `SM${++sent}` }) },
    })
    const code = { to, body: 'Your code is: 482913' }
    // The job runs again when the process stopped before its end was stored.
    const first = await messages.codes.send(code, { id: 'job-1' })
    const again = await messages.codes.send(code, { id: 'job-1' })
    expect([first.messageId, again.messageId]).toEqual([`SM${sent}`, undefined])
    expect(await app.sql('select status from basalt.sms_messages')).toEqual([{ status: 'accepted' }])
  })

  test('are sent by the next attempt when the provider did not accept them', async () => {
    twilio.answerWith(json(503, {}))
    await app.request('POST', '/api/auth/sms', { body: { phone: to } })
    await waitFor('the failure', async () => {
      const [row] = await app.sql<{ status: string }>('select status from basalt.sms_messages')
      return row?.status === 'failed' ? true : undefined
    })
    twilio.answerWith(json(201, { sid: 'SM-later' }))
    await app.sql("update basalt.jobs set run_at = now() where state = 'queued'")
    const [row] = await waitFor('the second attempt', async () => {
      const rows = await app.sql<{ status: string }>('select * from basalt.sms_messages')
      return rows[0]?.status === 'accepted' ? rows : undefined
    })
    expect(row).toMatchObject({ message_id: 'SM-later', error_message: null })
  })
})
