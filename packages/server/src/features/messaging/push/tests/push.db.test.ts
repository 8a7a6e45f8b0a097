import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApiKey, createApplication } from '../../../../../test/api-keys.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import {
  createSubscription,
  type PushStandIn,
  startHttpPush,
  writeServiceAccount,
} from '../../../../../test/push-stand-ins.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

const unknown = '99999999-9999-4999-8999-999999999999'
const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/)

let fcm: PushStandIn
let app: TestApp
let admin: string
let shop: string
beforeAll(async () => {
  fcm = await startHttpPush(() => [200, { name: 'projects/shop/messages/1' }])
  app = await createTestApp({
    config: {
      'push.enabled': 'true',
      'push.fcm.credentials_file': writeServiceAccount(`${fcm.url}/token`),
      'push.fcm.base_url': fcm.url,
    },
  })
  await app.sql('insert into basalt.users (id) values ($1), ($2)', [alice, bob])
  admin = await app.adminToken()
  shop = await createApplication(app, { ownerUserId: alice })
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  await fcm[Symbol.asyncDispose]()
})

const asAdmin = (method: string, path: string, body?: unknown) =>
  app.request(method, `/api/admin/push${path}`, { token: admin, body })
const as = (user: string, method: string, path: string, body?: unknown) =>
  app.request(method, `/api/push${path}`, { token: userToken({ sub: user }), body })

const android = () => ({
  app_id: shop,
  provider: 'fcm',
  platform: 'android',
  token: `token-${randomUUID()}`,
  device_name: 'Pixel',
})

async function register(user: string, body = android()): Promise<{ id: string; token: string }> {
  const response = await as(user, 'POST', '/devices', body)
  expect(response.status).toBe(201)
  return response.json
}

async function settled(id: string) {
  return await waitFor('the delivery', async () => {
    const { json } = await asAdmin('GET', `/deliveries/${id}`)
    return json.status === 'pending' ? undefined : json
  })
}

const invalid = (message: string) => ({ code: 400, message, error: 'invalid_push' })

describe('push › devices', () => {
  test('are registered, listed and revoked by their user', async () => {
    const body = android()
    const registered = await as(alice, 'POST', '/devices', body)
    expect(registered.status).toBe(201)
    const device = registered.json
    expect(device).toEqual({
      id: uuid,
      app_id: shop,
      user_id: alice,
      provider: 'fcm',
      platform: 'android',
      token: body.token,
      device_name: 'Pixel',
      topics: [],
      is_active: true,
      inactive_reason: null,
      last_refreshed_at: timestamp,
      last_used: null,
      created_at: timestamp,
      updated_at: timestamp,
    })
    expect((await as(alice, 'GET', `/devices?app_id=${shop}`)).json.items).toContainEqual(device)
    expect((await as(bob, 'GET', `/devices?app_id=${shop}`)).json).toEqual({ items: [] })
    const theirs = await as(bob, 'DELETE', `/devices/${device.id}`)
    expect(envelope(theirs)).toEqual({
      code: 404,
      message: 'device token not found',
      error: 'device_not_found',
    })
    expect((await as(alice, 'DELETE', `/devices/${device.id}`)).status).toBe(204)
    expect((await as(alice, 'DELETE', `/devices/${device.id}`)).status).toBe(404)
    expect((await as(alice, 'GET', `/devices?app_id=${shop}`)).json.items).not.toContainEqual(
      expect.objectContaining({ id: device.id }),
    )
    const all = (await asAdmin('GET', `/devices?user_id=${alice}&include_inactive=true`)).json.items
    expect(all.find(({ id }: { id: string }) => id === device.id)).toMatchObject({
      is_active: false,
      inactive_reason: 'revoked',
    })
  })

  test('move to the user who registers them, and keep the history of their deliveries', async () => {
    const shared = android()
    const { id } = await register(alice, shared)
    const sent = await asAdmin('POST', '/send-to-token', { token_id: id, title: 'Hello', body: 'Alice' })
    await settled(sent.json.id)
    const moved = await as(bob, 'POST', '/devices', { ...shared, device_name: '' })
    expect(moved.json).toMatchObject({ id, user_id: bob, device_name: 'Pixel', is_active: true })
    expect((await as(alice, 'GET', `/devices?app_id=${shop}`)).json.items).not.toContainEqual(
      expect.objectContaining({ id }),
    )
    expect((await asAdmin('GET', `/deliveries/${sent.json.id}`)).json).toMatchObject({
      user_id: alice,
      status: 'sent',
    })
  })

  test('registered by ten concurrent requests are one device', async () => {
    const body = android()
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_, index) => as(index % 2 === 0 ? alice : bob, 'POST', '/devices', body)),
    )
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([201]))
    expect(new Set(responses.map(({ json }) => json.id)).size).toBe(1)
  })

  test.each([
    ['without an app', { app_id: undefined }, 'app_id is required'],
    ['of an app that is no UUID', { app_id: 'x' }, 'app_id: expected a UUID'],
    ['without a token', { token: '' }, 'token is required'],
    ['with a long token', { token: 'x'.repeat(4097) }, 'token must be at most 4096 characters'],
    ['with NUL in the token', { token: 'a\0b' }, 'token: NUL is not allowed'],
    ['of another provider', { provider: 'pigeon' }, 'invalid push provider: "pigeon"'],
    ['without a provider', { provider: undefined }, 'invalid push provider: ""'],
    ['of another platform', { platform: 'amiga' }, 'invalid push platform: "amiga"'],
    ['with a long name', { device_name: 'x'.repeat(256) }, 'device_name must be at most 255 characters'],
    ['with a bad topic', { topics: ['a b'] }, 'topics: expected names of 1 to 100 letters, digits and -_.~%'],
    ['with the keys of a browser', { keys: {} }, 'keys: only browsers have them'],
    [
      'of a browser without keys',
      { provider: 'webpush', token: 'https://push.example/1' },
      'keys.auth: expected 16 bytes as base64url',
    ],
    [
      'of a browser without an endpoint',
      { provider: 'webpush', token: 'x' },
      'token: expected the endpoint of a subscription, a URL',
    ],
    [
      'of a browser at an address of the cloud',
      { provider: 'webpush', token: 'http://169.254.169.254/', keys: createSubscription().keys },
      'token: the endpoint is not one that requests may be sent to',
    ],
  ])('%s are rejected', async (_, change, message) => {
    expect(envelope(await as(alice, 'POST', '/devices', { ...android(), ...change }))).toEqual(
      invalid(message),
    )
  })

  test('are rejected for unknown apps and users', async () => {
    const body = { ...android(), app_id: unknown }
    expect(envelope(await as(alice, 'POST', '/devices', body))).toEqual({
      code: 404,
      message: 'app not found',
      error: 'push_app_not_found',
    })
    expect(envelope(await asAdmin('POST', '/devices', { ...android(), user_id: unknown }))).toEqual({
      code: 404,
      message: 'user not found',
      error: 'push_user_not_found',
    })
    expect(envelope(await asAdmin('POST', '/devices', android()))).toEqual(invalid('user_id is required'))
    expect(envelope(await as(alice, 'GET', '/devices'))).toEqual(invalid('app_id is required'))
  })

  test('are deleted with their app and with their user', async () => {
    const other = await createApplication(app, { ownerUserId: bob })
    const { id } = await register(bob, { ...android(), app_id: other })
    await asAdmin('POST', '/send', { app_id: other, user_id: bob, title: 'a', body: 'b' })
    expect((await app.request('DELETE', `/api/admin/apps/${other}`, { token: admin })).status).toBe(204)
    expect(await app.sql('select from basalt.push_devices where id = $1', [id])).toEqual([])
  })
})

describe('push › send', () => {
  test('delivers to every active device of the user, and reports each outcome', async () => {
    const user = '77777777-7777-4777-8777-777777777777'
    await app.sql('insert into basalt.users (id) values ($1)', [user])
    const devices = [await register(user), await register(user)]
    const revoked = await register(user)
    await as(user, 'DELETE', `/devices/${revoked.id}`)
    const data = { order: '7' }
    const options = { badge: 3, sound: 'bell', ttl_seconds: 60, priority: 'normal', collapse_key: 'orders' }
    fcm.received.length = 0
    const response = await asAdmin('POST', '/send', {
      app_id: shop,
      user_id: user,
      title: 'Sent',
      body: 'Your order is on its way',
      data,
      options,
    })
    expect(response.status).toBe(200)
    const { send_id: sendId, deliveries } = response.json
    expect(deliveries).toHaveLength(2)
    expect(deliveries.map(({ device_token_id }: { device_token_id: string }) => device_token_id)).toEqual(
      devices.map(({ id }) => id),
    )
    expect(deliveries[0]).toMatchObject({ status: 'pending', title: 'Sent', data, job_id: uuid })
    const done = await Promise.all(deliveries.map(({ id }: { id: string }) => settled(id)))
    expect(done[0]).toEqual({
      id: deliveries[0].id,
      send_id: sendId,
      device_token_id: devices[0]?.id,
      job_id: deliveries[0].job_id,
      app_id: shop,
      user_id: user,
      provider: 'fcm',
      title: 'Sent',
      body: 'Your order is on its way',
      data,
      options,
      status: 'sent',
      attempts: 1,
      error_code: null,
      error_message: null,
      provider_message_id: 'projects/shop/messages/1',
      send_at: timestamp,
      sent_at: timestamp,
      created_at: timestamp,
      updated_at: timestamp,
    })
    expect(fcm.received.map(({ path }) => path)).toEqual(Array(2).fill('/v1/projects/shop/messages:send'))
    const sentTo = fcm.received.map(({ body }) => JSON.parse(body.toString()).message)
    expect(sentTo.find(({ token }) => token === devices[0]?.token)).toEqual({
      token: devices[0]?.token,
      notification: { title: 'Sent', body: 'Your order is on its way' },
      data,
      android: {
        priority: 'NORMAL',
        ttl: expect.stringMatching(/^(60|5\d)s$/),
        collapse_key: 'orders',
        notification: { sound: 'bell', notification_count: 3 },
      },
      apns: { payload: { aps: { badge: 3, sound: 'bell' } } },
    })
    expect((await asAdmin('GET', `/sends/${sendId}`)).json).toEqual({
      id: sendId,
      app_id: shop,
      topic: null,
      title: 'Sent',
      body: 'Your order is on its way',
      send_at: timestamp,
      created_at: timestamp,
      counts: { pending: 0, sent: 2, failed: 0, invalid_token: 0 },
    })
    expect(
      (await asAdmin('GET', `/deliveries?send_id=${sendId}&status=sent&limit=1`)).json.items,
    ).toHaveLength(1)
    expect((await asAdmin('GET', `/deliveries?user_id=${user}&status=failed`)).json).toEqual({ items: [] })
    const audit = await app.sql(
      `select detail from basalt.audit where action = 'push.send' and target = $1`,
      [sendId],
    )
    expect(audit).toEqual([{ detail: { appId: shop, kind: 'user', userId: user } }])
  })

  test('returns no deliveries without a device', async () => {
    const user = '66666666-6666-4666-8666-666666666666'
    await app.sql('insert into basalt.users (id) values ($1)', [user])
    const response = await asAdmin('POST', '/send', { app_id: shop, user_id: user, title: 'a', body: 'b' })
    expect(response.json).toEqual({ send_id: uuid, deliveries: [] })
  })

  test('sends one message for concurrent requests with one idempotency key', async () => {
    const { id } = await register(alice)
    const body = { app_id: shop, user_id: alice, title: 'once', body: 'only', idempotency_key: 'k1' }
    const responses = await Promise.all(Array.from({ length: 10 }, () => asAdmin('POST', '/send', body)))
    expect(new Set(responses.map(({ json }) => json.send_id)).size).toBe(1)
    expect(new Set(responses.map(({ json }) => json.deliveries.length)).size).toBe(1)
    const rows = await app.sql('select from basalt.push_deliveries where device_id = $1', [id])
    expect(rows).toHaveLength(1)
    expect(envelope(await asAdmin('POST', '/send', { ...body, title: 'other' }))).toEqual({
      code: 422,
      message: 'idempotency_key was used for another message',
      error: 'push_key_reused',
    })
  })

  test("reaches the devices of a topic's subscribers, over pages", async () => {
    const subscribed = await register(alice, Object.assign(android(), { topics: ['news'] }))
    await register(alice, Object.assign(android(), { topics: ['sport'] }))
    const { json } = await asAdmin('POST', '/send', { app_id: shop, topic: 'news', title: 'a', body: 'b' })
    const sent = await waitFor('the delivery', async () => {
      const { items } = (await asAdmin('GET', `/deliveries?send_id=${json.send_id}&status=sent`)).json
      return items.length > 0 ? items : undefined
    })
    expect(sent).toMatchObject([{ device_token_id: subscribed.id }])
    const both = { app_id: shop, topic: 'news', user_id: alice, title: 'a', body: 'b' }
    expect(envelope(await asAdmin('POST', '/send', both))).toEqual(
      invalid('expected either user_id or topic, not both'),
    )
  })

  test('waits until the given time', async () => {
    const { id } = await register(alice)
    const later = { token_id: id, title: 'a', body: 'b', send_at: '2999-01-01T00:00:00Z' }
    const { json } = await asAdmin('POST', '/send-to-token', later)
    expect(json).toMatchObject({ status: 'pending', send_at: '2999-01-01T00:00:00.000Z' })
    const [job] = await app.sql('select state, run_at from basalt.jobs where id = $1', [json.job_id])
    expect(job).toEqual({ state: 'queued', run_at: new Date('2999-01-01T00:00:00Z') })
  })

  test('keeps a message to a topic until then, even beyond the retention', async () => {
    const message = { app_id: shop, topic: 'anniversary', title: 'a', body: 'b' }
    const later = (await asAdmin('POST', '/send', { ...message, send_at: '2999-01-01T00:00:00Z' })).json
    const past = (await asAdmin('POST', '/send', message)).json
    await app.sql(`update basalt.push_sends set created_at = '2020-01-01' where topic = 'anniversary'`)
    await app.sql(`update basalt.push_sends set send_at = '2020-01-01' where id = $1`, [past.send_id])
    const job = { type: 'push_retention', payload: { retention_days: 1 } }
    await app.request('POST', '/api/admin/jobs', { token: admin, body: job })
    await waitFor('the removal of the past one', async () => {
      return (await asAdmin('GET', `/sends/${past.send_id}`)).status === 404
    })
    expect((await asAdmin('GET', `/sends/${later.send_id}`)).json).toMatchObject({ id: later.send_id })
  })

  test.each([
    ['push_delivery', { delivery_ids: ['x'] }, 'delivery_ids must be a list of ids'],
    ['push_fan_out', { send_id: unknown, after: 'x' }, 'send_id and after must be ids'],
  ])('rejects the job %s of an administrator with a malformed id', async (type, payload, problem) => {
    const job = { type, payload }
    expect(envelope(await app.request('POST', '/api/admin/jobs', { token: admin, body: job }))).toEqual({
      code: 400,
      message: `invalid payload: ${problem}`,
      error: 'invalid_job_payload',
    })
  })

  const valid = { title: 'a', body: 'b' }
  test.each([
    ['without a title', { ...valid, title: ' ' }, 'title is required'],
    ['without a body', { title: 'a' }, 'body is required'],
    ['with a long title', { ...valid, title: 'x'.repeat(257) }, 'title must be at most 256 characters'],
    [
      'with a number in data',
      { ...valid, data: { n: 1 } },
      'data: expected an object of strings; "n" is none',
    ],
    [
      'with aps in data',
      { ...valid, data: { aps: 'x' } },
      'data: the key "aps" is reserved by push providers',
    ],
    [
      'with a key of Google',
      { ...valid, data: { 'google.x': '' } },
      'data: the key "google.x" is reserved by push providers',
    ],
    [
      'with a picture over http',
      { ...valid, options: { image: 'http://a/b' } },
      'options.image: expected an https URL',
    ],
    [
      'at no time',
      { ...valid, send_at: 'tomorrow' },
      'send_at: expected RFC 3339, such as 2026-01-02T03:04:05Z',
    ],
    [
      'before the years that the database counts',
      { ...valid, send_at: '0000-12-31T23:59:59Z' },
      'send_at: expected RFC 3339, such as 2026-01-02T03:04:05Z',
    ],
    ['with an empty idempotency key', { ...valid, idempotency_key: '' }, 'idempotency_key: expected a text'],
  ])('rejects a message %s', async (_, body, message) => {
    const response = await asAdmin('POST', '/send', { app_id: shop, user_id: alice, ...body })
    expect(envelope(response)).toEqual(invalid(message))
  })

  test('rejects a message that is too large for providers', async () => {
    const { json } = await asAdmin('POST', '/send', {
      app_id: shop,
      user_id: alice,
      title: 'a',
      body: 'x'.repeat(4096),
    })
    expect(json).toMatchObject({
      code: 400,
      message: 'payload too large: payload is 4142 bytes (max 4096)',
      error: 'payload_too_large',
    })
  })

  test('rejects a missing or inactive app, user or device', async () => {
    expect((await asAdmin('POST', '/send', { ...valid, app_id: unknown, user_id: alice })).json.message).toBe(
      'app not found',
    )
    expect((await asAdmin('POST', '/send', { ...valid, app_id: shop, user_id: unknown })).json.message).toBe(
      'user not found',
    )
    expect(envelope(await asAdmin('POST', '/send', valid))).toEqual(invalid('app_id is required'))
    expect(envelope(await asAdmin('POST', '/send', { ...valid, app_id: shop }))).toEqual(
      invalid('user_id is required'),
    )
    expect(envelope(await asAdmin('POST', '/send-to-token', valid))).toEqual(invalid('token_id is required'))
    expect(envelope(await asAdmin('POST', '/send-to-token', { ...valid, token_id: unknown }))).toEqual({
      code: 404,
      message: 'not found',
      error: 'push_token_not_found',
    })
    const { id } = await register(alice)
    await asAdmin('DELETE', `/devices/${id}`)
    expect(envelope(await asAdmin('POST', '/send-to-token', { ...valid, token_id: id }))).toEqual({
      code: 400,
      message: 'invalid device token: device token is inactive',
      error: 'invalid_device_token',
    })
  })
})

describe('push › deliveries', () => {
  test.each([
    [
      '/deliveries?status=lost',
      400,
      'invalid status: status must be one of: pending, sent, failed, invalid_token',
    ],
    ['/deliveries?limit=0', 400, 'limit: expected an integer from 1'],
    ['/deliveries?offset=-1', 400, 'offset: expected an integer from 0'],
    ['/deliveries?app_id=x', 400, 'app_id: expected a UUID'],
    ['/deliveries/x', 400, 'id: expected a UUID'],
    [`/deliveries/${unknown}`, 404, 'delivery not found'],
    [`/sends/${unknown}`, 404, 'send not found'],
  ])('rejects %s', async (path, status, message) => {
    const response = await asAdmin('GET', path)
    expect(response.json).toMatchObject({ code: status, message })
  })
})

describe('push › contract', () => {
  let own: string
  beforeAll(async () => {
    own = await createApplication(app, { ownerUserId: bob })
  })
  const inOwn = () => ({ ...android(), app_id: own })
  const idsOf = async (path: string) =>
    (await asAdmin('GET', path)).json.items.map(({ id }: { id: string }) => id)

  test('POST /api/admin/push/devices returns 201 with the device that it created, or updated', async () => {
    const body = { ...inOwn(), user_id: alice }
    const created = await asAdmin('POST', '/devices', body)
    expect([created.status, created.json]).toEqual([
      201,
      {
        id: uuid,
        ...body,
        topics: [],
        is_active: true,
        inactive_reason: null,
        last_refreshed_at: timestamp,
        last_used: null,
        created_at: timestamp,
        updated_at: timestamp,
      },
    ])
    const updated = await asAdmin('POST', '/devices', { ...body, user_id: bob, device_name: 'Tablet' })
    expect([updated.status, updated.json]).toEqual([
      201,
      {
        ...created.json,
        user_id: bob,
        device_name: 'Tablet',
        last_refreshed_at: timestamp,
        updated_at: timestamp,
      },
    ])
  })

  test('POST /api/push/devices registers for the caller, not for the user that the body names', async () => {
    const { json } = await as(alice, 'POST', '/devices', { ...inOwn(), user_id: bob })
    expect(json.user_id).toBe(alice)
  })

  test('GET /api/admin/push/devices filters by app, user and activity, and pages on request', async () => {
    const app_id = await createApplication(app, { ownerUserId: bob })
    const ids: string[] = []
    for (const user_id of [alice, bob, bob]) {
      ids.unshift((await asAdmin('POST', '/devices', { ...android(), app_id, user_id })).json.id)
    }
    const [revoked] = ids
    expect((await asAdmin('DELETE', `/devices/${revoked}`)).status).toBe(204)
    expect(await idsOf(`/devices?app_id=${app_id}`)).toEqual(ids.slice(1))
    expect(await idsOf(`/devices?app_id=${app_id}&include_inactive=false`)).toEqual(ids.slice(1))
    expect(await idsOf(`/devices?app_id=${app_id}&include_inactive=true`)).toEqual(ids)
    expect(await idsOf(`/devices?app_id=${app_id}&user_id=${alice}`)).toEqual(ids.slice(2))
    expect(await idsOf(`/devices?app_id=${app_id}&include_inactive=true&limit=1&offset=1`)).toEqual([ids[1]])
    expect(await idsOf(`/devices?app_id=${unknown}`)).toEqual([])
    expect(envelope(await asAdmin('GET', '/devices?include_inactive=maybe'))).toEqual(
      invalid('include_inactive: expected true or false'),
    )
    expect(envelope(await asAdmin('GET', '/devices?app_id=x'))).toEqual(invalid('app_id: expected a UUID'))
  })

  test('GET of devices returns more than fifty', async () => {
    const app_id = await createApplication(app, { ownerUserId: bob })
    await app.sql(
      `insert into basalt.push_devices (app_id, user_id, provider, platform, token, token_hash)
       select $1, $2, 'fcm', 'android', 'c' || n, sha256(('c' || n)::bytea) from generate_series(1, 60) n`,
      [app_id, bob],
    )
    expect(await idsOf(`/devices?app_id=${app_id}`)).toHaveLength(60)
    expect((await as(bob, 'GET', `/devices?app_id=${app_id}`)).json.items).toHaveLength(60)
  })

  test.each([
    ['DELETE', `/devices/${unknown}`, 404, 'device token not found'],
    ['DELETE', '/devices/x', 400, 'id: expected a UUID'],
  ])('%s %s is refused to administrators and users', async (method, path, code, message) => {
    expect((await asAdmin(method, path)).json).toMatchObject({ code, message })
    expect((await as(alice, method, path)).json).toMatchObject({ code, message })
  })

  test('POST /api/admin/push/send-to-token returns the bare delivery', async () => {
    const device = (await as(alice, 'POST', '/devices', inOwn())).json
    const body = { token_id: device.id, title: 'Hi', body: 'there', data: { a: 'b' } }
    const response = await asAdmin('POST', '/send-to-token', body)
    expect([response.status, response.json]).toEqual([
      200,
      {
        id: uuid,
        send_id: uuid,
        device_token_id: device.id,
        job_id: uuid,
        app_id: own,
        user_id: alice,
        provider: 'fcm',
        title: 'Hi',
        body: 'there',
        data: { a: 'b' },
        options: {},
        status: 'pending',
        attempts: 0,
        error_code: null,
        error_message: null,
        provider_message_id: null,
        send_at: timestamp,
        sent_at: null,
        created_at: timestamp,
        updated_at: timestamp,
      },
    ])
    const done = await settled(response.json.id)
    expect(done).toMatchObject({ status: 'sent', sent_at: timestamp })
    expect(await idsOf(`/devices?app_id=${own}&user_id=${alice}`)).toContain(device.id)
    const { items } = (await as(alice, 'GET', `/devices?app_id=${own}`)).json
    expect(items.find(({ id }: { id: string }) => id === device.id).last_used).toEqual(timestamp)
  })

  test('GET /api/admin/push/deliveries returns fifty by default, the newest first', async () => {
    const app_id = await createApplication(app, { ownerUserId: bob })
    const send = async (user_id: string) => {
      const response = await asAdmin('POST', '/send', { app_id, user_id, title: 'a', body: 'b' })
      return response.json.deliveries.map(({ id }: { id: string }) => id)
    }
    await app.sql(
      `insert into basalt.push_devices (app_id, user_id, provider, platform, token, token_hash)
       select $1, $2, 'fcm', 'android', 'd' || n, sha256(('d' || n)::bytea) from generate_series(1, 60) n`,
      [app_id, bob],
    )
    await as(alice, 'POST', '/devices', { ...android(), app_id })
    const ofBob: string[] = await send(bob)
    const [ofAlice] = await send(alice)
    await waitFor('the deliveries', async () => {
      return (await idsOf(`/deliveries?app_id=${app_id}&status=pending`)).length === 0
    })
    const all = await idsOf(`/deliveries?app_id=${app_id}&limit=500`)
    expect([all.length, all[0]]).toEqual([61, ofAlice])
    expect(await idsOf(`/deliveries?app_id=${app_id}`)).toEqual(all.slice(0, 50))
    expect(await idsOf(`/deliveries?app_id=${app_id}&limit=5&offset=50`)).toEqual(all.slice(50, 55))
    expect(await idsOf(`/deliveries?app_id=${app_id}&user_id=${alice}`)).toEqual([ofAlice])
    const bobs = await idsOf(`/deliveries?app_id=${app_id}&user_id=${bob}&status=sent&limit=100`)
    expect(bobs.toSorted()).toEqual(ofBob.toSorted())
    expect(await idsOf(`/deliveries?app_id=${app_id}&status=failed`)).toEqual([])
    expect(await idsOf(`/deliveries?app_id=${unknown}`)).toEqual([])
  })
})

test('push › returns 503 while disabled to permitted callers, and 401 or 403 to others', async () => {
  await using disabled = await createTestApp({ setup: `insert into basalt.users (id) values ('${alice}')` })
  const refused = { code: 503, message: 'push notifications are not enabled', error: 'push_disabled' }
  const token = await disabled.adminToken()
  expect(envelope(await disabled.request('GET', '/api/admin/push/devices', { token }))).toEqual(refused)
  const user = userToken({ sub: alice })
  expect(envelope(await disabled.request('POST', '/api/push/devices', { token: user, body: {} }))).toEqual(
    refused,
  )
  expect((await disabled.request('GET', '/api/admin/push/devices')).status).toBe(401)
  const { key } = await createApiKey(disabled, { userId: alice })
  expect((await disabled.request('GET', '/api/push/devices', { token: key })).status).toBe(403)
})

describe('push › sends of programs', () => {
  const send = (token: string, body: object) => app.request('POST', '/api/push/send', { token, body })
  const message = { title: 'Shipped', body: 'Order 7' }

  test('go to the devices of their own app, and the audit log names them', async () => {
    const device = await register(bob)
    const { key, apiKey } = await createApiKey(app, {
      userId: alice,
      appId: shop,
      scope: 'readonly',
      actions: ['push:send'],
    })
    const sent = await send(key, { user_id: bob, ...message })
    expect([sent.status, sent.json]).toEqual([200, { send_id: uuid, count: expect.any(Number) }])
    const { items } = (await asAdmin('GET', `/deliveries?send_id=${sent.json.send_id}`)).json
    expect(sent.json.count).toBe(items.length)
    expect(items).toContainEqual(expect.objectContaining({ device_token_id: device.id, title: 'Shipped' }))
    const audit = await app.sql('select actor, action, detail from basalt.audit where target = $1', [
      sent.json.send_id,
    ])
    const sender = { userId: alice, keyId: apiKey.id }
    expect(audit).toEqual([
      { actor: 'program', action: 'push.send', detail: { appId: shop, kind: 'user', userId: bob, sender } },
    ])
    const elsewhere = await createApplication(app, { ownerUserId: alice })
    expect(envelope(await send(key, { app_id: elsewhere, user_id: bob, ...message }))).toEqual(
      invalid('app_id: expected the app of the program'),
    )
    expect(envelope(await send(key, { user_id: bob }))).toEqual(invalid('title is required'))
  })

  test('require the action push:send, and are refused to users', async () => {
    const body = { user_id: bob, ...message }
    const { key } = await createApiKey(app, { userId: alice, appId: shop, actions: ['email:send'] })
    expect(envelope(await send(key, body))).toEqual({
      code: 403,
      error: 'insufficient_scope',
      message: 'api key scope does not permit push:send',
    })
    expect(envelope(await send(userToken({ sub: alice }), body))).toEqual({
      code: 403,
      error: 'push_sender_not_permitted',
      message: 'sending push notifications is not permitted',
    })
  })

  test('are limited by user, whatever the credential', async () => {
    await using limited = await createTestApp({
      config: { 'push.enabled': 'true', 'push.policy.sends_per_hour': '3' },
      database: app.database,
    })
    const make = () => createApiKey(app, { userId: bob, appId: shop, actions: ['push:send'] })
    const keys = await Promise.all([make(), make()])
    const responses = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        limited.request('POST', '/api/push/send', {
          token: keys[index % 2]?.key,
          body: { user_id: alice, ...message },
        }),
      ),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 200, 200, ...Array(5).fill(429)])
    const refused = responses.find(({ status }) => status === 429)
    expect(refused?.json.error).toBe('push_limit_reached')
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0)
  })
})
