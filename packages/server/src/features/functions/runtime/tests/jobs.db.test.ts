import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { alice } from '../../../../../test/fixtures.ts'
import { type FunctionsFolder, makeFunctionsFolder } from '../../../../../test/functions-folder.ts'
import {
  createTestApp,
  createTestDatabase,
  envelope,
  type TestApp,
  type TestDatabase,
  userToken,
} from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

const imports = `import { before, FunctionError, job, route } from '@basaltdb/functions'\n`
const setup = `
create table picture (id int generated always as identity primary key, note text not null, by uuid);
create table gate (is_open boolean not null);
create table visit (id int generated always as identity primary key, page text not null);
create policy anyone on visit using (true);
create function unsealed() returns text language plpgsql as $$
begin
  execute 'set local role none';
  execute $j$ select basalt.enqueue_sealed('{"type": "plain", "payload": {}}', repeat('0', 64)) $j$;
  return 'added';
exception when insufficient_privilege then return sqlerrm;
end $$;
alter table visit enable row level security;
alter table picture enable row level security;
alter table gate enable row level security;
create function enqueue_twice() returns int language plpgsql as $$
begin
  perform basalt.enqueue('plain', '{}');
  raise exception 'undone';
end $$;
`
const size = `{ type: 'object', required: ['size'], additionalProperties: false, properties: {
  size: { type: 'integer', minimum: 1 } } }`

const files = {
  'jobs.ts': `${imports}
    export const resize = job('resize', { input: ${size} }, async (ctx, payload) => {
      const [row] = await ctx.db.sql\`select current_setting('is_superuser') as super, basalt.user_id() as id\`
      await ctx.db.picture.create({ note: JSON.stringify({
        payload, row, user: ctx.user ?? null, claims: ctx.claims, attempt: ctx.attempt, job: ctx.job,
        isAborted: ctx.signal.aborted, polluted: {}.polluted ?? null }) })
    })
    export const plain = job('plain', {}, async (ctx, payload) => {
      await ctx.db.picture.create({ note: String(payload) })
    })
    export const flaky = job('flaky', { retries: 1 }, async (ctx) => {
      await ctx.db.picture.create({ note: 'attempt ' + ctx.attempt })
      if (ctx.attempt === 1) throw new Error('not yet')
    })
    export const hopeless = job('hopeless', { retries: 0 }, () => { throw new Error('never') })
    export const refused = job('refused', {}, () => { throw new FunctionError(422, 'no such picture') })
    export const busy = job('busy', {}, () => { throw new FunctionError(429, 'too many') })
    export const killed = job('killed', {}, async (ctx) => {
      await ctx.db.picture.create({ note: 'killed ' + ctx.attempt })
      if (ctx.attempt === 1) process.kill(process.pid, 'SIGKILL')
      if (ctx.attempt === 1) await new Promise(() => {})
    })
    export const endless = job('endless', { timeout: 1, retries: 0 }, async (ctx) => {
      await ctx.db.picture.create({ note: 'endless' })
      await new Promise(() => {})
    })
    export const each = job('each', { concurrency: 2 }, async (ctx) => {
      await ctx.db.sql\`insert into picture (note, by) values ('each', \${ctx.job.id})\`
    })
    export const waiting = job('patient', {}, async (ctx) => {
      while ((await ctx.db.sql\`select from gate where is_open\`).count === 0) await new Promise((resolve) => setTimeout(resolve, 20))
      await ctx.db.picture.create({ note: 'patient' })
    })
  `,
}

const enqueueing = `${imports}import { resize } from './jobs.ts'
  const input = { type: 'object', additionalProperties: true }
  export const add = route('POST /add', { access: 'anonymous', input }, async (ctx, { job, payload, options, fails, late }) => {
    const id = await ctx.enqueue(job ?? resize, payload, options)
    if (fails) throw new FunctionError(409, 'undone')
    if (late) setTimeout(() => ctx.enqueue('plain').catch((error) => ctx.log.info(error.error)), 50)
    return { id }
  })
  export const caught = route('POST /caught', { access: 'user' }, async (ctx) => {
    const error = await ctx.enqueue('resize', { size: 0 }).catch(({ status, error, message }) => ({ status, error, message }))
    await ctx.enqueue('plain')
    return error
  })
  export const visited = before('visit', 'create', async (ctx, { values }) => {
    await ctx.enqueue('noted', { page: values.page })
    if (values.page === '/refused') throw new FunctionError(403, 'no')
  })
  export const noted = job('noted', { input: { type: 'object', properties: { page: { type: 'string' } } } }, async (ctx, { page }) => {
    await ctx.db.picture.create({ note: JSON.stringify({ page, user: ctx.user ?? null, kind: ctx.claims.kind }) })
    if (page === '/chain') await ctx.enqueue('noted', { page: '/end' })
  })
`

let database: TestDatabase
let folder: FunctionsFolder
let app: TestApp
let second: TestApp
/** Node without functions. */
let bare: TestApp

beforeAll(async () => {
  folder = makeFunctionsFolder({ ...files, 'enqueueing.ts': enqueueing })
  database = await createTestDatabase()
  await database.sql(setup)
  app = await createTestApp({
    database,
    config: { 'functions.folder': folder.path, 'functions.connections': '4' },
  })
  second = await createTestApp({
    database,
    config: { 'functions.folder': folder.path, 'functions.connections': '4' },
  })
  bare = await createTestApp({ database, config: { 'functions.folder': `${folder.path}-missing` } })
})
afterAll(async () => {
  for (const node of [bare, second, app]) await node?.[Symbol.asyncDispose]()
  folder?.[Symbol.dispose]()
  await database?.[Symbol.asyncDispose]()
})
beforeEach(() => database.sql('truncate picture, gate; delete from basalt.jobs'))

async function enqueue(type: string, payload: object = {}): Promise<string> {
  const [row] = await database.sql<{ id: string }>('select basalt.enqueue($1, $2) as id', [type, payload])
  return row?.id ?? ''
}

/** Waits until the job has this state, and returns it. */
async function untilState(id: string, state: string, attempts = 1) {
  return await waitFor(`the state ${state}`, async () => {
    const [row] = await database.sql<{ state: string; attempts: number; error: string | null }>(
      'select state, attempts, last_error as error from basalt.jobs where id = $1',
      [id],
    )
    return row?.state === state && row.attempts === attempts ? row : undefined
  })
}

/** Makes a waiting retry due. */
const hurry = async (id: string) => {
  await database.sql('update basalt.jobs set run_at = now() where id = $1', [id])
  await app.request('POST', '/api/admin/jobs', {
    token: await app.adminToken(),
    body: { type: 'job_retention' },
  })
}
const notes = async () =>
  (await database.sql<{ note: string }>('select note from picture order by id')).map(({ note }) => note)

describe('jobs of functions', () => {
  test('run as the administrator, with the validated payload', async () => {
    const id = await enqueue('resize', { size: 3 })
    await untilState(id, 'completed')
    const [note = ''] = await notes()
    expect(JSON.parse(note)).toEqual({
      payload: { size: 3 },
      row: { super: 'off', id: null },
      user: null,
      claims: { kind: 'administrator' },
      attempt: 1,
      job: { id },
      isAborted: false,
      polluted: null,
    })
  })

  test('without a schema get no payload', async () => {
    await untilState(await enqueue('plain', { ignored: 1 }), 'completed')
    expect(await notes()).toEqual(['undefined'])
  })

  test('fail at once for a payload from SQL that does not match the schema', async () => {
    for (const payload of [
      {},
      { size: 0 },
      { size: 1, other: 1 },
      JSON.parse('{"size": 1, "__proto__": {"polluted": 1}}'),
    ]) {
      const job = await untilState(await enqueue('resize', payload), 'failed')
      expect(job.error).toMatch(/^invalid payload: /)
    }
    expect(await notes()).toEqual([])
  })

  test('are added by owners through the API, which checks the payload', async () => {
    const add = async (body: object) =>
      await app.request('POST', '/api/admin/jobs', { token: await app.adminToken(), body })
    const refused = await add({ type: 'resize', payload: { size: 'big' } })
    expect(refused.status).toBe(400)
    expect(envelope(refused)).toMatchObject({
      error: 'invalid_job_payload',
      message: 'invalid payload: size: must be integer',
    })
    const added = await add({ type: 'resize', payload: { size: 1 } })
    expect(added.status).toBe(201)
    await untilState(added.json.id, 'completed')
    expect(envelope(await add({ type: 'unknown' }))).toMatchObject({ code: 400, error: 'unknown_job_type' })
    expect(envelope(await add({ type: 'toString' }))).toMatchObject({ code: 400, error: 'unknown_job_type' })
  })

  test('do not exist when the transaction that added them is undone', async () => {
    await expect(database.sql('select enqueue_twice()')).rejects.toThrow('undone')
    expect(await database.sql('select from basalt.jobs where type = $1', ['plain'])).toEqual([])
  })

  test('are retried after an error, which undoes the attempt', async () => {
    const id = await enqueue('flaky')
    expect(await untilState(id, 'queued')).toMatchObject({ error: 'the function failed: not yet' })
    expect(await notes()).toEqual([])
    await hurry(id)
    await untilState(id, 'completed', 2)
    expect(await notes()).toEqual(['attempt 2'])
  })

  test('fail after their last attempt, and at once when they refuse', async () => {
    expect(await untilState(await enqueue('hopeless'), 'failed')).toMatchObject({
      error: 'the function failed: never',
    })
    expect(await untilState(await enqueue('refused'), 'failed')).toMatchObject({ error: 'no such picture' })
    expect(await untilState(await enqueue('busy'), 'queued')).toMatchObject({ error: 'too many' })
  })

  test('end at their time limit', async () => {
    expect(await untilState(await enqueue('endless'), 'failed')).toMatchObject({
      error: 'the function took longer than 1 s',
    })
    expect(await notes()).toEqual([])
  })

  test('are retried when kill -9 ends their process', async () => {
    const id = await enqueue('killed')
    expect(await untilState(id, 'queued')).toMatchObject({
      error: 'the process of the functions ended during the call',
    })
    expect(await notes()).toEqual([])
    await hurry(id)
    await untilState(id, 'completed', 2)
    expect(await notes()).toEqual(['killed 2'])
  })

  test('run once each on two nodes, and never on a node without them', async () => {
    const ids = await Promise.all(Array.from({ length: 30 }, () => enqueue('each')))
    for (const id of ids) await untilState(id, 'completed')
    const rows = await database.sql<{ by: string }>('select by from picture')
    expect(rows.map(({ by }) => by).toSorted()).toEqual(ids.toSorted())
    const response = await bare.request('POST', '/api/admin/jobs', {
      token: await bare.adminToken(),
      body: { type: 'each' },
    })
    expect(envelope(response)).toMatchObject({ code: 400, error: 'unknown_job_type' })
  })
})

describe('ctx.enqueue', () => {
  const token = userToken({ sub: alice })
  const add = (body: object, options: { readonly token?: string } = { token }) =>
    app.request('POST', '/api/functions/add', { body, ...options })
  const queued = async () =>
    await database.sql<{ type: string; payload: object; key: string | null; by: string | null; at: Date }>(
      `select type, payload, key, queued_by as by, run_at as at from basalt.jobs order by created_at, id`,
    )
  const at = '2999-01-01T00:00:00.000Z'

  test('adds a job in the transaction of a user, who needs no grant, and informs the job of the user', async () => {
    const added = await add({ job: 'noted', payload: { page: '/' } })
    expect(added.status).toBe(200)
    await untilState(added.json.id, 'completed')
    expect(await notes()).toEqual([JSON.stringify({ page: '/', user: { id: alice }, kind: 'administrator' })])
  })

  test('takes a definition, a key and a time, and adds none twice for one key', async () => {
    const first = await add({ payload: { size: 1 }, options: { key: 'k', at } })
    const second = await add({ payload: { size: 2 }, options: { key: 'k', at } }, {})
    expect([first.status, second.json]).toEqual([200, first.json])
    expect(await queued()).toEqual([
      { type: 'resize', payload: { size: 2 }, key: 'k', by: null, at: new Date(at) },
    ])
  })

  test('adds none if the transaction is undone or has ended', async () => {
    expect((await add({ job: 'plain', fails: true })).status).toBe(409)
    expect(await queued()).toEqual([])
    expect((await add({ job: 'noted', late: true, options: { at } })).status).toBe(200)
    await waitFor('the refusal', () => app.log.some((line) => line.includes('"transaction_ended"')))
    expect((await queued()).map(({ type }) => type)).toEqual(['noted'])
  })

  test.each([
    ['an unknown job', { job: 'nothing' }, 'there is no job "nothing"'],
    ['a job of the server', { job: 'job_retention' }, 'there is no job "job_retention"'],
    ['a payload that does not match', { payload: { size: 0 } }, 'payload of resize: size: must be >= 1'],
    [
      'a payload that is no object',
      { job: 'plain', payload: [1] },
      'payload: expected an object of JSON, without the character U+0000',
    ],
    [
      'NUL',
      { job: 'plain', payload: { a: '\0' } },
      'payload: expected an object of JSON, without the character U+0000',
    ],
    ['a large payload', { job: 'plain', payload: { a: 'x'.repeat(65_536) } }, 'payload: at most 65536 bytes'],
    ['an empty key', { job: 'plain', options: { key: '' } }, 'key: expected 1 to 200 characters'],
  ])('refuses %s', async (_name, body, message) => {
    expect(envelope(await add(body))).toMatchObject({ code: 400, error: 'invalid_enqueue', message })
    expect(await queued()).toEqual([])
  })

  test('leaves the transaction usable after a refusal', async () => {
    const response = await app.request('POST', '/api/functions/caught', { token, body: {} })
    expect(response.json).toMatchObject({ status: 400, error: 'invalid_enqueue' })
    await waitFor('the job', async () => (await notes()).includes('undefined'))
  })

  test('adds the job of a hook together with the write, and passes the user on', async () => {
    const create = (page: string) => app.request('POST', '/api/collections/visit', { token, body: { page } })
    expect((await create('/refused')).status).toBe(403)
    expect(await queued()).toEqual([])
    expect((await create('/chain')).status).toBe(201)
    const user = { id: alice }
    await waitFor('both jobs', async () => (await notes()).length === 2)
    expect((await notes()).map((note) => JSON.parse(note))).toEqual([
      { page: '/chain', user, kind: 'administrator' },
      { page: '/end', user, kind: 'administrator' },
    ])
  })

  test('is no way to add jobs for text that becomes the gateway', async () => {
    const response = await app.request('POST', '/api/rpc/unsealed', { token, body: {} })
    expect([response.status, response.json]).toEqual([200, 'the job has no seal of the server'])
    expect(await queued()).toEqual([])
  })
})

describe('deploys of functions', () => {
  test('let a running job end, and add and remove types', async () => {
    using next = makeFunctionsFolder({
      'jobs.ts': `${imports}export const added = job('added', {}, async (ctx) => {
        await ctx.db.picture.create({ note: 'added' })
      })`,
    })
    const waiting = await enqueue('patient')
    await untilState(waiting, 'running')
    for (const node of [app, second]) await node.app.functions.loadFolder(next.path)
    const added = await waitFor('the type', () => enqueue('added').catch(() => undefined))
    await untilState(added, 'completed')
    await waitFor('the removal', () =>
      enqueue('plain').then(
        () => false,
        (error: Error) => error.message.includes('unknown job type'),
      ),
    )
    expect(await notes()).toEqual(['added'])
    await database.sql('insert into gate values (true)')
    await untilState(waiting, 'completed')
    expect(await notes()).toEqual(['added', 'patient'])
    for (const node of [app, second]) await node.app.functions.loadFolder(folder.path)
    const plain = await waitFor('the type', () => enqueue('plain').catch(() => undefined))
    await untilState(plain, 'completed')
  })

  test.each([
    [
      'the name of a job of the server',
      `export const a = job('job_retention', {}, () => {})`,
      'the job type job_retention is one of the server',
    ],
    [
      'two jobs of one name',
      `export const a = job('one', {}, () => {})\nexport const b = job('one', {}, () => {})`,
      'has the job one, too',
    ],
    [
      'a malformed name',
      `export const a = job('Not a name', {}, () => {})`,
      'expected a name of small letters',
    ],
    [
      'a wrong option',
      `export const a = job('one', { retries: -1 }, () => {})`,
      'retries must be an integer from 0 to 99',
    ],
  ])('are refused for %s', async (_name, text, message) => {
    using wrong = makeFunctionsFolder({ 'jobs.ts': `${imports}${text}` })
    await expect(app.app.functions.loadFolder(wrong.path)).rejects.toThrow(message)
    await untilState(await enqueue('plain'), 'completed')
  })
})

test('jobs of functions › have transactions that last as long as their timeout, unlike those of requests', async () => {
  const limits =
    "select current_setting('statement_timeout') as statement, current_setting('idle_in_transaction_session_timeout') as idle"
  using folder = makeFunctionsFolder({
    'long.ts': `${imports}
      export const long = job('long', { timeout: 40, retries: 0 }, async (ctx) => {
        await ctx.db.picture.create({ note: JSON.stringify(await ctx.db.sql\`${limits}\`) })
        await ctx.db.sql\`select pg_sleep(5.8)\`
        await ctx.db.picture.create({ note: 'done' })
      })
      export const requested = route('GET /requested', { access: 'admin' }, async (ctx) => await ctx.db.sql\`${limits}\`)
    `,
  })
  await using database = await createTestDatabase()
  await database.sql(setup)
  // The transaction of a request then ends after 5.5 s.
  await using app = await createTestApp({
    database,
    config: {
      'functions.folder': folder.path,
      'database.statement_timeout_ms': '500',
      'database.max_conns': '4',
    },
  })
  const token = await app.adminToken()
  const requested = async () => (await app.request('GET', '/api/functions/requested', { token })).json
  const ofRequests = [{ statement: '500ms', idle: '5500ms' }]
  expect(await requested()).toEqual(ofRequests)
  const [{ id } = { id: '' }] = await database.sql<{ id: string }>(
    "select basalt.enqueue('long', '{}') as id",
  )
  const state = async () => {
    const [job] = await database.sql('select state, last_error from basalt.jobs where id = $1', [id])
    return job?.state === 'completed' || job?.state === 'failed' ? job : undefined
  }
  expect(await waitFor('the end of the job', state)).toEqual({ state: 'completed', last_error: null })
  expect(await database.sql('select note from picture order by id')).toEqual([
    { note: JSON.stringify([{ statement: '45s', idle: '45s' }]) },
    { note: 'done' },
  ])
  expect(await requested()).toEqual(ofRequests)
})
