import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createApiKey } from '../../../../../test/api-keys.ts'
import { alice, bob, notes } from '../../../../../test/fixtures.ts'
import { type FunctionsFolder, makeFunctionsFolder } from '../../../../../test/functions-folder.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'

const imports = `import { FunctionError, route } from '@basaltdb/functions'\n`

const files = {
  'notes.ts': `${imports}
    export const one = route('GET /notes/:id', { access: 'user' }, (ctx) => ctx.db.note.get(Number(ctx.params.id)))
    export const mine = route('GET /notes', { access: 'user' }, async (ctx) => {
      const { items } = await ctx.db.note.list({ sort: ['id'], fields: ['id', 'body'] })
      return items
    })
    export const add = route('POST /notes', { access: 'user' }, (ctx) => ctx.db.note.create({ body: 'added' }))
    export const change = route('POST /notes/change', { access: 'user' }, async (ctx) => {
      const created = await ctx.db.note.create({ body: 'first' })
      const updated = await ctx.db.note.update(created.id, { body: 'second' })
      const rows = await ctx.db.sql\`select body, length(body) as length from note where id = \${created.id}\`
      await ctx.db.note.delete(created.id)
      const first = await ctx.db.note.first({ fields: ['body'] })
      return { created: created.body, updated: updated.body, rows, count: await ctx.db.note.count(), first }
    })
    export const undone = route('POST /notes/undone', { access: 'user' }, async (ctx) => {
      await ctx.db.note.create({ body: 'undone' })
      await ctx.db.sql\`insert into note (body) values ('undone, too')\`
      throw new FunctionError(409, 'no more notes', { error: 'too_many_notes', data: { most: 2 } })
    })
    export const recovered = route('POST /notes/recovered', { access: 'user' }, async (ctx) => {
      await ctx.db.note.create({ body: 'before' })
      const caught = await ctx.db.note.create({ id: 1, body: 'the key is taken' }).catch((error) => error.error)
      const refused = await ctx.db.sql\`select 1 / 0\`.catch((error) => [error.status, error.error])
      await ctx.db.note.create({ body: 'after' })
      return { caught, refused }
    })
    export const together = route('POST /notes/together', { access: 'user' }, async (ctx) => {
      const made = await Promise.all(['a', 'b', 'c'].map((body) => ctx.db.note.create({ body })))
      return made.map(({ body }) => body)
    })
  `,
  'errors.ts': `${imports}
    export const failing = route('POST /fail', { access: 'user' }, async (ctx) => {
      await ctx.db.note.create({ body: 'undone' })
      throw new Error('the secret is 42')
    })
    export const passing = route('GET /missing', { access: 'user' }, (ctx) => ctx.db.note.get(999))
    export const wrong = route('POST /wrong', {
      access: 'user',
      output: { type: 'object', required: ['total'], properties: { total: { type: 'integer' } } },
    }, async (ctx) => {
      await ctx.db.note.create({ body: 'undone' })
      return { total: 'a lot' }
    })
    export const nothing = route('POST /nothing', { access: 'user' }, () => {})
    export const unsendable = route('POST /unsendable', { access: 'user' }, () => ({ big: 1n }))
    export const tooLong = route('POST /too-long', { access: 'user' }, () => 'x'.repeat(17 * 1024 * 1024))
    export const text = route('POST /text', { access: 'user' }, () => { throw 'a text' })
    export const status = route('POST /status', { access: 'user' }, () => {
      throw Object.assign(new Error('short and stout'), { status: 418, error: 'NOT a slug', data: [1] })
    })
  `,
  'input.ts': `${imports}
    const item = { type: 'object', required: ['sku', 'quantity'], additionalProperties: false, properties: {
      sku: { type: 'string' }, quantity: { type: 'integer', minimum: 1 } } }
    export const order = route('POST /orders/:shop/:id', { access: 'user', input: item }, (ctx, input) =>
      ({ params: ctx.params, input, isPlain: Object.getPrototypeOf(input) === Object.prototype, polluted: {}.polluted }))
    export const search = route('GET /search', { access: 'user', input: { type: 'object', additionalProperties: false,
      properties: { limit: { type: 'integer' }, exact: { type: 'boolean' }, word: { type: 'string' } } } }, (_ctx, input) => input)
    const shout = { '~standard': { version: 1, vendor: 'test', validate: (value) =>
      typeof value?.word === 'string'
        ? { value: { word: value.word.toUpperCase() } }
        : { issues: [{ message: 'expected a word', path: ['word'] }] } } }
    export const standard = route('POST /standard', { access: 'user', input: shout }, (_ctx, input) => input)
    export const shouted = route('POST /shouted', { access: 'user', output: shout }, () => ({ word: 'quiet' }))
    export const unheard = route('POST /unheard', { access: 'user', output: shout }, () => ({ wrong: 'quiet' }))
    export const any = route('POST /any', { access: 'user', input: { type: 'object' } }, (_ctx, input) => input)
    export const given = route('POST /given', { access: 'user' }, (_ctx, input) => ({ input: input === undefined }))
  `,
  'callers.ts': `${imports}
    const describe = async (ctx) => {
      const [row] = await ctx.db.sql\`select current_user as role, count(*) as notes from note\`
      return { user: ctx.user, claims: ctx.claims, row }
    }
    export const open = route('GET /open', { access: 'anonymous' }, describe)
    export const closed = route('GET /closed', { access: 'user' }, describe)
    export const administrative = route('GET /administrative', { access: 'admin' }, describe)
    export default route('GET /request', { access: 'anonymous' }, ({ request }) => ({
      ...request, headers: Object.keys(request.headers).filter((name) => ['authorization', 'cookie', 'x-custom'].includes(name)) }))
  `,
  'secrets.ts': `${imports}
    export const secret = route('POST /secret', { access: 'user' }, (ctx) => {
      console.log('printed ' + ctx.secrets.SHOP_KEY)
      ctx.log.info('logged', { key: ctx.secrets.SHOP_KEY, list: [1] })
      return { length: ctx.secrets.SHOP_KEY?.length, names: Object.keys(ctx.secrets) }
    })
    export const leaking = route('POST /leaking', { access: 'user' }, (ctx) => {
      throw new FunctionError(409, 'no order for ' + ctx.secrets.SHOP_KEY)
    })
    export const crashing = route('POST /crashing', { access: 'user' }, (ctx) => {
      throw new Error('crashed with ' + ctx.secrets.SHOP_KEY)
    })
  `,
  // Files that define no function.
  'types.d.ts': 'export type Nothing = never',
  '_shared.ts': `throw new Error('is not loaded')`,
}

let folder: FunctionsFolder
let app: TestApp
const token = userToken({ sub: alice, email: 'alice@example.com', email_verified: true })

beforeAll(async () => {
  folder = makeFunctionsFolder(files)
  const setup = `${notes} grant select on note to basalt_anonymous`
  app = await createTestApp({
    setup,
    config: { 'functions.folder': folder.path, 'server.body_limit': '100000' },
  })
})
afterAll(async () => {
  await app?.[Symbol.asyncDispose]()
  folder?.[Symbol.dispose]()
})
beforeEach(async () => {
  await app.sql('truncate note restart identity')
  await app.sql('insert into note (owner_id, body) values ($1, $2), ($3, $4)', [
    alice,
    'of alice',
    bob,
    'of bob',
  ])
})

const call = (method: string, path: string, options: Parameters<TestApp['request']>[2] = {}) =>
  app.request(method, `/api/functions${path}`, { token, ...options })
const bodies = async () => (await app.sql('select body from note order by id')).map(({ body }) => body)
const unchanged = ['of alice', 'of bob']

describe('ctx.db', () => {
  test('reads rows under the policies of the caller', async () => {
    const response = await call('GET', '/notes')
    expect([response.status, response.json]).toEqual([200, [{ id: 1, body: 'of alice' }]])
    const hidden = await call('GET', '/notes/2')
    expect([hidden.status, hidden.json.error]).toEqual([404, 'record_not_found'])
  })

  test('commits what the function wrote before the response', async () => {
    const response = await call('POST', '/notes')
    expect([response.status, response.json]).toEqual([200, { id: 3, owner_id: alice, body: 'added' }])
    expect(await bodies()).toEqual([...unchanged, 'added'])
  })

  test('sees its own writes in one transaction', async () => {
    const response = await call('POST', '/notes/change')
    expect([response.status, response.json]).toEqual([
      200,
      {
        created: 'first',
        updated: 'second',
        rows: [{ body: 'second', length: 6 }],
        count: 1,
        first: { body: 'of alice' },
      },
    ])
    const [row] = await app.sql('select count(distinct xmin::text) as transactions from note')
    expect(row).toEqual({ transactions: '1' })
  })

  test('runs statements that are sent together one after the other', async () => {
    const response = await call('POST', '/notes/together')
    expect([response.status, response.json]).toEqual([200, ['a', 'b', 'c']])
    expect(await bodies()).toEqual([...unchanged, 'a', 'b', 'c'])
  })

  test('undoes everything when the function throws, and responds with the error', async () => {
    const response = await call('POST', '/notes/undone')
    expect([response.status, envelope(response)]).toEqual([
      409,
      { code: 409, error: 'too_many_notes', message: 'no more notes', data: { most: 2 } },
    ])
    expect(await bodies()).toEqual(unchanged)
  })

  test('undoes only the failed statement when the function catches its error', async () => {
    const response = await call('POST', '/notes/recovered')
    expect([response.status, response.json]).toEqual([
      200,
      { caught: 'unique_violation', refused: [400, 'invalid_value'] },
    ])
    expect(await bodies()).toEqual([...unchanged, 'before', 'after'])
  })

  test('serves ten calls at once, more than it has connections', async () => {
    const responses = await Promise.all(Array.from({ length: 10 }, () => call('POST', '/notes')))
    expect(responses.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200))
    expect(await bodies()).toHaveLength(12)
  })
})

describe('errors of a function', () => {
  test('respond without details, which are in the log with the request', async () => {
    const response = await call('POST', '/fail')
    expect([response.status, envelope(response)]).toEqual([
      500,
      { code: 500, error: 'function_failed', message: 'the function failed' },
    ])
    const line = app.log.find((each) => each.includes('the secret is 42'))
    expect(JSON.parse(line ?? '{}')).toMatchObject({
      requestId: response.headers.get('x-request-id'),
      err: { stack: expect.stringMatching(/functions\/errors\.ts:5:13/) },
    })
    expect(await bodies()).toEqual(unchanged)
  })

  test('passes on those of the data API', async () => {
    const response = await call('GET', '/missing')
    expect([response.status, envelope(response)]).toEqual([
      404,
      { code: 404, error: 'record_not_found', message: 'record not found' },
    ])
  })

  test('respond with 500 and undo everything when the result does not match its schema', async () => {
    for (const path of ['/wrong', '/unheard', '/unsendable', '/too-long', '/text']) {
      const response = await call('POST', path)
      expect([path, response.status, response.json.error]).toEqual([path, 500, 'function_failed'])
    }
    expect(await bodies()).toEqual(unchanged)
    expect(
      app.log.some((line) => line.includes('the result of wrong is invalid: total: must be integer')),
    ).toBe(true)
  })

  test('with any status from 400 to 499 are the response', async () => {
    const response = await call('POST', '/status')
    expect([response.status, envelope(response)]).toEqual([
      418,
      { code: 418, error: 'function_refused', message: 'short and stout' },
    ])
  })

  test('do not occur without a result, which is a 204', async () => {
    const response = await call('POST', '/nothing')
    expect([response.status, response.text]).toEqual([204, ''])
  })
})

describe('input', () => {
  test('has the decoded parameters of the path and the validated body', async () => {
    const response = await call('POST', '/orders/caf%C3%A9%2F1/7', { body: { sku: 'a', quantity: 2 } })
    expect([response.status, response.json]).toEqual([
      200,
      { params: { shop: 'café/1', id: '7' }, input: { sku: 'a', quantity: 2 }, isPlain: true },
    ])
  })

  test.each([
    [{ sku: 'a' }, /quantity/],
    [{ sku: 'a', quantity: 0 }, /quantity: must be >= 1/],
    [{ sku: 1, quantity: 1 }, /sku: must be string/],
    [{ sku: 'a', quantity: '1' }, /quantity: must be integer/],
    [{ sku: 'a', quantity: 1, more: true }, /more|additional/],
    [undefined, /input must be object/],
  ])('rejects %j and names the member', async (body, message) => {
    const response = await call('POST', '/orders/a/1', { body })
    expect([response.status, response.json.error]).toEqual([400, 'invalid_input'])
    expect(response.json.message).toMatch(message)
  })

  test('rejects a body that is not a JSON object', async () => {
    for (const [body, error] of [
      ['{', 'invalid_json'],
      ['[]', 'invalid_request'],
      ['1', 'invalid_request'],
      [JSON.stringify({ text: 'x'.repeat(100_000) }), 'body_too_large'],
    ] as const) {
      expect([body.slice(0, 5), (await call('POST', '/any', { body })).json.error]).toEqual([
        body.slice(0, 5),
        error,
      ])
    }
  })

  test('has the types of the schema in a query', async () => {
    const response = await call('GET', '/search?limit=5&exact=true&word=12')
    expect([response.status, response.json]).toEqual([200, { limit: 5, exact: true, word: '12' }])
    for (const query of ['limit=x', 'limit=1.5', 'exact=1', 'other=1', 'word=a&word=b']) {
      const refused = await call('GET', `/search?${query}`)
      expect([query, refused.status, refused.json.error]).toEqual([query, 400, 'invalid_input'])
    }
  })

  test('is validated and converted by a Standard Schema', async () => {
    expect((await call('POST', '/standard', { body: { word: 'loud' } })).json).toEqual({ word: 'LOUD' })
    const response = await call('POST', '/standard', { body: {} })
    expect([response.status, envelope(response)]).toEqual([
      400,
      { code: 400, error: 'invalid_input', message: 'word: expected a word' },
    ])
    expect((await call('POST', '/shouted')).json).toEqual({ word: 'QUIET' })
  })

  test('carries no prototype', async () => {
    const body = '{"sku": "a", "quantity": 1, "__proto__": {"polluted": true}}'
    expect((await call('POST', '/orders/a/1', { body })).json.polluted).toBeUndefined()
    const nested =
      '{"constructor": {"prototype": {"polluted": true}}, "a": {"__proto__": {"polluted": true}}}'
    expect((await call('POST', '/any', { body: nested })).json).toEqual({
      constructor: { prototype: { polluted: true } },
      a: {},
    })
    expect(
      (await call('POST', '/orders/a/1', { body: { sku: 'a', quantity: 1 } })).json.polluted,
    ).toBeUndefined()
  })

  test('is absent without a schema', async () => {
    expect((await call('POST', '/given', { body: { a: 1 } })).json).toEqual({ input: true })
  })
})

describe('callers', () => {
  test('are users with their claims', async () => {
    const response = await call('GET', '/closed')
    expect([response.status, response.json]).toEqual([
      200,
      {
        user: { id: alice, email: 'alice@example.com', isEmailVerified: true, isAnonymous: false },
        claims: { kind: 'user', aal: 'aal1', sessionId: '' },
        row: { role: 'basalt_authenticated', notes: 1 },
      },
    ])
  })

  test('without a token are admitted where the function says so', async () => {
    const response = await call('GET', '/open', { token: undefined })
    expect([response.status, response.json]).toEqual([
      200,
      { claims: { kind: 'anonymous' }, row: { role: 'basalt_anonymous', notes: 0 } },
    ])
    for (const path of ['/closed', '/administrative', '/no-such-function']) {
      const refused = await call('GET', path, { token: undefined })
      expect([path, refused.status, refused.json.error]).toEqual([path, 401, 'missing_authorization'])
    }
  })

  test('are administrators, without policies', async () => {
    const admin = await app.adminToken()
    for (const path of ['/administrative', '/closed', '/open']) {
      const response = await call('GET', path, { token: admin })
      expect([path, response.status, response.json]).toEqual([
        path,
        200,
        { claims: { kind: 'administrator' }, row: { role: 'basalt_administrator', notes: 2 } },
      ])
    }
    const refused = await call('GET', '/administrative')
    expect([refused.status, refused.json.error]).toEqual([401, 'admin_required'])
  })

  test('with an invalid token or an API key are rejected', async () => {
    await app.sql('insert into basalt.users (id) values ($1) on conflict do nothing', [alice])
    const { key } = await createApiKey(app, { userId: alice })
    for (const [credential, status, error] of [
      ['nonsense', 401, 'invalid_token'],
      [userToken({ sub: alice }, -1), 401, 'invalid_token'],
      [key, 403, 'insufficient_scope'],
    ] as const) {
      const response = await call('GET', '/open', { token: credential })
      expect([response.status, response.json.error]).toEqual([status, error])
    }
  })

  test('are described without their credentials', async () => {
    const response = await call('GET', '/request?a=1', { headers: { cookie: 'a=b', 'x-custom': 'c' } })
    expect([response.status, response.json]).toEqual([
      200,
      {
        id: response.headers.get('x-request-id'),
        method: 'GET',
        url: '/api/functions/request?a=1',
        headers: ['x-custom'],
      },
    ])
  })
})

describe('ctx.secrets', () => {
  const set = async (value: string) => {
    const token = await app.adminToken()
    const response = await app.request('PUT', '/api/admin/secrets/SHOP_KEY', { token, body: { value } })
    expect(response.status).toBeLessThan(300)
  }

  test('has the secrets of the project, also after a rotation', async () => {
    expect((await call('POST', '/secret')).json).toEqual({ names: [] })
    await set('first-secret-value')
    expect((await call('POST', '/secret')).json).toEqual({ length: 18, names: ['SHOP_KEY'] })
    await set('another-secret-value')
    expect((await call('POST', '/secret')).json).toEqual({ length: 20, names: ['SHOP_KEY'] })
  })

  test('appears in no log line and no error', async () => {
    await set('hidden-secret-value')
    const response = await call('POST', '/leaking')
    expect([response.status, response.json.message]).toEqual([409, 'no order for [SHOP_KEY]'])
    expect((await call('POST', '/crashing')).status).toBe(500)
    await call('POST', '/secret')
    const log = app.log.join('')
    for (const text of ['printed [SHOP_KEY]', '"key":"[SHOP_KEY]","list":[1]', 'crashed with [SHOP_KEY]'])
      expect(log).toContain(text)
    expect(log).not.toContain('hidden-secret-value')
  })
})

test('functions › respond with 404 for a path without a function', async () => {
  for (const [method, path] of [
    ['GET', '/no-such-function'],
    ['GET', '/notes/1/2'],
    ['GET', '/orders/%ZZ/1'],
    ['GET', '/toString'],
  ] as const) {
    const response = await call(method, path)
    expect([path, response.status]).toEqual([path, path.includes('%ZZ') ? 400 : 404])
  }
})

test('functions › respond with 405 and Allow for another method, and to HEAD as to GET', async () => {
  const refused = await call('PUT', '/notes')
  expect([refused.status, refused.json.error, refused.headers.get('allow')]).toEqual([
    405,
    'method_not_allowed',
    'GET, HEAD, POST',
  ])
  const head = await call('HEAD', '/search')
  expect([head.status, head.text]).toEqual([(await call('GET', '/search')).status, ''])
})
