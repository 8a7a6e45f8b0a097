import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { alice } from '../../../../../test/fixtures.ts'
import { answer, type Received, type Receiver } from '../../../../../test/receiver.ts'
import { createTestDatabase, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { createWebhooksApp, hurryAfter, type WebhooksApp } from '../../../../../test/webhooks.ts'

let hooks: WebhooksApp
let sql: WebhooksApp['app']['sql']
const token = userToken({ sub: alice })

beforeAll(async () => {
  hooks = await createWebhooksApp({
    setup: `
      create table item (id bigint primary key, name text, price numeric);
      create table other (id int primary key);
      create schema shop;
      create table shop.item (id int primary key)`,
    config: { 'database.schemas': 'public,shop', 'webhooks.concurrency': '40' },
  })
  sql = hooks.app.sql
})
afterAll(() => hooks[Symbol.asyncDispose]())
beforeEach(async () => {
  await sql('delete from basalt.webhooks')
  await hooks.settle()
  await sql('truncate item, other, shop.item')
})

function write(method: string, path: string, body?: unknown) {
  return hooks.app.request(method, `/api/collections/${path}`, {
    token,
    ...(body === undefined ? {} : { body }),
  })
}

async function one(receiver: Receiver, count = 1): Promise<Received> {
  await waitFor(`${count} deliveries`, () => receiver.received.length >= count)
  const last = receiver.received[count - 1]
  if (last === undefined) throw new Error('nothing came')
  return last
}

/** Rows of the log, the oldest first. */
async function deliveries(id: string): Promise<Record<string, unknown>[]> {
  const { items } = (await hooks.send('GET', `webhooks/${id}/deliveries?perPage=100`)).json
  return items.toReversed()
}

const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/)

describe('a change', () => {
  test('is delivered as a signed request with the payload of the contract', async () => {
    const receiver = await hooks.receiver(answer(200, { 'content-type': 'text/plain' }, 'thanks'))
    const key = Buffer.from('0123456789abcdef0123456789abcdef')
    const secret = `whsec_${key.toString('base64')}`
    const { id } = await hooks.webhook({ url: receiver.url, secret })
    const before = Math.floor(Date.now() / 1000)
    const big =
      '{"id":9007199254740993,"name":"Größe \\u0022 \\ud83d\\ude00","price":12345678901234567890.10}'
    expect((await write('POST', 'item', big)).status).toBe(201)
    const received = await one(receiver)
    const body =
      '{"action":"create","table":"item","record":{"id":9007199254740993,"name":"Größe \\" 😀","price":12345678901234567890.10}}'
    expect(received.raw.toString('utf8')).toBe(body)
    const { headers } = received
    expect([received.method, received.path]).toEqual(['POST', '/hook'])
    expect(headers).toEqual({
      host: new URL(receiver.url).host,
      connection: 'close',
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      'user-agent': 'Basalt',
      'webhook-id': uuid,
      'webhook-timestamp': expect.stringMatching(/^\d{10}$/),
      'webhook-signature': expect.any(String),
      'x-basalt-signature': createHmac('sha256', secret).update(received.raw).digest('hex'),
    })
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
    const expected = createHmac('sha256', key).update(signed).digest('base64')
    expect(headers['webhook-signature']).toBe(`v1,${expected}`)
    const at = Number(headers['webhook-timestamp'])
    expect(at).toBeGreaterThanOrEqual(before)
    expect(at).toBeLessThanOrEqual(before + 30)
    await hooks.settle()
    expect(await deliveries(id)).toEqual([
      {
        id: uuid,
        webhookId: id,
        eventId: headers['webhook-id'],
        eventAction: 'create',
        eventTable: 'item',
        success: true,
        statusCode: 200,
        attempt: 1,
        durationMs: expect.any(Number),
        requestBody: body,
        responseBody: 'thanks',
        deliveredAt: expect.any(String),
      },
    ])
  })

  test('is signed with the secret before, too, for a day after it was replaced', async () => {
    const receiver = await hooks.receiver()
    const { id } = await hooks.webhook({ url: receiver.url, secret: 'first' })
    /** The secrets that have signed the next request. */
    async function signers(
      send: (count: number) => Promise<unknown> = (count) => write('POST', 'item', { id: count }),
    ): Promise<readonly string[]> {
      const count = receiver.received.length + 1
      await send(count)
      const { headers, raw } = await one(receiver, count)
      await hooks.settle()
      const mac = (secret: string) => createHmac('sha256', secret)
      const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${raw}`
      const nameOf = (signature: string) =>
        ['first', 'second', 'third'].find(
          (secret) => signature === `v1,${mac(secret).update(signed).digest('base64')}`,
        ) ?? signature
      const names = String(headers['webhook-signature'] ?? '')
        .split(' ')
        .map(nameOf)
      const [newest = ''] = names
      const simple = newest === '' ? undefined : mac(newest).update(raw).digest('hex')
      expect(headers['x-basalt-signature']).toBe(simple)
      return names
    }
    const change = async (secret: string | null) => {
      expect((await hooks.send('PATCH', `webhooks/${id}`, { secret })).status).toBe(200)
    }
    expect(await signers()).toEqual(['first'])
    await change('second')
    await hooks.send('PATCH', `webhooks/${id}`, { events: ['create'] })
    expect(await signers()).toEqual(['second', 'first'])
    expect(await signers(() => hooks.send('POST', `webhooks/${id}/test`))).toEqual(['second', 'first'])
    const [delivery] = await deliveries(id)
    const replay = () => hooks.send('POST', `webhooks/${id}/deliveries/${delivery?.id}/replay`)
    expect(await signers(replay)).toEqual(['second', 'first'])
    // The same again replaces none, and is sealed anew, with the key in force.
    const stored = () => sql('select secret from basalt.webhooks')
    const sealed = await stored()
    await change('second')
    expect(await stored()).not.toEqual(sealed)
    expect(await signers()).toEqual(['second', 'first'])
    await change('third')
    expect(await signers()).toEqual(['third', 'second'])
    await sql('update basalt.webhooks set previous_secret_until = now()')
    expect(await signers()).toEqual(['third'])
    await change('third')
    expect(await sql('select previous_secret from basalt.webhooks')).toEqual([{ previous_secret: null }])
    // One that others know is removed at once.
    await change('second')
    await change(null)
    expect(await signers()).toEqual([''])
    await change('first')
    expect(await signers()).toEqual(['first'])
  })

  test('is delivered with the record before an update, and with the whole deleted record', async () => {
    const receiver = await hooks.receiver()
    await hooks.webhook({ url: receiver.url })
    await write('POST', 'item', { id: 1, name: 'one' })
    await write('PATCH', 'item/1', { name: 'uno', price: 2 })
    await write('DELETE', 'item/1')
    await one(receiver, 3)
    const [first, second] = [
      { id: 1, name: 'one', price: null },
      { id: 1, name: 'uno', price: 2 },
    ]
    expect(receiver.received.map(({ json }) => json)).toEqual([
      { action: 'create', table: 'item', record: first },
      { action: 'update', table: 'item', record: second, oldRecord: first },
      { action: 'delete', table: 'item', record: second },
    ])
    for (const { headers } of receiver.received) {
      expect(headers).not.toHaveProperty('webhook-signature')
      expect(headers).not.toHaveProperty('x-basalt-signature')
    }
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(3)
  })

  test('goes to the webhooks that listen to its table and action, and to no others', async () => {
    const [all, deletes, otherTable, inSchema, disabled] = await Promise.all(
      Array.from({ length: 5 }, () => hooks.receiver()),
    )
    await Promise.all([
      hooks.webhook({ url: all?.url }),
      hooks.webhook({ url: deletes?.url, events: ['delete'], tables: ['item', 'other'] }),
      hooks.webhook({ url: otherTable?.url, tables: ['other'] }),
      hooks.webhook({ url: inSchema?.url, tables: ['shop.item'] }),
      hooks.webhook({ url: disabled?.url, enabled: false }),
    ])
    await write('POST', 'item', { id: 1 })
    await write('DELETE', 'item/1')
    await write('POST', 'other', { id: 1 })
    await write('POST', 'shop.item', { id: 1 })
    await hooks.settle()
    const names = (receiver?: Receiver) =>
      receiver?.received.map(({ json }) => `${json.action} ${json.table}`).sort()
    expect([all, deletes, otherTable, inSchema, disabled].map(names)).toEqual([
      ['create item', 'create other', 'create shop.item', 'delete item'],
      ['delete item'],
      ['create other'],
      ['create shop.item'],
      [],
    ])
    const ids = (receiver?: Receiver) =>
      Object.fromEntries(
        receiver?.received.map(({ json, headers }) => [
          `${json.action} ${json.table}`,
          headers['webhook-id'],
        ]) ?? [],
      )
    expect(ids(all)).toMatchObject({ ...ids(deletes), ...ids(otherTable), ...ids(inSchema) })
    expect(new Set(Object.values(ids(all))).size).toBe(4)
  })

  test('costs no row where no webhook matches', async () => {
    await hooks.webhook({ url: 'http://127.0.0.1:9/', tables: ['other'] })
    const [before] = await sql('select count(*) from basalt.outbox')
    await write('POST', 'item', { id: 1 })
    await write('POST', 'item/batch', { operations: [{ method: 'create', body: { id: 2 } }] })
    expect(await sql('select count(*) from basalt.outbox')).toEqual([before])
  })

  test('of a batch is delivered like a single one; of a batch that fails nothing is', async () => {
    const receiver = await hooks.receiver()
    await hooks.webhook({ url: receiver.url })
    const operations = [
      { method: 'create', body: { id: 1 } },
      { method: 'create', body: { id: 2 } },
      { method: 'update', id: 1, body: { name: 'x' } },
      { method: 'delete', id: 2 },
    ]
    const failing = [...operations, { method: 'create', body: { id: 1 } }]
    expect((await write('POST', 'item/batch', { operations: failing })).status).toBe(409)
    expect((await write('POST', 'item/batch', { operations })).status).toBe(200)
    await hooks.settle()
    const seen = receiver.received.map(({ json }) => `${json.action} ${json.record.id}`)
    expect([...seen].sort()).toEqual(['create 1', 'create 2', 'delete 2', 'update 1'])
    expect(seen.indexOf('create 1')).toBeLessThan(seen.indexOf('update 1'))
    expect(seen.indexOf('create 2')).toBeLessThan(seen.indexOf('delete 2'))
  })

  test('is delivered from the moment a webhook is enabled, and no more when it is not', async () => {
    const receiver = await hooks.receiver()
    const { id } = await hooks.webhook({ url: receiver.url, enabled: false })
    await write('POST', 'item', { id: 1 })
    expect((await hooks.send('PATCH', `webhooks/${id}`, { enabled: true })).json.enabled).toBe(true)
    await write('POST', 'item', { id: 2 })
    await hooks.settle()
    expect((await hooks.send('PATCH', `webhooks/${id}`, { enabled: false })).json.enabled).toBe(false)
    await write('POST', 'item', { id: 3 })
    await hooks.settle()
    expect(receiver.received.map(({ json }) => json.record.id)).toEqual([2])
  })
})

describe('a receiver that fails', () => {
  test('gets four attempts with the same id and body, each in the log', async () => {
    const receiver = await hooks.receiver((response) => {
      const status = [500, 302, 404, 503][receiver.received.length - 1] ?? 200
      response.writeHead(status, { location: 'http://127.0.0.1:9/' }).end(`answer ${status}`)
    })
    const { id } = await hooks.webhook({ url: receiver.url, secret: 'plain' })
    await write('POST', 'item', { id: 1 })
    for (const attempts of [1, 2, 3]) {
      await waitFor(`attempt ${attempts}`, () => receiver.received.length === attempts)
      const wait = await waitFor('the wait', async () => {
        const [row] = await sql(`
          select round(extract(epoch from q.due_at - d.delivered_at))::int as seconds
          from basalt.webhook_queue q join basalt.webhook_deliveries d using (webhook_id, event_id)
          where q.attempts = ${attempts} and d.attempt = ${attempts}`)
        return row
      })
      expect(wait).toEqual({ seconds: [1, 5, 25][attempts - 1] })
      await hurryAfter(sql, attempts)
    }
    await hooks.settle()
    expect(receiver.received).toHaveLength(4)
    const [first] = receiver.received
    for (const { headers, raw } of receiver.received) {
      expect([headers['webhook-id'], raw]).toEqual([first?.headers['webhook-id'], first?.raw])
    }
    const log = await deliveries(id)
    expect(
      log.map(({ attempt, success, statusCode, error, responseBody }) => [
        attempt,
        success,
        statusCode,
        error,
        responseBody,
      ]),
    ).toEqual(
      [500, 302, 404, 503].map((status, index) => [
        index + 1,
        false,
        status,
        `the receiver answered ${status}`,
        `answer ${status}`,
      ]),
    )
    expect(new Set(log.map(({ eventId }) => eventId))).toEqual(new Set([first?.headers['webhook-id']]))
  })

  test('gets no further attempt after one that succeeds', async () => {
    const receiver = await hooks.receiver((response) =>
      response.writeHead(receiver.received.length === 1 ? 500 : 204).end(),
    )
    const { id } = await hooks.webhook({ url: receiver.url })
    await write('POST', 'item', { id: 1 })
    await hurryAfter(sql, 1)
    await hooks.settle()
    expect((await deliveries(id)).map(({ attempt, success }) => [attempt, success])).toEqual([
      [1, false],
      [2, true],
    ])
    expect(await sql('select failing_since from basalt.webhooks')).toEqual([{ failing_since: null }])
  })

  test('keeps later events of the same record waiting, those of others not', async () => {
    let isBroken = true
    const receiver = await hooks.receiver((response, { json }) =>
      response.writeHead(isBroken && json.record.id === 1 ? 500 : 204).end(),
    )
    await hooks.webhook({ url: receiver.url })
    await write('POST', 'item', { id: 1 })
    await write('PATCH', 'item/1', { name: 'a' })
    await write('PATCH', 'item/1', { id: 3 })
    await write('PATCH', 'item/3', { name: 'b' })
    await write('POST', 'item', { id: 2 })
    await waitFor('the other record', () => receiver.received.some(({ json }) => json.record.id === 2))
    await waitFor('the first attempt to end', async () => {
      const [row] = await sql('select from basalt.webhook_queue where attempts = 1')
      return row
    })
    expect(receiver.received.map(({ json }) => json.record.id).sort()).toEqual([1, 2])
    isBroken = false
    await hurryAfter(sql, 1)
    await hooks.settle()
    const chain = receiver.received.filter(({ json }) => json.record.id !== 2)
    expect(chain.map(({ json }) => [json.action, json.record.id, json.record.name])).toEqual([
      ['create', 1, null],
      ['create', 1, null],
      ['update', 1, 'a'],
      ['update', 3, 'a'],
      ['update', 3, 'b'],
    ])
  })

  test('keeps a truncation waiting for all earlier events of its table, and later ones for the truncation', async () => {
    let isBroken = true
    const receiver = await hooks.receiver((response, { json }) =>
      response.writeHead(isBroken && json.record.id === 1 ? 500 : 204).end(),
    )
    await hooks.webhook({ url: receiver.url, events: ['create', 'truncate'] })
    await waitFor('triggers', async () => {
      const [row] = await sql(`
        select count(*)::int from pg_trigger
        where tgrelid = 'item'::regclass and tgname in ('basalt_capture_insert', 'basalt_capture_truncate')`)
      return row?.count === 2
    })
    await write('POST', 'item', { id: 1 })
    await write('POST', 'item', { id: 2 })
    await sql('truncate item')
    await write('POST', 'item', { id: 3 })
    await sql('truncate item')
    await sql('truncate item')
    await write('POST', 'item', { id: 1 })
    await write('POST', 'other', { id: 9 })
    await waitFor('the other table', () => receiver.received.some(({ json }) => json.record.id === 9))
    await waitFor('the first attempt to end', async () => {
      const [row] = await sql('select from basalt.webhook_queue where attempts = 1')
      return row
    })
    expect(receiver.received.map(({ json }) => json.record.id).sort()).toEqual([1, 2, 9])
    isBroken = false
    await hurryAfter(sql, 1)
    await hooks.settle()
    const ofItem = receiver.received.filter(({ json }) => json.table === 'item').slice(2)
    expect(ofItem.map(({ json }) => json.record.id ?? json.action)).toEqual([
      ...[1, 'truncate', 3, 'truncate', 'truncate', 1],
    ])
  })

  test('may say how long to wait', async () => {
    const receiver = await hooks.receiver(answer(429, { 'retry-after': '90' }))
    await hooks.webhook({ url: receiver.url })
    await write('POST', 'item', { id: 1 })
    await one(receiver)
    const row = await waitFor('the wait', async () => {
      const [found] = await sql(`
        select round(extract(epoch from q.due_at - d.delivered_at))::int as seconds
        from basalt.webhook_queue q join basalt.webhook_deliveries d using (webhook_id, event_id)
        where q.attempts = 1`)
      return found
    })
    expect(row).toEqual({ seconds: 90 })
  })

  test('is paused when it says that it is gone; what waits is delivered when it is enabled again', async () => {
    const receiver = await hooks.receiver(answer(410))
    const { id } = await hooks.webhook({ url: receiver.url })
    await write('POST', 'item/batch', {
      operations: [
        { method: 'create', body: { id: 1 } },
        { method: 'update', id: 1, body: { name: 'x' } },
      ],
    })
    const paused = await waitFor('the pause', async () => {
      const { json } = await hooks.send('GET', `webhooks/${id}`)
      return json.pausedAt !== null && json
    })
    expect(paused).toMatchObject({ enabled: false, pausedReason: 'the receiver answered 410 Gone' })
    expect(receiver.received).toHaveLength(1)
    receiver.respond = answer(204)
    const resumed = (await hooks.send('PATCH', `webhooks/${id}`, { enabled: true })).json
    expect(resumed).toMatchObject({ enabled: true, pausedAt: null, pausedReason: null })
    await hooks.settle()
    expect(receiver.received.map(({ json }) => json.action)).toEqual(['create', 'update'])
    expect((await deliveries(id)).map(({ attempt, statusCode }) => [attempt, statusCode])).toEqual([
      [1, 410],
      [1, 204],
    ])
  })

  test('is paused after days without success, and not before', async () => {
    const receiver = await hooks.receiver(answer(500))
    const { id } = await hooks.webhook({ url: receiver.url })
    await write('POST', 'item', { id: 1 })
    await hurryAfter(sql, 1)
    await waitFor('the second attempt', () => receiver.received.length === 2)
    expect((await hooks.send('GET', `webhooks/${id}`)).json).toMatchObject({ enabled: true, pausedAt: null })
    await sql(`update basalt.webhooks set failing_since = now() - interval '73 h'`)
    await hurryAfter(sql, 2)
    const paused = await waitFor('the pause', async () => {
      const { json } = await hooks.send('GET', `webhooks/${id}`)
      return json.pausedAt !== null && json
    })
    expect(paused).toMatchObject({
      enabled: false,
      pausedReason: 'no delivery has succeeded for 72 hours',
    })
  })

  test('without a connection leaves a row without a status', async () => {
    const { id } = await hooks.webhook({ url: 'http://127.0.0.1:9/' })
    await write('POST', 'item', { id: 1 })
    const log = await waitFor('the attempt', async () => {
      const rows = await deliveries(id)
      return rows.length > 0 && rows
    })
    const [{ statusCode, responseBody, success, error } = {}] = log
    expect([statusCode, responseBody, success, error]).toEqual([
      undefined,
      undefined,
      false,
      'the connection failed',
    ])
  })
})

describe('an answer', () => {
  test('is kept up to 64 KiB', async () => {
    const receiver = await hooks.receiver(answer(200, {}, 'x'.repeat(1_000_000)))
    const { id } = await hooks.webhook({ url: receiver.url })
    await write('POST', 'item', { id: 1 })
    await hooks.settle()
    const [delivery] = await deliveries(id)
    expect([delivery?.success, delivery?.responseBody]).toEqual([true, 'x'.repeat(65_536)])
  })

  test('that is no text is recorded too', async () => {
    const receiver = await hooks.receiver((response) => response.end(Buffer.from([0, 0xff, 0xc3])))
    const { id } = await hooks.webhook({ url: receiver.url })
    await write('POST', 'item', { id: 1 })
    await hooks.settle()
    expect((await deliveries(id))[0]?.responseBody).toBe('\ufffd\ufffd\ufffd')
  })
})

describe('a test', () => {
  test('is sent even if the webhook is disabled, once, signed, and not recorded', async () => {
    const receiver = await hooks.receiver()
    const { id } = await hooks.webhook({ url: receiver.url, secret: 'plain', enabled: false })
    const response = await hooks.send('POST', `webhooks/${id}/test`)
    expect([response.status, response.json]).toEqual([
      200,
      { success: true, statusCode: 204, durationMs: expect.any(Number) },
    ])
    const { json, raw, headers } = await one(receiver)
    expect(json).toEqual({
      action: 'test',
      table: '_basalt_test',
      record: { message: `Test of webhook ${id}` },
    })
    expect(headers['x-basalt-signature']).toBe(createHmac('sha256', 'plain').update(raw).digest('hex'))
    expect(await deliveries(id)).toEqual([])
  })

  test.each([
    [answer(500), { success: false, statusCode: 500, error: 'the receiver answered 500' }],
    [answer(301, { location: '/' }), { success: false, statusCode: 301, error: 'the receiver answered 301' }],
  ])('tells of a failure, which is not tried again', async (respond, expected) => {
    const receiver = await hooks.receiver(respond)
    const { id } = await hooks.webhook({ url: receiver.url })
    const response = await hooks.send('POST', `webhooks/${id}/test`)
    expect([response.status, response.json]).toEqual([200, { ...expected, durationMs: expect.any(Number) }])
    expect(await sql('select from basalt.webhook_queue')).toEqual([])
    expect([receiver.received.length, await deliveries(id)]).toEqual([1, []])
  })

  test('without an answer has no status', async () => {
    const { id } = await hooks.webhook({ url: 'http://127.0.0.1:9/' })
    expect((await hooks.send('POST', `webhooks/${id}/test`)).json).toEqual({
      success: false,
      durationMs: expect.any(Number),
      error: 'the connection failed',
    })
  })
})

describe('a replay', () => {
  test('sends the whole body again under the same id, and leaves a row of its own', async () => {
    const receiver = await hooks.receiver()
    const { id } = await hooks.webhook({ url: receiver.url, secret: 'plain' })
    await write('POST', 'item', { id: 1, name: 'ö'.repeat(50_000) })
    await hooks.settle()
    const [original] = await deliveries(id)
    receiver.respond = answer(500, {}, 'not again')
    const response = await hooks.send('POST', `webhooks/${id}/deliveries/${original?.id}/replay`)
    const { responseBody: _, ...rest } = original ?? {}
    expect([response.status, response.json]).toEqual([
      200,
      {
        ...rest,
        id: uuid,
        success: false,
        statusCode: 500,
        attempt: 2,
        error: 'the receiver answered 500',
        responseBody: 'not again',
        durationMs: expect.any(Number),
        deliveredAt: expect.any(String),
      },
    ])
    const [first, second] = receiver.received
    expect(second?.raw).toEqual(first?.raw)
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
    expect(await deliveries(id)).toEqual([original, response.json])
    expect(await sql('select from basalt.webhook_queue')).toEqual([])
    expect(
      await sql(
        `select action, target, detail from basalt.audit where action = 'webhooks.replay' and target = $1`,
        [id],
      ),
    ).toEqual([
      {
        action: 'webhooks.replay',
        target: id,
        detail: { deliveryId: original?.id, eventId: original?.eventId },
      },
    ])
  })
})

test('a burst reaches a slow receiver whole and in order per record while another one hangs', async () => {
  const slow = await hooks.receiver((response) => void setTimeout(() => response.writeHead(204).end(), 50))
  const hanging = await hooks.receiver(() => undefined)
  await Promise.all([hooks.webhook({ url: hanging.url }), hooks.webhook({ url: slow.url })])
  const records = 300
  const changes = 10
  for (let round = 0; round < changes; round += 1) {
    const operations = Array.from({ length: records }, (_, id) =>
      round === 0
        ? { method: 'create', body: { id, price: 0 } }
        : { method: 'update', id, body: { price: round } },
    )
    expect((await write('POST', 'item/batch', { operations })).status).toBe(200)
  }
  await waitFor('the whole burst', () => slow.received.length >= records * changes, 100_000)
  expect(slow.received).toHaveLength(records * changes)
  const byRecord = Map.groupBy(slow.received, ({ json }) => json.record.id)
  for (const received of byRecord.values()) {
    expect(received.map(({ json }) => json.record.price)).toEqual([...Array(changes).keys()])
  }
  expect(byRecord.size).toBe(records)
  expect(slow.mostAtOnce).toBeLessThanOrEqual(40)
  expect(hanging.mostAtOnce).toBeLessThanOrEqual(40)
}, 120_000)

describe('an attempt whose lease runs out', () => {
  test('is made again, and a completion under the first claim is rejected', async () => {
    let release: (() => void) | undefined
    const receiver = await hooks.receiver((response) => {
      if (receiver.received.length > 1) response.writeHead(500).end()
      else release = () => response.writeHead(204).end()
    })
    const { id } = await hooks.webhook({ url: receiver.url })
    await write('POST', 'item', { id: 1 })
    await one(receiver)
    const [lease] = await sql(`
      select extract(epoch from leased_until - now()) between 10 and 60 as is_right from basalt.webhook_queue`)
    expect(lease).toEqual({ is_right: true })
    await sql('update basalt.webhook_queue set due_at = now(), leased_until = now()')
    const waiting = () =>
      sql('select id, attempts, claim from basalt.webhook_queue where attempts = 1 and leased_until is null')
    const [row] = await waitFor('the second claim to end', async () => {
      const rows = await waiting()
      return rows.length > 0 && rows
    })
    await sql(`update basalt.webhook_queue set due_at = now() + '1 h'`)
    release?.()
    await waitFor('the rejection', () => hooks.app.log.some((line) => line.includes('stale completion')))
    expect(await waiting()).toEqual([row])
    expect((await deliveries(id)).map(({ attempt, success }) => [attempt, success])).toEqual([[1, false]])
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  })
})

test('a node that stops hands on what it is in the middle of', async () => {
  await using database = await createTestDatabase()
  const own = await createWebhooksApp({ database, setup: 'create table item (id int primary key)' })
  const receiver = await hooks.receiver(() => undefined)
  await own.webhook({ url: receiver.url })
  await own.app.request('POST', '/api/collections/item', { token, body: { id: 1 } })
  await one(receiver)
  await own[Symbol.asyncDispose]()
  expect(
    await database.sql('select attempts, leased_until, due_at <= now() as is_due from basalt.webhook_queue'),
  ).toEqual([{ attempts: 0, leased_until: null, is_due: true }])
  expect(await database.sql('select from basalt.webhook_deliveries')).toEqual([])
})

test('a secret that cannot be decrypted sends nothing', async () => {
  const receiver = await hooks.receiver()
  const { id } = await hooks.webhook({ url: receiver.url, secret: 'plain' })
  await sql(`update basalt.webhooks set secret = 'AAAAAAAA.' || substr(secret, 10)`)
  await write('POST', 'item', { id: 1 })
  const log = await waitFor('the attempt', async () => {
    const rows = await deliveries(id)
    return rows.length > 0 && rows
  })
  expect([log[0]?.error, receiver.received]).toEqual([
    'the secret cannot be decrypted: set it again, or restore auth.encryption_key',
    [],
  ])
})
