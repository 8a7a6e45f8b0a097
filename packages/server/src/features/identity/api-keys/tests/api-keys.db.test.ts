import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApiKey, createApplication } from '../../../../../test/api-keys.ts'
import { alice, bob, notes } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import type { Clock } from '../../../../lib/clock.ts'

let app: TestApp
let admin: string
const user = userToken({ sub: alice, email: 'alice@example.com' })
const unknownId = '99999999-9999-4999-8999-999999999999'
let offsetMs = 0
const clock: Clock = { now: () => new Date(Date.now() + offsetMs) }

beforeAll(async () => {
  app = await createTestApp({
    clock,
    setup: `${notes}
      create table person (id int primary key, name text);
      create table task (id int primary key, person_id int references person, title text);
      insert into person values (1, 'Ada');
      insert into task values (1, 1, 'count')`,
  })
  await app.sql(
    `insert into basalt.users (id, email, email_verified_at) values ($1, 'alice@example.com', now())`,
    [alice],
  )
  await app.sql('insert into basalt.users (id, is_anonymous) values ($1, true)', [bob])
  admin = await app.adminToken()
})
afterAll(() => app[Symbol.asyncDispose]())

const asAdmin = (method: string, path: string, body?: unknown) =>
  app.request(method, `/api/admin/api-keys${path}`, { token: admin, body })
const asUser = (method: string, path = '', body?: unknown) =>
  app.request(method, `/api/auth/api-keys${path}`, { token: user, body })
const get = (path: string, token: string) => app.request('GET', path, { token })
const post = (path: string, token: string, body: unknown) => app.request('POST', path, { token, body })
const invalid = (message: string) => ({ code: 400, message, error: 'invalid_api_key' })
const scopeError = (problem: string) => ({
  code: 403,
  message: `api key ${problem}`,
  error: 'insufficient_scope',
})
const noteOf = (response: { status: number; json: { body: string } }) => [response.status, response.json.body]

describe('/api/admin/api-keys', () => {
  test('creates a key, shows it once and stores only its hash', async () => {
    const appId = await createApplication(app, { ownerUserId: alice })
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const response = await asAdmin('POST', '', {
      userId: alice,
      name: ' nightly ',
      scope: 'readonly',
      allowedTables: ['note', 'task', 'note'],
      actions: ['sms:send', 'email:send', 'sms:send'],
      appId,
      expiresAt,
    })
    expect(response.status).toBe(201)
    const { key, apiKey } = response.json
    expect(key).toMatch(/^basalt_key_[0-9A-Za-z]{49}$/)
    expect(apiKey).toEqual({
      id: expect.any(String),
      userId: alice,
      name: 'nightly',
      keyPrefix: key.slice(0, 'basalt_key_'.length + 8),
      scope: 'readonly',
      allowedTables: ['note', 'task'],
      actions: ['email:send', 'sms:send'],
      appId,
      lastUsedAt: null,
      expiresAt,
      createdAt: expect.stringMatching(/Z$/),
      revokedAt: null,
    })
    const stored = await app.sql(`
      select k::text || s::text || a::text as row from basalt.api_keys k
      join basalt.api_key_secrets s on s.key_id = k.id, basalt.audit a`)
    expect(stored.length).toBeGreaterThan(0)
    expect(JSON.stringify(stored)).not.toContain(key.slice(-30))
    const listed = await asAdmin('GET', '?perPage=1')
    expect(listed.json).toMatchObject({ items: [apiKey], page: 1, perPage: 1 })
    expect(listed.json.totalPages).toBe(listed.json.totalItems)
    expect(listed.text).not.toContain(key)
  })

  test('uses defaults for null members', async () => {
    const { apiKey } = await createApiKey(app, {
      userId: alice,
      appId: null,
      allowedTables: null,
      actions: null,
      expiresAt: null,
    })
    expect(apiKey).toMatchObject({ scope: '*', allowedTables: [], actions: [], appId: null, expiresAt: null })
  })

  test.each([
    [{}, 'userId is required'],
    [{ userId: 'x' }, 'invalid userId format'],
    [{ userId: alice }, 'name is required'],
    [{ userId: alice, name: ' ' }, 'name is required'],
    [{ userId: alice, name: 'n'.repeat(201) }, 'name: at most 200 characters'],
    [{ userId: alice, name: 'a\0' }, 'name: NUL is not allowed'],
    [{ userId: alice, name: 'a\ud800' }, 'name: expected well-formed Unicode'],
    [
      { userId: alice, name: 'n', allowedTables: ['a\ud800'] },
      'allowedTables: "a\\ud800" is not the name of a collection',
    ],
    [{ userId: alice, name: 'n', appId: 'x' }, 'invalid appId format'],
    [{ userId: alice, name: 'n', orgId: 'x' }, 'invalid orgId format'],
    [{ userId: alice, name: 'n', appId: alice, orgId: alice }, 'appId and orgId are mutually exclusive'],
    [{ userId: alice, name: 'n', orgId: alice }, 'org not found'],
    [{ userId: alice, name: 'n', scope: 'all' }, 'invalid scope: must be *, readonly, or readwrite'],
    [
      { userId: alice, name: 'n', actions: ['*'] },
      'actions: "*" is not one of email:send, sms:send, push:send, function:<name>',
    ],
    [{ userId: alice, name: 'n', appId: unknownId }, 'app not found'],
    [{ userId: unknownId, name: 'n' }, 'user not found'],
    [{ userId: alice, name: 'n', allowedTables: [''] }, 'allowedTables: "" is not the name of a collection'],
    [
      { userId: alice, name: 'n', expiresAt: '2020-01-01T00:00:00Z' },
      'expiresAt: expected an RFC 3339 timestamp in the future',
    ],
    [
      { userId: alice, name: 'n', expiresAt: 'tomorrow' },
      'expiresAt: expected an RFC 3339 timestamp in the future',
    ],
    [
      { userId: alice, name: 'n', expiresAt: '2099-02-31T00:00:00Z' },
      'expiresAt: expected an RFC 3339 timestamp in the future',
    ],
  ])('rejects %j: %s', async (body, message) => {
    expect(envelope(await asAdmin('POST', '', body))).toEqual(invalid(message))
  })

  test('revokes a key once', async () => {
    const { key, apiKey } = await createApiKey(app, { userId: alice })
    expect((await get('/api/collections/note', key)).status).toBe(200)
    expect((await asAdmin('DELETE', `/${apiKey.id}`)).status).toBe(204)
    expect(envelope(await get('/api/collections/note', key))).toMatchObject({
      code: 401,
      error: 'invalid_token',
    })
    const missing = { code: 404, message: 'api key not found', error: 'api_key_not_found' }
    expect(envelope(await asAdmin('DELETE', `/${apiKey.id}`))).toEqual(missing)
    expect(envelope(await asAdmin('DELETE', `/${unknownId}`))).toEqual(missing)
    expect(envelope(await asAdmin('PATCH', `/${apiKey.id}`, { name: 'x' }))).toEqual(missing)
    expect(envelope(await asAdmin('POST', `/${apiKey.id}/rotate`, {}))).toEqual(missing)
    expect(envelope(await asAdmin('DELETE', '/x'))).toEqual(invalid('invalid api key id format'))
    const [row] = (await asAdmin('GET', '')).json.items.filter(({ id }: { id: string }) => id === apiKey.id)
    expect(row.revokedAt).toMatch(/Z$/)
  })

  test('revokes a key once for ten concurrent requests', async () => {
    const { apiKey } = await createApiKey(app, { userId: alice })
    const responses = await Promise.all(Array.from({ length: 10 }, () => asAdmin('DELETE', `/${apiKey.id}`)))
    expect(responses.map(({ status }) => status).toSorted()).toEqual([204, ...Array(9).fill(404)])
  })

  test('renames a key', async () => {
    const { apiKey } = await createApiKey(app, { userId: alice })
    const renamed = await asAdmin('PATCH', `/${apiKey.id}`, { name: 'other' })
    expect([renamed.status, renamed.json]).toEqual([200, { ...apiKey, name: 'other' }])
    expect(envelope(await asAdmin('PATCH', `/${apiKey.id}`, {}))).toEqual(
      invalid('name or actions is required'),
    )
    expect(envelope(await asAdmin('PATCH', `/${apiKey.id}`, { name: '' }))).toEqual(
      invalid('name is required'),
    )
  })

  test('grants and removes actions on every node, and a rotation keeps them', async () => {
    await using other = await createTestApp({ database: app.database })
    const { key, apiKey } = await createApiKey(app, { userId: alice })
    const send = async (node: TestApp) =>
      (await node.request('POST', '/api/email/send', { token: key, body: {} })).json.message
    const refused = 'api key scope does not permit email:send'
    expect([await send(app), await send(other)]).toEqual([refused, refused])
    const changed = await asAdmin('PATCH', `/${apiKey.id}`, { actions: ['email:send'] })
    expect([changed.status, changed.json]).toEqual([200, { ...apiKey, actions: ['email:send'] }])
    for (const node of [app, other]) await expect.poll(() => send(node)).toBe('to is required')
    const rotated = (await asAdmin('POST', `/${apiKey.id}/rotate`)).json.apiKey
    expect(rotated.actions).toEqual(['email:send'])
    expect((await asAdmin('PATCH', `/${apiKey.id}`, { name: 'n', actions: [] })).json.actions).toEqual([])
    for (const node of [app, other]) await expect.poll(() => send(node)).toBe(refused)
    const audit = await app.sql(
      `select detail from basalt.audit where target = $1 and action = 'api_keys.update' order by happened_at`,
      [apiKey.id],
    )
    expect(audit).toEqual([{ detail: { actions: ['email:send'] } }, { detail: { name: 'n', actions: [] } }])
    expect(envelope(await asAdmin('PATCH', `/${apiKey.id}`, { actions: ['rpc:x'] }))).toEqual(
      invalid('actions: "rpc:x" is not one of email:send, sms:send, push:send, function:<name>'),
    )
  })

  test('rotates a key without a body, with an hour of grace', async () => {
    const { key, apiKey } = await createApiKey(app, { userId: alice })
    const rotated = await asAdmin('POST', `/${apiKey.id}/rotate`)
    expect([rotated.status, rotated.json.apiKey?.id]).toEqual([200, apiKey.id])
    for (const each of [key, rotated.json.key])
      expect((await get('/api/collections/note', each)).status).toBe(200)
  })

  test('leaves no valid secret after ten concurrent rotations and a revocation', async () => {
    const { key, apiKey } = await createApiKey(app, { userId: alice })
    const rotations = Array.from({ length: 10 }, () => asAdmin('POST', `/${apiKey.id}/rotate`, {}))
    const revocation = asAdmin('DELETE', `/${apiKey.id}`)
    const secrets = (await Promise.all(rotations)).flatMap(({ json }) => json.key ?? [])
    expect((await revocation).status).toBe(204)
    for (const each of [key, ...secrets]) expect((await get('/api/collections/note', each)).status).toBe(401)
  })

  test('rotates a key: both secrets are valid until the grace period ends', async () => {
    const { key, apiKey } = await createApiKey(app, { userId: alice })
    expect((await get('/api/collections/note', key)).status).toBe(200)
    const rotated = await asAdmin('POST', `/${apiKey.id}/rotate`, { graceSeconds: 600 })
    expect(rotated.status).toBe(200)
    expect(rotated.json.apiKey).toMatchObject({ id: apiKey.id, keyPrefix: rotated.json.key.slice(0, 19) })
    for (const each of [key, rotated.json.key])
      expect((await get('/api/collections/note', each)).status).toBe(200)
    const [stored] = await app.sql(
      `select round(extract(epoch from expires_at - now()))::int between 500 and 600 as is_in_time
      from basalt.api_key_secrets where key_id = $1 and expires_at is not null`,
      [apiKey.id],
    )
    expect(stored).toEqual({ is_in_time: true })
    await app.sql(
      'update basalt.api_key_secrets set expires_at = now() where key_id = $1 and expires_at > now()',
      [apiKey.id],
    )
    await waitFor(
      'the end of the grace period',
      async () => (await get('/api/collections/note', key)).status === 401,
    )
    expect((await get('/api/collections/note', rotated.json.key)).status).toBe(200)
    const again = await asAdmin('POST', `/${apiKey.id}/rotate`, { graceSeconds: 0 })
    for (const each of [key, rotated.json.key])
      expect((await get('/api/collections/note', each)).status).toBe(401)
    expect((await get('/api/collections/note', again.json.key)).status).toBe(200)
    for (const graceSeconds of [-1, 2_592_001])
      expect(envelope(await asAdmin('POST', `/${apiKey.id}/rotate`, { graceSeconds }))).toEqual(
        invalid('graceSeconds: expected 0 to 2592000'),
      )
  })

  test.each([
    [0, 1],
    [600, 2],
  ])('ten concurrent rotations with a grace of %i s leave %i valid secrets', async (graceSeconds, left) => {
    const { key, apiKey } = await createApiKey(app, { userId: alice })
    const rotated = await Promise.all(
      Array.from({ length: 10 }, () => asAdmin('POST', `/${apiKey.id}/rotate`, { graceSeconds })),
    )
    const keys = [key, ...rotated.map(({ json }) => json.key as string)]
    const statuses = await Promise.all(
      keys.map(async (each) => (await get('/api/collections/note', each)).status),
    )
    expect(statuses.toSorted()).toEqual([...Array(left).fill(200), ...Array(11 - left).fill(401)])
  })

  test('successive rotations leave the current secret and the one before it valid', async () => {
    const { key, apiKey } = await createApiKey(app, { userId: alice })
    const next = await asAdmin('POST', `/${apiKey.id}/rotate`, { graceSeconds: 2_592_000 })
    const last = await asAdmin('POST', `/${apiKey.id}/rotate`, { graceSeconds: 600 })
    const statuses = [key, next.json.key, last.json.key].map(
      async (each) => (await get('/api/collections/note', each)).status,
    )
    expect(await Promise.all(statuses)).toEqual([401, 200, 200])
  })

  test('writes an audit row for every change, without the secret', async () => {
    const { key, apiKey } = await createApiKey(app, { userId: alice })
    await asAdmin('PATCH', `/${apiKey.id}`, { name: 'other' })
    const { json } = await asAdmin('POST', `/${apiKey.id}/rotate`, {})
    await asAdmin('DELETE', `/${apiKey.id}`)
    const rows = await app.sql('select * from basalt.audit where target = $1 order by happened_at', [
      apiKey.id,
    ])
    expect(rows.map(({ actor, action }) => [actor, action])).toEqual([
      ['admin', 'api_keys.create'],
      ['admin', 'api_keys.rename'],
      ['admin', 'api_keys.rotate'],
      ['admin', 'api_keys.revoke'],
    ])
    for (const secret of [key, json.key]) expect(JSON.stringify(rows)).not.toContain(secret.slice(11))
  })
})

describe('/api/auth/api-keys', () => {
  test('lets a user create, list, rename, rotate and revoke keys', async () => {
    const made = await asUser('POST', '', { name: 'mine', scope: 'readonly', allowedTables: ['note'] })
    expect([made.status, made.json.apiKey]).toMatchObject([
      201,
      { userId: alice, scope: 'readonly', appId: null },
    ])
    const { id } = made.json.apiKey
    expect((await asUser('GET')).json[0]).toEqual(made.json.apiKey)
    expect((await asUser('PATCH', `/${id}`, { name: 'yours' })).json.name).toBe('yours')
    const rotated = await asUser('POST', `/${id}/rotate`, {})
    expect((await get('/api/collections/note', rotated.json.key)).status).toBe(200)
    expect((await asUser('DELETE', `/${id}`)).status).toBe(204)
    for (const key of [made.json.key, rotated.json.key])
      expect((await get('/api/collections/note', key)).status).toBe(401)
    expect((await asUser('GET')).json[0].revokedAt).not.toBeNull()
  })

  test.each([
    [{}, 'name is required'],
    [{ name: 'n', appId: null }, 'appId is not supported on this endpoint'],
    [{ name: 'n', orgId: null }, 'orgId is not supported on this endpoint'],
    [{ name: 'n', scope: '' }, 'invalid scope: must be *, readonly, or readwrite'],
    [{ name: 'n', actions: ['email:send'] }, 'actions: only an administrator grants actions to a key'],
  ])('rejects %j: %s', async (body, message) => {
    expect(envelope(await asUser('POST', '', body))).toEqual(invalid(message))
  })

  test('rejects a rotation of a key with actions by its user, who would get the actions with the secret', async () => {
    const { key, apiKey } = await createApiKey(app, { userId: alice, actions: ['email:send'] })
    expect(envelope(await asUser('POST', `/${apiKey.id}/rotate`, {}))).toEqual({
      code: 403,
      error: 'api_key_has_actions',
      message: 'a key with actions can be rotated by an administrator only',
    })
    expect((await asUser('PATCH', `/${apiKey.id}`, { name: 'n', actions: [] })).json.actions).toEqual([
      'email:send',
    ])
    expect((await asUser('GET')).json[0].keyPrefix).toBe(apiKey.keyPrefix)
    expect((await get('/api/collections/note', key)).status).toBe(200)
    expect((await asUser('DELETE', `/${apiKey.id}`)).status).toBe(204)
  })

  test('rejects keys of another user', async () => {
    const { apiKey } = await createApiKey(app, { userId: bob })
    for (const [method, path] of [
      ['DELETE', ''],
      ['PATCH', ''],
      ['POST', '/rotate'],
    ] as const) {
      const body = method === 'DELETE' ? undefined : { name: 'n' }
      expect(envelope(await asUser(method, `/${apiKey.id}${path}`, body))).toMatchObject({
        code: 404,
        error: 'api_key_not_found',
      })
    }
    expect((await asUser('GET')).text).not.toContain(apiKey.id)
  })
})

describe('API key authentication', () => {
  test('acts as the owner under row-level security, at aal1', async () => {
    const { key } = await createApiKey(app, { userId: alice })
    expect(noteOf(await post('/api/collections/note', key, { body: 'of alice' }))).toEqual([201, 'of alice'])
    const [row] = (await get('/api/collections/note', key)).json.items
    expect(row.owner_id).toBe(alice)
    const { key: other } = await createApiKey(app, { userId: bob })
    expect((await get('/api/collections/note', other)).json.items).toEqual([])
    await app.sql(`
      create table seen (id int primary key, claims jsonb default basalt.claims());
      grant all on seen to basalt_authenticated`)
    const seen = await waitFor('the table', async () => {
      const response = await post('/api/collections/seen', key, { id: 1 })
      return response.status === 201 ? response : undefined
    })
    expect(seen.json.claims).toEqual({
      sub: alice,
      email: 'alice@example.com',
      email_verified: true,
      aal: 'aal1',
      is_anonymous: false,
    })
  })

  test('rejects writes of a readonly key', async () => {
    const { key } = await createApiKey(app, { userId: alice, scope: 'readonly' })
    expect((await get('/api/collections/note', key)).status).toBe(200)
    expect((await get('/api/schema', key)).status).toBe(200)
    const writes = [
      post('/api/collections/note', key, { body: 'x' }),
      post('/api/collections/note/batch', key, { operations: [{ method: 'create', body: { body: 'x' } }] }),
      post('/api/batch', key, { operations: [{ method: 'create', table: 'note', body: { body: 'x' } }] }),
      app.request('PATCH', '/api/collections/note/1', { token: key, body: { body: 'x' } }),
      app.request('DELETE', '/api/collections/note/1', { token: key }),
    ]
    for (const response of await Promise.all(writes)) {
      expect(envelope(response)).toEqual(scopeError('scope does not permit write operations'))
      expect(response.headers.get('www-authenticate')).toBe('Bearer error="insufficient_scope"')
    }
  })

  test.each(['readwrite', '*'])('accepts writes of a key with the scope %s', async (scope) => {
    const { key } = await createApiKey(app, { userId: alice, scope })
    expect((await post('/api/collections/note', key, { body: scope })).status).toBe(201)
  })

  test('limits a key to its tables, wherever another one is named', async () => {
    const { key } = await createApiKey(app, { userId: alice, allowedTables: ['task', 'note'] })
    const { key: all } = await createApiKey(app, { userId: alice })
    const refused = scopeError('does not have access to table: person')
    // Cached plans were made for another caller.
    expect((await get('/api/collections/task?expand=person', all)).status).toBe(200)
    expect((await get('/api/collections/task', key)).json.items).toHaveLength(1)
    for (const path of [
      '/api/collections/person',
      '/api/collections/person/1',
      '/api/collections/task?expand=person',
      '/api/collections/task?expand=person_id',
      '/api/collections/task/1?expand=person',
      '/api/realtime?tables=person',
      '/api/realtime?tables=task,person',
    ]) {
      const response = await get(path, key)
      expect([path, envelope(response)]).toEqual([path, refused])
      expect(response.headers.get('www-authenticate')).toBe('Bearer error="insufficient_scope"')
    }
    expect(envelope(await get('/api/collections/nothing', key))).toEqual(
      scopeError('does not have access to table: nothing'),
    )
    const operations = [
      { method: 'create', table: 'note', body: { body: 'not written' } },
      { method: 'create', table: 'person', body: { id: 2, name: 'Bob' } },
    ]
    expect(envelope(await post('/api/batch', key, { operations }))).toMatchObject({
      ...refused,
      message: `operation[1]: ${refused.message}`,
      operation: { index: 1, method: 'create' },
    })
    expect(envelope(await post('/api/collections/person', key, { id: 2 }))).toEqual(refused)
    expect(envelope(await post('/api/collections/person/batch', key, { operations: [] }))).toEqual(refused)
    expect(await app.sql(`select 1 from note where body = 'not written'`)).toEqual([])
    const { tables } = (await get('/api/schema', key)).json
    expect(Object.keys(tables).toSorted()).toEqual(['public.note', 'public.task'])
    expect((await get('/api/openapi.json', key)).text).not.toContain('/api/collections/person')
  })

  test.each([-600_000, 600_000])(
    'starts and expires keys by the database clock, not by that of a node that is off by %i ms',
    async (offset) => {
      const [now] = await app.sql<{ soon: string; late: string; before: string }>(
        `select to_json(now() + interval '1 second') #>> '{}' as soon, to_json(now() + interval '5 minutes') #>> '{}' as late,
          to_json(now() - interval '5 minutes') #>> '{}' as before`,
      )
      offsetMs = offset
      try {
        const past = await asAdmin('POST', '', { userId: alice, name: 'past', expiresAt: now?.before })
        expect(envelope(past)).toEqual(invalid('expiresAt: expected an RFC 3339 timestamp in the future'))
        const { key: long, apiKey } = await createApiKey(app, { userId: alice, expiresAt: now?.late })
        expect((await get('/api/collections/note', long)).status).toBe(200)
        const { key } = await createApiKey(app, { userId: alice, expiresAt: now?.soon })
        await waitFor('the expiry', async () => (await get('/api/collections/note', key)).status === 401)
        expect((await get('/api/collections/note', long)).status).toBe(200)
        const isUseKnown = await waitFor('the use', async () => {
          const [row] = await app.sql<{ known: boolean | null }>(
            `select last_used_at between now() - interval '1 minute' and now() as known from basalt.api_keys where id = $1`,
            [apiKey.id],
          )
          return row?.known === null ? undefined : String(row?.known)
        })
        expect(isUseKnown).toBe('true')
      } finally {
        offsetMs = 0
      }
    },
  )

  test('records when a key was last used', async () => {
    const { key, apiKey } = await createApiKey(app, { userId: alice })
    expect((await get('/api/collections/note', key)).status).toBe(200)
    const lastUsedAt = await waitFor('the note', async () => {
      const { items } = (await asAdmin('GET', '')).json
      return items.find(({ id }: { id: string }) => id === apiKey.id).lastUsedAt
    })
    expect(lastUsedAt).toMatch(/Z$/)
  })

  test('accepts keys of an anonymous user', async () => {
    const { key } = await createApiKey(app, { userId: bob })
    expect((await get('/api/collections/note', key)).status).toBe(200)
  })

  test('makes no query for a mistyped key', async () => {
    // Without the table, every request that needs the database fails.
    await app.sql('alter table basalt.api_key_secrets rename to moved')
    try {
      const mistyped = `basalt_key_${'0'.repeat(49)}`
      const answers = await Promise.all(
        Array.from({ length: 50 }, () => get('/api/collections/note', mistyped)),
      )
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]))
    } finally {
      await app.sql('alter table basalt.moved rename to api_key_secrets')
    }
  })
})
