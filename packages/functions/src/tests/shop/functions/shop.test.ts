import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { testDatabase } from '@basaltdb/functions/testing'
import {
  breaks,
  charge,
  checkout,
  exits,
  file,
  first,
  leaks,
  nightly,
  openFile,
  order,
  paid,
  price,
  receipt,
  report,
  rights,
} from './shop.ts'

const secret = 'whsec_of_the_test'
const database = await testDatabase({ secrets: { STRIPE_SECRET: secret, PAYMENT_KEY: 'sk_of_the_test' } })
const ann = await database.createUser({ email: 'ann@example.com' })
const bob = await database.createUser({ email: 'bob@example.com', isEmailVerified: false })

const stockOf = (id: number) =>
  database.transaction(async ({ db }) => {
    const [product] = await db('admin').sql<{ stock: number }>`select stock from product where id = ${id}`
    return product?.stock
  })

test('returns the result, and what the call would send', async () => {
  const { result, jobs, mails, broadcasts, logs } = await database.call(checkout, {
    as: 'Ann@example.com',
    input: { product_id: 1, quantity: 3 },
  })
  const total: number = result.total
  const at: string = result.at
  assert.deepEqual({ total, at }, { total: 13.5, at: '1970-01-01T00:00:00.000Z' })
  assert.deepEqual(
    jobs.map(({ id: _, ...added }) => added),
    [{ job: 'report', payload: { days: 1 }, key: undefined, at: undefined }],
  )
  assert.deepEqual(mails, [{ to: 'ann@example.com', subject: 'Your purchase', text: '13.5' }])
  assert.deepEqual(broadcasts, [{ channel: 'sales', event: 'sold', payload: { quantity: 3 } }])
  assert.deepEqual(logs, [{ level: 'info', message: 'purchased', fields: { quantity: 3 } }])
})

test('undoes a call, and keeps the steps of a transaction until its end', async () => {
  const input = { product_id: 1, quantity: 1 }
  await database.transaction(async ({ call, db }) => {
    await call(checkout, { as: ann, input })
    await db('admin').sql`update product set stock = 0 where id = 1`
    const refused = call(checkout, { as: ann, input })
    await assert.rejects(refused, { status: 409, error: 'out_of_stock' })
    // The effects of the refused call and of its hooks are undone, and the rest remains.
    const { totalItems } = await db(ann).from('purchase').list()
    assert.equal(totalItems, 1)
    assert.equal(await db(bob).from('purchase').count(), 0)
  })
  assert.equal(await stockOf(1), 10)
  assert.equal(await database.transaction(({ db }) => db('admin').from('purchase').count()), 0)
})

test('passes hooks and policies for writes of the test', async () => {
  await database.transaction(async ({ db }) => {
    const made = await db(ann).from('purchase').create({ product_id: 1, quantity: 2, total: 0.01 })
    assert.equal(made.total, 9)
    const foreign = db(bob).from('purchase').create({ product_id: 1, quantity: 1, total: 0, user_id: ann.id })
    await assert.rejects(foreign, { status: 403 })
    await assert.rejects(db('anonymous').from('paid').create({ purchase_id: 1, event: '' }), { status: 401 })
    await assert.rejects(db(ann).sql`select from nowhere`, { message: /nowhere/ })
    assert.equal(await db(ann).from('purchase').count(), 1)
  })
})

test('gives each caller the rights of a request', async () => {
  await database.transaction(async ({ call }) => {
    const { result: user } = await call(rights, { as: bob })
    const { result: admin } = await call(rights, { as: 'admin' })
    const { result: anonymous } = await call(rights)
    assert.deepEqual(
      [user, admin, anonymous],
      [
        { role: 'basalt_authenticated', login: 'basalt_gateway', owner: bob.id },
        { role: 'basalt_administrator', login: 'basalt_administrator', owner: '' },
        { role: 'basalt_anonymous', login: 'basalt_gateway', owner: '' },
      ],
    )
  })
  await assert.rejects(database.call(checkout, { input: { product_id: 1, quantity: 1 } }), { status: 401 })
  await assert.rejects(database.call(order, { as: ann, params: { id: '1' } }), { error: 'admin_required' })
  await assert.rejects(database.call(order, { as: 'admin', params: { id: '1' } }), { status: 404 })
})

test('checks input, and deferred constraints at the end of a call', async () => {
  const tooFew = database.call(checkout, { as: ann, input: { product_id: 1, quantity: 0 } })
  await assert.rejects(tooFew, { status: 400, error: 'invalid_input' })
  const unknown = database.call(checkout, { as: ann, input: { product_id: 9, quantity: 1 } })
  await assert.rejects(unknown, { status: 400, error: 'foreign_key_violation' })
})

test('serves ctx.fetch, which fails otherwise', async () => {
  const { result } = await database.call(charge, {
    fetch: async (request) =>
      Response.json(
        { url: request.url, key: request.headers.get('authorization'), sent: await request.json() },
        { status: 201 },
      ),
  })
  assert.deepEqual(result, {
    status: 201,
    body: {
      url: 'https://payments.example.com/charges?currency=eur',
      key: 'Bearer sk_of_the_test',
      sent: { amount: 4200 },
    },
  })
  await assert.rejects(database.call(charge), {
    status: 500,
    message: 'ctx.fetch: payments.example.com: the test has no fetch for its requests',
  })
  const failing = database.call(charge, { fetch: () => Promise.reject(new Error('out of paper')) })
  await assert.rejects(failing, { message: 'ctx.fetch: payments.example.com: out of paper' })
})

test('runs jobs, schedules, changes and messages', async () => {
  const { logs } = await database.call(report, { payload: { days: 2 }, attempt: 3 })
  assert.deepEqual(logs, [{ level: 'info', message: 'sold', fields: { days: 2, sold: 0, attempt: 3 } }])
  await assert.rejects(database.call('report', { payload: { days: 0 } }), { status: 400 })
  const { jobs } = await database.call(nightly)
  assert.deepEqual(jobs[0]?.at, new Date(86_400_000))
  const change = { operation: 'create' as const, record: { id: 7 } }
  const sent: unknown[] = []
  await database.call(receipt, {
    change,
    fetch: async (request) => {
      sent.push(await request.json())
      return new Response(null, { status: 204 })
    },
  })
  assert.deepEqual(sent, [{ purchase: 7, event: false }])
  await assert.rejects(database.call(receipt, { change, fetch: () => new Response(null, { status: 503 }) }), {
    message: 'the mail service refused',
  })
})

test('verifies a message, and handles it once', async () => {
  const body = JSON.stringify({ id: 'evt_1', data: { purchase: 7 } })
  const time = Math.floor(Date.now() / 1000)
  const signature = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')
  const message = { headers: { 'Stripe-Signature': `t=${time},v1=${signature}` }, body }
  await database.transaction(async ({ call, db }) => {
    await call(paid, { message })
    await call(paid, { message })
    assert.deepEqual(
      await db('admin')
        .from('paid')
        .list()
        .then(({ items }) => items),
      [{ purchase_id: 7, event: 'evt_1' }],
    )
    const forged = call(paid, { message: { ...message, body: body.replace('7', '8') } })
    await assert.rejects(forged, { status: 401, error: 'inbound_refused' })
  })
})

test('undoes what a call leaks, and shows errors with their stack and log', async () => {
  await database.transaction(async ({ call, db }) => {
    await call(leaks, { as: 'admin' })
    // The late statement arrives before this one.
    await call(rights)
    const [product] = await db('admin').sql`select stock from product where id = 1`
    assert.equal(product?.stock, 5)
  })
  assert.equal(await stockOf(1), 10)
  const error = await database.call(breaks).catch((thrown) => thrown)
  assert.match(error.stack, /no such shelf\n.*shop\.ts/)
  assert.deepEqual(
    [error.status, error.logs],
    [500, [{ level: 'info', message: 'about to break', fields: {} }]],
  )
})

test('names what it cannot call', async () => {
  const data = { status: 400, error: 'invalid_invocation' }
  await assert.rejects(database.call('nothing'), {
    ...data,
    message: /^there is no function nothing; .*checkout/,
  })
  await assert.rejects(database.call(first), { ...data, message: /first, second$/ })
  await assert.rejects(database.call(price), { ...data, message: /^price runs before writes of purchase/ })
  await assert.rejects(database.call(rights, { as: 'eve@example.com' }), {
    ...data,
    message: /eve@example.com/,
  })
  await assert.rejects(database.createUser({ email: 'ann@example.com' }), data)
})

test('continues after the process of the functions has ended', async () => {
  await assert.rejects(database.call(exits), { status: 503, error: 'function_process_ended' })
  for (;;) {
    const done = await database.call(rights).catch(({ error }) => error)
    if (done !== 'functions_unavailable') break
  }
  assert.equal(await stockOf(2), 1)
})

test('stores files as the caller, and undoes them', async () => {
  const params = { name: 'a.txt' }
  await database.transaction(async ({ call }) => {
    const { result } = await call(file, { as: ann, params, input: { text: 'tea' } })
    assert.deepEqual(result, { size: 3 })
    const opened = await call(openFile, { as: ann, params })
    assert.equal(await opened.result.text(), 'tea')
    await assert.rejects(call(openFile, { as: bob, params }), { status: 404, error: 'file_not_found' })
  })
  await assert.rejects(database.call(openFile, { as: ann, params }), { status: 404, error: 'file_not_found' })
})
