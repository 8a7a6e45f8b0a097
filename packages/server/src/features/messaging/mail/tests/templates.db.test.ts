import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import type { AppError } from '../../../../lib/errors.ts'
import { createMailTemplates, type MailTemplates } from '../templates.ts'

let app: TestApp
let lines: string[]
let templates: MailTemplates
beforeAll(async () => {
  app = await createTestApp()
})
beforeEach(async () => {
  await app.sql('truncate basalt.email_templates')
  lines = []
  templates = createNode()
})
afterAll(() => app[Symbol.asyncDispose]())

/** Creates the templates of one node. */
function createNode(): MailTemplates {
  const log = pino({ base: null, timestamp: false }, { write: (line: string) => lines.push(line) })
  return createMailTemplates({ database: app.app.database.system, appName: 'Shop', log })
}

async function store(key: string, subject: string, html: string, enabled = true): Promise<void> {
  await app.sql(
    `insert into basalt.email_templates (template_key, subject_template, html_template, variables, enabled)
     values ($1, $2, $3, '{}', $4)
     on conflict (template_key) do update set
       subject_template = excluded.subject_template, html_template = excluded.html_template, enabled = $4`,
    [key, subject, html, enabled],
  )
}

const variables = { ActionURL: 'https://x.example/?a=1&token=abc' }
const builtIn = 'Sign in to Shop'

test('mail templates › fill in a built-in template', async () => {
  const mail = await templates.render('auth.magic_link', variables)
  expect(mail.subject).toBe(builtIn)
  expect(mail.html).toContain('href="https://x.example/?a=1&amp;token=abc"')
  expect(mail.text).toContain('Sign in https://x.example/?a=1&token=abc\n')
  expect(lines).toEqual([])
})

test('mail templates › use the configured application name unless the caller has another', async () => {
  await store('shop.hello', '{{.AppName}}', 'x')
  expect((await templates.render('shop.hello', {})).subject).toBe('Shop')
  expect((await templates.render('shop.hello', { AppName: 'Tenant' })).subject).toBe('Tenant')
})

test('mail templates › use an enabled custom template instead of the built-in one', async () => {
  await store('auth.magic_link', 'Mine', '<p>{{.ActionURL}}</p>')
  expect(await templates.render('auth.magic_link', variables)).toEqual({
    subject: 'Mine',
    html: '<p>https://x.example/?a=1&amp;token=abc</p>',
    text: 'https://x.example/?a=1&token=abc',
  })
  await store('auth.magic_link', 'Mine', '<p>{{.ActionURL}}</p>', false)
  templates.invalidate('auth.magic_link')
  expect((await templates.render('auth.magic_link', variables)).subject).toBe(builtIn)
})

test.each([
  ['{{.Nope}}', 'x', 'template render error: no value for {{.Nope}}'],
  [
    'x',
    '<p {{.ActionURL}}>',
    'template parse error: html: {{.ActionURL}} may stand in text or in the value of an attribute, not in a tag, a script or a style sheet',
  ],
])(
  'mail templates › use the built-in one when the custom template fails: %s %s',
  async (subject, html, reason) => {
    await store('auth.magic_link', subject, html)
    expect((await templates.render('auth.magic_link', variables)).subject).toBe(builtIn)
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      {
        level: 40,
        templateKey: 'auth.magic_link',
        reason,
        msg: 'failed to render the custom email template; sending the built-in',
      },
    ])
  },
)

test('mail templates › have no fallback for a custom template of its own key', async () => {
  const refusal = (key: string) => templates.render(key, {}).then(String, (error: AppError) => error.kind)
  expect(await refusal('shop.hello')).toBe('template_not_found')
  await store('shop.other', '{{.Nope}}', 'x')
  expect(await refusal('shop.other')).toBe('template_render_error')
  await store('shop.off', 'x', 'x', false)
  expect(await refusal('shop.off')).toBe('template_not_found')
})

test('mail templates › throw for a built-in template without its variables', async () => {
  await expect(templates.render('auth.magic_link', {})).rejects.toThrow(
    'template render error: no value for {{.ActionURL}}',
  )
})

test('mail templates › use the built-in one while the database fails, and the custom one afterwards', async () => {
  await store('auth.magic_link', 'Mine', 'x')
  await store('shop.hello', 'x', 'x')
  await app.sql('alter table basalt.email_templates rename to moved')
  try {
    expect((await templates.render('auth.magic_link', variables)).subject).toBe(builtIn)
    expect(JSON.parse(lines.join(''))).toMatchObject({ reason: expect.stringContaining('email_templates') })
    await expect(templates.render('shop.hello', {})).rejects.toThrow('email_templates')
  } finally {
    await app.sql('alter table basalt.moved rename to email_templates')
  }
  expect((await templates.render('auth.magic_link', variables)).subject).toBe('Mine')
  expect((await templates.render('shop.hello', {})).subject).toBe('x')
})

test('mail templates › apply a change at once on its node and soon on the others', async () => {
  const other = createNode()
  const subjectOn = async (node: MailTemplates) => (await node.render('shop.hello', {})).subject
  await store('shop.hello', 'old', 'x')
  expect([await subjectOn(templates), await subjectOn(other)]).toEqual(['old', 'old'])
  await store('shop.hello', 'new', 'x')
  templates.invalidate('shop.hello')
  expect(await subjectOn(templates)).toBe('new')
  await waitFor('the other node', async () => (await subjectOn(other)) === 'new')
})
