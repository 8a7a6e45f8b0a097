import { createHmac, randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createApplication } from '../../../../../test/api-keys.ts'
import { alice } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

const path = '/api/webhooks/billing'
const secret = 'whsec_test'
const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const begin = 1_790_000_000

let app: TestApp
let other: TestApp
let shop: string
let subscription: string
beforeAll(async () => {
  const config = {
    'billing.provider': 'stripe',
    'billing.webhook_secret': secret,
    'billing.plans': '{"price_pro": "pro", "price_team": "team"}',
  }
  app = await createTestApp({ config })
  other = await createTestApp({ config, database: app.database })
  await app.sql('insert into basalt.users (id) values ($1)', [alice])
})
beforeEach(async () => {
  shop = await createApplication(app, { ownerUserId: alice })
  subscription = `sub_${randomUUID()}`
})
afterAll(async () => {
  await other[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})

const now = () => Math.floor(Date.now() / 1000)
const mac = (time: number, body: string, key = secret) =>
  createHmac('sha256', key).update(`${time}.${body}`).digest('hex')
const post = (body: string, signature: string | undefined, node = app) =>
  node.request('POST', path, {
    body,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      ...(signature === undefined ? {} : { 'stripe-signature': signature }),
    },
  })

interface StripeEvent {
  readonly id: string
  readonly type: string
  readonly created: number
  readonly data: { readonly object: object }
}

async function report(event: object, node = app) {
  const body = JSON.stringify(event, undefined, 2)
  const time = now()
  return await post(body, `t=${time},v1=${mac(time, 'old key')},v1=${mac(time, body)}`, node)
}

function event(type: string, seconds: number, object: object): StripeEvent {
  return { id: `evt_${randomUUID()}`, type, created: begin + seconds, data: { object } }
}
const checkout = (seconds: number, id = subscription, tenant = shop) =>
  event('checkout.session.completed', seconds, {
    id: 'cs_1',
    customer: 'cus_1',
    subscription: id,
    metadata: { tenant_id: tenant },
  })
const updated = (seconds: number, price: string, status = 'active', id = subscription) =>
  event('customer.subscription.updated', seconds, {
    id,
    customer: 'cus_1',
    status,
    items: { data: [{ price: { id: price } }] },
  })
const deleted = (seconds: number, id = subscription) =>
  event('customer.subscription.deleted', seconds, { id, customer: 'cus_1', status: 'canceled' })
const invoice = (seconds: number, type: 'paid' | 'payment_failed') =>
  event(`invoice.${type}`, seconds, {
    id: 'in_1',
    parent: { subscription_details: { subscription } },
  })

const get = async (id = shop) =>
  app.request('GET', `/api/admin/apps/${id}/billing`, { token: await app.adminToken() })
const state = async () => {
  const { plan, status } = (await get()).json
  return [plan, status]
}
const forged = { code: 403, error: 'invalid_webhook_signature', message: 'invalid webhook signature' }

describe('billing › events', () => {
  test('set plan and status of the app, from the checkout of a subscription to its end', async () => {
    expect((await get()).json).toEqual({
      app_id: shop,
      plan: 'default',
      status: null,
      subscription_id: null,
      customer_id: null,
      updated_at: null,
    })
    const first = await report(checkout(0))
    expect([first.status, first.json]).toEqual([200, { ok: true }])
    expect(await state()).toEqual(['default', 'active'])
    await report(updated(1, 'price_pro', 'trialing'))
    expect((await get()).json).toEqual({
      app_id: shop,
      plan: 'pro',
      status: 'trialing',
      subscription_id: subscription,
      customer_id: 'cus_1',
      updated_at: timestamp,
    })
    await report(invoice(2, 'paid'))
    expect(await state()).toEqual(['pro', 'active'])
    await report(invoice(3, 'payment_failed'))
    expect(await state()).toEqual(['pro', 'past_due'])
    await report(updated(4, 'price_unknown', 'unpaid'))
    expect(await state()).toEqual(['pro', 'unpaid'])
    await report(deleted(5))
    expect(await state()).toEqual(['free', 'canceled'])
  })

  test('end a subscription whose first payment failed without its plan', async () => {
    await report(checkout(0))
    await report(updated(1, 'price_pro', 'incomplete'))
    await report(updated(2, 'price_pro', 'incomplete_expired'))
    expect(await state()).toEqual(['free', 'canceled'])
    await report(updated(3, 'price_pro'))
    expect(await state()).toEqual(['free', 'canceled'])
  })

  test('count by the time of their occurrence, in whatever order they are reported', async () => {
    const events = [
      checkout(0),
      updated(1, 'price_pro'),
      updated(3, 'price_team', 'past_due'),
      invoice(4, 'paid'),
      invoice(2, 'payment_failed'),
    ]
    // One of the orders begins with the newest, and ends with the checkout that names the app.
    for (let offset = 0; offset < events.length; offset++) {
      shop = await createApplication(app, { ownerUserId: alice })
      subscription = `sub_${randomUUID()}`
      const again = [
        checkout(0),
        updated(1, 'price_pro'),
        updated(3, 'price_team', 'past_due'),
        invoice(4, 'paid'),
        invoice(2, 'payment_failed'),
      ].reverse()
      for (const each of [...again.slice(offset), ...again.slice(0, offset)]) await report(each)
      expect(await state()).toEqual(['team', 'active'])
    }
  })

  test('after the end of a subscription change nothing, but a new subscription does', async () => {
    for (const each of [checkout(0), deleted(5), updated(5, 'price_pro'), invoice(9, 'paid')])
      await report(each)
    expect(await state()).toEqual(['free', 'canceled'])
    const next = `sub_${randomUUID()}`
    await report(checkout(20, next))
    await report(updated(21, 'price_team', 'active', next))
    await report(updated(22, 'price_pro'))
    expect((await get()).json).toMatchObject({ plan: 'team', status: 'active', subscription_id: next })
  })

  test('count once: of ten concurrent ones on two nodes, and of a replay after a later event', async () => {
    const first = updated(1, 'price_pro')
    await report(checkout(0))
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => report(first, index % 2 === 0 ? app : other)),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
    await report(deleted(2))
    expect((await report(first)).json).toEqual({ ok: true })
    expect(await state()).toEqual(['free', 'canceled'])
    const rows = await app.sql('select id from basalt.billing_events where subscription_id = $1', [
      subscription,
    ])
    expect(rows).toHaveLength(3)
  })

  test('keep a plan of an administrator when they are reported again', async () => {
    const last = updated(1, 'price_pro')
    for (const each of [checkout(0), last]) await report(each)
    await app.sql(`update basalt.apps set plan = 'team' where id = $1`, [shop])
    expect((await report(last)).json).toEqual({ ok: true })
    expect(await state()).toEqual(['team', 'active'])
    await report(invoice(2, 'paid'))
    expect(await state()).toEqual(['pro', 'active'])
  })

  test('result in one state when they arrive together on two nodes', async () => {
    for (const _attempt of [1, 2, 3]) {
      shop = await createApplication(app, { ownerUserId: alice })
      subscription = `sub_${randomUUID()}`
      const events = [
        checkout(0),
        ...Array.from({ length: 8 }, (_, index) => updated(index + 1, 'price_pro', 'past_due')),
        updated(9, 'price_team'),
      ]
      await Promise.all(events.map((each, index) => report(each, index % 2 === 0 ? app : other)))
      expect(await state()).toEqual(['team', 'active'])
    }
  })

  test.each([
    ['of an unknown type', () => event('charge.refunded', 0, { id: 'ch_1' })],
    ['of a type named as a member of objects', () => event('constructor', 0, {})],
    ['of an unknown subscription', () => updated(0, 'price_pro')],
    ['of an invoice without subscription', () => event('invoice.paid', 0, { id: 'in_1' })],
    ['of a checkout without app', () => checkout(0, subscription, '')],
    ['of a checkout of an unknown app', () => checkout(0, subscription, randomUUID())],
    ['without an object', () => ({ ...checkout(0), data: null })],
  ])('%s are recorded and change nothing', async (_case, create) => {
    const event = create()
    const response = await report(event)
    expect([response.status, response.json]).toEqual([200, { ok: true }])
    expect(await state()).toEqual(['default', null])
    const rows = await app.sql('select type from basalt.billing_events where id = $1', [event.id])
    expect(rows).toEqual([{ type: event.type }])
  })

  test.each([
    ['{', 'invalid JSON body'],
    ['[]', 'id is required'],
    ['{"id": 7, "type": "x", "created": 1}', 'id is required'],
    ['{"id": "evt_\\u0000", "type": "x", "created": 1}', 'id is required'],
    ['{"id": "evt_1", "created": 1}', 'type is required'],
    ['{"id": "evt_1", "type": "x"}', 'created: expected seconds since 1970'],
    ['{"id": "evt_1", "type": "x", "created": 1e300}', 'created: expected seconds since 1970'],
  ])('are rejected when they are malformed: %s', async (body, message) => {
    const time = now()
    expect(envelope(await post(body, `t=${time},v1=${mac(time, body)}`))).toEqual({
      code: 400,
      error: 'invalid_billing_event',
      message,
    })
  })
})

describe('billing › signature', () => {
  test('covers the time and the bytes of the body, with the key, and is at most 300 s old', async () => {
    const body = JSON.stringify(checkout(0), undefined, 2)
    const time = now()
    const good = `t=${time},v1=${mac(time, body)}`
    const answers = await Promise.all([
      post(body, undefined),
      post(body, ''),
      post(body, `t=${time}`),
      post(body, `v1=${mac(time, body)}`),
      post(body, `t=${time},v0=${mac(time, body)}`),
      post(body, `t=${time},v1=${mac(time, body, 'another')}`),
      post(body, `t=${time + 1},v1=${mac(time, body)}`),
      post(body, `t=${time - 310},v1=${mac(time - 310, body)}`),
      post(body, `t=${time + 310},v1=${mac(time + 310, body)}`),
      post(body, `t=${time},t=${time - 310},v1=${mac(time - 310, body)}`),
      post(JSON.stringify(JSON.parse(body)), good),
      post('', `t=${time},v1=${mac(time, body)}`),
    ])
    for (const answer of answers) expect(envelope(answer)).toEqual(forged)
    expect(await state()).toEqual(['default', null])
    expect((await post(body, good)).status).toBe(200)
    expect(await state()).toEqual(['default', 'active'])
  })

  test('is required for bodies up to 64 KiB, and larger ones are too large', async () => {
    expect(envelope(await post('x'.repeat(65_536), 't=1,v1=a'))).toEqual(forged)
    expect(envelope(await post('x'.repeat(65_537), 't=1,v1=a'))).toEqual({
      code: 413,
      message: 'the request body is larger than 65536 bytes',
      error: 'body_too_large',
    })
  })
})

describe('billing › administration', () => {
  test('returns 404 for an unknown app', async () => {
    expect(envelope(await get('x'))).toEqual({
      code: 400,
      error: 'invalid_billed_app',
      message: 'invalid app id format',
    })
    expect(envelope(await get(randomUUID()))).toEqual({
      code: 404,
      error: 'billed_app_not_found',
      message: 'app not found',
    })
  })
})

describe('billing › events › list', () => {
  const list = async (query: string) =>
    app.request('GET', `/api/admin/billing/events?${query}`, { token: await app.adminToken() })
  const idsOf = async (query: string) => (await list(query)).json.items.map(({ id }: { id: string }) => id)

  test('filters by app, subscription, customer, type and time', async () => {
    const [start, change, end] = [checkout(0), updated(60, 'price_pro'), deleted(120)]
    for (const each of [end, start, change]) await report(each)
    const [other] = [event('charge.refunded', 30, { customer: `cus_${subscription}` })]
    await report(other)
    const { status, json } = await list(`subscription_id=${subscription}&limit=2`)
    expect([status, json.count, json.limit, json.offset]).toEqual([200, 2, 2, 0])
    expect(json.items).toEqual([
      {
        id: end.id,
        type: 'customer.subscription.deleted',
        happened_at: new Date((begin + 120) * 1000).toISOString(),
        app_id: null,
        subscription_id: subscription,
        customer_id: 'cus_1',
        plan: 'free',
        status: 'canceled',
        received_at: timestamp,
      },
      expect.objectContaining({ id: change.id, plan: 'pro', status: 'active' }),
    ])
    expect(await idsOf(`subscription_id=${subscription}&limit=2&offset=2`)).toEqual([start.id])
    expect(await idsOf(`app_id=${shop}`)).toEqual([end.id, change.id, start.id])
    expect(await idsOf(`customer_id=cus_${subscription}`)).toEqual([other.id])
    expect(await idsOf(`app_id=${shop}&type=checkout.session.completed`)).toEqual([start.id])
    const moment = (seconds: number) => new Date((begin + seconds) * 1000).toISOString()
    expect(await idsOf(`app_id=${shop}&from=${moment(1)}&to=${moment(60)}`)).toEqual([change.id])
    expect(await idsOf(`app_id=${randomUUID()}`)).toEqual([])
  })

  test.each([
    ['app_id=x', 'invalid app_id filter; must be a UUID'],
    ['limit=0', 'invalid limit'],
    ['offset=-1', 'invalid offset'],
    ['from=yesterday', 'invalid from filter; expected RFC3339 or YYYY-MM-DD'],
  ])('rejects %s', async (query, message) => {
    expect(envelope(await list(query))).toEqual({ code: 400, error: 'invalid_list_parameter', message })
  })
})

describe('billing › retention', () => {
  test('deletes old events except those that decide a state', async () => {
    const ended = `sub_${randomUUID()}`
    const events = {
      start: checkout(0),
      first: updated(1, 'price_pro', 'trialing'),
      second: updated(2, 'price_team', 'past_due'),
      paid: invoice(3, 'paid'),
      unrelated: event('charge.refunded', 4, { id: 'ch_1' }),
      end: deleted(5, ended),
      afterEnd: updated(6, 'price_pro', 'active', ended),
    }
    for (const each of Object.values(events)) await report(each)
    const ids = Object.values(events).map(({ id }) => id)
    await app.sql(
      `update basalt.billing_events set received_at = now() - interval '366 days' where id = any ($1)`,
      [ids],
    )
    const recent = event('charge.refunded', 7, { id: 'ch_2' })
    await report(recent)
    const token = await app.adminToken()
    const body = { type: 'billing_event_retention', payload: {} }
    const { id } = (await app.request('POST', '/api/admin/jobs', { token, body })).json
    await waitFor('the job', async () => {
      const { json } = await app.request('GET', `/api/admin/jobs/${id}`, { token })
      return json.state === 'completed'
    })
    const left = await app.sql<{ id: string }>('select id from basalt.billing_events where id = any ($1)', [
      [...ids, recent.id],
    ])
    const { start, second, paid, end, afterEnd } = events
    expect(left.map(({ id }) => id).toSorted()).toEqual(
      [start, second, paid, end, afterEnd, recent].map(({ id }) => id).toSorted(),
    )
    expect(await state()).toEqual(['team', 'active'])
    // A late report finds the events that it needs.
    await report(updated(2, 'price_pro', 'unpaid'))
    expect(await state()).toEqual(['pro', 'active'])
  })
})

test('billing › events › of one subscription are processed one after the other, before its app is known', async () => {
  const late = updated(1, 'price_pro', 'past_due')
  // This delays the commit of the event's report after it has found no app.
  await app.sql(`
    create function public.hold() returns trigger language plpgsql as $$ begin
      perform pg_advisory_xact_lock_shared(4711); return null;
    end $$;
    create constraint trigger hold after insert on basalt.billing_events deferrable initially deferred
      for each row when (new.type = 'customer.subscription.updated') execute function public.hold()`)
  const holder = new pg.Client({ connectionString: app.database.url })
  await holder.connect()
  try {
    await holder.query('select pg_advisory_lock(4711)')
    const waiting = (count: number) =>
      waitFor(`${count} reports that wait`, async () => {
        const rows = await app.sql(`select from pg_locks where locktype = 'advisory' and not granted
          and database = (select oid from pg_database where datname = current_database())`)
        return rows.length === count
      })
    const first = report(late)
    await waiting(1)
    let isAnswered = false
    const second = report(checkout(0), other).then((answer) => {
      isAnswered = true
      return answer
    })
    await Promise.race([waiting(2), second])
    expect(isAnswered).toBe(false)
    await holder.query('select pg_advisory_unlock(4711)')
    expect([(await first).status, (await second).status]).toEqual([200, 200])
    expect(await state()).toEqual(['pro', 'past_due'])
  } finally {
    await holder.end()
    await app.sql('drop function public.hold cascade')
  }
})

test.each([[{ 'billing.provider': 'stripe' }], [{ 'billing.webhook_secret': secret }]])(
  'billing › is disabled with only %j',
  async (config) => {
    await using bare = await createTestApp({ config, database: app.database })
    expect(envelope(await report(checkout(0), bare))).toEqual({
      code: 404,
      error: 'billing_not_enabled',
      message: 'billing is not enabled',
    })
  },
)
