import { once } from 'node:events'
import { request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApiKey } from '../../../../../test/api-keys.ts'
import { alice, bob, notes } from '../../../../../test/fixtures.ts'
import { type FunctionsFolder, makeFunctionsFolder } from '../../../../../test/functions-folder.ts'
import {
  callback,
  createClient,
  createOAuthApp,
  obtainTokens,
  requestToken,
} from '../../../../../test/oauth.ts'
import { type TestApp, userToken } from '../../../../../test/test-app.ts'

const files = {
  'notes.ts': `import { route } from '@basaltdb/functions'
    export const add = route('POST /notes', { access: 'user' }, async (ctx) => {
      await ctx.db.note.create({ body: 'of a program' })
      const [row] = await ctx.db.sql\`select count(*)::int as notes from note\`
      return { ...row, user: ctx.user?.id, kind: ctx.claims.kind }
    })
    export const show = route('GET /notes/:id', { access: 'anonymous' }, (ctx) => ctx.params)
    export const open = route('GET /public/open', { access: 'anonymous', input: { type: 'object', additionalProperties: false,
      properties: { limit: { type: 'integer' } } } }, (ctx, input) => ({ kind: ctx.claims.kind, input }))
    export const administrative = route('POST /administrative', { access: 'admin' }, () => ({}))
  `,
  'by-file.ts': `import { route } from '@basaltdb/functions'
    export default route('PUT /elsewhere', { access: 'user' }, (ctx) => ({ url: ctx.request.url }))`,
}

let folder: FunctionsFolder
let app: TestApp
const user = userToken({ sub: alice, email: 'alice@example.com' })

beforeAll(async () => {
  folder = makeFunctionsFolder(files)
  app = await createOAuthApp({
    setup: notes,
    config: {
      'functions.folder': folder.path,
      'auth.oauth_provider.dynamic_registration': 'true',
    },
  })
  await app.sql('insert into basalt.users (id, email) values ($1, $2) on conflict do nothing', [
    bob,
    'bob@example.com',
  ])
})
afterAll(async () => {
  await app?.[Symbol.asyncDispose]()
  folder?.[Symbol.dispose]()
})

/** Calls a function, and returns the status and what the response says. */
async function call(token: string | undefined, method = 'POST', path = '/api/functions/notes') {
  const { status, json, headers } = await app.request(method, path, { token })
  return [status, status < 300 ? json : [json.message, headers.get('www-authenticate')]]
}
const lacks = (credential: string, action: string) => [
  403,
  [`${credential} scope does not permit ${action}`, `Bearer error="insufficient_scope", scope="${action}"`],
]

describe('functions › programs', () => {
  test('need the action of the function that a deploy has put at the address while the body arrived', async () => {
    const { key } = await createApiKey(app, { userId: bob, actions: ['function:add'] })
    using next = makeFunctionsFolder({
      'notes.ts': `import { route } from '@basaltdb/functions'
        export const wipe = route('POST /notes', { access: 'user' }, () => ({}))`,
    })
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'content-length': '2',
    }
    const sent = request(`${app.url}/api/functions/notes`, { method: 'POST', headers })
    sent.flushHeaders()
    const response = once(sent, 'response')
    // In either order the response is the same. Mostly the headers have been judged by then.
    await delay(300)
    await app.app.functions.loadFolder(next.path)
    sent.end('{}')
    const [{ statusCode, headers: received }] = await response
    expect([statusCode, received['www-authenticate']]).toEqual([
      403,
      'Bearer error="insufficient_scope", scope="function:wipe"',
    ])
    await app.app.functions.loadFolder(folder.path)
  })

  test('call a function by an API key with its action', async () => {
    const { key, apiKey } = await createApiKey(app, {
      userId: bob,
      scope: 'readonly',
      allowedTables: ['other'],
      actions: ['function:show', 'function:add', 'push:send', 'function:add'],
    })
    expect(apiKey.actions).toEqual(['push:send', 'function:add', 'function:show'])
    // The function may write for its user, and the key may not.
    expect(await call(key)).toEqual([200, { notes: 1, user: bob, kind: 'user' }])
    const refused = await app.request('POST', '/api/collections/note', { token: key, body: { body: 'x' } })
    expect(refused.status).toBe(403)
    expect(await call(key, 'GET', '/api/functions/notes/7')).toEqual([200, { id: '7' }])
    expect(await call(key, 'POST', '/functions/v1/add')).toEqual([200, { notes: 2, user: bob, kind: 'user' }])
  })

  test('are refused without the action, whatever their scope', async () => {
    for (const body of [
      { scope: '*' },
      { actions: ['email:send', 'function:ad', 'function:show', 'function:add2'] },
    ]) {
      const { key } = await createApiKey(app, { userId: bob, ...body })
      expect(await call(key)).toEqual(lacks('api key', 'function:add'))
      expect(await call(key, 'POST', '/functions/v1/add')).toEqual(lacks('api key', 'function:add'))
      // A function for everybody would run as the user of the key.
      expect(await call(key, 'GET', '/api/functions/public/open')).toEqual(lacks('api key', 'function:open'))
      expect((await call(key, 'POST', '/api/functions/none'))[0]).toBe(403)
    }
  })

  test('call no function for administrators', async () => {
    const { key } = await createApiKey(app, { userId: bob, actions: ['function:administrative'] })
    expect((await call(key, 'POST', '/api/functions/administrative'))[0]).toBe(401)
  })

  test.each([
    'function:',
    'function:a b',
    'function:a/b',
    `function:${'x'.repeat(101)}`,
    'functions:add',
    'function:*',
  ])('have no action %j', async (action) => {
    const token = await app.adminToken()
    const body = { name: 'key', userId: bob, actions: [action] }
    const { status, json } = await app.request('POST', '/api/admin/api-keys', { token, body })
    expect([status, json.message.startsWith('actions: ')]).toEqual([400, true])
  })

  test('call a function as an OAuth client with its action', async () => {
    const client = await createClient(app, { scopes: ['readonly', 'function:add'] })
    const tokens = await obtainTokens(app, user, client, { scope: 'function:add readonly' })
    expect(tokens.scope).toBe('readonly function:add')
    expect(await call(tokens.access_token)).toEqual([200, { notes: 1, user: alice, kind: 'user' }])
    const narrow = await obtainTokens(app, user, client, { scope: 'readonly' })
    expect(await call(narrow.access_token)).toEqual(lacks('access token', 'function:add'))
    const form = {
      grant_type: 'client_credentials',
      client_id: client.clientId,
      client_secret: client.clientSecret,
    }
    const refused = await requestToken(app, { ...form, scope: 'readonly function:show' })
    expect(refused.json.error).toBe('invalid_scope')
    const { json } = await requestToken(app, { ...form, scope: 'readonly function:add' })
    // A client that acts for itself has no user, so the policy of the table refuses its note.
    expect((await call(json.access_token))[0]).toBe(403)
  })

  test('get no action if they have registered themselves', async () => {
    const body = { redirect_uris: [callback], scope: 'readonly function:add' }
    expect((await app.request('POST', '/api/auth/clients', { body })).json.scope).toBe('readonly')
  })
})

describe('functions › /functions/v1/{name}', () => {
  test('calls a function by its name', async () => {
    expect(await call(user, 'PUT', '/functions/v1/by-file')).toEqual([200, { url: '/functions/v1/by-file' }])
    expect(await call(undefined, 'GET', '/functions/v1/open?limit=3')).toEqual([
      200,
      { kind: 'anonymous', input: { limit: 3 } },
    ])
  })

  test.each([
    ['GET', 'show', 'a path with parameters'],
    ['POST', 'notes', 'a path instead of a name'],
    ['POST', 'toString', 'no function'],
    ['POST', 'add/more', 'a longer path'],
  ])('responds to %s %s with 404: %s', async (method, name) => {
    expect((await call(user, method, `/functions/v1/${name}`))[0]).toBe(404)
  })

  test('keeps the access of the function', async () => {
    expect((await call(undefined, 'POST', '/functions/v1/add'))[0]).toBe(401)
    expect((await call(user, 'POST', '/functions/v1/administrative'))[0]).toBe(401)
  })
})
