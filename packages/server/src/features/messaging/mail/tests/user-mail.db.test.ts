import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createApiKey } from '../../../../../test/api-keys.ts'
import { alice } from '../../../../../test/fixtures.ts'
import { type Inbox, openInbox } from '../../../../../test/inbox.ts'
import { openMailServer } from '../../../../../test/mail-server.ts'
import { createClient, requestToken } from '../../../../../test/oauth.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

const path = '/api/email/send'
const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/)
const mail = { to: 'ben@example.com', subject: 'Hi Ben', text: 'Dinner at <seven>?' }

let inbox: Inbox
let app: TestApp
let other: TestApp
let admin: string
/** User of this test only. */
let ann: string
const config = () => ({
  'auth.oauth_provider.enabled': 'true',
  'email.backend': 'webhook',
  'email.webhook.url': inbox.url,
  'email.from': 'Shop <shop@example.com>',
  'email.policy.allowed_from_addresses': 'orders@example.com',
  'email.policy.max_recipients_per_request': '5',
  'email.policy.send_rate_limit_per_key': '8',
})
beforeAll(async () => {
  inbox = await openInbox()
  app = await createTestApp({ config: config() })
  other = await createTestApp({ config: config(), database: app.database })
  admin = await app.adminToken()
})
beforeEach(async () => {
  inbox.answer(200)
  ann = randomUUID()
  await app.sql('insert into basalt.users (id) values ($1)', [ann])
})
afterAll(async () => {
  await other[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
  await inbox[Symbol.asyncDispose]()
})

const as = (user: string, body: unknown, node = app) =>
  node.request('POST', path, { token: userToken({ sub: user }), body })
const log = async (user = ann) =>
  (await app.request('GET', `/api/admin/email/sent?user_id=${user}`, { token: admin })).json

describe('POST /api/email/send', () => {
  test('accepts a program that acts for no user, and counts its mail for its app', async () => {
    await app.sql('insert into basalt.users (id) values ($1)', [alice])
    const send = async () => {
      const { clientId, clientSecret } = await createClient(app, { scopes: ['*', 'email:send'] })
      const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }
      const { json } = await requestToken(app, { ...form, scope: 'readonly email:send' })
      const to = Array.from({ length: 5 }, (_, index) => `${index}@example.com`)
      return await app.request('POST', path, { token: json.access_token, body: { ...mail, to } })
    }
    for (const sent of [await send(), await send()]) {
      expect([sent.status, sent.json]).toEqual([200, { sent: 5, failed: 0, errors: [] }])
    }
    const [row] = await app.sql(`select user_id from basalt.sent_mails where recipient = '4@example.com'`)
    expect(row).toEqual({ user_id: null })
  })

  test('sends a text, and logs it', async () => {
    const response = await as(ann, mail)
    expect([response.status, response.json]).toEqual([200, { sent: 1, failed: 0, errors: [] }])
    expect(await inbox.take('ben@example.com')).toEqual({
      to: 'ben@example.com',
      subject: 'Hi Ben',
      text: 'Dinner at <seven>?',
      html: '<p>Dinner at &#60;seven&#62;?</p>',
      from: 'Shop <shop@example.com>',
    })
    expect(await log()).toEqual({
      items: [
        {
          id: uuid,
          user_id: ann,
          api_key_id: null,
          from: 'Shop <shop@example.com>',
          to: 'ben@example.com',
          subject: 'Hi Ben',
          template_key: null,
          status: 'sent',
          error_message: null,
          created_at: timestamp,
        },
      ],
      count: 1,
      limit: 50,
      offset: 0,
    })
  })

  test('sends each of several recipients a mail of its own, each once', async () => {
    const html = '<p>Dinner at <b>seven</b>?</p>'
    const to = ['b1@example.com', 'b2@example.com', ' B1@Example.COM ']
    expect((await as(ann, { to, subject: 'Hi', html })).json).toEqual({ sent: 2, failed: 0, errors: [] })
    expect(await inbox.take('b1@example.com')).toMatchObject({ html, text: 'Dinner at seven?' })
    expect(await inbox.take('b2@example.com')).toMatchObject({ html, text: 'Dinner at seven?' })
  })

  test('sends a template with its variables', async () => {
    await app.request('PUT', '/api/admin/email/templates/shop.shipped', {
      token: admin,
      body: { subjectTemplate: 'Order {{.No}}', htmlTemplate: '<p>{{.AppName}}: order {{.No}}</p>' },
    })
    const body = { to: 'ben@example.com', templateKey: 'shop.shipped', variables: { No: '7' } }
    expect((await as(ann, body)).json).toEqual({ sent: 1, failed: 0, errors: [] })
    expect(await inbox.take('ben@example.com')).toMatchObject({ subject: 'Order 7', text: 'Basalt: order 7' })
    expect((await log()).items).toMatchObject([{ template_key: 'shop.shipped', subject: 'Order 7' }])
    expect(envelope(await as(ann, { ...body, variables: {} }))).toEqual({
      code: 400,
      error: 'template_render_error',
      message: 'template render error: no value for {{.No}}',
    })
    expect(envelope(await as(ann, { to: body.to, templateKey: 'shop.lost' }))).toEqual({
      code: 404,
      error: 'template_not_found',
      message: 'template not found',
    })
  })

  test.each(['orders@example.com', 'Orders <Orders@example.com>', 'shop@example.com'])(
    'sends from %s, which is allowed',
    async (from) => {
      expect((await as(ann, { ...mail, from })).status).toBe(200)
      expect(await inbox.take('ben@example.com')).toMatchObject({ from })
    },
  )

  test.each([
    'mallory@example.com',
    'orders@example.com, m@evil.example',
    'x',
    '',
    'A\r\nBcc: b <shop@example.com>',
  ])('rejects %j as sender', async (from) => {
    expect(envelope(await as(ann, { ...mail, from }))).toEqual({
      code: 403,
      error: 'from_address_not_allowed',
      message: 'from address not allowed',
    })
  })

  test.each<[string, object, string, string]>([
    ['without a recipient', { to: undefined }, 'missing_template_field', 'to is required'],
    ['with a blank recipient', { to: ' ' }, 'missing_template_field', 'to is required'],
    ['with a number as recipient', { to: 7 }, 'invalid_request', 'to: must be string'],
    ['with no recipients', { to: [] }, 'missing_template_field', 'to is required'],
    [
      'with too many recipients',
      { to: Array.from({ length: 6 }, (_, index) => `b${index}@example.com`) },
      'too_many_recipients',
      'too many recipients: at most 5',
    ],
    ['without a subject', { subject: '' }, 'missing_template_field', 'subject is required'],
    ['without a body', { text: ' ' }, 'missing_template_field', 'html or text is required'],
    [
      'with a subject of two lines',
      { subject: 'a\nBcc: b' },
      'invalid_mail_field',
      'subject: expected one line',
    ],
    [
      'with a misspelled member',
      { txt: 'x' },
      'invalid_mail_field',
      'unknown member "txt"; did you mean text?',
    ],
    ['with a member of no mail', { attachments: [] }, 'invalid_mail_field', 'unknown member "attachments"'],
    ['with NUL', { text: 'a\0b' }, 'invalid_mail_field', 'text: not valid Unicode text'],
    [
      'with a long subject',
      { subject: 'x'.repeat(1001) },
      'template_too_large',
      'template exceeds size limit: subject exceeds 1000 characters',
    ],
    [
      'with too many tags',
      { html: '<b>'.repeat(10_001) },
      'template_too_large',
      'template exceeds size limit: html exceeds 10000 tags',
    ],
    [
      'with a template and a text',
      { templateKey: 'shop.shipped' },
      'invalid_mail_field',
      'expected either templateKey or subject with html or text, not both',
    ],
    ['with variables of no template', { variables: {} }, 'missing_template_field', 'templateKey is required'],
    [
      'with a malformed key',
      { subject: undefined, text: undefined, templateKey: 'x' },
      'invalid_template_key',
      'invalid template key format: "x"',
    ],
  ])('rejects a mail %s', async (_, change, error, message) => {
    expect(envelope(await as(ann, { ...mail, ...change }))).toEqual({ code: 400, error, message })
    expect((await log()).items).toEqual([])
  })

  test('sends nothing with an invalid address, and names it', async () => {
    expect(envelope(await as(ann, { ...mail, to: ['ben@example.com', 'no'] }))).toEqual({
      code: 400,
      error: 'invalid_recipient',
      message: 'invalid email address',
      data: { to: 'no' },
    })
    expect((await log()).items).toEqual([])
  })

  test('names the mails that were not accepted, and logs the reason for the operator', async () => {
    inbox.answer(422)
    const response = await as(ann, { ...mail, to: ['b1@example.com', 'b2@example.com'] })
    const error = 'the mail was refused'
    expect([response.status, response.json]).toEqual([
      200,
      { sent: 0, failed: 2, errors: ['b1@example.com', 'b2@example.com'].map((to) => ({ to, error })) },
    ])
    inbox.answer(503)
    expect((await as(ann, mail)).json.errors).toEqual([
      { to: 'ben@example.com', error: 'failed to send email' },
    ])
    expect((await log()).items[0]).toMatchObject({
      status: 'failed',
      error_message: 'the mail webhook answered 503: ',
    })
  })

  test('limits mails: of twenty concurrent ones on two nodes the quota is sent', async () => {
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        as(
          ann,
          { ...mail, to: [`a${index}@example.com`, `b${index}@example.com`] },
          index % 2 === 0 ? app : other,
        ),
      ),
    )
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(4)
    const [refused, ...others] = responses.filter(({ status }) => status === 429)
    expect([refused?.json.error, refused?.json.message, others.length]).toEqual([
      'mail_limit_reached',
      'email send rate limit exceeded',
      15,
    ])
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(3000)
    expect((await log()).items).toHaveLength(8)
  })

  test('sends none of more recipients than the quota allows', async () => {
    await as(ann, { ...mail, to: Array.from({ length: 5 }, (_, index) => `c${index}@example.com`) })
    const four = Array.from({ length: 4 }, (_, index) => `d${index}@example.com`)
    expect((await as(ann, { ...mail, to: four })).status).toBe(429)
    expect((await as(ann, { ...mail, to: four.slice(1) })).status).toBe(200)
    expect((await log()).items).toHaveLength(8)
  })

  test('limits by user, whatever the credential, and the log names the key', async () => {
    const keys = await Promise.all(
      ['readonly', '*'].map((scope) => createApiKey(app, { userId: ann, scope, actions: ['email:send'] })),
    )
    const body = { ...mail, to: ['e1@example.com', 'e2@example.com', 'e3@example.com'] }
    const tokens = [userToken({ sub: ann }), ...keys.map(({ key }) => key)]
    const responses = []
    for (const token of tokens) responses.push(await app.request('POST', path, { token, body }))
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 429])
    const ids = (await log()).items.map(({ api_key_id: id }: { api_key_id: string }) => id)
    expect(ids.sort()).toEqual([...Array(3).fill(keys[0]?.apiKey.id), ...Array(3).fill(null)])
  })

  test.each([
    ['readonly', []],
    ['readwrite', []],
    ['*', []],
    ['*', ['sms:send', 'push:send']],
  ])(
    'requires the action email:send of a key, which scope %s with actions %j does not include',
    async (scope, actions) => {
      const { key: token } = await createApiKey(app, { userId: ann, scope, actions })
      const refused = await app.request('POST', path, { token, body: mail })
      expect(envelope(refused)).toEqual({
        code: 403,
        error: 'insufficient_scope',
        message: 'api key scope does not permit email:send',
      })
      expect(refused.headers.get('www-authenticate')).toBe(
        'Bearer error="insufficient_scope", scope="email:send"',
      )
      expect((await log()).items).toEqual([])
    },
  )

  test.each(['auth.magic_link', 'auth.password_reset', 'auth.email_verification', 'auth.own'])(
    'never sends %s, a system template, for users and programs',
    async (templateKey) => {
      const { key } = await createApiKey(app, { userId: ann, actions: ['email:send'] })
      const variables = { AppName: 'Basalt', ActionURL: 'https://evil.example/' }
      for (const token of [userToken({ sub: ann }), key]) {
        const body = { to: 'ben@example.com', templateKey, variables }
        expect(envelope(await app.request('POST', path, { token, body }))).toEqual({
          code: 403,
          error: 'system_template_not_permitted',
          message: 'templates of the system are not sent by users',
        })
      }
      expect((await log()).items).toEqual([])
    },
  )

  const notPermitted = {
    code: 403,
    error: 'mail_sender_not_permitted',
    message: 'email sending is not permitted',
  }

  test('rejects anonymous users', async () => {
    const token = userToken({ sub: ann, amr: ['anonymous'], is_anonymous: true })
    expect(envelope(await app.request('POST', path, { token, body: mail }))).toEqual(notPermitted)
  })

  test('accepts only the users that the operator allows', async () => {
    const { key: token } = await createApiKey(app, { userId: ann, actions: ['email:send'] })
    const own = await app.request('POST', '/api/auth/api-keys', {
      token: userToken({ sub: ann }),
      body: { name: 'own' },
    })
    await using keys = await createTestApp({
      config: { ...config(), 'email.policy.senders': 'keys' },
      database: app.database,
    })
    expect(envelope(await as(ann, mail, keys))).toEqual(notPermitted)
    expect((await keys.request('POST', path, { token, body: mail })).status).toBe(200)
    expect((await keys.request('POST', path, { token: own.json.key, body: mail })).json.error).toBe(
      'insufficient_scope',
    )
    await using closed = await createTestApp({
      config: { 'email.policy.senders': 'none' },
      database: app.database,
    })
    expect(envelope(await closed.request('POST', path, { token, body: mail }))).toEqual(notPermitted)
  })

  test('is not configured with the log backend, except in development', async () => {
    await using bare = await createTestApp({ database: app.database })
    expect(envelope(await as(ann, mail, bare))).toEqual({
      code: 501,
      error: 'mail_not_configured',
      message: 'email sending is not configured',
    })
  })

  test('sends by SMTP from the given sender', async () => {
    await using server = await openMailServer()
    await using smtp = await createTestApp({
      config: {
        ...config(),
        'email.backend': 'smtp',
        'email.smtp.host': '127.0.0.1',
        'email.smtp.port': String(server.port),
        'email.smtp.security': 'none',
      },
      database: app.database,
    })
    expect((await as(ann, { ...mail, from: 'Orders <orders@example.com>' }, smtp)).json.sent).toBe(1)
    const [received] = server.mails
    expect([received?.from, received?.to]).toEqual(['orders@example.com', ['ben@example.com']])
    expect(received?.content.from).toMatchObject({ name: 'Orders', address: 'orders@example.com' })
  })
})

test('email › log › is deleted after its retention', async () => {
  await as(ann, mail)
  await as(ann, { ...mail, subject: 'recent' })
  await app.sql(
    `update basalt.sent_mails set created_at = now() - interval '31 days' where user_id = $1 and subject = 'Hi Ben'`,
    [ann],
  )
  const body = { type: 'sent_mail_retention', payload: {} }
  await app.request('POST', '/api/admin/jobs', { token: admin, body })
  const { items } = await waitFor('the job', async () => {
    const json = await log()
    return json.items.length === 1 ? json : undefined
  })
  expect(items).toMatchObject([{ subject: 'recent' }])
  const subjects = async (range: string) => {
    const { json } = await app.request('GET', `/api/admin/email/sent?user_id=${ann}&${range}`, {
      token: admin,
    })
    return json.items.map(({ subject }: { subject: string }) => subject)
  }
  expect(await subjects('from=2020-01-01')).toEqual(['recent'])
  expect(await subjects('to=2020-01-01')).toEqual([])
  expect(await subjects('from=2999-01-01')).toEqual([])
  const wrong = await app.request('GET', '/api/admin/email/sent?from=never', { token: admin })
  expect([wrong.status, wrong.json.message]).toEqual([
    400,
    'invalid from filter; expected RFC3339 or YYYY-MM-DD',
  ])
  expect((await app.request('GET', '/api/admin/email/sent?user_id=x', { token: admin })).json.message).toBe(
    'invalid user_id filter; must be a UUID',
  )
})
