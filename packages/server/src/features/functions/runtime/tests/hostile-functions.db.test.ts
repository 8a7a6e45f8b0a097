import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { alice, bob, notes } from '../../../../../test/fixtures.ts'
import { type FunctionsFolder, makeFunctionsFolder } from '../../../../../test/functions-folder.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

const imports = `
  import { writeSync, readFileSync, writeFileSync } from 'node:fs'
  import { spawnSync } from 'node:child_process'
  import { Worker } from 'node:worker_threads'
  import { route } from '@basaltdb/functions'
  const post = (path, handler) => route('POST ' + path, { access: 'user', input: { type: 'object' } }, handler)
`

const files = {
  'statements.ts': `${imports}
    // The statement is a text of the request here, as no function should do it.
    const run = async (ctx, { text, values = [] }) => {
      const parts = Object.assign(text.split('?'), { raw: text.split('?') })
      return await ctx.db.sql(parts, ...values)
    }
    const attempt = (ctx, input) => run(ctx, input).catch((error) => ({ status: error.status, error: error.error }))
    export const statement = post('/statement', run)
    export const caught = post('/caught', async (ctx, input) => {
      await ctx.db.note.create({ body: 'before' })
      const caught = await attempt(ctx, input)
      return { caught, after: await attempt(ctx, { text: 'select body from note order by id' }) }
    })
  `,
  'processes.ts': `${imports}
    export const loop = post('/loop', async (ctx) => {
      await ctx.db.note.create({ body: 'undone' })
      while (true) {}
    })
    export const bomb = post('/bomb', async (ctx) => {
      await ctx.db.note.create({ body: 'undone' })
      const kept = []
      while (true) kept.push(new Array(100_000).fill(kept.length))
    })
    export const exit = post('/exit', async (ctx) => {
      await ctx.db.note.create({ body: 'undone' })
      process.exit(0)
    })
    export const thrown = post('/thrown', async (ctx) => {
      await ctx.db.note.create({ body: 'undone' })
      setTimeout(() => { throw new Error('thrown by a timer') })
      await new Promise(() => {})
    })
    export const rejected = post('/rejected', async (ctx) => {
      void Promise.reject(new Error('rejected without a handler'))
      await new Promise((resolve) => setTimeout(resolve, 10))
      return ctx.db.note.create({ body: 'kept' })
    })
    export const sleeping = post('/sleeping', async (ctx) => {
      await ctx.db.note.create({ body: 'undone' })
      await new Promise((_resolve, reject) => ctx.signal.addEventListener('abort', () => {
        console.log('the signal has aborted')
        reject(new Error('aborted'))
      }))
    })
    export const slow = post('/slow', async (ctx) => {
      await ctx.db.note.create({ body: 'undone' })
      await ctx.db.sql\`select pg_sleep(600)\`
    })
    export const readsLeft = post('/reads-left', (ctx) => {
      for (let read = 0; read < 20; read += 1) void ctx.db.sleeper.list().catch(() => {})
    })
    export const slowRead = post('/slow-read', (ctx) => ctx.db.sleeper.list())
    export const quick = post('/quick', () => 'quick')
    export const open = route('GET /open', { access: 'anonymous' }, () => 'open')
    export const odd = post('/odd', (ctx) => {
      const cycle = {}
      cycle.self = cycle
      for (const fields of [[1, 2], 'a text', 3, null, cycle, { big: 1n }, new Date(0)]) ctx.log.info('odd', fields)
      throw Object.assign(new Error('odd'), { status: 400, data: new Date(0), message: 7, stack: 8 })
    })
    export const flood = post('/flood', (ctx) => {
      for (let line = 0; line < 10_000; line += 1) ctx.log.info('line ' + line, { line })
      return 'logged'
    })
    export const logged = post('/logged', (ctx) => {
      ctx.log.warn('a warning', { detail: 1 })
      console.log('printed %d', 2)
      process.stdout.write('written\\n')
    })
    let leaked
    export const leak = post('/leak', (ctx) => {
      leaked = ctx
    })
    export const useLeaked = post('/use-leaked', async () => {
      const create = await leaked.db.note.create({ body: 'leaked' }).catch(({ status, error }) => [status, error])
      const sql = await leaked.db.sql\`insert into note (body) values ('leaked')\`.catch(({ status, error }) => [status, error])
      return { create, sql }
    })
    export const unawaited = post('/unawaited', (ctx) => {
      void ctx.db.note.create({ body: 'not awaited' })
    })
  `,
  'escapes.ts': `${imports}
    const frame = (message) => {
      const body = Buffer.from(typeof message === 'string' ? message : JSON.stringify(message))
      const head = Buffer.alloc(4)
      head.writeUInt32BE(body.length)
      return Buffer.concat([head, body])
    }
    export const forge = post('/forge', async (_ctx, { messages }) => {
      for (const message of messages) writeSync(3, frame(message))
      await new Promise((resolve) => setTimeout(resolve, 50))
      return 'forged'
    })
    export const length = post('/length', async () => {
      writeSync(3, Buffer.from([0xff, 0xff, 0xff, 0xff]))
      await new Promise(() => {})
    })
    export const reach = post('/reach', (_ctx, { file, project }) => {
      const attempt = (work) => { try { work(); return 'done' } catch (error) { return error.code ?? error.message } }
      return {
        environment: Object.keys(process.env),
        code: attempt(() => readFileSync(project + '/functions/escapes.ts')),
        configuration: attempt(() => readFileSync(project + '/basalt.toml')),
        passwords: attempt(() => readFileSync('/etc/passwd')),
        write: attempt(() => writeFileSync(file, 'written')),
        process: attempt(() => spawnSync('id')),
        worker: attempt(() => new Worker('0', { eval: true })),
      }
    })
  `,
}

let folder: FunctionsFolder
let app: TestApp
const token = userToken({ sub: alice })
/** Function of the operator with which a caller becomes another one, for one statement. */
const becomeBob = `
  create function become_bob() returns text language sql as
    $$ select set_config('basalt.user_id', '${bob}', true) $$;
  create function become_login() returns text language sql as $$ select set_config('role', 'none', true) $$;
  create function set_path() returns text language sql as $$ select set_config('search_path', 'nowhere', false) $$;
`
/** View whose rows take longer than any call. */
const sleeper = 'create view sleeper as select 1 as id, pg_sleep(600)::text as slept;'

beforeAll(async () => {
  folder = makeFunctionsFolder(files)
  app = await createTestApp({
    setup: `${notes} ${becomeBob} ${sleeper}`,
    config: { 'functions.folder': folder.path, 'functions.timeout': '2', 'functions.memory_mb': '64' },
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

const call = (path: string, body: object = {}) =>
  app.request('POST', `/api/functions${path}`, { token, body })
const bodies = async () => (await app.sql('select body from note order by id')).map(({ body }) => body)
const unchanged = ['of alice', 'of bob']
const untilServed = () => waitFor('another process', async () => (await call('/quick')).status === 200)
const untilLogged = (text: string) => waitFor(text, () => app.log.some((line) => line.includes(text)))

describe('ctx.db.sql', () => {
  test.each([
    'set role none',
    'set role basalt_anonymous',
    'SET LOCAL basalt.user_id = x',
    'reset role',
    'commit',
    'COMMIT and chain',
    'rollback',
    'begin',
    'end',
    'abort',
    'savepoint a',
    'release basalt_step',
    'rollback to savepoint basalt_step',
    '/* select */ commit',
    '-- select\ncommit',
    '(commit)',
    'prepare transaction $$a$$',
    'prepare a as select 1',
    'execute a',
    'deallocate all',
    'discard all',
    'do $$ begin commit; end $$',
    'call anything()',
    'copy note to stdout',
    'listen a',
    'lock table note',
    'explain select 1',
    'show role',
    'create table mine (id int)',
    'truncate note',
    'alter role basalt_gateway superuser',
    "select set_config('basalt.user_id', 'x', true)",
    "select \"set_config\"('role', 'none', true)",
    "select pg_catalog.SET_CONFIG('role', 'none', true)",
    "select U&\"set\\005fconfig\"('role', 'none', true)",
    "select --\rset_config('role', 'none', true)",
    '--\rcommit /*\nselect 1 --*/',
    "select E'a'\n'\\'', U&\"set\\005fconfig\"('role', 'none', true) --'",
    "select E'a'\n'\\'', set_config('role', 'none', true) --'",
    "select * from crosstab('select 1, 2, 3') as t (a int, b int)",
    "select query_to_xml('select 1', true, true, '')",
    "update pg_settings set setting = 'none' where name = 'role'",
    "select * from ts_stat('select set_config(''role'', ''none'', true)')",
    '',
    ';',
    '-- nothing',
  ])('refuses %s', async (text) => {
    const response = await call('/statement', { text })
    expect([text, response.status, response.json.error]).toEqual([text, 400, 'statement_not_allowed'])
  })

  test.each([
    'select 1; commit',
    'select 1; select 2',
    "insert into note (body) values ('a'); commit",
    'with a as (commit) select 1',
    'select * into copied from note',
    'select from basalt.users',
    'select * from pg_authid',
  ])('lets PostgreSQL reject %s', async (text) => {
    const response = await call('/statement', { text })
    expect(['function_failed', 'insufficient_permissions', 'invalid_value']).toContain(response.json.error)
    expect(await bodies()).toEqual(unchanged)
  })

  test('binds values, which are never part of the text', async () => {
    const values = ["'; drop table note; --", 7, 1.5, true, null, ['a"b', 'c,d'], { a: [1] }, '$1']
    const response = await call('/statement', {
      text: 'select ?::text, ?::int as int, ?::float8 as float, ?::bool as bool, ?::text as none, ?::text[] as list, ?::jsonb as json, ?::text as last',
      values,
    })
    expect([response.status, response.json]).toEqual([
      200,
      [
        {
          text: "'; drop table note; --",
          int: 7,
          float: 1.5,
          bool: true,
          none: null,
          list: ['a"b', 'c,d'],
          json: { a: [1] },
          last: '$1',
        },
      ],
    ])
  })

  test('undoes the transaction when a function of the database has changed the caller', async () => {
    for (const name of ['become_bob', 'become_login']) {
      const text = `select body, ${name}() from note union all select body, '' from note`
      const response = await call('/statement', { text })
      expect([response.status, response.json.error]).toEqual([400, 'statement_not_allowed'])
      const caught = await call('/caught', { text })
      expect([caught.status, caught.json.error]).toEqual([409, 'transaction_ended'])
    }
    expect(await bodies()).toEqual(unchanged)
  })

  test('leaves no settings to the next call', async () => {
    await call('/statement', { text: 'select set_path()' })
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const response = await call('/statement', { text: "select current_setting('search_path') as path" })
      expect(response.json[0].path).not.toBe('nowhere')
    }
  })

  test('returns a limited number of rows', async () => {
    const all = await call('/statement', { text: 'select generate_series(1, 10000) as n' })
    expect([all.status, all.json.length]).toEqual([200, 10_000])
    const response = await call('/statement', { text: 'select generate_series(1, 10001) as n' })
    expect([response.status, response.json.error]).toEqual([400, 'result_too_large'])
  })

  test('undoes a statement whose result is refused, and continues without it', async () => {
    const inserted =
      "insert into note (body) select 'row ' || n from generate_series(1, 10001) n returning id"
    const response = await call('/caught', { text: inserted })
    expect([response.status, response.json.caught]).toEqual([200, { status: 400, error: 'result_too_large' }])
    expect(await bodies()).toEqual([...unchanged, 'before'])
  })

  test('continues after a refused statement that the function catches', async () => {
    const response = await call('/caught', { text: 'commit' })
    expect([response.status, response.json]).toEqual([
      200,
      {
        caught: { status: 400, error: 'statement_not_allowed' },
        after: [{ body: 'of alice' }, { body: 'before' }],
      },
    ])
  })
})

describe('calls of functions', () => {
  const running = () =>
    app.sql(
      "select 1 from pg_stat_activity where query ~ 'pg_sleep.600.|sleeper' and state <> 'idle' and pid <> pg_backend_pid()",
    )

  test('end at the time limit, and their transactions are undone', async () => {
    const response = await call('/sleeping')
    expect([response.status, envelope(response)]).toEqual([
      504,
      { code: 504, error: 'function_timeout', message: 'the function took longer than 2 s' },
    ])
    expect(await bodies()).toEqual(unchanged)
    await untilLogged('the signal has aborted')
  })

  test.each(['/slow', '/slow-read'])('end while a statement of %s runs, which is cancelled', async (path) => {
    expect((await call(path)).json.error).toBe('function_timeout')
    expect(await bodies()).toEqual(unchanged)
    await waitFor('the cancellation', async () => (await running()).length === 0)
  })

  test('end the reads that they do not await', async () => {
    expect((await call('/reads-left')).status).toBe(204)
    await waitFor('the end of the reads', async () => (await running()).length === 0)
  })

  test('cannot use the database after their end', async () => {
    await call('/leak')
    const response = await call('/use-leaked')
    expect([response.status, response.json]).toEqual([
      200,
      { create: [409, 'transaction_ended'], sql: [409, 'transaction_ended'] },
    ])
    expect(await bodies()).toEqual(unchanged)
  })

  test('commit a statement that was sent and not awaited', async () => {
    expect((await call('/unawaited')).status).toBe(204)
    expect(await bodies()).toEqual([...unchanged, 'not awaited'])
  })
})

describe('process of functions', () => {
  test.each([
    ['/loop', 'its event loop was blocked for 2 s'],
    ['/bomb', 'it has used more than 64 MiB of memory'],
    ['/exit', 'it has ended with code 0'],
    ['/thrown', 'it has ended with code 1'],
  ])('is replaced after %s, and only the calls that it ran fail', async (path, reason) => {
    await untilServed()
    const response = await call(path)
    // The time limit may be reached just before the process is killed.
    expect(['function_process_ended', 'function_timeout']).toContain(response.json.error)
    await untilLogged(reason)
    await untilServed()
    expect(await bodies()).toEqual(unchanged)
  })

  test('keeps public functions public while it restarts', async () => {
    await untilServed()
    await call('/exit')
    const open = () => app.request('GET', '/api/functions/open')
    expect(envelope(await open())).toMatchObject({ code: 503 })
    await waitFor('the process', async () => {
      const { status } = await open()
      expect([200, 503]).toContain(status)
      return status === 200
    })
  })

  test('survives fields of the log and errors of any type', async () => {
    const response = await call('/odd')
    expect([response.status, response.json.message]).toEqual([400, '7'])
    await untilLogged('"value":[1,2]')
    const lines = app.log.filter((line) => line.includes('"msg":"odd"'))
    expect(lines).toHaveLength(7)
  })

  test('survives a rejection without a handler, which is logged', async () => {
    const response = await call('/rejected')
    expect(response.status).toBe(200)
    await untilLogged('rejected without a handler')
  })

  test('logs with the function and the request', async () => {
    const response = await call('/logged')
    const requestId = response.headers.get('x-request-id')
    const common = { source: 'functions', requestId, function: 'logged' }
    await untilLogged('written')
    const lines = app.log.flatMap((line) => (line.includes(String(requestId)) ? [JSON.parse(line)] : []))
    expect(lines).toMatchObject([
      { ...common, level: 40, msg: 'a warning', detail: 1 },
      { ...common, level: 30, msg: 'printed 2' },
    ])
  })

  test('logs a limited number of lines, and how many were dropped', async () => {
    const before = app.log.length
    expect((await call('/flood')).status).toBe(200)
    await untilLogged('lines were dropped')
    const lines = app.log.slice(before).filter((line) => line.includes('"msg":"line '))
    expect(lines.length).toBeGreaterThan(100)
    expect(lines.length).toBeLessThan(5000)
  })

  test('has no environment, and can neither write, start processes nor read files beside the code', async () => {
    const response = await call('/reach', { file: `${folder.project}/written`, project: folder.project })
    expect([response.status, response.json]).toEqual([
      200,
      {
        environment: ['TZ'],
        code: 'done',
        configuration: 'ERR_ACCESS_DENIED',
        passwords: 'ERR_ACCESS_DENIED',
        write: 'ERR_ACCESS_DENIED',
        process: 'ERR_ACCESS_DENIED',
        worker: 'ERR_ACCESS_DENIED',
      },
    ])
  })
})

describe('frames of the child', () => {
  test('with a token of no call are refused', async () => {
    const insert = "insert into note (body) values ('forged')"
    const response = await call('/forge', {
      messages: [
        { type: 'sql', call: 'guessed', id: 900_000, text: insert, values: [] },
        {
          type: 'request',
          call: 'guessed',
          id: 900_001,
          method: 'POST',
          path: 'collections/note',
          query: '',
          body: '{"body":"forged"}',
        },
        { type: 'result', call: 'guessed', value: '1' },
        { type: 'failure', call: 'guessed', kind: 'failed', message: 'forged' },
        { type: 'log', call: 'guessed', level: 'info', message: 'forged' },
      ],
    })
    expect([response.status, response.json]).toEqual([200, 'forged'])
    expect(await bodies()).toEqual(unchanged)
  })

  test('end it if they are malformed', async () => {
    await untilServed()
    const response = await call('/forge', { messages: [{ type: 'query', call: 'a' }] })
    expect([response.status, envelope(response)]).toEqual([
      503,
      {
        code: 503,
        error: 'function_process_ended',
        message: 'the process of the functions ended during the call',
      },
    ])
    expect(response.headers.get('retry-after')).toBe('1')
    await untilLogged('it has sent an invalid frame')
    await untilServed()
  })

  test('end it if they announce too many bytes', async () => {
    await untilServed()
    expect((await call('/length')).json.error).toBe('function_process_ended')
    await untilLogged('a frame announces 4294967295 bytes')
    await untilServed()
  })
})

describe('transactions of functions', () => {
  const served = {
    'limits.ts': `${imports}
    export const wide = post('/wide', (ctx) => ctx.db.sql\`select repeat('x', 20000000) as text\`)
    // As JSON, each character has six.
    export const escaped = post('/escaped', (ctx) => ctx.db.sql\`select repeat(chr(1), 2000000) as text\`)
    // Its error undoes the statements that still wait.
    const report = (refused) => { throw Object.assign(new Error('reported'), { status: 409, data: { error: refused.error } }) }
    const outcome = (sent) => sent.catch((error) => error)
    export const many = post('/many', async (ctx) => {
      void outcome(ctx.db.sql\`select pg_sleep(60)\`)
      const all = Array.from({ length: 1000 }, () => outcome(ctx.db.sql\`select 1\`))
      report(await all.at(-1))
    })
    export const large = post('/large', async (ctx) => {
      void outcome(ctx.db.sql\`select pg_sleep(60)\`)
      const value = 'x'.repeat(4_000_000)
      const all = [1, 2, 3].map(() => outcome(ctx.db.sql\`select length(\${value})\`))
      report(await all.at(-1))
    })
    export const input = post('/input', () => 'received')
    export const collide = post('/collide', async (ctx) => {
      await ctx.db.collided.create({ body: 'first' })
      await ctx.db.collided.create({ body: 'second' })
    })
    export const added = post('/added', (ctx) => ctx.db.sql\`insert into added values (1) returning id\`)
    export const dropped = post('/dropped', async (ctx) => {
      await ctx.db.note.create({ body: 'dropped', owner_id: '${alice}' })
      await ctx.db.sql\`select pg_terminate_backend(pg_backend_pid())\`
    })
    export const lost = post('/lost', async (ctx) => {
      await ctx.db.note.create({ body: 'lost', owner_id: '${alice}' })
      return String(await outcome(ctx.db.sql\`select pg_terminate_backend(pg_backend_pid())\`))
    })
    `,
  }
  let folder: FunctionsFolder
  let app: TestApp
  const call = async (path: string, body: object = {}, by = token) =>
    await app.request('POST', `/api/functions${path}`, { token: by, body })

  beforeAll(async () => {
    folder = makeFunctionsFolder(served)
    app = await createTestApp({
      setup: `${notes}
        create table collided (id int generated always as identity primary key, body text);
        create sequence attempts;
        create function collide() returns trigger language plpgsql security definer as $$
        begin
          if nextval('attempts') % 3 <> 0 then raise exception 'collides' using errcode = '40001'; end if;
          return new;
        end $$;
        create trigger collide before insert on collided for each row execute function collide();
`,
      config: { 'functions.folder': folder.path, 'server.body_limit': String(32 * 1024 * 1024) },
    })
  })
  afterAll(async () => {
    await app?.[Symbol.asyncDispose]()
    folder?.[Symbol.dispose]()
  })

  test('limit the statements that wait', async () => {
    for (const path of ['/many', '/large']) {
      const { status, json } = await call(path)
      expect([path, status, json.data]).toEqual([path, 409, { error: 'too_many_statements' }])
    }
  })

  test('limit the bytes of a result', async () => {
    for (const path of ['/wide', '/escaped']) {
      const response = await call(path)
      expect([path, response.status, envelope(response)]).toEqual([
        path,
        400,
        expect.objectContaining({
          error: 'result_too_large',
          message: 'the statement returns more than 7340032 bytes',
        }),
      ])
    }
  })

  test('refuse an input that is larger than a message', async () => {
    const response = await call('/input', { text: 'x'.repeat(17 * 1024 * 1024) })
    expect([response.status, response.json.error]).toEqual([413, 'input_too_large'])
  })

  test('repeat a step that collides with another transaction', async () => {
    const response = await call('/collide')
    expect([response.status, response.text]).toEqual([204, ''])
    expect(await app.sql('select body from collided order by id')).toEqual([
      { body: 'first' },
      { body: 'second' },
    ])
  })

  test('reach tables that the owner has created since startup', async () => {
    await app.sql('create table added (id int primary key)')
    const response = await call('/added', {}, await app.adminToken())
    expect([response.status, response.json]).toEqual([200, [{ id: 1 }]])
  })

  test.each([
    ['/lost', 'the error is caught'],
    ['/dropped', 'the error is the result'],
  ])('report no success after their connection is lost: %s, if %s', async (path) => {
    const response = await call(path, {}, await app.adminToken())
    expect([response.status, response.json.error]).toEqual([503, 'database_unavailable'])
    expect(response.headers.get('retry-after')).toBe('1')
    expect(await app.sql('select body from note')).toEqual([])
  })
})
