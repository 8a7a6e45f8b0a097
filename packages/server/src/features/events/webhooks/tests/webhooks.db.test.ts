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
const recordEvents = ['create', 'update', 'delete']

/** Body of a webhook with default fields. */
const defaults = {
  id: uuid,
  url,
  hasSecret: false,
  events: recordEvents,
  tables: [],
  enabled: true,
  pausedAt: null,
  pausedReason: null,
  isOfFunction: false,
  createdAt: instant,
  updatedAt: instant,
}

const notFound = { code: 404, message: 'webhook not found', error: 'webhook_not_found' }
const deliveryNotFound = { code: 404, message: 'delivery not found', error: 'delivery_not_found' }
const invalid = (message: string) => ({ code: 400, message, error: 'invalid_webhook' })

interface StoredFields {
  readonly url?: string
  readonly secret?: string
  readonly events?: readonly string[]
  readonly tables?: readonly string[]
}

/** Inserts a disabled webhook, without the wait for other nodes. */
async function storeWebhook(fields: StoredFields = {}): Promise<string> {
  const id = randomUUID()
  await sql(
    `insert into basalt.webhooks (id, url, secret, events, tables, enabled) values ($1, $2, $3, $4, $5, false)`,
    [id, fields.url ?? url, fields.secret ?? null, fields.events ?? recordEvents, fields.tables ?? []],
  )
  return id
}

/** Inserts deliveries of a webhook, a second apart. Every third one has failed. */
async function storeDeliveries(id: string, count: number): Promise<void> {
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

/** Returns the body of a delivery that {@link storeDeliveries} has inserted. */
function delivery(webhookId: string, attempt: number) {
  const isFailed = attempt % 3 === 0
  return {
    id: uuid,
    webhookId,
    eventId: uuid,
    eventAction: 'create',
    eventTable: 'item',
    success: !isFailed,
    attempt,
    durationMs: 5,
    ...(isFailed ? { error: 'the connection failed' } : { statusCode: 200, responseBody: 'fine' }),
    requestBody: '{}',
    deliveredAt: `2026-01-01T00:00:${String(attempt).padStart(2, '0')}.000Z`,
  }
}

async function audit() {
  return await sql('select actor, action, target, detail from basalt.audit order by id')
}

describe('POST /api/webhooks', () => {
  test('creates a webhook with defaults', async () => {
    const response = await send('POST', 'webhooks', { url })
    expect([response.status, response.json]).toEqual([201, defaults])
    const { id } = response.json
    expect((await send('GET', `webhooks/${id}`)).json).toEqual(response.json)
    const detail = { url, hasSecret: false, events: recordEvents, tables: [], enabled: true }
    expect(await audit()).toEqual([{ actor: 'admin', action: 'webhooks.create', target: id, detail }])
  })

  test('creates a webhook with all fields and ignores unknown ones', async () => {
    const fields = { url, events: ['delete', 'delete'], tables: ['item', 'shop.item'], enabled: false }
    const unknown = { id: 'mine', hasSecret: false, other: 1 }
    const response = await send('POST', 'webhooks', { ...fields, secret: 'a secret', ...unknown })
    expect([response.status, response.json]).toEqual([
      201,
      { ...defaults, hasSecret: true, events: ['delete'], tables: ['item', 'shop.item'], enabled: false },
    ])
  })

  test('never returns, stores or logs the secret in clear text', async () => {
    const secret = 'a very secret text'
    const created = await send('POST', 'webhooks', { url, secret })
    const { id } = created.json
    const responses = [
      created,
      await send('GET', 'webhooks'),
      await send('GET', `webhooks/${id}`),
      await send('PATCH', `webhooks/${id}`, { enabled: false }),
    ]
    for (const { status, text } of responses) {
      expect(status).toBeLessThan(300)
      expect(text).not.toContain(secret)
    }
    const rows = await sql(
      'select w::text as row from basalt.webhooks w union select a::text from basalt.audit a',
    )
    expect(rows.length).toBeGreaterThan(2)
    expect(JSON.stringify([rows, hooks.app.log])).not.toContain(secret)
  })

  test.each(['', '[]', '"text"', 'null'])('rejects the body %j', async (body) => {
    const response = await send('POST', 'webhooks', body)
    expect([response.status, response.json.code]).toEqual([400, 400])
  })
})

describe('GET /api/webhooks', () => {
  test('returns an empty list without webhooks', async () => {
    const response = await send('GET', 'webhooks')
    expect([response.status, response.json]).toEqual([200, { items: [] }])
  })

  test('lists the oldest webhooks first', async () => {
    const ids = [await storeWebhook(), await storeWebhook(), await storeWebhook()]
    const response = await send('GET', 'webhooks')
    expect([response.status, response.json]).toEqual([
      200,
      { items: ids.map((id) => ({ ...defaults, id, enabled: false })) },
    ])
  })
})

describe('PATCH /api/webhooks/:id', () => {
  const fields = { url: 'http://other.example/', secret: 'sealed', events: ['update'], tables: ['item'] }
  const before = { url: fields.url, hasSecret: true, events: ['update'], tables: ['item'], enabled: false }

  test.each<[object, object, string[]]>([
    [{ secret: 'one' }, {}, ['secret']],
    [{ tables: ['shop.item'] }, { tables: ['shop.item'] }, ['tables']],
    [{ events: ['create'] }, { events: ['create'] }, ['events']],
    [{ url }, { url }, ['url']],
    [{ enabled: true, url: '' }, { enabled: true }, ['enabled']],
    [{ secret: '', events: [], tables: [] }, { events: recordEvents, tables: [] }, ['events', 'tables']],
    [{ secret: null }, { hasSecret: false }, ['secret']],
  ])('%j changes the sent fields and no others', async (body, changes, changed) => {
    const id = await storeWebhook(fields)
    const response = await send('PATCH', `webhooks/${id}`, body)
    expect([response.status, response.json]).toEqual([200, { ...defaults, id, ...before, ...changes }])
    expect((await send('GET', `webhooks/${id}`)).json).toEqual(response.json)
    expect((await audit()).map(({ action, detail }) => [action, detail.changed])).toEqual([
      ['webhooks.update', changed],
    ])
  })

  test('sets a secret, keeps it for an empty one, and removes it for null', async () => {
    const id = await storeWebhook()
    const change = async (secret: string | null) =>
      (await send('PATCH', `webhooks/${id}`, { secret })).json.hasSecret
    expect(await change('x')).toBe(true)
    expect(await change('')).toBe(true)
    expect(await change(null)).toBe(false)
    expect(await sql('select secret from basalt.webhooks')).toEqual([{ secret: null }])
  })
})

describe('DELETE /api/webhooks/:id', () => {
  test('deletes the webhook with its deliveries', async () => {
    const id = await storeWebhook()
    await storeDeliveries(id, 2)
    const response = await send('DELETE', `webhooks/${id}`)
    expect([response.status, response.text]).toEqual([204, ''])
    expect(envelope(await send('GET', `webhooks/${id}`))).toEqual(notFound)
    expect(await sql('select from basalt.webhook_deliveries')).toEqual([])
    expect(await audit()).toEqual([
      { actor: 'admin', action: 'webhooks.delete', target: id, detail: { url } },
    ])
  })
})

describe('POST and PATCH /api/webhooks', () => {
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

  test.each(cases)('reject %j and name the field', async (body, message) => {
    const response = await send('POST', 'webhooks', body)
    expect(envelope(response)).toEqual(invalid(message))
    if (message === 'url is required') return
    const id = await storeWebhook()
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
  ])('reject %s of the wrong type and name the field: %j', async (field, body) => {
    const rejection = { code: 400, message: expect.stringContaining(field), error: 'invalid_request' }
    expect(envelope(await send('POST', 'webhooks', body))).toEqual(rejection)
    const id = await storeWebhook()
    expect(envelope(await send('PATCH', `webhooks/${id}`, body))).toEqual(rejection)
  })

  test.each(['http://169.254.169.254/', 'http://[fe80::1]/', 'http://0/', 'http://224.0.0.1/'])(
    'reject the target %s',
    async (target) => {
      const rejection = {
        code: 400,
        message: 'url: the address is not one that webhooks may be sent to',
        error: 'webhook_target_refused',
      }
      expect(envelope(await send('POST', 'webhooks', { url: target }))).toEqual(rejection)
      const id = await storeWebhook()
      expect(envelope(await send('PATCH', `webhooks/${id}`, { url: target }))).toEqual(rejection)
    },
  )
})

describe('/api/webhooks/:id', () => {
  const paths = [
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/test'],
    ['GET', '/deliveries'],
    ['GET', `/deliveries/${alice}`],
    ['POST', `/deliveries/${alice}/replay`],
  ] as const

  test.each(paths)('%s :id%s returns 404 for an unknown or malformed id', async (method, path) => {
    for (const id of [alice, 'x', '1', "'", `${alice}0`, '%00', 'ä']) {
      const body = method === 'PATCH' ? { enabled: false } : undefined
      const response = await send(method, `webhooks/${id}${path}`, body)
      expect([id, envelope(response)]).toEqual([id, notFound])
    }
    expect(await audit()).toEqual([])
  })

  test.each([
    ['GET', ''],
    ['POST', '/replay'],
  ] as const)(
    '%s /deliveries/:id%s returns 404 for an unknown delivery and for one of another webhook',
    async (method, path) => {
      const [id, other] = [await storeWebhook(), await storeWebhook()]
      await storeDeliveries(other, 1)
      const [{ id: foreign } = { id: '' }] = await sql('select id from basalt.webhook_deliveries')
      for (const deliveryId of [alice, 'x', foreign]) {
        const response = await send(method, `webhooks/${id}/deliveries/${deliveryId}${path}`)
        expect(envelope(response)).toEqual(deliveryNotFound)
      }
    },
  )

  test.each(['GET', 'POST'])('%s returns 401 for a user', async (method) => {
    const token = userToken({ sub: alice })
    expect((await hooks.app.request(method, '/api/webhooks', { token })).status).toBe(401)
  })
})

describe('GET /api/webhooks/:id/deliveries', () => {
  test.each([
    ['', { page: 1, perPage: 20 }, Array.from({ length: 20 }, (_, index) => 45 - index)],
    ['?page=3&perPage=20', { page: 3, perPage: 20 }, [5, 4, 3, 2, 1]],
    ['?page=4', { page: 4, perPage: 20 }, []],
  ])('%s returns a page, newest first', async (query, page, attempts) => {
    const id = await storeWebhook()
    await storeDeliveries(id, 45)
    const response = await send('GET', `webhooks/${id}/deliveries${query}`)
    expect([response.status, response.json]).toEqual([
      200,
      { items: attempts.map((attempt) => delivery(id, attempt)), ...page, totalItems: 45, totalPages: 3 },
    ])
  })

  test.each([
    ['perPage=101', { page: 1, perPage: 100 }],
    ['perPage=0', { page: 1, perPage: 1 }],
    ['page=0&perPage=-3', { page: 1, perPage: 1 }],
    ['page=999999999999', { page: 1_000_000, perPage: 20 }],
  ])('clamps %s', async (query, expected) => {
    const { json } = await send('GET', `webhooks/${await storeWebhook()}/deliveries?${query}`)
    expect(json).toEqual({ ...expected, items: [], totalItems: 0, totalPages: 0 })
  })

  test.each([
    ['page=x', 'page: expected an integer'],
    ['perPage=1.5', 'perPage: expected an integer'],
    ['failed_only=1', 'failed_only: expected true or false'],
    ['failed_only=', 'failed_only: expected true or false'],
  ])('rejects %s', async (query, message) => {
    const response = await send('GET', `webhooks/${await storeWebhook()}/deliveries?${query}`)
    expect(envelope(response)).toEqual(invalid(message))
  })

  test('lists only failures with failed_only', async () => {
    const id = await storeWebhook()
    await storeDeliveries(id, 7)
    const response = await send('GET', `webhooks/${id}/deliveries?failed_only=true`)
    expect([response.status, response.json]).toEqual([
      200,
      { items: [delivery(id, 6), delivery(id, 3)], page: 1, perPage: 20, totalItems: 2, totalPages: 1 },
    ])
  })
})

describe('GET /api/webhooks/:id/deliveries/:deliveryId', () => {
  test('returns the delivery as the list has it', async () => {
    const id = await storeWebhook()
    await storeDeliveries(id, 3)
    const { items } = (await send('GET', `webhooks/${id}/deliveries`)).json
    const response = await send('GET', `webhooks/${id}/deliveries/${items[1].id}`)
    expect([response.status, response.json]).toEqual([200, { ...delivery(id, 2), id: items[1].id }])
    expect(response.json).toEqual(items[1])
  })
})

describe('webhooks › retention', () => {
  test('removes old deliveries and old events of disabled webhooks', async () => {
    const id = await storeWebhook()
    await storeDeliveries(id, 3)
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

  test('removes secrets that no longer sign', async () => {
    const [old, recent] = [await storeWebhook(), await storeWebhook()]
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
        `select id, previous_secret, previous_secret_until is null as is_removed
         from basalt.webhooks where id in ($1, $2) order by is_removed`,
        [old, recent],
      ),
    ).toEqual([
      { id: recent, previous_secret: 'sealed', is_removed: false },
      { id: old, previous_secret: null, is_removed: true },
    ])
  })
})

test('schema basalt › is closed to callers, except for its functions for policies and searches', async () => {
  const readable = await sql(`
    select relname from pg_class
    where relnamespace = 'basalt'::regnamespace and relkind in ('r', 'v', 'p', 'm')
      and has_any_column_privilege('basalt_authenticated', oid, 'select, insert, update, references')`)
  // Users have files of their own, under policies.
  expect(readable).toEqual([{ relname: 'objects' }])
  const callable = await sql(`
    select proname from pg_proc
    where pronamespace = 'basalt'::regnamespace and has_function_privilege('basalt_authenticated', oid, 'execute')
    order by proname`)
  expect(callable.map(({ proname }) => proname)).toEqual([
    'aal',
    'app_metadata',
    'check_size_classes',
    'claims',
    'email_verified',
    'headline',
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
    'without_accents',
  ])
})
