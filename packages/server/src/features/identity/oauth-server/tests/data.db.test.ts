import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openEventStream } from '../../../../../test/event-stream.ts'
import { alice, bob, notes } from '../../../../../test/fixtures.ts'
import {
  approveClient,
  createClient,
  createOAuthApp,
  createProof,
  obtainTokens,
  postForm,
  redeem,
  refresh,
  requestToken,
  type TestClient,
} from '../../../../../test/oauth.ts'
import { envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { openWebSocket } from '../../../../../test/websocket-client.ts'

let first: TestApp
let second: TestApp
let client: TestClient
const user = userToken({ sub: alice, email: 'alice@example.com' })

beforeAll(async () => {
  first = await createOAuthApp({
    setup: `${notes}
      create table item (id int primary key);
      create table caller (id serial primary key, body text, who text default current_setting('basalt.user_id', true),
        aal text default basalt.aal(), email text default basalt.user_email(), verified bool default basalt.email_verified());
      grant all on all tables in schema public to basalt_authenticated;
      grant usage on all sequences in schema public to basalt_authenticated`,
  })
  second = await createOAuthApp({ database: first.database })
  client = await createClient(first)
})
afterAll(async () => {
  await second[Symbol.asyncDispose]()
  await first[Symbol.asyncDispose]()
})

const send = (method: string, path: string, token: string, body?: unknown, node = first) =>
  node.request(method, path, { token, body })
const statusOf = async (node: TestApp, token: string) =>
  (await node.request('GET', '/api/collections/note', { token })).status
const scopeError = (problem: string) => ({
  code: 403,
  message: `access token ${problem}`,
  error: 'insufficient_scope',
})

describe('oauth server › access tokens', () => {
  test("see what their user sees, under the user's policies", async () => {
    const { access_token } = await obtainTokens(first, user, client)
    expect((await send('POST', '/api/collections/note', access_token, { body: 'mine' })).status).toBe(201)
    const own = await send('GET', '/api/collections/note', user)
    expect(own.json.items.length).toBeGreaterThan(0)
    expect((await send('GET', '/api/collections/note', access_token)).json).toEqual(own.json)
    const { json } = await send('POST', '/api/collections/caller', access_token, { body: 'x' })
    expect(json).toMatchObject({ who: alice, aal: 'aal1', email: 'alice@example.com', verified: true })
  })

  test('act for no user with client credentials', async () => {
    const form = { grant_type: 'client_credentials', scope: '*', client_id: client.clientId }
    const { access_token } = (await requestToken(first, { ...form, client_secret: client.clientSecret })).json
    expect((await send('GET', '/api/collections/note', access_token)).json.items).toEqual([])
    const { json } = await send('POST', '/api/collections/caller', access_token, { body: 'x' })
    expect(json).toMatchObject({ who: '', aal: 'aal1', email: null, verified: false })
  })

  test('are limited to their scope and tables', async () => {
    const reader = await obtainTokens(first, user, client, { scope: 'readonly' })
    expect(envelope(await send('POST', '/api/collections/item', reader.access_token, { id: 1 }))).toEqual(
      scopeError('scope does not permit write operations'),
    )
    const items = await obtainTokens(first, user, client, { allowed_tables: ['item'] })
    expect((await send('POST', '/api/collections/item', items.access_token, { id: 2 })).status).toBe(201)
    expect(envelope(await send('GET', '/api/collections/note', items.access_token))).toEqual(
      scopeError('does not have access to table: note'),
    )
    const refreshed = (await refresh(first, client, items.refresh_token)).json
    expect((await send('GET', '/api/collections/note', refreshed.access_token)).status).toBe(403)
  })

  test('open streams of their tables, which end with them', async () => {
    const { access_token, refresh_token } = await obtainTokens(first, user, client, {
      allowed_tables: ['item'],
    })
    await using events = await openEventStream(second.url, `tables=item&token=${access_token}`)
    await using socket = await openWebSocket(second.url, { token: access_token })
    expect(events.status).toBe(200)
    expect(await socket.request({ type: 'subscribe', tables: ['note'] })).toMatchObject({ status: 'error' })
    await postForm(first, '/api/auth/revoke', { token: refresh_token })
    await events.ended()
    expect((await events.named('close')).data.reason).toBe('session_ended')
    expect((await socket.ended()).code).toBe(4401)
  })

  test('open with client credentials as many streams of an app as a user may', async () => {
    await using node = await createOAuthApp({
      database: first.database,
      config: { 'realtime.max_connections_per_user': '1' },
    })
    const tokenOf = async ({ clientId: client_id, clientSecret: client_secret }: TestClient) => {
      const form = { grant_type: 'client_credentials', scope: 'readonly', client_id, client_secret }
      return (await requestToken(first, form)).json.access_token as string
    }
    const [shop, blog] = [await createClient(first), await createClient(first)]
    const neighbour = await createClient(first, { appId: shop.client.appId })
    const open = (token: string) => openEventStream(node.url, `tables=item&token=${token}`)
    await using ofShop = await open(await tokenOf(shop))
    await using another = await open(await tokenOf(neighbour))
    await using ofBlog = await open(await tokenOf(blog))
    expect([ofShop, another, ofBlog].map(({ refusal }) => refusal)).toEqual([
      undefined,
      'connection_limit_exceeded',
      undefined,
    ])
    await using socket = await openWebSocket(node.url)
    expect(await socket.request({ type: 'auth', token: await tokenOf(blog) })).toMatchObject({
      message: 'connection limit exceeded',
    })
    const token = await node.adminToken()
    // The list spans all nodes. Earlier streams of users leave it a little later.
    const users = await waitFor('no streams of users', async () => {
      const { items } = (await node.request('GET', '/api/admin/realtime/connections', { token })).json
      const ids: (string | null)[] = items.map(({ userId }: { userId: string | null }) => userId)
      return ids.every((id) => id === null) && ids
    })
    expect(users).toEqual([null, null])
  })

  test('are rejected if they are expired or mistyped', async () => {
    const { access_token } = await obtainTokens(first, user, client)
    await first.sql(`update basalt.oauth_access_tokens set expires_at = now() - interval '1 s'`)
    for (const token of [access_token, `${access_token.slice(0, -1)}_`, `basalt_at_${'0'.repeat(49)}`]) {
      expect(await statusOf(first, token)).toBe(401)
    }
  })

  test("are counted by the limit of their client's app", async () => {
    const limited = await createClient(first)
    const { access_token } = await obtainTokens(first, user, limited)
    const { appId } = limited.client
    const body = { name: 'app', rateLimitRps: 3, rateLimitWindowSeconds: 600 }
    await first.request('PUT', `/api/admin/apps/${appId}`, { token: await first.adminToken(), body })
    const statuses: number[] = []
    for (let index = 0; index < 5; index += 1) statuses.push(await statusOf(first, access_token))
    expect(statuses).toEqual([200, 200, 200, 429, 429])
  })
})

describe('oauth server › access ends', () => {
  const admin = async (method: string, path: string) =>
    first.request(method, `/api/admin/${path}`, { token: await first.adminToken() })
  const grantsOf = async (token: string) => (await send('GET', '/api/auth/grants', token)).json

  test.each<[string, (tokens: { client: TestClient; refresh: string; access: string }) => Promise<unknown>]>([
    ['the access token is revoked', ({ access }) => postForm(first, '/api/auth/revoke', { token: access })],
    [
      'the refresh token is revoked',
      ({ refresh }) => postForm(first, '/api/auth/revoke', { token: refresh }),
    ],
    ['the client is revoked', ({ client }) => admin('DELETE', `oauth/clients/${client.clientId}`)],
    [
      'the grant is revoked by the user',
      async ({ client }) => {
        const grants: { id: string; clientId: string }[] = await grantsOf(user)
        const grant = grants.find(({ clientId }) => clientId === client.clientId)
        await send('DELETE', `/api/auth/grants/${grant?.id}`, user)
      },
    ],
    [
      'the grant is revoked by SQL',
      ({ client }) =>
        first.sql(
          `update basalt.oauth_grants g set revoked_at = now() from basalt.oauth_clients c
          where c.id = g.client_id and c.client_id = $1`,
          [client.clientId],
        ),
    ],
    [
      'the client is deleted by SQL',
      ({ client }) => first.sql('delete from basalt.oauth_clients where client_id = $1', [client.clientId]),
    ],
  ])('on every node when %s', async (_how, end) => {
    const fresh = await createClient(first)
    const tokens = await obtainTokens(first, user, fresh)
    for (const node of [first, second]) expect(await statusOf(node, tokens.access_token)).toBe(200)
    await end({ client: fresh, refresh: tokens.refresh_token, access: tokens.access_token })
    // A second is what revocation may take, and the rest is slack for a busy machine.
    for (const node of [first, second]) {
      await waitFor('the end', async () => (await statusOf(node, tokens.access_token)) === 401)
    }
  })

  test('with the user, temporarily or permanently', async () => {
    const [row] = await first.sql<{ id: string }>('insert into basalt.users default values returning id')
    const id = row?.id ?? ''
    const { access_token } = await obtainTokens(first, userToken({ sub: id }), client)
    const wait = (status: number) =>
      Promise.all(
        [first, second].map((node) =>
          waitFor('it', async () => (await statusOf(node, access_token)) === status),
        ),
      )
    await wait(200)
    await admin('POST', `users/${id}/disable`)
    await wait(401)
    await admin('POST', `users/${id}/enable`)
    await wait(200)
    await admin('DELETE', `users/${id}`)
    await wait(401)
  })

  test('when the user revokes a grant, and users see only their own grants', async () => {
    await first.sql('insert into basalt.users (id) values ($1) on conflict do nothing', [bob])
    const fresh = await createClient(first, { name: 'Calendar' })
    const { refresh_token } = await obtainTokens(first, user, fresh, {
      scope: 'readonly',
      allowed_tables: ['note'],
    })
    const bobs = userToken({ sub: bob })
    const found = (await grantsOf(user)).find(({ clientId }: TestClient) => clientId === fresh.clientId)
    expect(found).toEqual({
      id: expect.any(String),
      clientId: fresh.clientId,
      clientName: 'Calendar',
      scope: 'readonly',
      allowedTables: ['note'],
      createdAt: expect.stringMatching(/Z$/),
      updatedAt: expect.stringMatching(/Z$/),
      lastTokenIssuedAt: expect.stringMatching(/Z$/),
    })
    expect(await grantsOf(bobs)).toEqual([])
    const missing = { code: 404, message: 'grant not found', error: 'grant_not_found' }
    expect(envelope(await send('DELETE', `/api/auth/grants/${found.id}`, bobs))).toEqual(missing)
    expect(envelope(await send('DELETE', '/api/auth/grants/x', user)).error).toBe('invalid_grant_id')
    const ends = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        send('DELETE', `/api/auth/grants/${found.id}`, user, undefined, index % 2 === 0 ? first : second),
      ),
    )
    expect(ends.map(({ status }) => status).toSorted()).toEqual([204, ...Array(9).fill(404)])
    expect((await refresh(first, fresh, refresh_token)).json.error_description).toBe('invalid refresh token')
  })
})

describe('oauth server › races on two nodes', () => {
  const nodes = () => Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? first : second))

  test('accept one of twenty exchanges of one code, and revoke its grant', async () => {
    const fresh = await createClient(first)
    const proof = createProof()
    const code = await approveClient(first, user, fresh, proof)
    const responses = await Promise.all(nodes().map((node) => redeem(node, fresh, proof, code)))
    const [won, ...more] = responses.filter(({ status }) => status === 200)
    expect(more).toEqual([])
    const lost = responses.filter(({ status }) => status !== 200).map(({ json }) => json)
    expect(lost).toEqual(
      Array(19).fill({ error: 'invalid_grant', error_description: 'authorization code already used' }),
    )
    for (const node of [first, second]) {
      await waitFor('the end', async () => (await statusOf(node, won?.json.access_token)) === 401)
    }
    expect((await refresh(first, fresh, won?.json.refresh_token)).json.error).toBe('invalid_grant')
  })

  test('return one successor for twenty refreshes with one token', async () => {
    const { refresh_token } = await obtainTokens(first, user, client)
    const responses = await Promise.all(nodes().map((node) => refresh(node, client, refresh_token)))
    expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(new Set(responses.map(({ json }) => json.refresh_token)).size).toBe(1)
    expect(new Set(responses.map(({ json }) => json.access_token)).size).toBe(1)
    expect((await refresh(second, client, responses[0]?.json.refresh_token)).status).toBe(200)
  })

  test('narrow earlier codes, tokens and streams by a narrower consent', async () => {
    const fresh = await createClient(first)
    const wide = { scope: '*', allowed_tables: ['note', 'item'] }
    const elsewhere = await obtainTokens(first, user, fresh, { allowed_tables: ['item'] })
    const [before, neighbour] = [
      await obtainTokens(first, user, fresh, wide),
      await obtainTokens(first, user, client, wide),
    ]
    const widened = await obtainTokens(first, user, fresh, wide)
    const proof = createProof()
    const code = await approveClient(first, user, fresh, proof, wide)
    await using stream = await openEventStream(second.url, `tables=item&token=${before.access_token}`)
    const write = (token: string, node: TestApp, id: number) =>
      send('POST', '/api/collections/item', token, { id }, node)
    expect((await write(before.access_token, second, 101)).status).toBe(201)
    const narrow = await obtainTokens(first, user, fresh, { scope: 'readonly', allowed_tables: ['note'] })
    for (const node of [first, second]) {
      await waitFor('the end', async () => (await write(before.access_token, node, 102)).status === 403)
    }
    const refreshed = (await refresh(second, fresh, before.refresh_token)).json
    const redeemed = (await redeem(second, fresh, proof, code)).json
    expect([refreshed.scope, redeemed.scope]).toEqual(['readonly', 'readonly'])
    const late = (await redeem(first, fresh, proof, code)).json
    expect(late.error).toBe('invalid_grant')
    for (const { access_token } of [before, widened, narrow, refreshed]) {
      expect((await send('GET', '/api/collections/note', access_token)).status).toBe(200)
      expect(envelope(await send('POST', '/api/collections/note', access_token, { body: 'x' }))).toEqual(
        scopeError('scope does not permit write operations'),
      )
      expect(envelope(await send('GET', '/api/collections/item', access_token))).toEqual(
        scopeError('does not have access to table: item'),
      )
    }
    // Nothing is left of the grant, since an empty list of collections would mean all.
    expect((await send('GET', '/api/collections/item', elsewhere.access_token)).status).toBe(401)
    expect((await refresh(first, fresh, elsewhere.refresh_token)).json.error).toBe('invalid_grant')
    await stream.ended()
    expect((await stream.named('close')).data.reason).toBe('session_ended')
    expect((await write(neighbour.access_token, second, 103)).status).toBe(201)
    const again = await obtainTokens(first, user, fresh, wide)
    expect((await write(again.access_token, second, 104)).status).toBe(201)
    expect((await write(narrow.access_token, second, 105)).status).toBe(403)
  })

  test('give a redemption during a narrower consent only the narrower access', async () => {
    const fresh = await createClient(first)
    const proof = createProof()
    const code = await approveClient(first, user, fresh, proof, { scope: '*' })
    const holder = new pg.Client({ connectionString: first.database.url })
    await holder.connect()
    await holder.query('begin')
    await holder.query(
      `update basalt.oauth_consents s set scope = 'readonly' from basalt.oauth_clients c
       where c.id = s.client_id and c.client_id = $1`,
      [fresh.clientId],
    )
    const redeemed = redeem(second, fresh, proof, code)
    await waitFor('the redemption to wait', async () => {
      const waiting = await first.sql(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return waiting.length > 0
    })
    await holder.query('commit')
    await holder.end()
    const { scope, access_token } = (await redeemed).json
    expect(scope).toBe('readonly')
    expect((await send('POST', '/api/collections/item', access_token, { id: 106 })).status).toBe(403)
  })

  test('leave one consent and twenty codes after twenty approvals', async () => {
    const fresh = await createClient(first)
    const proof = createProof()
    const codes = await Promise.all(nodes().map((node) => approveClient(node, user, fresh, proof)))
    expect(new Set(codes).size).toBe(20)
    const consents = await first.sql(
      `select 1 from basalt.oauth_consents s join basalt.oauth_clients c on c.id = s.client_id where c.client_id = $1`,
      [fresh.clientId],
    )
    expect(consents).toHaveLength(1)
  })
})
