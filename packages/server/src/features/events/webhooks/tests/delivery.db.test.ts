import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { alice } from '../../../../../test/fixtures.ts'
import { answer, type Received, type Receiver, type Respond } from '../../../../../test/receiver.ts'
import { createTestDatabase, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { createWebhooksApp, hurryAfter, type WebhooksApp } from '../../../../../test/webhooks.ts'
import { notificationChannel } from '../../../../database/notifications/listener.ts'
import { webhooksTopic } from '../index.ts'

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

/** Creates a webhook with a receiver, which responds with 204 by default. */
async function subscribe(
  fields: Readonly<Record<string, unknown>> = {},
  respond?: Respond,
): Promise<{ readonly id: string; readonly receiver: Receiver }> {
  const receiver = await hooks.receiver(respond)
  const { id } = await hooks.webhook({ url: receiver.url, ...fields })
  return { id, receiver }
}

function write(method: string, path: string, body?: unknown) {
  return hooks.app.request(method, `/api/collections/${path}`, {
    token,
    ...(body === undefined ? {} : { body }),
  })
}

async function writeBatch(operations: readonly object[]): Promise<number> {
  return (await write('POST', 'item/batch', { operations })).status
}

/** Waits for a delivery by its number, starting at 1. */
async function deliveryTo(receiver: Receiver, number = 1): Promise<Received> {
  return await waitFor(`delivery ${number}`, () => receiver.received[number - 1])
}

const bodiesOf = (receiver: Receiver) => receiver.received.map(({ json }) => json)

/** Reads the log of deliveries, oldest first. */
async function readLog(id: string): Promise<Record<string, unknown>[]> {
  const { items } = (await hooks.send('GET', `webhooks/${id}/deliveries?perPage=100`)).json
  return items.toReversed()
}

/** Waits until the log has a delivery, and reads it. */
async function waitForLog(id: string): Promise<Record<string, unknown>[]> {
  return await waitFor('the attempt in the log', async () => {
    const log = await readLog(id)
    return log.length > 0 && log
  })
}

async function waitForPause(id: string): Promise<Record<string, unknown>> {
  return await waitFor('the pause', async () => {
    const { json } = await hooks.send('GET', `webhooks/${id}`)
    return json.pausedAt !== null && json
  })
}

/** Waits until an attempt has ended. Returns the seconds until the next one. */
async function secondsAfter(attempt: number): Promise<number> {
  const row = await waitFor('the pause before the next attempt', async () => {
    const [found] = await sql<{ seconds: number }>(`
      select round(extract(epoch from q.due_at - d.delivered_at))::int as seconds
      from basalt.webhook_queue q join basalt.webhook_deliveries d using (webhook_id, event_id)
      where q.attempts = ${attempt} and d.attempt = ${attempt}`)
    return found
  })
  return row.seconds
}

async function waitForFirstFailure(): Promise<void> {
  await waitFor('the first attempt to end', async () => {
    const [row] = await sql('select from basalt.webhook_queue where attempts = 1')
    return row
  })
}

const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/)
const sha256 = (key: string | Buffer, text: string | Buffer) => createHmac('sha256', key).update(text)
const toJson = (id: number) =>
  `{"action":"create","table":"item","record":{"id":${id},"name":null,"price":null}}`

/** Returns the log entry of the creation of item 1. */
const entry = (webhookId: string, fields: object) => ({
  id: uuid,
  webhookId,
  eventId: uuid,
  eventAction: 'create',
  eventTable: 'item',
  attempt: 1,
  durationMs: expect.any(Number),
  requestBody: toJson(1),
  deliveredAt: expect.any(String),
  ...fields,
})

describe('webhooks › deliveries', () => {
  test('are signed requests with the payload of the contract', async () => {
    const key = Buffer.from('0123456789abcdef0123456789abcdef')
    const secret = `whsec_${key.toString('base64')}`
    const { id, receiver } = await subscribe(
      { secret },
      answer(200, { 'content-type': 'text/plain' }, 'thanks'),
    )
    const before = Math.floor(Date.now() / 1000)
    const big =
      '{"id":9007199254740993,"name":"Größe \\u0022 \\ud83d\\ude00","price":12345678901234567890.10}'
    expect((await write('POST', 'item', big)).status).toBe(201)
    const { method, path, headers, raw } = await deliveryTo(receiver)
    const body =
      '{"action":"create","table":"item","record":{"id":9007199254740993,"name":"Größe \\" 😀","price":12345678901234567890.10}}'
    const at = Number(headers['webhook-timestamp'])
    const signature = sha256(key, `${headers['webhook-id']}.${at}.${body}`).digest('base64')
    expect({ method, path, headers, body: raw.toString('utf8') }).toEqual({
      method: 'POST',
      path: '/hook',
      headers: {
        host: new URL(receiver.url).host,
        connection: 'close',
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(body)),
        'user-agent': 'Basalt',
        'webhook-id': uuid,
        'webhook-timestamp': expect.stringMatching(/^\d{10}$/),
        'webhook-signature': `v1,${signature}`,
        'x-basalt-signature': sha256(secret, raw).digest('hex'),
      },
      body,
    })
    expect(at).toBeGreaterThanOrEqual(before)
    expect(at).toBeLessThanOrEqual(before + 30)
    await hooks.settle()
    const outcome = { success: true, statusCode: 200, responseBody: 'thanks' }
    expect(await readLog(id)).toEqual([
      entry(id, { ...outcome, eventId: headers['webhook-id'], requestBody: body }),
    ])
  })

  test('have the record before an update, and the whole deleted record', async () => {
    const { receiver } = await subscribe()
    await write('POST', 'item', { id: 1, name: 'one' })
    await write('PATCH', 'item/1', { name: 'uno', price: 2 })
    await write('DELETE', 'item/1')
    await hooks.settle()
    const created = { id: 1, name: 'one', price: null }
    const updated = { id: 1, name: 'uno', price: 2 }
    expect(bodiesOf(receiver)).toEqual([
      { action: 'create', table: 'item', record: created },
      { action: 'update', table: 'item', record: updated, oldRecord: created },
      { action: 'delete', table: 'item', record: updated },
    ])
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(3)
  })

  test('are not signed without a secret', async () => {
    const { receiver } = await subscribe()
    await write('POST', 'item', { id: 1 })
    const { headers } = await deliveryTo(receiver)
    expect(headers).not.toHaveProperty('webhook-signature')
    expect(headers).not.toHaveProperty('x-basalt-signature')
  })

  test('are not sent when the secret cannot be decrypted', async () => {
    const { id, receiver } = await subscribe({ secret: 'plain' })
    await sql(`update basalt.webhooks set secret = 'AAAAAAAA.' || substr(secret, 10)`)
    await write('POST', 'item', { id: 1 })
    const error = 'the secret cannot be decrypted: set it again, or restore auth.encryption_key'
    expect((await waitForLog(id))[0]).toEqual(entry(id, { success: false, error }))
    expect(receiver.received).toEqual([])
  })

  test('go to the webhooks of the table and action, with one id everywhere, and to no others', async () => {
    const [all, deletes, otherTable, inSchema, disabled] = await Promise.all([
      subscribe(),
      subscribe({ events: ['delete'], tables: ['item', 'other'] }),
      subscribe({ tables: ['other'] }),
      subscribe({ tables: ['shop.item'] }),
      subscribe({ enabled: false }),
    ])
    await write('POST', 'item', { id: 1 })
    await write('DELETE', 'item/1')
    await write('POST', 'other', { id: 1 })
    await write('POST', 'shop.item', { id: 1 })
    await hooks.settle()
    const idsOf = ({ receiver }: { readonly receiver: Receiver }) =>
      Object.fromEntries(
        receiver.received.map(({ json, headers }) => [`${json.action} ${json.table}`, headers['webhook-id']]),
      )
    const everywhere = idsOf(all)
    expect(Object.keys(everywhere).sort()).toEqual([
      'create item',
      'create other',
      'create shop.item',
      'delete item',
    ])
    expect(new Set(Object.values(everywhere)).size).toBe(4)
    expect(idsOf(deletes)).toEqual({ 'delete item': everywhere['delete item'] })
    expect(idsOf(otherTable)).toEqual({ 'create other': everywhere['create other'] })
    expect(idsOf(inSchema)).toEqual({ 'create shop.item': everywhere['create shop.item'] })
    expect(idsOf(disabled)).toEqual({})
    for (const { receiver } of [all, deletes, otherTable, inSchema])
      expect(receiver.received).toHaveLength(Object.keys(idsOf({ receiver })).length)
  })

  test('cost no row in the log of changes when no webhook matches', async () => {
    await hooks.webhook({ url: 'http://127.0.0.1:9/', tables: ['other'] })
    const [before] = await sql('select count(*) from basalt.outbox')
    await write('POST', 'item', { id: 1 })
    await writeBatch([{ method: 'create', body: { id: 2 } }])
    expect(await sql('select count(*) from basalt.outbox')).toEqual([before])
  })

  test('are those of the operations for a batch, and none if the batch fails', async () => {
    const { receiver } = await subscribe()
    const operations = [
      { method: 'create', body: { id: 1 } },
      { method: 'create', body: { id: 2 } },
      { method: 'update', id: 1, body: { name: 'x' } },
      { method: 'delete', id: 2 },
    ]
    expect(await writeBatch([...operations, { method: 'create', body: { id: 1 } }])).toBe(409)
    expect(await writeBatch(operations)).toBe(200)
    await hooks.settle()
    const received = bodiesOf(receiver).map(({ action, record }) => `${action} ${record.id}`)
    expect(received.toSorted()).toEqual(['create 1', 'create 2', 'delete 2', 'update 1'])
    expect(received.indexOf('create 1')).toBeLessThan(received.indexOf('update 1'))
    expect(received.indexOf('create 2')).toBeLessThan(received.indexOf('delete 2'))
  })

  test('start when a webhook is enabled and end when it is disabled', async () => {
    const { id, receiver } = await subscribe({ enabled: false })
    const enable = async (enabled: boolean) => {
      expect((await hooks.send('PATCH', `webhooks/${id}`, { enabled })).json.enabled).toBe(enabled)
    }
    await write('POST', 'item', { id: 1 })
    await enable(true)
    await write('POST', 'item', { id: 2 })
    await hooks.settle()
    await enable(false)
    await write('POST', 'item', { id: 3 })
    await hooks.settle()
    expect(receiver.received.map(({ raw }) => raw.toString())).toEqual([toJson(2)])
  })

  test('record up to 64 KiB of the response', async () => {
    const { id } = await subscribe({}, answer(200, {}, 'x'.repeat(1_000_000)))
    await write('POST', 'item', { id: 1 })
    await hooks.settle()
    const outcome = { success: true, statusCode: 200, responseBody: 'x'.repeat(65_536) }
    expect(await readLog(id)).toEqual([entry(id, outcome)])
  })

  test('record a response that is not text', async () => {
    const { id } = await subscribe({}, (response) => response.end(Buffer.from([0, 0xff, 0xc3])))
    await write('POST', 'item', { id: 1 })
    await hooks.settle()
    const outcome = { success: true, statusCode: 200, responseBody: '\ufffd\ufffd\ufffd' }
    expect(await readLog(id)).toEqual([entry(id, outcome)])
  })

  test('record a failed connection without a status', async () => {
    const { id } = await hooks.webhook({ url: 'http://127.0.0.1:9/' })
    await write('POST', 'item', { id: 1 })
    const outcome = { success: false, error: 'the connection failed' }
    expect((await waitForLog(id))[0]).toEqual(entry(id, outcome))
  })
})

describe('webhooks › replaced secret', () => {
  /** Creates a webhook with the secret `first`, and ways to change the secret and to see who signs. */
  async function subscribeSigned() {
    const { id, receiver } = await subscribe({ secret: 'first' })
    return {
      id,
      async change(secret: string | null) {
        expect((await hooks.send('PATCH', `webhooks/${id}`, { secret })).status).toBe(200)
      },
      /** Returns the secrets that have signed the next request, the newest first. */
      async signers(
        send: (number: number) => Promise<unknown> = (number) => write('POST', 'item', { id: number }),
      ): Promise<readonly string[]> {
        const number = receiver.received.length + 1
        await send(number)
        const { headers, raw } = await deliveryTo(receiver, number)
        await hooks.settle()
        const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${raw}`
        const nameOf = (signature: string) =>
          ['first', 'second', 'third'].find(
            (secret) => signature === `v1,${sha256(secret, signed).digest('base64')}`,
          ) ?? signature
        const names = String(headers['webhook-signature'] ?? '')
          .split(' ')
          .map(nameOf)
        const [newest = ''] = names
        const simple = newest === '' ? undefined : sha256(newest, raw).digest('hex')
        expect(headers['x-basalt-signature']).toBe(simple)
        return names
      },
    }
  }

  test('signs beside its successor until its time is over', async () => {
    const { id, change, signers } = await subscribeSigned()
    expect(await signers()).toEqual(['first'])
    await change('second')
    await hooks.send('PATCH', `webhooks/${id}`, { events: ['create'] })
    expect(await signers()).toEqual(['second', 'first'])
    await sql('update basalt.webhooks set previous_secret_until = now()')
    expect(await signers()).toEqual(['second'])
    await change('second')
    expect(await sql('select previous_secret from basalt.webhooks')).toEqual([{ previous_secret: null }])
  })

  test('signs tests and replays too', async () => {
    const { id, change, signers } = await subscribeSigned()
    await signers()
    await change('second')
    expect(await signers(() => hooks.send('POST', `webhooks/${id}/test`))).toEqual(['second', 'first'])
    const [delivery] = await readLog(id)
    const replay = () => hooks.send('POST', `webhooks/${id}/deliveries/${delivery?.id}/replay`)
    expect(await signers(replay)).toEqual(['second', 'first'])
  })

  test('is still the one before when the same secret is set again, sealed with the key in force', async () => {
    const { change, signers } = await subscribeSigned()
    await change('second')
    const readSealed = () => sql('select secret from basalt.webhooks')
    const sealed = await readSealed()
    await change('second')
    expect(await readSealed()).not.toEqual(sealed)
    expect(await signers()).toEqual(['second', 'first'])
  })

  test('stops signing when its successor is replaced', async () => {
    const { change, signers } = await subscribeSigned()
    await change('second')
    await change('third')
    expect(await signers()).toEqual(['third', 'second'])
  })

  test('stops signing at once when the secret is removed', async () => {
    const { change, signers } = await subscribeSigned()
    await change('second')
    await change(null)
    expect(await signers()).toEqual([''])
    await change('first')
    expect(await signers()).toEqual(['first'])
  })
})

describe('webhooks › failing receiver', () => {
  /** Responds with 500 to events of item 1 until it is repaired. */
  function breakable() {
    let isBroken = true
    const respond: Respond = (response, { json }) =>
      response.writeHead(isBroken && json.record.id === 1 ? 500 : 204).end()
    const repair = () => {
      isBroken = false
    }
    return { respond, repair }
  }

  test('gets four attempts with one id and body, after 1, 5 and 25 s, each in the log', async () => {
    const statuses = [500, 302, 404, 503]
    const { id, receiver } = await subscribe({ secret: 'plain' }, (response) => {
      const status = statuses[receiver.received.length - 1] ?? 200
      response.writeHead(status, { location: 'http://127.0.0.1:9/' }).end(`answer ${status}`)
    })
    await write('POST', 'item', { id: 1 })
    const pauses: number[] = []
    for (const attempt of [1, 2, 3]) {
      await deliveryTo(receiver, attempt)
      expect(receiver.received).toHaveLength(attempt)
      pauses.push(await secondsAfter(attempt))
      await hurryAfter(sql, attempt)
    }
    await hooks.settle()
    expect(pauses).toEqual([1, 5, 25])
    const eventId = receiver.received[0]?.headers['webhook-id']
    expect(receiver.received.map(({ headers, raw }) => [headers['webhook-id'], raw.toString()])).toEqual(
      statuses.map(() => [eventId, toJson(1)]),
    )
    expect(await readLog(id)).toEqual(
      statuses.map((statusCode, index) =>
        entry(id, {
          eventId,
          attempt: index + 1,
          success: false,
          statusCode,
          error: `the receiver answered ${statusCode}`,
          responseBody: `answer ${statusCode}`,
        }),
      ),
    )
  })

  test('gets no further attempt after one that succeeds', async () => {
    const { id, receiver } = await subscribe({}, (response) =>
      response.writeHead(receiver.received.length === 1 ? 500 : 204).end(),
    )
    await write('POST', 'item', { id: 1 })
    await hurryAfter(sql, 1)
    await hooks.settle()
    const failure = { success: false, statusCode: 500, error: 'the receiver answered 500', responseBody: '' }
    expect(await readLog(id)).toEqual([
      entry(id, { ...failure, attempt: 1 }),
      entry(id, { success: true, statusCode: 204, responseBody: '', attempt: 2 }),
    ])
    expect(await sql('select failing_since from basalt.webhooks')).toEqual([{ failing_since: null }])
  })

  test('gets later events of the record only after the earlier one, and those of other records at once', async () => {
    const { respond, repair } = breakable()
    const { receiver } = await subscribe({}, respond)
    await write('POST', 'item', { id: 1 })
    await write('PATCH', 'item/1', { name: 'a' })
    await write('PATCH', 'item/1', { id: 3 })
    await write('PATCH', 'item/3', { name: 'b' })
    await write('POST', 'item', { id: 2 })
    await waitFor('the other record', () => receiver.received.some(({ json }) => json.record.id === 2))
    await waitForFirstFailure()
    expect(
      bodiesOf(receiver)
        .map(({ record }) => record.id)
        .sort(),
    ).toEqual([1, 2])
    repair()
    await hurryAfter(sql, 1)
    await hooks.settle()
    const chain = bodiesOf(receiver).filter(({ record }) => record.id !== 2)
    expect(chain.map(({ action, record }) => [action, record.id, record.name])).toEqual([
      ['create', 1, null],
      ['create', 1, null],
      ['update', 1, 'a'],
      ['update', 3, 'a'],
      ['update', 3, 'b'],
    ])
  })

  test('gets a truncation after all earlier events of the table, and later events after the truncation', async () => {
    const { respond, repair } = breakable()
    const { receiver } = await subscribe({ events: ['create', 'truncate'] }, respond)
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
    await waitForFirstFailure()
    expect(
      bodiesOf(receiver)
        .map(({ record }) => record.id)
        .sort(),
    ).toEqual([1, 2, 9])
    repair()
    await hurryAfter(sql, 1)
    await hooks.settle()
    const ofItem = bodiesOf(receiver)
      .filter(({ table }) => table === 'item')
      .slice(2)
    expect(ofItem.map(({ action, record }) => record.id ?? action)).toEqual([
      ...[1, 'truncate', 3, 'truncate', 'truncate', 1],
    ])
  })

  test('sets the pause with Retry-After', async () => {
    const { receiver } = await subscribe({}, answer(429, { 'retry-after': '90' }))
    await write('POST', 'item', { id: 1 })
    await deliveryTo(receiver)
    expect(await secondsAfter(1)).toBe(90)
  })

  test('pauses the webhook with 410 Gone, and gets the waiting events once it is enabled again', async () => {
    const { id, receiver } = await subscribe({}, answer(410))
    await writeBatch([
      { method: 'create', body: { id: 1 } },
      { method: 'update', id: 1, body: { name: 'x' } },
    ])
    expect(await waitForPause(id)).toMatchObject({
      enabled: false,
      pausedReason: 'the receiver answered 410 Gone',
    })
    expect(receiver.received).toHaveLength(1)
    receiver.respond = answer(204)
    const { json: resumed } = await hooks.send('PATCH', `webhooks/${id}`, { enabled: true })
    expect(resumed).toMatchObject({ enabled: true, pausedAt: null, pausedReason: null })
    await hooks.settle()
    expect(bodiesOf(receiver).map(({ action }) => action)).toEqual(['create', 'update'])
    expect((await readLog(id)).map(({ attempt, statusCode }) => [attempt, statusCode])).toEqual([
      [1, 410],
      [1, 204],
    ])
  })

  test('pauses the webhook after 72 hours without success, and not before', async () => {
    const { id, receiver } = await subscribe({}, answer(500))
    await write('POST', 'item', { id: 1 })
    await hurryAfter(sql, 1)
    await deliveryTo(receiver, 2)
    expect(receiver.received).toHaveLength(2)
    expect((await hooks.send('GET', `webhooks/${id}`)).json).toMatchObject({ enabled: true, pausedAt: null })
    await sql(`update basalt.webhooks set failing_since = now() - interval '73 h'`)
    await hurryAfter(sql, 2)
    expect(await waitForPause(id)).toMatchObject({
      enabled: false,
      pausedReason: 'no delivery has succeeded for 72 hours',
    })
  })
})

describe('POST /api/webhooks/:id/test', () => {
  test('sends one signed event, even if the webhook is disabled, and records nothing', async () => {
    const { id, receiver } = await subscribe({ secret: 'plain', enabled: false })
    const response = await hooks.send('POST', `webhooks/${id}/test`)
    expect([response.status, response.json]).toEqual([
      200,
      { success: true, statusCode: 204, durationMs: expect.any(Number) },
    ])
    expect(bodiesOf(receiver)).toEqual([
      { action: 'test', table: '_basalt_test', record: { message: `Test of webhook ${id}` } },
    ])
    const { raw, headers } = await deliveryTo(receiver)
    expect(headers['x-basalt-signature']).toBe(sha256('plain', raw).digest('hex'))
    expect(await readLog(id)).toEqual([])
  })

  test.each([
    [500, answer(500)],
    [301, answer(301, { location: '/' })],
  ])('returns the failure %i and does not retry it', async (statusCode, respond) => {
    const { id, receiver } = await subscribe({}, respond)
    const response = await hooks.send('POST', `webhooks/${id}/test`)
    const error = `the receiver answered ${statusCode}`
    expect([response.status, response.json]).toEqual([
      200,
      { success: false, statusCode, error, durationMs: expect.any(Number) },
    ])
    expect(await sql('select from basalt.webhook_queue')).toEqual([])
    expect([receiver.received.length, await readLog(id)]).toEqual([1, []])
  })

  test('returns a failed connection without a status', async () => {
    const { id } = await hooks.webhook({ url: 'http://127.0.0.1:9/' })
    const response = await hooks.send('POST', `webhooks/${id}/test`)
    expect([response.status, response.json]).toEqual([
      200,
      { success: false, durationMs: expect.any(Number), error: 'the connection failed' },
    ])
  })
})

describe('POST /api/webhooks/:id/deliveries/:deliveryId/replay', () => {
  test('sends the whole body again with the same id, and adds a log entry', async () => {
    const { id, receiver } = await subscribe({ secret: 'plain' })
    await write('POST', 'item', { id: 1, name: 'ö'.repeat(50_000) })
    await hooks.settle()
    const [original] = await readLog(id)
    receiver.respond = answer(500, {}, 'not again')
    const response = await hooks.send('POST', `webhooks/${id}/deliveries/${original?.id}/replay`)
    expect([response.status, response.json]).toEqual([
      200,
      {
        ...original,
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
    expect(await readLog(id)).toEqual([original, response.json])
    expect(await sql('select from basalt.webhook_queue')).toEqual([])
    expect(
      await sql(`select detail from basalt.audit where action = 'webhooks.replay' and target = $1`, [id]),
    ).toEqual([{ detail: { deliveryId: original?.id, eventId: original?.eventId } }])
  })
})

test('webhooks › a burst reaches a slow receiver complete and in order per record while another one hangs', async () => {
  const [hanging, slow] = await Promise.all([
    subscribe({}, () => undefined),
    subscribe({}, (response) => void setTimeout(() => response.writeHead(204).end(), 50)),
  ])
  const records = 300
  const changes = 10
  for (let round = 0; round < changes; round += 1) {
    const operations = Array.from({ length: records }, (_, id) =>
      round === 0
        ? { method: 'create', body: { id, price: 0 } }
        : { method: 'update', id, body: { price: round } },
    )
    expect(await writeBatch(operations)).toBe(200)
  }
  const { receiver } = slow
  await waitFor('the whole burst', () => receiver.received.length >= records * changes, 100_000)
  expect(receiver.received).toHaveLength(records * changes)
  const byRecord = Map.groupBy(bodiesOf(receiver), ({ record }) => record.id)
  for (const bodies of byRecord.values()) {
    expect(bodies.map(({ record }) => record.price)).toEqual([...Array(changes).keys()])
  }
  expect(byRecord.size).toBe(records)
  expect(receiver.mostAtOnce).toBeLessThanOrEqual(40)
  expect(hanging.receiver.mostAtOnce).toBeLessThanOrEqual(40)
}, 120_000)

describe('webhooks › lease', () => {
  test('lets another attempt start when it expires, and a completion of the first claim is rejected', async () => {
    let release: (() => void) | undefined
    const { id, receiver } = await subscribe({}, (response) => {
      // The third attempt does not start before this test has read the second.
      if (receiver.received.length > 1) response.writeHead(500, { 'retry-after': '300' }).end()
      else release = () => response.writeHead(204).end()
    })
    await write('POST', 'item', { id: 1 })
    await deliveryTo(receiver)
    const [lease] = await sql(`
      select extract(epoch from leased_until - now()) between 10 and 60 as is_right from basalt.webhook_queue`)
    expect(lease).toEqual({ is_right: true })
    await sql('update basalt.webhook_queue set due_at = now(), leased_until = now()')
    // Otherwise the queue may be read only after the first attempt has reached its time limit.
    await sql('update basalt.webhooks set updated_at = now() where id = $1', [id])
    await sql('select pg_notify($1, $2)', [notificationChannel, webhooksTopic])
    const readWaiting = () =>
      sql('select id, attempts, claim from basalt.webhook_queue where attempts = 1 and leased_until is null')
    const waiting = await waitFor('the second attempt to end', async () => {
      const rows = await readWaiting()
      return rows.length > 0 && rows
    })
    release?.()
    await waitFor('the rejection', () => hooks.app.log.some((line) => line.includes('stale completion')))
    expect(await readWaiting()).toEqual(waiting)
    const failure = { success: false, statusCode: 500, error: 'the receiver answered 500', responseBody: '' }
    expect(await readLog(id)).toEqual([entry(id, failure)])
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  })

  test('is released when the node stops during an attempt', async () => {
    await using database = await createTestDatabase()
    const own = await createWebhooksApp({ database, setup: 'create table item (id int primary key)' })
    const receiver = await hooks.receiver(() => undefined)
    await own.webhook({ url: receiver.url })
    await own.app.request('POST', '/api/collections/item', { token, body: { id: 1 } })
    await deliveryTo(receiver)
    await own[Symbol.asyncDispose]()
    expect(
      await database.sql(
        'select attempts, leased_until, due_at <= now() as is_due from basalt.webhook_queue',
      ),
    ).toEqual([{ attempts: 0, leased_until: null, is_due: true }])
    expect(await database.sql('select from basalt.webhook_deliveries')).toEqual([])
  })
})
