import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { alice } from '../../../../../test/fixtures.ts'
import { type Inbox, openInbox } from '../../../../../test/inbox.ts'
import {
  createTestApp,
  envelope,
  type TestApp,
  type TestResponse,
  userToken,
} from '../../../../../test/test-app.ts'
import { builtInTemplates } from '../built-in-templates.ts'

const base = '/api/admin/email/templates'
const timestamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const source = { subjectTemplate: 'Hello {{.Name}}', htmlTemplate: '<p>Hello, {{.Name}}</p>' }

let inbox: Inbox
let app: TestApp
let token: string
/** Number of deliveries of earlier tests. */
let earlier = 0
beforeAll(async () => {
  inbox = await openInbox()
  app = await createTestApp({ config: { 'email.backend': 'webhook', 'email.webhook.url': inbox.url } })
  token = await app.adminToken()
})
beforeEach(async () => {
  await app.sql('truncate basalt.audit, basalt.email_templates, basalt.attempts')
  inbox.answer(200)
  earlier = inbox.all.length
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  await inbox[Symbol.asyncDispose]()
})

/** Returns the mails that were sent. */
function received(): Inbox['all'] {
  return inbox.all.slice(earlier)
}

function send(method: string, path: string, body?: unknown): Promise<TestResponse> {
  return app.request(method, path, { token, ...(body === undefined ? {} : { body }) })
}

async function put(key: string, body: unknown = source): Promise<void> {
  const { status, text } = await send('PUT', `${base}/${key}`, body)
  if (status !== 200) throw new Error(text)
}

function expectError(response: TestResponse, code: number, error: string, message: string): void {
  expect(envelope(response)).toEqual({ code, error, message })
  expect(response.status).toBe(code)
}

/** Returns the audit rows of administrators, the oldest first. */
async function audit() {
  return await app.sql('select actor, action, target, detail, address from basalt.audit order by id')
}

async function storedTemplates(): Promise<number> {
  return (await app.sql('select 1 from basalt.email_templates')).length
}

describe('/api/admin/email', () => {
  const endpoints: [string, string, unknown][] = [
    ['GET', base, undefined],
    ['GET', `${base}/auth.magic_link`, undefined],
    ['PUT', `${base}/auth.magic_link`, source],
    ['PATCH', `${base}/auth.magic_link`, { enabled: false }],
    ['DELETE', `${base}/auth.magic_link`, undefined],
    ['POST', `${base}/auth.magic_link/preview`, { ...source, variables: { Name: 'x' } }],
    ['POST', '/api/admin/email/send', { templateKey: 'shop.hello', to: 'a@b.co', variables: { Name: 'x' } }],
  ]

  test('rejects callers who are not administrators', async () => {
    await put('auth.magic_link')
    await put('shop.hello')
    const before = await audit()
    for (const [method, path, body] of endpoints) {
      for (const stranger of [undefined, 'nonsense', userToken({ sub: alice }), `${token}x`]) {
        const response = await app.request(method, path, { token: stranger, body })
        expectError(response, 401, 'admin_required', 'admin authentication required')
        expect(response.headers.get('www-authenticate')).toBe(
          stranger === undefined ? 'Bearer' : 'Bearer error="invalid_token"',
        )
      }
    }
    expect(await audit()).toEqual(before)
    expect(await storedTemplates()).toBe(2)
    expect(received()).toEqual([])
  })

  test('prevents caching of responses', async () => {
    for (const [method, path, body] of endpoints) {
      expect((await send(method, path, body)).headers.get('cache-control')).toBe('no-store')
    }
  })

  test.each([
    'auth',
    'Auth.magic',
    'auth..x',
    'auth.',
    '.auth',
    'auth.Magic',
    '1a.b',
    'a_b.c',
    'a.1b',
    'a.b-c',
    'a b.c',
    'ä.b',
    `a.${'b'.repeat(254)}`,
  ])('rejects the key %j', async (key) => {
    const excerpt = key.length > 255 ? `${key.slice(0, 255)}…` : key
    const message = `invalid template key format: "${excerpt}"`
    for (const [method, path, body] of endpoints.slice(1, -1)) {
      const response = await send(method, path.replace('auth.magic_link', encodeURIComponent(key)), body)
      expectError(response, 400, 'invalid_template_key', message)
    }
    const response = await send('POST', '/api/admin/email/send', { templateKey: key, to: 'a@b.co' })
    expectError(response, 400, 'invalid_template_key', message)
  })

  test.each(['a.b', 'a1.b_2.c__', `a.${'b'.repeat(253)}`])('accepts the key %j', async (key) => {
    expect((await send('PUT', `${base}/${key}`, source)).status).toBe(200)
    expect((await send('GET', `${base}/${key}`)).json.templateKey).toBe(key)
  })
})

describe('GET /api/admin/email/templates', () => {
  test('lists the built-in templates first, then custom ones by key', async () => {
    await put('shop.order_shipped')
    await put('auth.magic_link', { subjectTemplate: 'In {{.AppName}}', htmlTemplate: 'x' })
    await put('aaa.first')
    await send('PATCH', `${base}/aaa.first`, { enabled: false })
    const response = await send('GET', base)
    expect(response.status).toBe(200)
    const builtIn = (templateKey: string) => ({
      templateKey,
      source: 'builtin',
      subjectTemplate: builtInTemplates.get(templateKey)?.subjectTemplate,
      enabled: true,
      variables: builtInTemplates.get(templateKey)?.variables,
    })
    const custom = (templateKey: string, subjectTemplate: string, variables: string[], enabled = true) => ({
      templateKey,
      source: 'custom',
      subjectTemplate,
      enabled,
      variables,
      updatedAt: expect.stringMatching(timestamp),
    })
    expect(response.json).toEqual({
      items: [
        builtIn('auth.password_reset'),
        builtIn('auth.email_verification'),
        custom('auth.magic_link', 'In {{.AppName}}', ['AppName', 'ActionURL']),
        builtIn('auth.invitation'),
        builtIn('auth.mfa_email_enroll'),
        builtIn('auth.mfa_email_challenge'),
        custom('aaa.first', 'Hello {{.Name}}', ['Name'], false),
        custom('shop.order_shipped', 'Hello {{.Name}}', ['Name']),
      ],
      count: 8,
    })
  })
})

describe('GET /api/admin/email/templates/:key', () => {
  test('returns a built-in template', async () => {
    const response = await send('GET', `${base}/auth.password_reset`)
    expect(response.status).toBe(200)
    expect(response.json).toEqual({
      templateKey: 'auth.password_reset',
      source: 'builtin',
      enabled: true,
      ...builtInTemplates.get('auth.password_reset'),
    })
  })

  test('returns the custom template instead while it is enabled', async () => {
    const path = `${base}/auth.password_reset`
    const custom = { subjectTemplate: '{{.AppName}}', htmlTemplate: '<a href="{{.ActionURL}}">x</a>' }
    await put('auth.password_reset', custom)
    expect((await send('GET', path)).json).toEqual({
      templateKey: 'auth.password_reset',
      source: 'custom',
      enabled: true,
      variables: ['AppName', 'ActionURL'],
      updatedAt: expect.stringMatching(timestamp),
      ...custom,
    })
    await send('PATCH', path, { enabled: false })
    expect((await send('GET', path)).json).toMatchObject({ source: 'builtin', enabled: true })
  })

  test('returns a custom template of its own key even while it is disabled', async () => {
    await put('shop.hello')
    await send('PATCH', `${base}/shop.hello`, { enabled: false })
    expect((await send('GET', `${base}/shop.hello`)).json).toMatchObject({
      source: 'custom',
      enabled: false,
      ...source,
    })
  })

  test('returns 404 for any other template', async () => {
    expectError(await send('GET', `${base}/shop.hello`), 404, 'template_not_found', 'template not found')
  })
})

describe('PUT /api/admin/email/templates/:key', () => {
  test('creates and replaces, with an audit row', async () => {
    const created = await send('PUT', `${base}/shop.hello`, source)
    expect(created.status).toBe(200)
    expect(created.json).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      templateKey: 'shop.hello',
      source: 'custom',
      ...source,
      enabled: true,
      variables: ['Name'],
      createdAt: expect.stringMatching(timestamp),
      updatedAt: created.json.createdAt,
    })
    const other = { subjectTemplate: 'Größe „😀“', htmlTemplate: '<p>{{.B}}{{.A}}</p>' }
    const replaced = await send('PUT', `${base}/shop.hello`, other)
    expect(replaced.json).toEqual({
      ...created.json,
      ...other,
      variables: ['B', 'A'],
      updatedAt: expect.stringMatching(timestamp),
    })
    expect(replaced.json.updatedAt >= created.json.updatedAt).toBe(true)
    expect(await storedTemplates()).toBe(1)
    const entry = { actor: 'admin', action: 'mail.put_template', target: 'shop.hello', address: '127.0.0.1' }
    expect(await audit()).toEqual([
      { ...entry, detail: { isNew: true, subjectTemplate: 'Hello {{.Name}}' } },
      { ...entry, detail: { isNew: false, subjectTemplate: 'Größe „😀“' } },
    ])
  })

  test('replaces only the version that was read', async () => {
    const replace = (body: object) => send('PUT', `${base}/auth.magic_link`, { ...source, ...body })
    const other = { subjectTemplate: 'Other', htmlTemplate: '<p>Other</p>' }
    const message = 'the template was changed since it was read'
    expectError(await replace({ replaces: other }), 409, 'template_changed', message)
    expect((await replace({ ...other, replaces: null })).status).toBe(200)
    expectError(await replace({ replaces: null }), 409, 'template_changed', message)
    expectError(await replace({ replaces: source }), 409, 'template_changed', message)
    expect((await replace({ replaces: 'Other' })).status).toBe(400)
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        replace({ subjectTemplate: `Race ${index}`, replaces: other }),
      ),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(409)])
    const [won] = responses.filter(({ status }) => status === 200)
    expect((await send('GET', `${base}/auth.magic_link`)).json.subjectTemplate).toBe(
      won?.json.subjectTemplate,
    )
    await send('PATCH', `${base}/auth.magic_link`, { enabled: false })
    expect((await replace({ replaces: null })).status).toBe(200)
    expect(
      await app.sql(`select count(*)::int as n from basalt.audit where action = 'mail.put_template'`),
    ).toEqual([{ n: 3 }])
  })

  test('leaves a disabled template disabled', async () => {
    await put('shop.hello')
    await send('PATCH', `${base}/shop.hello`, { enabled: false })
    expect((await send('PUT', `${base}/shop.hello`, source)).json.enabled).toBe(false)
  })

  test('warns of variables that the system does not provide', async () => {
    const body = { subjectTemplate: '{{.Name}} {{.AppName}}', htmlTemplate: '{{.Code}}{{.ActionURL}}' }
    const warning = 'is not among AppName, ActionURL: the built-in template will be sent instead'
    const { json } = await send('PUT', `${base}/auth.magic_link`, body)
    expect(json.warnings).toEqual([`{{.Name}} ${warning}`, `{{.Code}} ${warning}`])
    expect(
      (await send('PUT', `${base}/auth.mfa_email_enroll`, { ...body, subjectTemplate: 'x' })).json.warnings,
    ).toEqual(['{{.ActionURL}} is not among AppName, Code: the built-in template will be sent instead'])
    expect((await send('PUT', `${base}/shop.hello`, body)).json).not.toHaveProperty('warnings')
  })

  test.each([
    [{}, 'missing_template_field', 'subjectTemplate is required'],
    [{ subjectTemplate: '', htmlTemplate: 'x' }, 'missing_template_field', 'subjectTemplate is required'],
    [{ subjectTemplate: 'x' }, 'missing_template_field', 'htmlTemplate is required'],
    [{ subjectTemplate: 'x', htmlTemplate: '' }, 'missing_template_field', 'htmlTemplate is required'],
    [{ subjectTemplate: 1, htmlTemplate: 'x' }, 'invalid_request', 'subjectTemplate: must be string'],
    [{ subjectTemplate: 'x', htmlTemplate: null }, 'invalid_request', 'htmlTemplate: must be string'],
    [[], 'invalid_request', 'body must be object'],
    ['"text"', 'invalid_request', 'body must be object'],
    ['', 'invalid_request', 'body must be object'],
    ['{"subjectTemplate": "x"', 'invalid_json', 'invalid JSON body'],
    [
      { subjectTemplate: '{{.Name', htmlTemplate: 'x' },
      'template_parse_error',
      'template parse error: subject: expected a placeholder such as {{.Name}} at character 1, found "{{.Name"',
    ],
    [
      { subjectTemplate: 'x', htmlTemplate: '<p>{{if .A}}</p>' },
      'template_parse_error',
      'template parse error: html: expected a placeholder such as {{.Name}} at character 4, found "{{if .A}}</p>"',
    ],
    [
      { subjectTemplate: 'x', htmlTemplate: 'a\u0000b' },
      'template_parse_error',
      'template parse error: html: not valid Unicode text',
    ],
    [
      '{"subjectTemplate": "x", "htmlTemplate": "\\ud800"}',
      'template_parse_error',
      'template parse error: html: not valid Unicode text',
    ],
    [
      { subjectTemplate: 'x'.repeat(1001), htmlTemplate: 'x' },
      'template_too_large',
      'template exceeds size limit: subject exceeds 1000 characters',
    ],
    [
      { subjectTemplate: 'x', htmlTemplate: 'x'.repeat(256_001) },
      'template_too_large',
      'template exceeds size limit: html exceeds 256000 characters',
    ],
    [
      { subjectTemplate: 'x', htmlTemplate: 'x'.repeat(3_000_000) },
      'template_too_large',
      'template exceeds size limit: the body exceeds 2097152 bytes',
    ],
  ])('rejects the body %.60j', async (body, error, message) => {
    for (const [method, path] of [
      ['PUT', `${base}/shop.hello`],
      ['POST', `${base}/shop.hello/preview`],
    ] as const) {
      expectError(await send(method, path, body), 400, error, message)
    }
    expect(await storedTemplates()).toBe(0)
    expect(await audit()).toEqual([])
  })

  test('accepts the largest template, however it is escaped', async () => {
    const body = { subjectTemplate: '😀'.repeat(1000), htmlTemplate: '\u0001'.repeat(256_000) }
    expect((await send('PUT', `${base}/shop.hello`, body)).status).toBe(200)
    expect((await send('GET', `${base}/shop.hello`)).json).toMatchObject(body)
  })

  test('applies concurrent requests one after the other', async () => {
    const bodies = Array.from({ length: 20 }, (_, n) => ({ subjectTemplate: `s${n}`, htmlTemplate: `h${n}` }))
    const responses = await Promise.all(bodies.map((body) => send('PUT', `${base}/shop.hello`, body)))
    expect(
      responses.map(({ status, json: { subjectTemplate, htmlTemplate } }) => [
        status,
        { subjectTemplate, htmlTemplate },
      ]),
    ).toEqual(bodies.map((body) => [200, body]))
    expect(new Set(responses.map(({ json }) => json.id)).size).toBe(1)
    const { subjectTemplate, htmlTemplate } = (await send('GET', `${base}/shop.hello`)).json
    expect(bodies).toContainEqual({ subjectTemplate, htmlTemplate })
    const entries = await audit()
    expect(entries.map(({ detail }) => detail.subjectTemplate).sort()).toEqual(
      bodies.map((body) => body.subjectTemplate).sort(),
    )
    expect(entries.filter(({ detail }) => detail.isNew)).toHaveLength(1)
    // The last response has the current template.
    expect(entries.at(-1)?.detail.subjectTemplate).toBe(subjectTemplate)
  })
})

describe('PATCH /api/admin/email/templates/:key', () => {
  test('enables and disables, with an audit row', async () => {
    await put('shop.hello')
    await app.sql('truncate basalt.audit')
    const path = `${base}/shop.hello`
    for (const enabled of [false, false, true]) {
      const response = await send('PATCH', path, { enabled })
      expect(response.status).toBe(200)
      expect(response.json).toEqual({ templateKey: 'shop.hello', enabled })
      expect((await send('GET', path)).json).toMatchObject({ enabled, ...source })
    }
    const entry = { actor: 'admin', target: 'shop.hello', detail: {}, address: '127.0.0.1' }
    expect(await audit()).toEqual([
      { ...entry, action: 'mail.disable_template' },
      { ...entry, action: 'mail.disable_template' },
      { ...entry, action: 'mail.enable_template' },
    ])
  })

  test.each([
    [{}, 'missing_template_field', 'enabled field is required'],
    [{ enabled: 'no' }, 'invalid_request', 'enabled: must be boolean'],
    [{ enabled: null }, 'invalid_request', 'enabled: must be boolean'],
    ['', 'invalid_request', 'body must be object'],
  ])('rejects the body %j', async (body, error, message) => {
    await put('shop.hello')
    expectError(await send('PATCH', `${base}/shop.hello`, body), 400, error, message)
    expect((await send('GET', `${base}/shop.hello`)).json.enabled).toBe(true)
  })

  test.each(['auth.magic_link', 'shop.hello'])('requires a custom template of %s', async (key) => {
    const response = await send('PATCH', `${base}/${key}`, { enabled: false })
    expectError(response, 404, 'template_not_found', 'template not found')
    expect(await audit()).toEqual([])
  })
})

describe('DELETE /api/admin/email/templates/:key', () => {
  test('restores the built-in template, with an audit row', async () => {
    await put('auth.magic_link')
    await app.sql('truncate basalt.audit')
    const response = await send('DELETE', `${base}/auth.magic_link`)
    expect([response.status, response.text]).toEqual([204, ''])
    expect((await send('GET', `${base}/auth.magic_link`)).json.source).toBe('builtin')
    expect(await audit()).toEqual([
      {
        actor: 'admin',
        action: 'mail.delete_template',
        target: 'auth.magic_link',
        detail: {},
        address: '127.0.0.1',
      },
    ])
  })

  test.each(['auth.magic_link', 'shop.hello'])('requires a custom template of %s', async (key) => {
    expectError(await send('DELETE', `${base}/${key}`), 404, 'template_not_found', 'template not found')
    expect(await audit()).toEqual([])
  })

  test('succeeds for one of several concurrent requests', async () => {
    await put('shop.hello')
    await app.sql('truncate basalt.audit')
    const responses = await Promise.all(
      Array.from({ length: 10 }, () => send('DELETE', `${base}/shop.hello`)),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([204, ...Array(9).fill(404)])
    expect(await audit()).toHaveLength(1)
  })
})

describe('POST /api/admin/email/templates/:key/preview', () => {
  test('fills in the given values, and saves nothing', async () => {
    const response = await send('POST', `${base}/shop.new/preview`, {
      subjectTemplate: 'For {{.Name}} & co',
      htmlTemplate: '<h1>Hello {{ .Name }}</h1><p><a href="{{.Link}}">Open</a></p>',
      variables: { Name: '<Tom>', Link: 'https://x.example/?a=1&b=2', Unused: 'x' },
    })
    expect(response.status).toBe(200)
    expect(response.json).toEqual({
      subject: 'For <Tom> & co',
      html: '<h1>Hello &lt;Tom&gt;</h1><p><a href="https://x.example/?a=1&amp;b=2">Open</a></p>',
      text: 'Hello <Tom>\n\nOpen https://x.example/?a=1&b=2',
    })
    expect(await storedTemplates()).toBe(0)
    expect(await audit()).toEqual([])
    expect(received()).toEqual([])
  })

  test('requires no variables where the template has none', async () => {
    const body = { subjectTemplate: 'a', htmlTemplate: 'b' }
    expect((await send('POST', `${base}/auth.magic_link/preview`, body)).json).toEqual({
      subject: 'a',
      html: 'b',
      text: 'b',
    })
  })

  test.each([
    [undefined, 'template_render_error', 'template render error: no value for {{.Name}}'],
    [{}, 'template_render_error', 'template render error: no value for {{.Name}}'],
    [{ name: 'x' }, 'template_render_error', 'template render error: no value for {{.Name}}'],
    [{ Name: 1 }, 'invalid_request', 'variables.Name: must be string'],
    [{ Name: null }, 'invalid_request', 'variables.Name: must be string'],
    [{ Name: ['x'] }, 'invalid_request', 'variables.Name: must be string'],
    [[], 'invalid_request', 'variables: must be object'],
    ['x', 'invalid_request', 'variables: must be object'],
    [null, 'invalid_request', 'variables: must be object'],
  ])('rejects the variables %j', async (variables, error, message) => {
    const response = await send('POST', `${base}/shop.hello/preview`, { ...source, variables })
    expectError(response, 400, error, message)
  })
})

describe('POST /api/admin/email/send', () => {
  const path = '/api/admin/email/send'
  const mail = { templateKey: 'shop.hello', to: 'alice@example.com', variables: { Name: 'Alice & Bob' } }

  test('sends a mail, with an audit row that omits its content', async () => {
    await put('shop.hello')
    await app.sql('truncate basalt.audit')
    const response = await send('POST', path, { ...mail, to: ' Alice@Example.com ' })
    expect(response.status).toBe(200)
    expect(response.json).toEqual({ status: 'sent' })
    expect(received()).toEqual([
      {
        to: 'Alice@Example.com',
        subject: 'Hello Alice & Bob',
        html: '<p>Hello, Alice &amp; Bob</p>',
        text: 'Hello, Alice & Bob',
        from: 'Basalt <no-reply@localhost>',
      },
    ])
    expect(await audit()).toEqual([
      {
        actor: 'admin',
        action: 'mail.send',
        target: 'shop.hello',
        detail: { to: 'Alice@Example.com', id: expect.stringMatching(/^[0-9a-f-]{36}$/) },
        address: '127.0.0.1',
      },
    ])
  })

  test('sends built-in templates, and custom ones that replace them', async () => {
    const body = {
      ...mail,
      templateKey: 'auth.mfa_email_challenge',
      variables: { AppName: 'Shop', Code: '123456' },
    }
    await send('POST', path, body)
    await put('auth.mfa_email_challenge', { subjectTemplate: 'Mine', htmlTemplate: '{{.Code}}' })
    await send('POST', path, body)
    await send('PATCH', `${base}/auth.mfa_email_challenge`, { enabled: false })
    await send('POST', path, body)
    expect(received().map(({ subject }) => subject)).toEqual([
      'Your Shop sign-in code',
      'Mine',
      'Your Shop sign-in code',
    ])
  })

  test.each([
    [{ templateKey: undefined }, 'missing_template_field', 'templateKey is required'],
    [{ templateKey: '' }, 'missing_template_field', 'templateKey is required'],
    [{ to: undefined }, 'missing_template_field', 'to is required'],
    [{ to: ' ' }, 'missing_template_field', 'to is required'],
    [{ to: ['alice@example.com'] }, 'invalid_request', 'to: must be string'],
    [{ to: 'alice' }, 'invalid_recipient', 'invalid email address'],
    [{ to: 'alice@localhost' }, 'invalid_recipient', 'invalid email address'],
    [{ to: 'a@example.com, b@example.com' }, 'invalid_recipient', 'invalid email address'],
    [{ to: 'Alice <a@example.com>' }, 'invalid_recipient', 'invalid email address'],
    [{ to: 'a@example.com\r\nBcc: b@example.com' }, 'invalid_recipient', 'invalid email address'],
    [{ variables: undefined }, 'template_render_error', 'template render error: no value for {{.Name}}'],
    [{ variables: { Name: 5 } }, 'invalid_request', 'variables.Name: must be string'],
    [
      { variables: { Name: 'x'.repeat(1000) } },
      'template_render_error',
      'template render error: the subject would exceed 1000 characters',
    ],
  ])('rejects %.60j', async (change, error, message) => {
    await put('shop.hello')
    await app.sql('truncate basalt.audit')
    expectError(await send('POST', path, { ...mail, ...change }), 400, error, message)
    expect(received()).toEqual([])
    expect(await audit()).toEqual([])
  })

  test('does not send another template when the custom one fails', async () => {
    await put('auth.magic_link', { subjectTemplate: '{{.Nope}}', htmlTemplate: 'x' })
    const variables = { AppName: 'x', ActionURL: 'https://x.example' }
    const response = await send('POST', path, { ...mail, templateKey: 'auth.magic_link', variables })
    expectError(response, 400, 'template_render_error', 'template render error: no value for {{.Nope}}')
    expect(received()).toEqual([])
  })

  test('returns 404 for missing and disabled templates', async () => {
    expectError(await send('POST', path, mail), 404, 'template_not_found', 'template not found')
    await put('shop.hello')
    await send('PATCH', `${base}/shop.hello`, { enabled: false })
    expectError(await send('POST', path, mail), 404, 'template_not_found', 'template not found')
    expect(received()).toEqual([])
  })

  test.each([422, 500])("returns the backend's response of %d", async (status) => {
    await put('shop.hello')
    inbox.answer(status)
    const response = await send('POST', path, mail)
    expect(response.status).toBe(500)
    expect(envelope(response)).toEqual({
      code: 500,
      error: 'mail_not_sent',
      message: 'failed to send email',
      data: { reason: `the mail webhook answered ${status}: ` },
    })
    expect((await audit()).map(({ action }) => action)).toEqual(['mail.put_template', 'mail.send'])
    const lines = app.log.map((line) => JSON.parse(line))
    expect(lines).toContainEqual(
      expect.objectContaining({
        msg: 'failed to send a mail of the administration',
        templateKey: 'shop.hello',
        reason: `the mail webhook answered ${status}: `,
      }),
    )
    expect(app.log.join('')).not.toContain('Alice & Bob')
  })

  test('is limited per hour', async () => {
    await put('shop.hello')
    expect((await send('POST', path, mail)).status).toBe(200)
    await app.sql("update basalt.attempts set count = 999 where key = 'mail.send:admin'")
    const responses = await Promise.all(Array.from({ length: 5 }, () => send('POST', path, mail)))
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 429, 429, 429, 429])
    const refused = responses.find(({ status }) => status === 429)
    expect(refused && envelope(refused)).toEqual({
      code: 429,
      error: 'mail_limit_reached',
      message: 'email send rate limit exceeded',
    })
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(3000)
    expect(received()).toHaveLength(2)
  })
})

test('mail › a change by an administrator shows in the next mail of the system', async () => {
  const email = 'carol@example.com'
  await app.request('POST', '/api/auth/register', { body: { email, password: 'correct horse battery' } })
  const nextSubject = async () => {
    await app.request('POST', '/api/auth/password-reset', { body: { email } })
    return (await inbox.take(email)).subject
  }
  const path = `${base}/auth.password_reset`
  expect((await inbox.take(email)).subject).toBe('Confirm your email address for Basalt')
  expect(await nextSubject()).toBe('Reset your Basalt password')
  await put('auth.password_reset', { subjectTemplate: 'Forgot it?', htmlTemplate: '{{.ActionURL}}' })
  expect(await nextSubject()).toBe('Forgot it?')
  await put('auth.password_reset', { subjectTemplate: 'Forgot it, {{.Name}}?', htmlTemplate: 'x' })
  expect(await nextSubject()).toBe('Reset your Basalt password')
  await put('auth.password_reset', { subjectTemplate: 'Forgot it again?', htmlTemplate: 'x' })
  expect(await nextSubject()).toBe('Forgot it again?')
  await send('PATCH', path, { enabled: false })
  expect(await nextSubject()).toBe('Reset your Basalt password')
  await send('PATCH', path, { enabled: true })
  expect(await nextSubject()).toBe('Forgot it again?')
  await send('DELETE', path)
  expect(await nextSubject()).toBe('Reset your Basalt password')
})
