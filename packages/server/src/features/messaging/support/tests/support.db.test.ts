import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { bob } from '../../../../../test/fixtures.ts'
import { type Inbox, openInbox } from '../../../../../test/inbox.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

const path = '/api/webhooks/support/email'
const secret = 'gateway-secret'
const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/)
const unknown = '99999999-9999-4999-8999-999999999999'

let inbox: Inbox
let app: TestApp
let other: TestApp
let admin: string
/** User of this test only. */
let ann: string
let address: string
beforeAll(async () => {
  inbox = await openInbox()
  const config = {
    'support.enabled': 'true',
    'support.inbound_email_domain': 'In.Example.com',
    'support.webhook_secret': secret,
    'support.messages_per_hour': '12',
    'email.backend': 'webhook',
    'email.webhook.url': inbox.url,
  }
  app = await createTestApp({ config })
  other = await createTestApp({ config, database: app.database })
  await app.sql(`insert into basalt.users (id, email) values ($1, 'bob@example.com')`, [bob])
  admin = await app.adminToken()
})
beforeEach(async () => {
  inbox.answer(200)
  ann = randomUUID()
  address = `ann-${ann.slice(0, 8)}@example.com`
  await app.sql('insert into basalt.users (id, email) values ($1, $2)', [ann, address])
})
afterAll(async () => {
  await other[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
  await inbox[Symbol.asyncDispose]()
})

const as = (user: string, method: string, rest = '', body?: unknown, node = app) =>
  node.request(method, `/api/support/tickets${rest}`, { token: userToken({ sub: user }), body })
const asAdmin = (method: string, rest = '', body?: unknown) =>
  app.request(method, `/api/admin/support/tickets${rest}`, { token: admin, body })

async function open(user = ann): Promise<string> {
  const response = await as(user, 'POST', '', { subject: 'Broken door', body: 'It does not open.' })
  expect(response.status).toBe(201)
  return response.json.id
}
const bodiesOf = async (ticket: string) =>
  (await asAdmin('GET', `/${ticket}`)).json.messages.map(({ body }: { body: string }) => body)

type Fields = Readonly<Record<string, string | Blob | undefined>>

/** Returns a gateway's form for a reply of Ann. */
function reply(ticket: string, change: Fields = {}): Fields {
  return {
    from: `Ann <${address}>`,
    to: 'Support <support@in.example.com>',
    subject: `Re: [Ticket #${ticket.toUpperCase()}] Broken door`,
    text: 'It opens now.\r\nThanks!\r\n',
    envelope: JSON.stringify({ from: address, to: ['support@in.example.com'] }),
    ...change,
  }
}

async function deliver(fields: Fields, { node = app, key = secret }: { node?: TestApp; key?: string } = {}) {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === 'string') form.set(name, value)
    else if (value !== undefined) form.set(name, value, `${name}.png`)
  }
  return await post(form, key, node)
}

async function post(body: string | FormData, key: string | undefined, node = app) {
  const headers = key === undefined ? {} : { 'x-webhook-secret': key }
  const response = await fetch(node.url + path, { method: 'POST', body, headers })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: JSON.parse(text) }
}

describe('support › tickets of a user', () => {
  test('are opened, listed, read and written only by that user', async () => {
    const response = await as(ann, 'POST', '', { subject: ' Broken door ', body: 'It does not\nopen.' })
    expect(response.status).toBe(201)
    const { messages, ...ticket } = response.json
    expect(ticket).toEqual({
      id: uuid,
      user_id: ann,
      email: address,
      subject: 'Broken door',
      status: 'open',
      created_at: timestamp,
      updated_at: timestamp,
    })
    expect(messages).toEqual([
      {
        id: uuid,
        ticket_id: ticket.id,
        author: 'user',
        body: 'It does not\nopen.',
        attachments: [],
        mailed_at: null,
        created_at: timestamp,
      },
    ])
    const list = (await as(ann, 'GET')).json
    expect(list).toEqual({ items: [ticket], page: 1, perPage: 20, totalItems: 1, totalPages: 1 })
    expect((await as(ann, 'GET', '?status=closed')).json.items).toEqual([])
    const written = await as(ann, 'POST', `/${ticket.id}/messages`, { body: 'Still not.' })
    expect([written.status, written.json.body]).toEqual([201, 'Still not.'])
    expect((await as(ann, 'GET', `/${ticket.id.toUpperCase()}`)).json.messages).toEqual([
      ...messages,
      written.json,
    ])
    const missing = { code: 404, error: 'ticket_not_found', message: 'ticket not found' }
    expect(envelope(await as(bob, 'GET', `/${ticket.id}`))).toEqual(missing)
    expect(envelope(await as(bob, 'POST', `/${ticket.id}/messages`, { body: 'Hi' }))).toEqual(missing)
    expect((await as(bob, 'GET', '')).json.items).toEqual([])
    expect(await bodiesOf(ticket.id)).toEqual(['It does not\nopen.', 'Still not.'])
  })

  test.each([
    ['no subject', { body: 'x' }, 'missing_support_field', 'subject is required'],
    ['a blank subject', { subject: ' ', body: 'x' }, 'missing_support_field', 'subject is required'],
    ['no body', { subject: 'x' }, 'missing_support_field', 'body is required'],
    [
      'a long subject',
      { subject: 'x'.repeat(201), body: 'x' },
      'invalid_support_field',
      'subject must be at most 200 characters',
    ],
    ['two lines', { subject: 'a\nBcc: b', body: 'x' }, 'invalid_support_field', 'subject: expected one line'],
    [
      'a long body',
      { subject: 'x', body: 'x'.repeat(20_001) },
      'invalid_support_field',
      'body must be at most 20000 characters',
    ],
    [
      'NUL',
      { subject: 'x', body: 'a\0b' },
      'invalid_support_field',
      'body: expected Unicode text without NUL',
    ],
  ])('are rejected with %s', async (_, body, error, message) => {
    expect(envelope(await as(ann, 'POST', '', body))).toEqual({ code: 400, error, message })
    expect((await as(ann, 'GET')).json.items).toEqual([])
  })

  test('are rejected for malformed ids, unknown statuses and unknown ids', async () => {
    const malformed = { code: 400, error: 'invalid_ticket_id', message: 'invalid ticket id format' }
    const missing = { code: 404, error: 'ticket_not_found', message: 'ticket not found' }
    const body = { body: 'Hi' }
    expect(envelope(await as(ann, 'GET', '/x'))).toEqual(malformed)
    expect(envelope(await as(ann, 'POST', '/x/messages', body))).toEqual(malformed)
    expect(envelope(await as(ann, 'GET', `/${unknown}`))).toEqual(missing)
    expect(envelope(await as(ann, 'POST', `/${unknown}/messages`, body))).toEqual(missing)
    expect(envelope(await as(ann, 'GET', '?status=lost'))).toEqual({
      code: 400,
      error: 'invalid_support_field',
      message: 'status must be one of: open, answered, closed',
    })
  })

  test('are limited with their messages: of twenty concurrent ones on two nodes the quota is accepted', async () => {
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        as(ann, 'POST', '', { subject: 'a', body: 'b' }, index % 2 === 0 ? app : other),
      ),
    )
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(12)
    const refused = responses.find(({ status }) => status === 429)
    expect(refused?.json.message).toBe('too many support messages')
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await as(ann, 'GET')).json.totalItems).toBe(12)
  })

  test('are deleted with their user', async () => {
    const ticket = await open()
    await app.sql('delete from basalt.users where id = $1', [ann])
    expect((await asAdmin('GET', `/${ticket}`)).status).toBe(404)
    expect(await app.sql('select from basalt.support_messages where ticket_id = $1', [ticket])).toEqual([])
  })
})

describe('support › administration', () => {
  test('lists tickets by user and status, those with the newest message first', async () => {
    const [first, second] = [await open(), await open()]
    await as(ann, 'POST', `/${first}/messages`, { body: 'Hello?' })
    await open(bob)
    const ids = async (query: string) =>
      (await asAdmin('GET', query)).json.items.map(({ id }: { id: string }) => id)
    expect(await ids(`?user_id=${ann}`)).toEqual([first, second])
    await asAdmin('PUT', `/${second}`, { status: 'closed' })
    expect(await ids(`?user_id=${ann}&status=closed`)).toEqual([second])
    expect((await asAdmin('GET', `?user_id=${ann}&perPage=1&page=2`)).json).toMatchObject({
      items: [{ id: first }],
      page: 2,
      perPage: 1,
      totalItems: 2,
      totalPages: 2,
    })
    expect(await ids(`?user_id=${ann}&search=BROKEN%20d`)).toEqual([second, first])
    expect(await ids(`?search=${address.slice(0, 9).toUpperCase()}`)).toEqual([second, first])
    expect(await ids(`?user_id=${ann}&search=%20`)).toEqual([second, first])
    expect(await ids(`?user_id=${ann}&search=%25`)).toEqual([])
    expect(envelope(await asAdmin('GET', '?search=%00'))).toEqual({
      code: 400,
      error: 'invalid_support_field',
      message: 'search: PostgreSQL text cannot hold the character U+0000',
    })
    expect(envelope(await asAdmin('GET', '?user_id=x'))).toEqual({
      code: 400,
      error: 'invalid_support_field',
      message: 'invalid user id format',
    })
  })

  test('mails an answer with the ticket in its subject, and audits it', async () => {
    const ticket = await open()
    const response = await asAdmin('POST', `/${ticket}/messages`, { body: 'Pull, <not> push.\nAda' })
    expect(response.status).toBe(201)
    expect(response.json).toEqual({
      id: uuid,
      ticket_id: ticket,
      author: 'support',
      body: 'Pull, <not> push.\nAda',
      attachments: [],
      mailed_at: null,
      created_at: timestamp,
    })
    expect(await inbox.take(address)).toEqual({
      to: address,
      subject: `[Ticket #${ticket}] Broken door`,
      text: 'Pull, <not> push.\nAda\n\nReply to this mail to answer.',
      html: expect.stringContaining('<p>Pull, &#60;not&#62; push.<br>\nAda</p>'),
      from: 'Basalt <no-reply@localhost>',
      replyTo: 'support@in.example.com',
    })
    const recorded = await waitFor('the record of the mail', async () => {
      const { json } = await as(ann, 'GET', `/${ticket}`)
      return json.messages[1].mailed_at === null ? undefined : json
    })
    expect([recorded.status, recorded.messages[1].mailed_at]).toEqual(['answered', timestamp])
    const audit = await app.sql('select action, detail from basalt.audit where target = $1', [ticket])
    expect(audit).toEqual([{ action: 'support.answer', detail: { messageId: response.json.id } }])
  })

  test('answers only in the ticket when the user has no address', async () => {
    await app.sql('update basalt.users set email = null where id = $1', [ann])
    const ticket = await open()
    const { id } = (await asAdmin('POST', `/${ticket}/messages`, { body: 'Pull.' })).json
    await waitFor('the end of the job', async () => {
      const jobs = await app.sql(
        `select from basalt.jobs where type = 'support_answer_mail' and state = 'completed'
        and payload ->> 'message_id' = $1`,
        [id],
      )
      return jobs.length > 0
    })
    expect((await as(ann, 'GET', `/${ticket}`)).json.messages[1]).toMatchObject({ id, mailed_at: null })
  })

  test('mails an answer again until the mail is accepted, and never afterwards', async () => {
    inbox.answer(500)
    const ticket = await open()
    const { id } = (await asAdmin('POST', `/${ticket}/messages`, { body: 'Pull.' })).json
    const job = `type = 'support_answer_mail' and payload ->> 'message_id' = '${id}'`
    const until = (state: string, attempts: number) =>
      waitFor(`${state} after ${attempts}`, async () => {
        const rows = await app.sql(`select from basalt.jobs where ${job} and state = $1 and attempts = $2`, [
          state,
          attempts,
        ])
        return rows.length > 0
      })
    await until('queued', 1)
    inbox.answer(200)
    await app.sql(`update basalt.jobs set run_at = now() where ${job}`)
    await inbox.take(address)
    await until('completed', 2)
    // The state after a crash between the record and the end of the job.
    await app.sql(`update basalt.jobs set state = 'queued', finished_at = null, run_at = now() where ${job}`)
    await until('completed', 3)
    expect(inbox.all.filter(({ to }) => to === address)).toHaveLength(1)
  })

  test('closes a ticket, which the user reopens by writing', async () => {
    const ticket = await open()
    const closed = await asAdmin('PUT', `/${ticket}`, { status: 'closed' })
    expect([closed.status, closed.json.status, closed.json.messages.length]).toEqual([200, 'closed', 1])
    await as(ann, 'POST', `/${ticket}/messages`, { body: 'Not yet.' })
    expect((await asAdmin('GET', `/${ticket}`)).json.status).toBe('open')
    const audit = await app.sql('select action, detail from basalt.audit where target = $1', [ticket])
    expect(audit).toEqual([{ action: 'support.change', detail: { status: 'closed' } }])
  })

  test.each([
    ['PUT', `/${unknown}`, { status: 'closed' }, 404, 'ticket_not_found', 'ticket not found'],
    ['PUT', '/x', { status: 'closed' }, 400, 'invalid_ticket_id', 'invalid ticket id format'],
    ['PUT', `/${unknown}`, {}, 400, 'missing_support_field', 'status is required'],
    [
      'PUT',
      `/${unknown}`,
      { status: 'lost' },
      400,
      'invalid_support_field',
      'status must be one of: open, answered, closed',
    ],
    ['POST', `/${unknown}/messages`, { body: 'x' }, 404, 'ticket_not_found', 'ticket not found'],
    ['POST', '/x/messages', { body: 'x' }, 400, 'invalid_ticket_id', 'invalid ticket id format'],
    ['POST', `/${unknown}/messages`, {}, 400, 'missing_support_field', 'body is required'],
    ['GET', `/${unknown}`, undefined, 404, 'ticket_not_found', 'ticket not found'],
  ])('%s %s of %j is rejected', async (method, rest, body, code, error, message) => {
    expect(envelope(await asAdmin(method, rest, body))).toEqual({ code, error, message })
  })

  test('rejects a job that mails an answer without a valid id', async () => {
    const job = { type: 'support_answer_mail', payload: { message_id: 'x' } }
    expect(envelope(await app.request('POST', '/api/admin/jobs', { token: admin, body: job }))).toEqual({
      code: 400,
      message: 'invalid payload: message_id must be an id',
      error: 'invalid_job_payload',
    })
  })

  test('deletes only tickets that were closed long ago', async () => {
    const [old, recent, unclosed] = [await open(), await open(), await open()]
    for (const ticket of [old, recent]) await asAdmin('PUT', `/${ticket}`, { status: 'closed' })
    await app.sql(
      `update basalt.support_tickets set updated_at = now() - interval '366 days' where id = any ($1)`,
      [[old, unclosed]],
    )
    const job = { type: 'support_retention', payload: {} }
    const { id } = (await app.request('POST', '/api/admin/jobs', { token: admin, body: job })).json
    await waitFor('the job', async () => {
      const { state } = (await app.request('GET', `/api/admin/jobs/${id}`, { token: admin })).json
      return state === 'completed'
    })
    const left = (await as(ann, 'GET')).json.items.map(({ id }: { id: string }) => id)
    expect(left.toSorted()).toEqual([recent, unclosed].toSorted())
  })
})

describe('support › mail', () => {
  const mismatch = { code: 403, error: 'support_sender_mismatch', message: 'support sender mismatch' }

  test('is added to the ticket of the user and reopens it', async () => {
    const ticket = await open()
    await asAdmin('PUT', `/${ticket}`, { status: 'closed' })
    const response = await deliver(reply(ticket))
    expect(response.status).toBe(200)
    expect(response.json).toEqual({
      id: uuid,
      ticket_id: ticket,
      author: 'user',
      body: 'It opens now.\nThanks!',
      attachments: [],
      mailed_at: null,
      created_at: timestamp,
    })
    expect((await as(ann, 'GET', `/${ticket}`)).json).toMatchObject({
      status: 'open',
      messages: [{ author: 'user' }, response.json],
    })
  })

  test('counts once by its Message-ID: for ten concurrent deliveries on two nodes, and a later one', async () => {
    const ticket = await open()
    const headers = 'Received: by mx\r\n\twith ESMTP\r\nMessage-ID:\r\n <abc@mail.example.com>\r\n'
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        // Gateways build the form again, and may add to it.
        deliver(reply(ticket, { headers, spam_score: String(index) }), {
          node: index % 2 === 0 ? app : other,
        }),
      ),
    )
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]))
    expect(new Set(responses.map(({ json }) => json.id)).size).toBe(1)
    expect((await deliver(reply(ticket, { headers, text: 'changed' }))).json).toEqual(responses[0]?.json)
    expect(await bodiesOf(ticket)).toEqual(['It does not open.', 'It opens now.\nThanks!'])
    const next = headers.replace('abc', 'abd')
    expect((await deliver(reply(ticket, { headers: next }))).json.id).not.toBe(responses[0]?.json.id)
  })

  test('without a Message-ID counts once by its content', async () => {
    const ticket = await open()
    const first = await deliver(reply(ticket))
    expect((await deliver(reply(ticket))).json.id).toBe(first.json.id)
    expect((await deliver(reply(ticket, { text: 'Something else' }))).json.id).not.toBe(first.json.id)
  })

  test('without a text part uses the text of its HTML, and with only a picture names it', async () => {
    const ticket = await open()
    const html = '<p>It <b>opens</b>.</p><p>Thanks</p>'
    expect((await deliver(reply(ticket, { text: '', html }))).json.body).toBe('It opens.\n\nThanks')
    const hostile = '<p>'.repeat(20_000)
    expect((await deliver(reply(ticket, { text: '', html: `${hostile}hi` }))).json.body).toBe('hi')
    const attachment1 = new Blob(['12345'], { type: 'image/png' })
    expect((await deliver(reply(ticket, { text: '', attachment1 }))).json).toMatchObject({
      body: '',
      attachments: [{ filename: 'attachment1.png', content_type: 'image/png', size: 5, kept: true }],
    })
  })

  test('brings attachments, which administrators download as files of no type', async () => {
    const ticket = await open()
    const page = new Blob(['<script>alert(1)</script>'], { type: 'text/html' })
    const picture = new Blob([Buffer.from([0, 255, 13, 10])], { type: 'image/png' })
    const message = (await deliver(reply(ticket, { page, 'Größe"': picture }))).json
    expect(message.attachments).toEqual([
      { filename: 'page.png', content_type: 'text/html', size: 25, kept: true },
      { filename: 'Größe".png', content_type: 'image/png', size: 4, kept: true },
    ])
    // A second delivery is the same message, with one copy of each.
    expect((await deliver(reply(ticket, { page, 'Größe"': picture }), { node: other })).json).toEqual(message)
    const path = `${app.url}/api/admin/support/tickets/${ticket}/messages/${message.id}/attachments`
    const headers = { authorization: `Bearer ${admin}` }
    const first = await fetch(`${path}/0`, { headers })
    expect([first.status, await first.text()]).toEqual([200, '<script>alert(1)</script>'])
    expect(Object.fromEntries(first.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment; filename="page.png"',
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'content-length': '25',
    })
    const second = await fetch(`${path}/1`, { headers })
    expect(Buffer.from(await second.arrayBuffer())).toEqual(Buffer.from([0, 255, 13, 10]))
    expect(second.headers.get('content-disposition')).toContain("filename*=UTF-8''Gr%C3%B6%C3%9Fe%22.png")
    const missing = { code: 404, error: 'attachment_not_found', message: 'attachment not found' }
    for (const rest of [
      `${message.id}/attachments/2`,
      `${message.id}/attachments/x`,
      `${unknown}/attachments/0`,
      'x/attachments/0',
    ]) {
      expect(envelope(await asAdmin('GET', `/${ticket}/messages/${rest}`))).toEqual(missing)
    }
    // The attachment belongs to another ticket, and is for administrators only.
    expect(envelope(await asAdmin('GET', `/${await open()}/messages/${message.id}/attachments/0`))).toEqual(
      missing,
    )
    expect(
      (await fetch(`${path}/0`, { headers: { authorization: `Bearer ${userToken({ sub: ann })}` } })).status,
    ).toBe(401)
  })

  test('stores attachments up to the maximum of a ticket, and names the others', async () => {
    const ticket = await open()
    await deliver(reply(ticket, { text: 'first' }))
    await app.sql(
      `insert into basalt.support_attachments (message_id, place, content)
       select id, 9, convert_to(repeat('x', 26214390), 'utf8') from basalt.support_messages
       where ticket_id = $1 and author = 'user' limit 1`,
      [ticket],
    )
    const [small, large] = [new Blob(['0123456789']), new Blob(['01234567890'])]
    const { id, attachments } = (await deliver(reply(ticket, { large, small }))).json
    const described = { filename: expect.any(String), content_type: 'application/octet-stream' }
    expect(attachments).toEqual([
      { ...described, size: 11, kept: false },
      { ...described, size: 10, kept: true },
    ])
    const tickets = [
      await app.request('GET', `/api/support/tickets/${ticket}`, { token: userToken({ sub: ann }) }),
      await asAdmin('GET', `/${ticket}`),
    ]
    for (const { json } of tickets) expect(json.messages.at(-1).attachments).toEqual(attachments)
    const statusOf = async (position: number) =>
      (await asAdmin('GET', `/${ticket}/messages/${id}/attachments/${position}`)).status
    expect([await statusOf(0), await statusOf(1)]).toEqual([404, 200])
    await app.sql('delete from basalt.support_tickets where id = $1', [ticket])
    expect(await app.sql('select from basalt.support_attachments where message_id = $1', [id])).toEqual([])
  })

  test('is cut to the maximum length, and loses characters that cannot be stored', async () => {
    const ticket = await open()
    const { body } = (await deliver(reply(ticket, { text: `a\0b${'x'.repeat(200_000)}` }))).json
    expect(body).toBe(`ab${'x'.repeat(99_998)}\n[…]`)
  })

  test.each([
    ['an answer of a program', 'Auto-Submitted: auto-replied'],
    ['an answer of ours', 'Auto-Submitted: auto-generated'],
    ['a mass mailing', 'Precedence: bulk'],
    ['a mailing list', 'List-Id: <x.example.com>'],
  ])('is ignored if it is %s', async (_, headers) => {
    const ticket = await open()
    const response = await deliver(reply(ticket, { headers }))
    expect([response.status, response.json]).toEqual([200, { ok: true }])
    expect(await bodiesOf(ticket)).toHaveLength(1)
  })

  test('is ignored if it returns to its sender, or is a notice of failure', async () => {
    const ticket = await open()
    const { id } = (await asAdmin('POST', `/${ticket}/messages`, { body: 'Pull.' })).json
    const returned = await deliver(reply(ticket, { headers: `Message-ID: <${id}@localhost>` }))
    expect(returned.json).toEqual({ ok: true })
    const notice = await deliver(
      reply(ticket, { envelope: '{"from": "<>", "to": ["support@in.example.com"]}' }),
    )
    expect(notice.json).toEqual({ ok: true })
    expect(await bodiesOf(ticket)).toHaveLength(2)
    const manual = await deliver(reply(ticket, { headers: 'Auto-Submitted: no\nPrecedence: normal' }))
    expect(manual.json.author).toBe('user')
  })

  test.each(['Hello', '[Ticket #12]', '[Ticket #zzzzzzzz-zzzz-4zzz-8zzz-zzzzzzzzzzzz]', ''])(
    'is ignored without a ticket: %j',
    async (subject) => {
      const response = await deliver(reply(unknown, { subject }))
      expect([response.status, response.json]).toEqual([200, { ok: true }])
    },
  )

  test.each<[string, (own: string) => Fields]>([
    ['another address in From', () => ({ from: 'bob@example.com' })],
    ['two addresses in From', (own) => ({ from: `${own}, bob@example.com` })],
    ['no address in From', () => ({ from: 'Ann' })],
    ['the address in the name alone', (own) => ({ from: `"${own}" <mallory@evil.example>` })],
    ['another sender in the envelope', () => ({ envelope: '{"from": "mallory@evil.example"}' })],
    ['the words of SPF that deny it', () => ({ SPF: 'softfail' })],
    ['SPF of nothing', () => ({ SPF: 'none', dkim: 'none' })],
    ['DKIM of another domain', () => ({ dkim: '{@evil.example : pass, @example.com : fail}' })],
    [
      'SPF of another sender',
      () => ({ SPF: 'pass', dkim: 'none', envelope: '{"from": "mallory@evil.example"}' }),
    ],
    ['DKIM of a public suffix', () => ({ SPF: 'fail', dkim: '{@com : pass}' })],
    ['DKIM of a domain that only ends alike', () => ({ SPF: 'fail', dkim: '{@badexample.com : pass}' })],
  ])('with %s is rejected', async (_, change) => {
    const ticket = await open()
    expect(envelope(await deliver(reply(ticket, change(address))))).toEqual(mismatch)
    expect(await bodiesOf(ticket)).toHaveLength(1)
  })

  test.each<[string, (own: string) => Fields]>([
    ['an address in other letters', (own) => ({ from: own.toUpperCase() })],
    ['SPF that allows it', () => ({ SPF: 'pass', dkim: 'none' })],
    ['DKIM that proves it', () => ({ SPF: 'fail', dkim: '{@mail.example.com : pass}' })],
    [
      'DKIM after it was forwarded',
      () => ({ dkim: '{@example.com : pass}', envelope: '{"from": "srs0=x@forwarder.example"}' }),
    ],
    ['several recipients', () => ({ to: 'bob@example.com, "S, U" <Support@IN.example.com>' })],
  ])('with %s is accepted', async (_, change) => {
    const ticket = await open()
    expect((await deliver(reply(ticket, change(address)))).json.author).toBe('user')
  })

  test.each([
    ['co.uk', 'example.co.uk', 403],
    ['com', 'example.com', 403],
    ['github.io', 'ann.github.io', 403],
    ['mail.example.co.uk', 'example.co.uk', 200],
    ['example.co.uk', 'mail.example.co.uk', 200],
    ['other.co.uk', 'example.co.uk', 403],
    ['host.intern', 'host.intern', 200],
  ])('with DKIM of %s for an address of %s returns %i', async (signer, domain, status) => {
    const own = `ann-${ann}@${domain}`
    await app.sql('update basalt.users set email = $2 where id = $1', [ann, own])
    const envelope = JSON.stringify({ from: own })
    const mail = reply(await open(), { from: own, envelope, SPF: 'fail', dkim: `{@${signer} : pass}` })
    expect((await deliver(mail)).status).toBe(status)
  })

  test('is rejected for the ticket of a user without an address, and gets 404 for an unknown ticket', async () => {
    const ticket = await open()
    await app.sql('update basalt.users set email = null where id = $1', [ann])
    expect(envelope(await deliver(reply(ticket)))).toEqual(mismatch)
    expect(envelope(await deliver(reply(unknown)))).toEqual({
      code: 404,
      error: 'ticket_not_found',
      message: 'ticket not found',
    })
  })

  test.each([
    ['no from', { from: undefined }, 'missing_support_field', 'from is required'],
    ['no to', { to: undefined }, 'missing_support_field', 'to is required'],
    ['no subject', { subject: undefined }, 'missing_support_field', 'subject is required'],
    ['no text', { text: undefined }, 'missing_support_field', 'text is required'],
    ['a blank text', { text: ' ' }, 'missing_support_field', 'text is required'],
    ['no envelope', { envelope: undefined }, 'missing_support_field', 'envelope is required'],
    [
      'an envelope that is no JSON',
      { envelope: '{' },
      'invalid_support_field',
      'envelope: expected JSON with the address "from"',
    ],
    [
      'an envelope without a sender',
      { envelope: '{"from": 7}' },
      'invalid_support_field',
      'envelope: expected JSON with the address "from"',
    ],
    [
      'another domain',
      { to: 'support@evil.example' },
      'support_domain_mismatch',
      'inbound email domain mismatch',
    ],
    ['no address', { to: 'in.example.com' }, 'support_domain_mismatch', 'inbound email domain mismatch'],
    [
      'a domain below',
      { to: 'a@x.in.example.com' },
      'support_domain_mismatch',
      'inbound email domain mismatch',
    ],
  ])('with %s is rejected', async (_, change, error, message) => {
    expect(envelope(await deliver(reply(await open(), change)))).toEqual({ code: 400, error, message })
  })

  test('is rejected if it is not a form', async () => {
    const refused = { code: 400, error: 'invalid_support_form', message: 'invalid multipart form' }
    expect(envelope(await post('{}', secret))).toEqual(refused)
    expect(envelope(await post('', secret))).toEqual(refused)
  })

  test('without the key is rejected before it is read', async () => {
    const refused = {
      code: 401,
      error: 'invalid_support_auth',
      message: 'invalid support webhook auth',
    }
    const ticket = await open()
    for (const key of ['', 'gateway-secre', `${secret}x`]) {
      expect(envelope(await deliver(reply(ticket), { key }))).toEqual(refused)
    }
    expect(envelope(await post(new FormData(), undefined))).toEqual(refused)
    expect(envelope(await post('x'.repeat(3_000_000), 'wrong'))).toEqual(refused)
    expect(await bodiesOf(ticket)).toHaveLength(1)
  })

  test('is accepted up to 2 MiB', async () => {
    const ticket = await open()
    const file = (size: number) => new Blob([Buffer.alloc(size, 'x')])
    expect((await deliver(reply(ticket, { file: file(2_000_000) }))).json.attachments).toMatchObject([
      { size: 2_000_000 },
    ])
    const large = await deliver(reply(ticket, { file: file(2_097_152) }))
    expect(envelope(large)).toEqual({
      code: 413,
      message: 'the request body is larger than 2097152 bytes',
      error: 'body_too_large',
    })
  })

  test('counts towards the limit of its user, once however often it is delivered', async () => {
    const ticket = await open()
    const numbers = Array.from({ length: 11 }, (_, index) => index)
    for (const number of numbers) {
      expect((await deliver(reply(ticket, { text: `text ${number}` }))).status).toBe(200)
    }
    expect((await deliver(reply(ticket, { text: 'one more' }))).status).toBe(429)
    expect((await deliver(reply(ticket, { text: 'text 3' }))).status).toBe(200)
    expect(await bodiesOf(ticket)).toHaveLength(12)
  })
})

describe('support › disabled', () => {
  test('returns 404 from every route to permitted callers', async () => {
    await using bare = await createTestApp({
      config: { 'support.webhook_secret': secret },
      database: app.database,
    })
    const off = { code: 404, error: 'support_not_enabled', message: 'support is not enabled' }
    expect(envelope(await deliver(reply(unknown), { node: bare }))).toEqual(off)
    expect(envelope(await as(ann, 'GET', '', undefined, bare))).toEqual(off)
    expect(envelope(await bare.request('GET', '/api/admin/support/tickets', { token: admin }))).toEqual(off)
    expect((await bare.request('GET', '/api/support/tickets')).status).toBe(401)
  })

  test('accepts no mail without a key or a domain', async () => {
    await using bare = await createTestApp({
      config: { 'support.enabled': 'true', 'support.webhook_secret': secret },
      database: app.database,
    })
    expect((await deliver(reply(unknown), { node: bare })).json.error).toBe('support_domain_mismatch')
    await using open = await createTestApp({
      config: { 'support.enabled': 'true', 'support.inbound_email_domain': 'in.example.com' },
      database: app.database,
    })
    for (const key of ['', 'x']) {
      expect((await deliver(reply(unknown), { node: open, key })).json.error).toBe('invalid_support_auth')
    }
  })
})
