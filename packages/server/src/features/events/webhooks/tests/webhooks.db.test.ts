import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { alice } from '../../../../../test/fixtures.ts'
import { envelope, userToken } from '../../../../../test/test-app.ts'
import { createWebhooksApp, type WebhooksApp } from '../../../../../test/webhooks.ts'
import { pruneWebhooks } from '../prune.ts'

let hooks: WebhooksApp
let sql: WebhooksApp['app']['sql']
let send: WebhooksApp['send']

beforeAll(async () => {
  hooks = await createWebhooksApp({ setup: 'create table item (id int primary key, name text)' })
  sql = hooks.app.sql
  send = hooks.send
})
afterAll(() => hooks[Symbol.asyncDispose]())
beforeEach(() => sql('delete from basalt.webhooks; delete from basalt.audit; delete from item'))

const url = 'https://shop.example/hook'
const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/)

const shown = {
  id: uuid,
  url,
  hasSecret: false,
  events: ['create', 'update', 'delete'],
  tables: [],
  enabled: true,
  pausedAt: null,
  pausedReason: null,
  createdAt: instant,
  updatedAt: instant,
}

const notFound = { code: 404, message: 'webhook not found', error: 'webhook_not_found' }
const invalid = (message: string) => ({ code: 400, message, error: 'invalid_webhook' })

/** A webhook that is in the database without the wait for other nodes. */
async function stored(fields: { readonly url?: string; readonly enabled?: boolean } = {}): Promise<string> {
  const id = randomUUID()
  await sql(
    `insert into basalt.webhooks (id, url, events, tables, enabled)
     values ($1, $2, '{create,update,delete}', '{}', $3)`,
    [id, fields.url ?? url, fields.enabled ?? false],
  )
  return id
}

async function audit() {
  return await sql('select actor, action, target, detail from basalt.audit order by id')
}

describe('a webhook', () => {
  test('is created with defaults', async () => {
    const response = await send('POST', 'webhooks', { url })
    expect([response.status, response.json]).toEqual([201, shown])
    const { id } = response.json
    expect((await send('GET', `webhooks/${id}`)).json).toEqual(response.json)
    expect(await audit()).toEqual([
      {
        actor: 'admin',
        action: 'webhooks.create',
        target: id,
        detail: { url, hasSecret: false, events: shown.events, tables: [], enabled: true },
      },
    ])
  })

  test('is created with all its fields; the secret never comes back', async () => {
    const secret = 'a very secret text'
    const body = { url, secret, events: ['delete', 'delete'], tables: ['item', 'shop.item'], enabled: false }
    const response = await send('POST', 'webhooks', { ...body, id: 'mine', hasSecret: false, other: 1 })
    const expected = {
      ...shown,
      hasSecret: true,
      events: ['delete'],
      tables: ['item', 'shop.item'],
      enabled: false,
    }
    expect([response.status, response.json]).toEqual([201, expected])
    const { id } = response.json
    const answers = [
      response,
      await send('GET', 'webhooks'),
      await send('GET', `webhooks/${id}`),
      await send('PATCH', `webhooks/${id}`, { enabled: false }),
    ]
    for (const { text } of answers) expect(text).not.toContain(secret)
    const kept = await sql(
      'select w::text as row from basalt.webhooks w union select a::text from basalt.audit a',
    )
    expect(kept.length).toBeGreaterThan(2)
    expect(JSON.stringify([kept, hooks.app.log])).not.toContain(secret)
  })

  test('is listed, the oldest first', async () => {
    expect((await send('GET', 'webhooks')).json).toEqual({ items: [] })
    const ids = [await stored(), await stored(), await stored()]
    const { items } = (await send('GET', 'webhooks')).json
    expect(items.map(({ id }: { id: string }) => id)).toEqual(ids)
    expect(items[0]).toEqual({ ...shown, enabled: false })
  })

  test('is changed in the fields that are sent', async () => {
    const id = await stored()
    const change = async (body: object) => {
      const { status, json } = await send('PATCH', `webhooks/${id}`, body)
      const { url: to, hasSecret, events, tables, enabled } = json
      return [status, to, hasSecret, events, tables, enabled]
    }
    const all = shown.events
    expect(await change({ secret: 'one' })).toEqual([200, url, true, all, [], false])
    expect(await change({ tables: ['item'] })).toEqual([200, url, true, all, ['item'], false])
    expect(await change({ events: ['update'] })).toEqual([200, url, true, ['update'], ['item'], false])
    expect(await change({ url: 'http://other.example/' })).toEqual([
      200,
      'http://other.example/',
      true,
      ['update'],
      ['item'],
      false,
    ])
    expect(await change({ enabled: true, url: '' })).toEqual([
      200,
      'http://other.example/',
      true,
      ['update'],
      ['item'],
      true,
    ])
    expect(await change({ secret: '', events: [], tables: [] })).toEqual([
      200,
      'http://other.example/',
      true,
      all,
      [],
      true,
    ])
    expect((await audit()).map(({ action, detail }) => [action, detail.changed])).toEqual([
      ['webhooks.update', ['secret']],
      ['webhooks.update', ['tables']],
      ['webhooks.update', ['events']],
      ['webhooks.update', ['url']],
      ['webhooks.update', ['enabled']],
      ['webhooks.update', ['events', 'tables']],
    ])
  })

  test('loses its secret by null, and not by an empty one', async () => {
    const id = await stored()
    const change = async (secret: string | null) =>
      (await send('PATCH', `webhooks/${id}`, { secret })).json.hasSecret
    expect(await change('x')).toBe(true)
    expect(await change('')).toBe(true)
    expect(await change(null)).toBe(false)
    expect(await sql('select secret from basalt.webhooks')).toEqual([{ secret: null }])
  })

  test('is deleted with everything that belongs to it', async () => {
    const id = await stored()
    await fill(id, 2)
    const response = await send('DELETE', `webhooks/${id}`)
    expect([response.status, response.text]).toEqual([204, ''])
    expect(envelope(await send('GET', `webhooks/${id}`))).toEqual(notFound)
    expect(await sql('select from basalt.webhook_deliveries')).toEqual([])
    expect(await audit()).toEqual([
      { actor: 'admin', action: 'webhooks.delete', target: id, detail: { url } },
    ])
  })
})

describe('a wrong field', () => {
  const cases: readonly (readonly [object, string])[] = [
    [{}, 'url is required'],
    [{ url: ' ' }, 'url is required'],
    [{ url: 'shop.example/hook' }, 'url must be an absolute http or https URL'],
    [{ url: '/hook' }, 'url must be an absolute http or https URL'],
    [{ url: 'http:hook' }, 'url must be an absolute http or https URL'],
    [{ url: 'ftp://shop.example/' }, 'url must be an absolute http or https URL'],
    [{ url: 'javascript:alert(1)' }, 'url must be an absolute http or https URL'],
    [{ url: 'http://' }, 'url must be an absolute http or https URL'],
    [{ url: 'http://a:b@shop.example/' }, 'url must not include embedded credentials'],
    [{ url: 'http://a@shop.example/' }, 'url must not include embedded credentials'],
    [{ url: `http://shop.example/${'x'.repeat(2100)}` }, 'url: at most 2048 characters'],
    [
      { url, events: ['create', 'drop'] },
      'invalid event: drop (must be create, update, delete, or truncate)',
    ],
    [{ url, events: ['CREATE'] }, 'invalid event: CREATE (must be create, update, delete, or truncate)'],
    [{ url, tables: [''] }, 'tables: "" is not the name of a collection'],
    [{ url, tables: ['a\0b'] }, 'tables: expected Unicode text without NUL'],
    [{ url, tables: ['a\ud800'] }, 'tables: expected Unicode text without NUL'],
    [{ url: `${url}/\ud800` }, 'url: expected Unicode text without NUL'],
    [{ url, secret: 'a\ud800' }, 'secret: expected well-formed Unicode'],
    [{ url, secret: 'whsec_§' }, 'secret: expected base64 after whsec_'],
    [{ url, secret: 'x'.repeat(1025) }, 'secret: at most 1024 characters'],
  ]

  test.each(cases)('%j is refused by name', async (body, message) => {
    const response = await send('POST', 'webhooks', body)
    expect(envelope(response)).toEqual(invalid(message))
    if (message === 'url is required') return
    const id = await stored()
    expect(envelope(await send('PATCH', `webhooks/${id}`, body))).toEqual(invalid(message))
    expect(await sql('select url, secret from basalt.webhooks')).toEqual([{ url, secret: null }])
    expect(await audit()).toEqual([])
  })

  test.each([
    ['url', { url: 7 }],
    ['secret', { url, secret: 7 }],
    ['events', { url, events: 'create' }],
    ['events', { url, events: [1] }],
    ['events', { url, events: null }],
    ['tables', { url, tables: {} }],
    ['tables', { url, tables: [null] }],
    ['enabled', { url, enabled: 'yes' }],
    ['enabled', { url, enabled: null }],
  ])('%s of the wrong type is refused by name: %j', async (field, body) => {
    const id = await stored()
    for (const [method, path] of [
      ['POST', 'webhooks'],
      ['PATCH', `webhooks/${id}`],
    ] as const) {
      const response = await send(method, path, body)
      expect(envelope(response)).toEqual({
        code: 400,
        message: expect.stringContaining(field),
        error: 'invalid_request',
      })
    }
  })

  test.each(['http://169.254.169.254/', 'http://[fe80::1]/', 'http://0/', 'http://224.0.0.1/'])(
    '%s is a target that is not allowed',
    async (target) => {
      const refused = {
        code: 400,
        message: 'url: the address is not one that webhooks may be sent to',
        error: 'webhook_target_refused',
      }
      expect(envelope(await send('POST', 'webhooks', { url: target }))).toEqual(refused)
      const id = await stored()
      expect(envelope(await send('PATCH', `webhooks/${id}`, { url: target }))).toEqual(refused)
    },
  )

  test.each(['', '[]', '"text"', 'null'])('a body of %j is refused', async (body) => {
    const response = await send('POST', 'webhooks', body)
    expect([response.status, response.json.code]).toEqual([400, 400])
  })
})

describe('an id of nothing', () => {
  const paths = [
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/test'],
    ['GET', '/deliveries'],
    ['GET', `/deliveries/${alice}`],
    ['POST', `/deliveries/${alice}/replay`],
  ] as const

  test.each(paths)('%s webhooks/:id%s answers 404, malformed or not', async (method, path) => {
    for (const id of [alice, 'x', '1', "'", `${alice}0`, '%00', 'ä']) {
      const body = method === 'PATCH' ? { enabled: false } : undefined
      const response = await send(method, `webhooks/${id}${path}`, body)
      expect([id, envelope(response)]).toEqual([id, notFound])
    }
    expect(await audit()).toEqual([])
  })

  test('of a delivery answers 404 too, and so does one of another webhook', async () => {
    const [id, other] = [await stored(), await stored()]
    await fill(other, 1)
    const [{ id: foreign } = { id: '' }] = await sql('select id from basalt.webhook_deliveries')
    for (const delivery of [alice, 'x', foreign]) {
      for (const [method, path] of [
        ['GET', ''],
        ['POST', '/replay'],
      ] as const) {
        const response = await send(method, `webhooks/${id}/deliveries/${delivery}${path}`)
        expect(envelope(response)).toEqual({
          code: 404,
          message: 'delivery not found',
          error: 'delivery_not_found',
        })
      }
    }
  })
})

/** Deliveries of a webhook, a second apart; every third one failed. */
async function fill(id: string, count: number): Promise<void> {
  await sql(
    `insert into basalt.webhook_deliveries (webhook_id, event_id, event_action, event_table, success, status_code,
       attempt, duration_ms, error, request_body, response_body, delivered_at)
     select $1, gen_random_uuid(), 'create', 'item', n % 3 > 0, case when n % 3 > 0 then 200 end, n, 5,
       case when n % 3 = 0 then 'the connection failed' end, '{}', case when n % 3 > 0 then 'fine' end,
       '2026-01-01T00:00:00Z'::timestamptz + make_interval(secs => n)
     from generate_series(1, $2::int) n`,
    [id, count],
  )
}

describe('the log of deliveries', () => {
  const attempts = (response: { json: { items: { attempt: number }[] } }) =>
    response.json.items.map(({ attempt }) => attempt)

  test('is paged, the newest first', async () => {
    const id = await stored()
    await fill(id, 45)
    const first = await send('GET', `webhooks/${id}/deliveries`)
    expect(first.json).toEqual({
      items: expect.any(Array),
      page: 1,
      perPage: 20,
      totalItems: 45,
      totalPages: 3,
    })
    expect(attempts(first)).toEqual(Array.from({ length: 20 }, (_, index) => 45 - index))
    const last = await send('GET', `webhooks/${id}/deliveries?page=3&perPage=20`)
    expect(attempts(last)).toEqual([5, 4, 3, 2, 1])
    const { items, ...page } = (await send('GET', `webhooks/${id}/deliveries?page=4`)).json
    expect([items, page]).toEqual([[], { page: 4, perPage: 20, totalItems: 45, totalPages: 3 }])
  })

  test.each([
    ['perPage=101', { page: 1, perPage: 100 }],
    ['perPage=0', { page: 1, perPage: 1 }],
    ['page=0&perPage=-3', { page: 1, perPage: 1 }],
    ['page=999999999999', { page: 1_000_000, perPage: 20 }],
  ])('with %s has a page within bounds', async (query, expected) => {
    const { json } = await send('GET', `webhooks/${await stored()}/deliveries?${query}`)
    expect(json).toEqual({ ...expected, items: [], totalItems: 0, totalPages: 0 })
  })

  test.each([
    ['page=x', 'page: expected an integer'],
    ['perPage=1.5', 'perPage: expected an integer'],
    ['failed_only=1', 'failed_only: expected true or false'],
    ['failed_only=', 'failed_only: expected true or false'],
  ])('with %s is refused', async (query, message) => {
    const response = await send('GET', `webhooks/${await stored()}/deliveries?${query}`)
    expect(envelope(response)).toEqual(invalid(message))
  })

  test('can be of failures only', async () => {
    const id = await stored()
    await fill(id, 7)
    const response = await send('GET', `webhooks/${id}/deliveries?failed_only=true`)
    expect([attempts(response), response.json.totalItems]).toEqual([[6, 3], 2])
  })

  test('shows each attempt', async () => {
    const id = await stored()
    await fill(id, 3)
    const { items } = (await send('GET', `webhooks/${id}/deliveries?perPage=2`)).json
    const common = {
      id: uuid,
      webhookId: id,
      eventId: uuid,
      eventAction: 'create',
      eventTable: 'item',
      durationMs: 5,
      requestBody: '{}',
    }
    expect(items).toEqual([
      {
        ...common,
        success: false,
        attempt: 3,
        error: 'the connection failed',
        deliveredAt: '2026-01-01T00:00:03.000Z',
      },
      {
        ...common,
        success: true,
        statusCode: 200,
        attempt: 2,
        responseBody: 'fine',
        deliveredAt: '2026-01-01T00:00:02.000Z',
      },
    ])
    const one = await send('GET', `webhooks/${id}/deliveries/${items[1].id}`)
    expect([one.status, one.json]).toEqual([200, items[1]])
  })

  test('is kept for as long as configured', async () => {
    const id = await stored()
    await fill(id, 3)
    await sql(
      `update basalt.webhook_deliveries set delivered_at = now() - interval '6 d 23 h' where attempt = 2`,
    )
    await sql(`
      insert into basalt.webhook_queue (webhook_id, event_id, event_action, event_table, body, created_at)
      values ('${id}', gen_random_uuid(), 'create', 'item', '{}', now() - interval '8 d'),
        ('${id}', gen_random_uuid(), 'create', 'item', '{}', now())`)
    expect(await pruneWebhooks(hooks.app.app.database.system, 7 * 24)).toBe(3)
    expect(await sql('select attempt from basalt.webhook_deliveries')).toEqual([{ attempt: 2 }])
    expect(await sql('select from basalt.webhook_queue')).toHaveLength(1)
  })

  test('is pruned together with secrets that no longer sign', async () => {
    const [old, recent] = [await stored(), await stored()]
    await sql(`
      update basalt.webhooks set previous_secret = 'sealed', previous_secret_until =
        now() + case id when '${old}' then interval '0' else interval '1 h' end
      where id in ('${old}', '${recent}')`)
    const { id } = (await send('POST', 'admin/jobs', { type: 'webhook_delivery_prune' })).json
    await expect
      .poll(() => sql('select state from basalt.jobs where id = $1', [id]))
      .toEqual([{ state: 'completed' }])
    expect(
      await sql(
        'select id, previous_secret, previous_secret_until is null as forgets from basalt.webhooks where id in ($1, $2) order by forgets',
        [old, recent],
      ),
    ).toEqual([
      { id: recent, previous_secret: 'sealed', forgets: false },
      { id: old, previous_secret: null, forgets: true },
    ])
  })
})

test('callers have no way to the tables of schema basalt, and call none of its functions but those for policies and searches', async () => {
  const open = await sql(`
    select relname from pg_class
    where relnamespace = 'basalt'::regnamespace and relkind in ('r', 'v', 'p', 'm')
      and has_any_column_privilege('basalt_authenticated', oid, 'select, insert, update, references')`)
  // Files of users, under policies.
  expect(open).toEqual([{ relname: 'objects' }])
  const callable = await sql(`
    select proname from pg_proc
    where pronamespace = 'basalt'::regnamespace and has_function_privilege('basalt_authenticated', oid, 'execute')
    order by proname`)
  expect(callable.map(({ proname }) => proname)).toEqual([
    'aal',
    'check_size_classes',
    'claims',
    'email_verified',
    'is_anonymous',
    'nearby_rows',
    'plan_class',
    'planned_for',
    'search_query',
    'search_rows',
    'search_rows',
    'session_id',
    'similar_rows',
    'size_class',
    'user_email',
    'user_id',
  ])
})

test('callers reach none of the routes', async () => {
  const token = userToken({ sub: alice })
  for (const method of ['GET', 'POST']) {
    expect((await hooks.app.request(method, '/api/webhooks', { token })).status).toBe(401)
  }
})
