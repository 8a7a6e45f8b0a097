import { rmSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { inviteAdministrator } from '../../../../../test/administrators.ts'
import { alice, bob, notes } from '../../../../../test/fixtures.ts'
import { type FunctionsFolder, makeFunctionsFolder } from '../../../../../test/functions-folder.ts'
import { makeScratchDirectory } from '../../../../../test/scratch-directory.ts'
import { basaltHere, createTerminal } from '../../../../../test/terminal.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { main } from '../../../../main.ts'

const files = {
  'shop.ts': `
    import { FunctionError, route } from '@basaltdb/functions'
    const input = { type: 'object', required: ['body'], properties: { body: { type: 'string' } } }
    export const add = route('POST /shops/:shop/notes', { access: 'user', input }, async (ctx, { body }) => {
      ctx.log.info('adding ' + body)
      const note = await ctx.db.note.create({ body, owner_id: ctx.user?.id ?? '${bob}' })
      return { note, count: await ctx.db.note.count(), user: ctx.user?.id, shop: ctx.params.shop, url: ctx.request.url,
        kind: ctx.claims.kind }
    })
    export const quiet = route('POST /quiet', { access: 'anonymous' }, () => {})
    export const asked = route('GET /asked', { access: 'anonymous' }, (ctx) => ctx.claims.kind)
    export const closed = route('GET /closed', { access: 'admin' }, () => 'closed')
    export const refusing = route('POST /refusing', { access: 'user' }, async (ctx) => {
      await ctx.db.note.create({ body: 'undone', owner_id: '${bob}' })
      throw new FunctionError(409, 'out of stock', { error: 'out_of_stock' })
    })
    export const failing = route('POST /failing', { access: 'user' }, (ctx) => {
      throw new Error('failed with ' + ctx.secrets.SHOP_KEY)
    })
    export const deferred = route('POST /deferred', { access: 'user' }, async (ctx) => {
      await ctx.db.sql\`insert into child (parent) values (7)\`
    })
    export const careless = route('GET /careless', { access: 'anonymous' }, async (ctx) => {
      const text = 'select $1::text, ' + ctx.secrets.SHOP_KEY
      const caught = await ctx.db.sql(Object.assign([text], { raw: [text] })).catch(() => 'caught')
      for (let line = 0; line < 300; line += 1) ctx.log.warn('using', { key: ctx.secrets.SHOP_KEY })
      return caught
    })
    export const slow = route('POST /slow', { access: 'admin' }, async (ctx) => {
      await ctx.db.note.create({ body: 'slow', owner_id: '${bob}' })
      await new Promise((resolve) => setTimeout(resolve, 20_000))
    })
  `,
}
const setup = `${notes}
  create table parent (id int primary key);
  create table child (parent int references parent deferrable initially deferred);
`
const key = 'sk_live_4242424242'
const reason = 'ticket 17'

let folder: FunctionsFolder
let app: TestApp
let token: string

beforeAll(async () => {
  folder = makeFunctionsFolder(files)
  app = await createTestApp({
    setup,
    config: { 'functions.folder': folder.path, 'functions.timeout': '25', 'logging.level': 'info' },
  })
  token = await app.adminToken()
  await app.request('PUT', '/api/admin/secrets/SHOP_KEY', { token, body: { value: key } })
  await app.sql(`insert into basalt.users (id, email) values ('${alice}', 'alice@example.com')`)
})
afterAll(async () => {
  await app?.[Symbol.asyncDispose]()
  folder?.[Symbol.dispose]()
})
beforeEach(async () => {
  await app.sql('truncate note restart identity; delete from basalt.audit')
  await app.sql(`insert into note (owner_id, body) values ('${alice}', 'of alice'), ('${bob}', 'of bob')`)
})

const invoke = (body: object, by = token) =>
  app.request('POST', '/api/admin/functions/invoke', { token: by, body })
const bodies = async () => (await app.sql('select body from note order by id')).map(({ body }) => body)
const unchanged = ['of alice', 'of bob']
const add = { name: 'add', params: { shop: 'a/b' }, input: { body: 'new' } }

describe('invoking a function by its name', () => {
  test('undoes what it has written, and records it in the audit', async () => {
    const { status, json } = await invoke(add)
    expect([status, json]).toEqual([
      200,
      {
        status: 200,
        result: {
          note: { id: 3, owner_id: bob, body: 'new' },
          count: 3,
          shop: 'a/b',
          url: '/api/functions/shops/a%2Fb/notes',
          kind: 'administrator',
        },
        error: null,
        isCommitted: false,
        requestId: expect.any(String),
        durationMs: expect.any(Number),
        log: ['info: adding new'],
        statements: [
          { text: 'POST /api/collections/note', durationMs: expect.any(Number) },
          { text: expect.stringMatching(/^GET \/api\/collections\/note/), durationMs: expect.any(Number) },
        ],
      },
    ])
    expect(await bodies()).toEqual(unchanged)
    expect(await app.sql('select action, target, detail, request_id from basalt.audit')).toEqual([
      { action: 'functions.invoke', target: 'add', detail: { commit: false }, request_id: json.requestId },
    ])
  })

  test('keeps it with commit, as a user under the policies of the user', async () => {
    const { json } = await invoke({ ...add, as: alice, commit: true, reason: ' ticket 17 ' })
    expect(json).toMatchObject({
      status: 200,
      isCommitted: true,
      result: { count: 2, user: alice, kind: 'user', note: { owner_id: alice } },
    })
    expect(await bodies()).toEqual([...unchanged, 'new'])
    expect(await app.sql('select detail from basalt.audit')).toEqual([
      { detail: { as: `user ${alice}`, commit: true, reason: 'ticket 17' } },
    ])
  })

  test('returns refusals and failures, with a stack without secrets', async () => {
    expect((await invoke({ name: 'quiet' })).json).toMatchObject({ status: 204, error: null })
    expect((await invoke({ name: 'refusing', commit: true, reason })).json).toMatchObject({
      status: 409,
      error: { error: 'out_of_stock', message: 'out of stock' },
      isCommitted: false,
    })
    const { json } = await invoke({ name: 'failing', commit: true, reason })
    expect(json).toMatchObject({ status: 500, error: { error: 'function_failed' }, isCommitted: false })
    expect(json.error.stack).toMatch(/failed with \[SHOP_KEY\]\n.*shop\.ts:\d+/)
    expect(json.error.frames[0]).toMatchObject({ file: 'shop.ts', line: 18, deploy: null })
    expect(JSON.stringify(json)).not.toContain(key)
    expect((await invoke({ name: 'closed', as: alice })).json).toMatchObject({
      status: 401,
      error: { error: 'admin_required' },
    })
    const wrong = await invoke({ ...add, input: { body: 1 } })
    expect(wrong.json).toMatchObject({ status: 400, error: { error: 'invalid_input' } })
    expect(await bodies()).toEqual(unchanged)
  })

  test('makes the checks of a commit before it undoes', async () => {
    for (const commit of [true, false])
      expect((await invoke({ name: 'deferred', commit, reason })).json).toMatchObject({
        status: 400,
        isCommitted: false,
      })
  })

  test('calls without a token, for routes that admit that', async () => {
    expect((await invoke({ name: 'asked', as: 'anonymous' })).json).toMatchObject({
      result: 'anonymous',
      error: null,
    })
    expect((await invoke({ ...add, as: 'anonymous' })).json).toMatchObject({
      status: 401,
      error: { error: 'missing_authorization' },
    })
    expect((await invoke({ name: 'closed', as: 'anonymous' })).json.error.error).toBe('admin_required')
    expect(await app.sql('select detail from basalt.audit limit 1')).toEqual([
      { detail: { as: 'anonymous', commit: false } },
    ])
  })

  test('shows the errors of statements, without secrets, and a limited number of lines', async () => {
    const { json } = await invoke({ name: 'careless' })
    expect(json).toMatchObject({ status: 200, result: 'caught' })
    expect(json.statements).toEqual([
      {
        text: 'select $1::text, [SHOP_KEY]',
        durationMs: expect.any(Number),
        error: expect.stringContaining('does not exist'),
      },
    ])
    expect(json.log).toHaveLength(200)
    expect(json.log[0]).toBe('warn: using {"key":"[SHOP_KEY]"}')
    expect(JSON.stringify(json)).not.toContain(key)
  })

  test.each([
    [{ name: 'missing' }, 404, 'function_name_not_found', 'there is no route with the name "missing"'],
    [{ ...add, params: {} }, 400, 'invalid_invocation', 'params.shop: expected a text'],
    [{ name: 'quiet', params: { a: 'b' } }, 400, 'invalid_invocation', 'params: /quiet has no parameter "a"'],
    [
      { name: 'quiet', as: 'alice' },
      400,
      'invalid_invocation',
      'as: expected the id of a user, or anonymous',
    ],
    [{ name: 'quiet', as: bob }, 400, 'invalid_invocation', 'as: no user has this id'],
    [
      { name: 'quiet', commit: true, reason: ' ' },
      400,
      'invalid_invocation',
      'reason: required with commit, which keeps what the function writes',
    ],
    [
      { name: 'quiet', reason: 'x'.repeat(501) },
      400,
      'invalid_invocation',
      'reason: expected at most 500 characters of Unicode text without NUL',
    ],
  ])('refuses %j', async (body, code, error, message) => {
    expect(envelope(await invoke(body))).toMatchObject({ code, error, message })
    expect(await app.sql('select from basalt.audit')).toEqual([])
  })

  test('ends with the session of its administrator, and is rolled back', async () => {
    const leaving = await inviteAdministrator(app, 'owner')
    const administrators = (await app.request('GET', '/api/admin/administrators', { token })).json.items
    const { id } = administrators.find(({ email }: { email: string }) => email === 'owner@example.com')
    const call = invoke({ name: 'slow', commit: true, reason }, leaving)
    const locks = () =>
      app.sql("select from pg_locks where relation = 'note'::regclass and mode = 'RowExclusiveLock'")
    await waitFor('the transaction', async () => (await locks()).length > 0)
    expect((await app.request('DELETE', `/api/admin/administrators/${id}`, { token })).status).toBe(204)
    expect((await call).json).toMatchObject({ isCommitted: false, error: { error: 'call_aborted' } })
    await waitFor('the rollback', async () => (await locks()).length === 0)
    expect(await app.sql("select from note where body = 'slow'")).toEqual([])
  })

  test('is no operation of users', async () => {
    const options = { token: userToken({ sub: alice }), body: add }
    expect((await app.request('POST', '/api/admin/functions/invoke', options)).status).toBe(401)
  })
})

describe('basalt functions', () => {
  const directory = makeScratchDirectory('basalt-invoke-')
  afterAll(() => rmSync(directory, { recursive: true, force: true }))
  const run = (...args: readonly string[]) =>
    basaltHere(['functions', ...args], { directory, env: { BASALT_URL: app.url, BASALT_ADMIN_TOKEN: token } })

  test('invoke prints the result, and undoes without --commit', async () => {
    const args = ['invoke', 'add', '--params', '{"shop": "a"}', '--input', '{"body": "new"}', '--as', alice]
    const undone = await run(...args)
    expect([undone.code, undone.stderr]).toEqual([0, 'undone: --commit keeps what the function writes\n'])
    expect(JSON.parse(undone.stdout)).toMatchObject({ user: alice })
    expect(await bodies()).toEqual(unchanged)
    expect((await run(...args, '--commit')).stderr).toContain('reason: required with commit')
    const kept = await run(...args, '--commit', '--reason', reason, '--json')
    expect([kept.code, kept.stderr, JSON.parse(kept.stdout).isCommitted]).toEqual([0, '', true])
    expect(await bodies()).toEqual([...unchanged, 'new'])
    const refused = await run('invoke', 'refusing')
    expect(refused).toEqual({ code: 1, stdout: '409 out_of_stock: out of stock\n', stderr: '' })
    expect((await run('invoke', 'add', '--input', '{')).code).toBe(2)
    expect((await run('invoke', 'missing')).stderr).toContain('no route with the name')
  })

  test('logs prints lines and errors of functions, and follows them', async () => {
    await invoke({ ...add, input: { body: 'logged' } })
    await app.request('POST', '/api/functions/failing', { token })
    const printed = async () => (await run('logs', '-n', '1000')).stdout
    await waitFor('the log', async () => /adding logged[\s\S]*FunctionFailure/.test(await printed()))
    expect(await printed()).not.toContain(key)
    const ofOne = (await run('logs', '--function', 'add', '--json')).stdout.trim().split('\n')
    expect(ofOne.map((line) => JSON.parse(line).attrs.function)).toEqual(ofOne.map(() => 'add'))
    expect((await run('logs', '--function', 'failing')).stdout).toContain('failed with [SHOP_KEY]')

    const env = { BASALT_URL: app.url, BASALT_ADMIN_TOKEN: token }
    const terminal = createTerminal(['functions', 'logs', '--follow', '--function', 'add'], {
      directory,
      env,
    })
    let stop = () => {}
    const on = (_name: string, listener: () => void) => {
      stop = listener
    }
    const done = main({ ...terminal, on })
    await waitFor('the list', () => terminal.output.stdout.includes('adding logged'))
    await invoke({ ...add, input: { body: 'followed' } })
    await waitFor('the new line', () => terminal.output.stdout.includes('adding followed'))
    stop()
    await done
    expect(terminal.output.stdout.match(/adding followed/g)).toHaveLength(1)
  })
})
