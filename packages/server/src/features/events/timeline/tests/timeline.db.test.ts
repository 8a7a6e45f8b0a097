import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type EventStreamClient, openEventStream } from '../../../../../test/event-stream.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { answer, type Receiver } from '../../../../../test/receiver.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { createWebhooksApp, hurryRetries, type WebhooksApp } from '../../../../../test/webhooks.ts'

let hooks: WebhooksApp
let sql: WebhooksApp['app']['sql']
let send: WebhooksApp['send']
let receiver: Receiver
let webhook: { readonly id: string }
const caller = userToken({ sub: alice })

beforeAll(async () => {
  hooks = await createWebhooksApp({
    setup: `
      create table item (id int primary key, name text);
      create table pair (room text, number int, primary key (room, number));
      create table mine (id int primary key, owner uuid, note text);
      alter table mine enable row level security;
      create policy own on mine using (owner = basalt.user_id());
      create table task (id int primary key);
      create function add_jobs() returns trigger language plpgsql security definer as $$
      begin
        insert into basalt.jobs (type, payload, max_attempts, run_at)
        select 'realtime_cleanup', '{}', 3, now() + make_interval(days => n) from generate_series(1, 2) n;
        return null;
      end $$;
      create trigger add_jobs after insert on task for each row when (new.id > 0) execute function add_jobs()`,
  })
  sql = hooks.app.sql
  send = hooks.send
  receiver = await hooks.receiver()
  webhook = await hooks.webhook({ url: receiver.url })
})
afterAll(() => hooks[Symbol.asyncDispose]())
beforeEach(async () => {
  await hooks.settle()
  receiver.received.length = 0
  receiver.respond = answer(200, {}, 'thank you')
  await sql(`
    delete from item; delete from pair; delete from basalt.webhook_deliveries; delete from basalt.outbox;
    delete from mine; delete from basalt.audit; update basalt.webhooks set enabled = true, paused_at = null, failing_since = null`)
})

async function create(id: number, name = `item ${id}`): Promise<string> {
  const response = await hooks.app.request('POST', '/api/collections/item', {
    token: caller,
    body: { id, name },
  })
  expect(response.status).toBe(201)
  return response.headers.get('x-request-id') ?? ''
}

const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/)
const number = expect.stringMatching(/^\d+$/)
const keys = (response: { json: { items: { record: string | null }[] } }) =>
  response.json.items.map(({ record }) => record)

describe('GET /api/admin/events', () => {
  test('leads from a write to the attempt of the webhook', async () => {
    const requestId = await create(1)
    await hooks.settle()
    const list = await send('GET', `admin/events?request_id=${requestId}`)
    const expected = {
      id: number,
      happenedAt: instant,
      action: 'create',
      table: 'item',
      record: '1',
      previousRecord: null,
      actor: 'user',
      userId: alice,
      apiKeyId: null,
      requestId,
    }
    expect([list.status, list.json]).toEqual([
      200,
      {
        items: [{ ...expected, deliveries: { delivered: 1, failed: 0, pending: 0 } }],
        searchedTo: null,
        keptSince: instant,
      },
    ])
    const [{ id }] = list.json.items
    const detail = await send('GET', `admin/events/${id}`)
    expect([detail.status, detail.json]).toEqual([
      200,
      {
        ...expected,
        id,
        isInLog: true,
        transactionId: number,
        payload: '{"action":"create","table":"item","record":{"id":1,"name":"item 1"}}',
        consumers: [{ name: 'webhooks', hasTaken: true }],
        webhooks: [
          {
            webhookId: webhook.id,
            url: receiver.url,
            eventId: receiver.received[0]?.headers['webhook-id'],
            state: 'delivered',
            attempts: [
              {
                id: uuid,
                attempt: 1,
                success: true,
                statusCode: 200,
                durationMs: expect.any(Number),
                error: null,
                responseBody: 'thank you',
                deliveredAt: instant,
              },
            ],
            next: null,
          },
        ],
        streams: {
          isLogged: false,
          record: expect.stringMatching(/^(pending|complete)$/),
          sent: [],
          nodes: [],
        },
        jobs: [],
        embeddings: [],
      },
    ])
    expect(receiver.received[0]?.raw.toString()).toBe(detail.json.payload)
  })

  test('returns a failed attempt and the next one for a write by any program', async () => {
    receiver.respond = answer(503)
    await sql(
      "insert into basalt.outbox (action, table_name, record_key, record) values ('create', 'item', '[7]', '{}')",
    )
    await expect
      .poll(async () => (await send('GET', 'admin/events')).json.items[0]?.deliveries)
      .toEqual({ delivered: 0, failed: 0, pending: 1 })
    const { items } = (await send('GET', 'admin/events')).json
    expect(items[0]).toMatchObject({ actor: 'sql', userId: null, requestId: null, record: '7' })
    const delivery = await waitFor('the end of the attempt', async () => {
      const [webhook] = (await send('GET', `admin/events/${items[0].id}`)).json.webhooks
      return webhook?.attempts.length === 1 && !webhook.next.isInFlight && webhook
    })
    expect(delivery).toMatchObject({
      state: 'pending',
      attempts: [{ success: false, statusCode: 503, error: 'the receiver answered 503' }],
      next: {
        dueAt: instant,
        attempts: 1,
        isInFlight: false,
        waitsForEarlier: false,
        isWebhookEnabled: true,
      },
    })
    receiver.respond = answer(204)
    await hurryRetries(sql)
  })

  test('filters by table, record, user, action and time, page by page', async () => {
    await create(1)
    await send('POST', 'collections/pair', { room: 'north', number: 2 })
    await send('PATCH', 'collections/item/1', { id: 3 })
    await hooks.app.request('DELETE', '/api/collections/item/3', { token: caller })
    const find = async (query: string) => keys(await send('GET', `admin/events?${query}`))
    expect(await find('')).toEqual(['3', '3', 'north,2', '1'])
    expect(await find('table=pair')).toEqual(['north,2'])
    expect(await find('record=north,2')).toEqual(['north,2'])
    expect(await find('record=1')).toEqual(['3', '1'])
    expect(await find(`user_id=${alice}`)).toEqual(['3', '1'])
    expect(await find('action=delete')).toEqual(['3'])
    expect(await find('until=2020-01-01')).toEqual([])
    expect(await find('since=2020-01-01')).toEqual(['3', '3', 'north,2', '1'])
    expect(await find('since=2200-01-01')).toEqual([])
    const first = await send('GET', 'admin/events?limit=3')
    expect(keys(first)).toEqual(['3', '3', 'north,2'])
    const rest = await send('GET', `admin/events?limit=3&cursor=${first.json.nextCursor}`)
    expect([keys(rest), rest.json.nextCursor]).toEqual([['1'], undefined])
    const [changed] = (await send('GET', 'admin/events?record=1&action=update')).json.items
    expect(changed).toMatchObject({ record: '3', previousRecord: '1', actor: 'admin', userId: null })
  })

  test('reads a part of a long log at a time', async () => {
    await sql(`
      insert into basalt.outbox (transaction_id, action, table_name, record_key, record, happened_at)
      -- These events are old, so no consumer processes them.
      select '3', 'create', case when n = 1 then 'pair' else 'quiet' end, '[1]', '{}', now() - make_interval(secs => 61000 - n)
      from generate_series(1, 60000) n`)
    const first = await send('GET', 'admin/events?table=pair')
    expect(first.json).toEqual({
      items: [],
      nextCursor: number,
      searchedTo: instant,
      keptSince: instant,
    })
    const second = await send('GET', `admin/events?table=pair&cursor=${first.json.nextCursor}`)
    expect([keys(second), second.json.nextCursor]).toEqual([['1'], undefined])
    // An index finds the changes of a record.
    const ofRecord = await send('GET', 'admin/events?table=pair&record=1')
    expect([keys(ofRecord), ofRecord.json.searchedTo, ofRecord.json.nextCursor]).toEqual([
      ['1'],
      null,
      undefined,
    ])
    // A time is found without reading later changes.
    const until = new Date(Date.now() - 60_500_000).toISOString()
    expect(keys(await send('GET', `admin/events?table=pair&until=${until}`))).toEqual(['1'])
    await sql('delete from basalt.outbox')
    await hooks.settle()
  })

  test('returns an event from its deliveries when the log no longer holds it', async () => {
    await create(1)
    await hooks.settle()
    const [{ id }] = (await send('GET', 'admin/events')).json.items
    await sql('delete from basalt.outbox')
    expect((await send('GET', 'admin/events')).json).toEqual({ items: [], searchedTo: null, keptSince: null })
    expect((await send('GET', `admin/events/${id}`)).json).toMatchObject({
      id,
      isInLog: false,
      happenedAt: null,
      action: 'create',
      table: 'item',
      payload: '{"action":"create","table":"item","record":{"id":1,"name":"item 1"}}',
      webhooks: [{ state: 'delivered', attempts: [{ success: true }] }],
    })
  })

  test.each([
    ['user_id=x', 'invalid user_id filter; must be a UUID'],
    ['action=drop', 'invalid action filter; must be one of: create, update, delete, truncate'],
    ['since=yesterday', 'invalid since filter; expected RFC3339 or YYYY-MM-DD'],
    ['limit=0', 'invalid limit'],
    ['cursor=x', 'invalid cursor; expected the nextCursor of a page'],
  ])('rejects %s', async (query, message) => {
    expect(envelope(await send('GET', `admin/events?${query}`))).toMatchObject({ code: 400, message })
  })

  test.each(['x', '999999999999', '-1', alice])(':id returns 404 for the event %s', async (id) => {
    expect(envelope(await send('GET', `admin/events/${id}`))).toEqual({
      code: 404,
      message: 'event not found',
      error: 'event_not_found',
    })
  })
})

describe('GET /api/admin/events/:id › streams', () => {
  let other: TestApp
  beforeAll(async () => {
    other = await createTestApp({ database: hooks.app.database })
  })
  afterAll(() => other[Symbol.asyncDispose]())

  const listen = (user: string, node = hooks.app, lastEventId?: string) =>
    openEventStream(node.url, 'tables=mine', { token: userToken({ sub: user }), lastEventId })
  const addMine = (id: number) =>
    hooks.app.request('POST', '/api/collections/mine', { token: caller, body: { id, owner: alice } })
  async function findEvent(record: string, action = 'create') {
    return await waitFor('the event', async () => {
      const { items } = (await send('GET', `admin/events?table=mine&record=${record}&action=${action}`)).json
      return items[0]?.id as string | undefined
    })
  }
  /** Appends events as another program would. */
  const deleteMine = (owner: string, from: number, to: number) =>
    sql(
      `insert into basalt.outbox (action, table_name, record_key, record)
       select 'delete', 'mine', json_build_array(n)::text, json_build_object('id', n, 'owner', $1::text)
       from generate_series($2::int, $3::int) n`,
      [owner, from, to],
    )
  const streamsOf = async (id: string) => (await send('GET', `admin/events/${id}`)).json.streams
  const recorded = (id: string, count: number) =>
    waitFor('the record', async () => {
      const streams = await streamsOf(id)
      return streams.sent.length === count ? streams.sent : undefined
    })
  const idOf = (stream: EventStreamClient) => stream.events[0]?.data.clientId
  const dropped = async () => {
    const { text } = await hooks.app.request('GET', '/metrics', { token: hooks.admin })
    return Number(/basalt_dropped_entries_total\{queue="realtime_sent"\} (\d+)/.exec(text)?.[1])
  }

  test('lists the receivers on every node and counts the streams that received nothing', async () => {
    await using hers = await listen(alice)
    await using administrators = await openEventStream(hooks.app.url, 'tables=mine&filter=id=eq.1', {
      token: hooks.admin,
      path: '/api/admin/realtime/stream',
    })
    await using _his = await listen(bob, other)
    await addMine(1)
    await addMine(2)
    await hers.next(2)
    const expected = { node: uuid, recordedAt: instant }
    const receiver = { connection: idOf(hers), transport: 'sse', caller: 'user', userId: alice }
    const admin = { connection: idOf(administrators), transport: 'sse', caller: 'admin', userId: null }
    const bySent = (rows: { sent: number }[]) => rows.toSorted((a, b) => b.sent - a.sent)
    expect(bySent(await recorded(await findEvent('1'), 2))).toEqual([
      { ...expected, sent: 2, withheld: 0, receivers: expect.arrayContaining([receiver, admin]) },
      { ...expected, sent: 0, withheld: 1, receivers: [] },
    ])
    expect(bySent(await recorded(await findEvent('2'), 2))).toEqual([
      { ...expected, sent: 1, withheld: 1, receivers: [receiver] },
      { ...expected, sent: 0, withheld: 1, receivers: [] },
    ])
  })

  test('lists the receivers when a client resumes', async () => {
    const before = await listen(alice)
    await before[Symbol.asyncDispose]()
    await addMine(3)
    await using after = await listen(alice, other, before.lastEventId)
    await after.next(1)
    const [row, ...others] = await recorded(await findEvent('3'), 1)
    expect([row.sent, row.withheld, row.receivers[0].connection, others]).toEqual([1, 0, idOf(after), []])
  })

  test('is empty when no stream was open', async () => {
    await waitFor('the streams to end', async () => {
      return (await sql('select from basalt.realtime_connections')).length === 0
    })
    await addMine(4)
    const id = await findEvent('4')
    await waitFor('the complete record', async () => (await streamsOf(id)).record === 'complete')
    expect(await streamsOf(id)).toEqual({ isLogged: true, record: 'complete', sent: [], nodes: [] })
  })

  test('is incomplete for events beyond what a node records in a second', async () => {
    await using stream = await listen(alice)
    const before = await dropped()
    await deleteMine(alice, 1001, 1300)
    await stream.next(300)
    await waitFor('the dropped entries to be counted', async () => (await dropped()) === before + 50)
    const ids = await sql(
      `select id::text from basalt.outbox o where table_name = 'mine' and action = 'delete' order by o.id`,
    )
    const [first, last] = [ids.at(-300)?.id, ids.at(-1)?.id]
    expect(await recorded(first, 1)).toMatchObject([{ sent: 1, withheld: 0 }])
    await waitFor('the row', async () => (await streamsOf(last)).record === 'incomplete')
    expect((await streamsOf(last)).sent).toEqual([])
  })

  test('is recorded while another client resumes with more events than a row holds', async () => {
    const disconnected = await listen(alice)
    await disconnected[Symbol.asyncDispose]()
    await deleteMine(alice, 2001, 2300)
    await using live = await listen(bob)
    await using resuming = await listen(alice, hooks.app, disconnected.lastEventId)
    await resuming.next(300)
    await deleteMine(bob, 7, 7)
    await live.next(1)
    const id = await findEvent('7', 'delete')
    const rows = () => streamsOf(id).then(({ sent }) => sent)
    const row = await waitFor('the record', async () =>
      (await rows()).find((each: { sent: number }) => each.sent === 1),
    )
    expect(row.receivers).toEqual([{ connection: idOf(live), transport: 'sse', caller: 'user', userId: bob }])
  })

  test('is incomplete when a response leaves out rows of some nodes', async () => {
    await addMine(8)
    const id = await findEvent('8')
    await sql(
      `insert into basalt.realtime_sent (node, events, entries, streams, dropped)
       select gen_random_uuid(), int8range($1::int8, $1::int8, '[]'), jsonb_build_object($1, '[0, 1, []]'::jsonb), '[]', 0
       from generate_series(1, 200)`,
      [id],
    )
    const { record, sent } = await streamsOf(id)
    expect([record, sent.length]).toEqual(['incomplete', 200])
  })

  test('is incomplete when the record fails, and the streams still receive the event', async () => {
    await using stream = await listen(alice)
    const before = await dropped()
    await sql('alter table basalt.realtime_sent rename to unavailable')
    await addMine(5)
    await stream.next(1)
    await waitFor('the failure', async () => (await dropped()) === before + 1)
    await sql('alter table basalt.unavailable rename to realtime_sent')
    const id = await findEvent('5')
    await waitFor('the row', async () => (await streamsOf(id)).record === 'incomplete')
    await addMine(6)
    await recorded(await findEvent('6'), 1)
  })

  test('is removed after the retention', async () => {
    const [row] = await sql(`
      update basalt.realtime_sent set recorded_at = now() - interval '25 hours' returning node`)
    expect(row).toBeDefined()
    await send('POST', 'admin/jobs', { type: 'realtime_cleanup' })
    await waitFor('the job', async () => (await sql('select from basalt.realtime_sent')).length === 0)
  })
})

test('GET /api/admin/events/:id › lists the jobs that the same transaction has added', async () => {
  for (const id of [1, 0]) await send('POST', 'collections/task', { id })
  const { items } = (await send('GET', 'admin/events?table=task')).json
  const [without, added] = await Promise.all(
    items.map(async ({ id }: { id: string }) => (await send('GET', `admin/events/${id}`)).json.jobs),
  )
  const job = {
    id: uuid,
    type: 'realtime_cleanup',
    state: 'queued',
    attempts: 0,
    maxAttempts: 3,
    lastError: null,
    runAt: instant,
    finishedAt: null,
  }
  expect([without, added]).toEqual([[], [job, job]])
})

describe('POST /api/webhooks/:id/replays', () => {
  const replay = (body: object = {}) => send('POST', `webhooks/${webhook.id}/replays`, body)
  const delivered = () => receiver.received.map(({ json }) => json.record.id)

  /** Makes events failed, as four attempts would leave them. */
  async function fail(...ids: readonly number[]): Promise<void> {
    for (const id of ids) await create(id)
    await hooks.settle()
    await sql(`update basalt.webhook_deliveries set success = false where event_action = 'create'`)
    receiver.received.length = 0
  }

  test('queues each failed event once, in order, under its original id', async () => {
    await fail(1, 2, 3)
    await create(4)
    await hooks.settle()
    const ids = await sql(`select event_id from basalt.webhook_deliveries where not success order by log_id`)
    receiver.received.length = 0
    expect((await replay({ dryRun: true })).json).toEqual({ queued: 3, hasMore: false })
    const responses = await Promise.all(Array.from({ length: 10 }, () => replay()))
    expect(responses.map(({ json }) => json.queued).sort()).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 3])
    await hooks.settle()
    expect(delivered().sort()).toEqual([1, 2, 3])
    expect(receiver.received.map(({ headers }) => headers['webhook-id']).sort()).toEqual(
      ids.map(({ event_id }) => event_id).sort(),
    )
    // Events that have succeeded since are no longer included.
    expect((await replay()).json).toEqual({ queued: 0, hasMore: false })
    const audited = await sql(`select detail from basalt.audit where action = 'webhooks.replay_range'`)
    expect(audited).toHaveLength(11)
    expect(
      audited
        .map(({ detail }) => detail.queued)
        .sort()
        .at(-1),
    ).toBe(3)
  })

  test('keeps the order of a record', async () => {
    await create(1)
    for (const name of ['a', 'b', 'c']) await send('PATCH', 'collections/item/1', { name })
    await hooks.settle()
    receiver.received.length = 0
    expect((await replay({ which: 'delivered' })).json).toEqual({ queued: 4, hasMore: false })
    await hooks.settle()
    expect(receiver.received.map(({ json }) => json.record.name)).toEqual(['item 1', 'a', 'b', 'c'])
  })

  test('queues missed events from the time while the webhook was disabled', async () => {
    await sql('update basalt.webhooks set enabled = false')
    await sql(`insert into basalt.outbox (action, table_name, record_key, record)
      select 'create', 'item', json_build_array(n)::text, json_build_object('id', n) from generate_series(1, 3) n`)
    await hooks.settle()
    expect(envelope(await replay({ which: 'missed' }))).toEqual({
      code: 409,
      message: 'the webhook is disabled',
      error: 'webhook_disabled',
    })
    expect((await replay({ which: 'missed', dryRun: true })).json.queued).toBe(3)
    expect((await replay({ which: 'missed', since: '2020-01-01', dryRun: true })).json.queued).toBe(3)
    expect((await replay({ which: 'missed', since: '2200-01-01', dryRun: true })).json.queued).toBe(0)
    // All nodes know of the change before the response, because they have to log later writes.
    await send('PATCH', `webhooks/${webhook.id}`, { enabled: true })
    expect((await replay({ which: 'missed', limit: 2 })).json).toMatchObject({ queued: 2, hasMore: true })
    expect((await replay({ which: 'missed' })).json).toEqual({ queued: 1, hasMore: false })
    expect((await replay({ which: 'missed' })).json).toEqual({ queued: 0, hasMore: false })
    await hooks.settle()
    expect(delivered().sort()).toEqual([1, 2, 3])
  })

  test('queues at most ten thousand of very many events in one request', async () => {
    await sql('update basalt.webhooks set enabled = false')
    await sql(`insert into basalt.outbox (action, table_name, record_key, record)
      select 'create', 'item', json_build_array(n)::text, json_build_object('id', n) from generate_series(1, 11000) n`)
    await hooks.settle()
    const queue = async (body: object) => (await replay({ which: 'missed', ...body })).json
    expect(await queue({ dryRun: true })).toMatchObject({ queued: 1000, hasMore: true })
    const most = await queue({ dryRun: true, limit: 1_000_000 })
    const nextCursor = expect.stringMatching(/^\d+_/)
    expect(most).toEqual({ queued: 10_000, hasMore: true, nextCursor })
    // This is the rest of eleven thousand.
    const rest = { dryRun: true, limit: 10_000, cursor: most.nextCursor }
    expect(await queue(rest)).toEqual({ queued: 1000, hasMore: false })
    await sql('delete from basalt.outbox')
    await send('PATCH', `webhooks/${webhook.id}`, { enabled: true })
  })

  test('skips events that have succeeded after the requested time', async () => {
    await fail(1)
    await sql(`update basalt.webhook_deliveries set delivered_at = '2026-01-02T00:00:00Z'`)
    const until = { until: '2026-01-02' }
    expect((await replay(until)).json.queued).toBe(1)
    await hooks.settle()
    expect(delivered()).toEqual([1])
    expect((await replay(until)).json.queued).toBe(0)
  })

  test('continues after the previous request although its event was delivered meanwhile', async () => {
    for (const id of [1, 2, 3]) await create(id)
    await hooks.settle()
    // An event without a position in the log comes last.
    await sql(`update basalt.webhook_deliveries set log_id = null where request_body ~ 'item 1'`)
    const replayed: number[][] = []
    for (let cursor: string | undefined; replayed.length < 4; ) {
      receiver.received.length = 0
      const { json } = await replay({
        which: 'delivered',
        limit: 1,
        ...(cursor === undefined ? {} : { cursor }),
      })
      await hooks.settle()
      replayed.push(delivered())
      cursor = json.nextCursor
    }
    expect(replayed).toEqual([[2], [3], [1], []])
  })

  test('respects the time range', async () => {
    await fail(1, 2)
    await sql(
      `update basalt.webhook_deliveries set delivered_at = '2026-01-02T00:00:00Z' where request_body ~ 'item 1'`,
    )
    expect((await replay({ until: '2026-01-02', dryRun: true })).json.queued).toBe(1)
    expect((await replay({ since: '2026-01-03', dryRun: true })).json.queued).toBe(1)
  })

  test.each([
    [{ which: 'some' }, 'invalid which; must be one of: failed, delivered, missed'],
    [{ since: 'x' }, 'invalid since filter; expected RFC3339 or YYYY-MM-DD'],
    [{ limit: 0 }, 'invalid limit'],
    [{ cursor: '1_x' }, 'invalid cursor; expected nextCursor of the request before'],
    [{ cursor: `9999999999999999999_${alice}` }, 'invalid cursor; expected nextCursor of the request before'],
  ])('rejects %j', async (body, message) => {
    expect(envelope(await replay(body))).toMatchObject({ code: 400, message })
  })

  test('returns 404 for an unknown webhook', async () => {
    for (const id of ['x', randomUUID()]) {
      const response = await send('POST', `webhooks/${id}/replays`, {})
      expect(envelope(response)).toMatchObject({ code: 404, message: 'webhook not found' })
    }
  })
})

describe('POST /api/webhooks/:id/deliveries/:id/try', () => {
  async function tryDelivery(body: object): ReturnType<typeof send> {
    await create(1)
    await hooks.settle()
    const [{ id } = { id: '' }] = await sql('select id from basalt.webhook_deliveries')
    return await send('POST', `webhooks/${webhook.id}/deliveries/${id}/try`, body)
  }

  test('sends the delivery once, signed with the given secret, and logs nothing', async () => {
    const other = await hooks.receiver(answer(201, {}, 'tried'))
    const response = await tryDelivery({ url: other.url, secret: 'trial' })
    expect([response.status, response.json]).toEqual([
      200,
      { success: true, statusCode: 201, durationMs: expect.any(Number), responseBody: 'tried' },
    ])
    expect(other.received).toHaveLength(1)
    expect(other.received[0]?.json).toEqual(receiver.received[0]?.json)
    expect(other.received[0]?.headers['webhook-id']).toBe(receiver.received[0]?.headers['webhook-id'])
    expect(other.received[0]?.headers['x-basalt-signature']).toMatch(/^[0-9a-f]{64}$/)
    expect(await sql('select from basalt.webhook_deliveries')).toHaveLength(1)
    expect(
      await sql(`select target, detail ->> 'url' as url from basalt.audit where action = 'webhooks.try'`),
    ).toEqual([{ target: webhook.id, url: other.url }])
  })

  test('sends no signature without a secret', async () => {
    const other = await hooks.receiver()
    await tryDelivery({ url: other.url })
    expect(other.received[0]?.headers['x-basalt-signature']).toBeUndefined()
  })

  test.each([
    [{}, 'url is required'],
    [{ url: 'ftp://x' }, 'url must be an absolute http or https URL'],
    [{ url: 'http://169.254.169.254/latest' }, 'url: the address is not one that webhooks may be sent to'],
    [{ url: 'https://shop.example', secret: 'whsec_@' }, 'secret: expected base64 after whsec_'],
  ])('rejects %j', async (body, message) => {
    expect(envelope(await tryDelivery(body))).toMatchObject({ code: 400, message })
  })

  test('returns 404 for an unknown delivery', async () => {
    const response = await send('POST', `webhooks/${webhook.id}/deliveries/x/try`, { url: receiver.url })
    expect(envelope(response)).toMatchObject({ code: 404, message: 'delivery not found' })
  })
})

describe('GET /api/admin/realtime/preview', () => {
  const preview = (query: string) => send('GET', `admin/realtime/preview?${query}`)
  const data = (response: { json: { items: { data: string }[] } }) =>
    response.json.items.map((item) => JSON.parse(item.data))

  beforeAll(async () => {
    await sql(
      `insert into basalt.users (id, email) values ('${alice}', 'alice@example.com') on conflict do nothing`,
    )
  })

  test('decides by the policies, as the user, as a request without a token or as the administrator', async () => {
    for (const [id, owner] of [
      [1, alice],
      [2, randomUUID()],
    ] as const)
      await send('POST', 'collections/mine', { id, owner, note: `note ${id}` })
    await send('DELETE', 'collections/mine/1')
    const own = { action: 'create', table: 'mine', record: { id: 1, owner: alice, note: 'note 1' } }
    const response = await preview(`tables=mine&as=${alice}`)
    expect(response.status).toBe(200)
    expect(data(response)).toEqual([own, { action: 'delete', table: 'mine', record: { id: '1' } }])
    expect(response.json).toEqual({
      items: [
        { id: number, happenedAt: instant, data: expect.any(String) },
        { id: number, happenedAt: instant, data: expect.any(String) },
      ],
      decided: 3,
      hasGap: false,
      nextCursor: number,
    })
    expect((await preview(`tables=mine&as=${alice}&cursor=${response.json.nextCursor}`)).json).toEqual({
      items: [],
      decided: 0,
      hasGap: false,
    })
    expect(data(await preview('tables=mine'))).toHaveLength(3)
    expect(data(await preview('tables=mine&filter=note=eq.note 2'.replaceAll(' ', '%20')))).toHaveLength(1)
    expect(data(await preview('tables=mine&since=2200-01-01'))).toEqual([])
    expect(data(await preview(`tables=mine&as=${alice}&limit=1`))).toEqual([own])
    expect(
      await sql(`select actor, target, detail from basalt.audit where action = 'realtime.preview'`),
    ).toEqual([{ actor: 'admin', target: 'mine', detail: { as: `user ${alice}` } }])
    expect(envelope(await preview('tables=mine&as=anonymous'))).toMatchObject({
      code: 400,
      message: 'unknown table: mine',
    })
    await sql('delete from mine')
  })

  test.each([
    ['tables=mine&as=x', 404, 'subscriber not found'],
    [`tables=mine&as=${'b0b00000-0000-4000-8000-000000000009'}`, 404, 'subscriber not found'],
    ['tables=mine&limit=x', 400, 'invalid limit'],
    ['tables=mine&cursor=x', 400, 'invalid cursor; expected the nextCursor of a page'],
    ['tables=mine&since=x', 400, 'invalid since filter; expected RFC3339 or YYYY-MM-DD'],
  ])('rejects %s', async (query, code, message) => {
    expect(envelope(await preview(query))).toMatchObject({ code, message })
  })

  test('continues after a page of rows that are all about other tables', async () => {
    const [written] = await sql<{ before: string; end: string }>(`
      with written as (
        insert into basalt.outbox (action, table_name, record)
        select 'create', 'elsewhere', '{}' from generate_series(1, 50001) returning id
      )
      select (min(id) - 1)::text as before, (max(id) - 1)::text as end from written`)
    await send('POST', 'collections/mine', { id: 3, owner: alice, note: 'far away' })
    const first = (await preview(`tables=mine&cursor=${written?.before}`)).json
    expect(first).toEqual({ items: [], decided: 0, hasGap: false, nextCursor: written?.end })
    expect(data(await preview(`tables=mine&cursor=${first.nextCursor}`))).toHaveLength(1)
    await sql(`delete from basalt.outbox where table_name = 'elsewhere'`)
    await sql('delete from mine')
  })
})
