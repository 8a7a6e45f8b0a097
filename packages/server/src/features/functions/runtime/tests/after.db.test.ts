import pg from 'pg'
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

const imports = `import { after, FunctionError, job } from '@basaltdb/functions'\n`
const setup = `
create table item (id int primary key, name text not null, size bigint, by uuid default basalt.user_id());
create table seen (id int generated always as identity primary key, by text not null, note json not null);
create table gate (is_open boolean not null);
create table loop (id int primary key);
create table quiet (id int primary key);
comment on table quiet is '@events off';
create view items as select * from item;
alter table item enable row level security;
create policy anyone on item using (true);
alter table seen enable row level security;
alter table gate enable row level security;
`
const files = {
  'items.ts': `${imports}
    const see = (ctx, by, note) => ctx.db.seen.create({ by, note })
    export const copied = after('item', ['create', 'update', 'delete'], async (ctx, change) => {
      if (change.record.name !== 'hurry') await see(ctx, 'copied', { ...change, user: ctx.user ?? null, kind: ctx.claims.kind, attempt: ctx.attempt })
    })
    export const queued = after('item', 'create', async (ctx, { record }) => {
      if (record.name === 'queued') await ctx.enqueue('later', {}, { key: ctx.event.id })
    })
    export const later = job('later', {}, async (ctx) => see(ctx, 'later', { user: ctx.user ?? null }))
    export const flaky = after('item', 'create', { retries: 1 }, async (ctx, { record }) => {
      if (record.name !== 'flaky') return
      await see(ctx, 'flaky', { attempt: ctx.attempt })
      if (ctx.attempt === 1) throw new Error('not yet')
    })
    export const broken = after('item', 'create', { retries: 0 }, async (ctx, { record }) => {
      ctx.log.info('looking', { id: record.id })
      if (record.name === 'wrong') throw new Error('never')
      if (record.name === 'nul') ctx.log.info('a\\0line')
      if (record.name === 'nul') throw new Error('a\\0' + 'b'.repeat(9000))
    })
    export const refusing = after('item', 'create', (ctx, { record }) => {
      if (record.name === 'refused') throw new FunctionError(422, 'not this one')
    })
    export const killed = after('item', 'create', async (ctx, { record }) => {
      if (record.name !== 'killed') return
      await see(ctx, 'killed', { attempt: ctx.attempt })
      if (ctx.attempt === 1) process.kill(process.pid, 'SIGKILL')
      if (ctx.attempt === 1) await new Promise(() => {})
    })
    export const patient = after('item', 'create', async (ctx, { record }) => {
      if (record.name !== 'patient') return
      while ((await ctx.db.sql\`select from gate where is_open\`).count === 0) await new Promise((resolve) => setTimeout(resolve, 20))
      await see(ctx, 'patient', 'first')
    })
    export const recursive = after('loop', 'create', async (ctx, { record }) => {
      await ctx.db.loop.create({ id: record.id + 1 })
    })`,
}
const names = ['broken', 'copied', 'flaky', 'killed', 'patient', 'queued', 'recursive', 'refusing']

let database: TestDatabase
let folder: FunctionsFolder
let first: TestApp
let second: TestApp

beforeAll(async () => {
  folder = makeFunctionsFolder(files)
  database = await createTestDatabase()
  await database.sql(setup)
  const config = { 'functions.folder': folder.path, 'functions.connections': '4' }
  first = await createTestApp({ database, config })
  second = await createTestApp({ database, config })
})
afterAll(async () => {
  for (const node of [second, first]) await node?.[Symbol.asyncDispose]()
  folder?.[Symbol.dispose]()
  await database?.[Symbol.asyncDispose]()
})
beforeEach(async () => {
  await untilCaptured(names)
  await waitFor('the end of all calls', async () => (await queue()).every(({ attempts }) => attempts > 0))
  await database.sql('delete from basalt.webhook_queue; truncate item, seen, gate, loop')
  await database.sql('delete from basalt.webhook_deliveries')
})

interface Row extends Record<string, unknown> {
  readonly id: string
  readonly name: string
  readonly attempts: number
}
const queue = (name = '%') =>
  database.sql<Row>(
    `select q.id, w.function_name as name, q.attempts from basalt.webhook_queue q join basalt.webhooks w on w.id = q.webhook_id
    where w.function_name like $1`,
    [name],
  )
const deliveries = (name: string) =>
  database.sql<{ success: boolean; error: string | null; output: string | null; attempt: number }>(
    `select d.success, d.error, d.response_body as output, d.attempt from basalt.webhook_deliveries d
    join basalt.webhooks w on w.id = d.webhook_id where w.function_name = $1 and d.request_body not like '%hurry%' order by d.delivered_at`,
    [name],
  )
const seen = async (by: string) =>
  (
    await database.sql<{ note: Record<string, unknown> }>('select note from seen where by = $1 order by id', [
      by,
    ])
  ).map(({ note }) => note)
/** Waits until the functions get all changes that begin now. */
async function untilCaptured(expected: readonly string[]) {
  await waitFor('the functions', async () => {
    const rows = await database.sql<{ name: string }>(
      'select function_name as name from basalt.webhooks where enabled order by 1',
    )
    return JSON.stringify(rows.map(({ name }) => name)) === JSON.stringify(expected)
  })
  await waitFor('the triggers', async () => {
    const rows = await database.sql(`select from pg_trigger where tgname like 'basalt_capture_%'`)
    return rows.length === (expected === names ? 4 : 1)
  })
}
const add = (id: number, name: string) =>
  database.sql('insert into item (id, name) values ($1, $2)', [id, name])
const untilRetry = (name: string) =>
  waitFor('the failure', async () => (await queue(name)).some(({ attempts }) => attempts === 1))
/** Makes a waiting retry due. */
const hurry = async () => {
  await database.sql(
    'update basalt.webhook_queue set due_at = now() where attempts > 0 and leased_until is null',
  )
  await add(999, 'hurry')
}
async function webhookOf(name: string) {
  const { json } = await first.request('GET', '/api/webhooks', { token: await first.adminToken() })
  return json.items.find(({ url }: { url: string }) => url === `function:${name}`)
}

describe('functions after a change', () => {
  test('get changes of the API and of SQL in the order of a record, with their user', async () => {
    const token = userToken({ sub: alice })
    const path = '/api/collections/item'
    const size = '9007199254740993'
    expect(
      (await first.request('POST', path, { token, body: `{"id":1,"name":"a","size":${size}}` })).status,
    ).toBe(201)
    expect((await second.request('PATCH', `${path}/1`, { token, body: { name: 'b' } })).status).toBe(200)
    await database.sql(`update item set name = 'c' where id = 1; delete from item where id = 1`)
    await waitFor('the changes', async () => (await seen('copied')).length === 4)
    const record = { id: 1, size, by: alice }
    const rest = { kind: 'administrator', attempt: 1 }
    expect(await seen('copied')).toEqual([
      { operation: 'create', record: { ...record, name: 'a' }, user: { id: alice }, ...rest },
      {
        ...{ operation: 'update', record: { ...record, name: 'b' }, previous: { ...record, name: 'a' } },
        ...{ user: { id: alice }, ...rest },
      },
      {
        ...{ operation: 'update', record: { ...record, name: 'c' }, previous: { ...record, name: 'b' } },
        ...{ user: null, ...rest },
      },
      { operation: 'delete', record: { ...record, name: 'c' }, user: null, ...rest },
    ])
  })

  test('handle each of many changes once on two nodes, in order', async () => {
    await database.sql(`insert into item (id, name) select n, '0' from generate_series(1, 20) n`)
    for (const step of ['1', '2', '3']) await database.sql(`update item set name = '${step}'`)
    await waitFor('the changes', async () => (await seen('copied')).length >= 80)
    const steps = new Map<number, string[]>()
    for (const { record } of (await seen('copied')) as { record: { id: number; name: string } }[])
      steps.set(record.id, [...(steps.get(record.id) ?? []), record.name])
    expect(steps.size).toBe(20)
    for (const each of steps.values()) expect(each).toEqual(['0', '1', '2', '3'])
  })

  test('are called again after an error, which undoes the attempt', async () => {
    await add(1, 'flaky')
    await untilRetry('flaky')
    expect(await seen('flaky')).toEqual([])
    await hurry()
    await waitFor('the second attempt', async () => (await seen('flaky')).length === 1)
    expect(await seen('flaky')).toEqual([{ attempt: 2 }])
    await waitFor('the records', async () =>
      (await deliveries('flaky')).some(({ attempt, success }) => attempt === 2 && success),
    )
  })

  test('give up after the last attempt, without holding up others, and can be repeated', async () => {
    await add(1, 'wrong')
    await database.sql(`update item set name = 'other' where id = 1`)
    await waitFor('the others', async () => (await seen('copied')).length === 2)
    await waitFor('the dead letter', async () => (await deliveries('broken')).length === 1)
    expect(await deliveries('broken')).toEqual([
      { success: false, error: 'the function failed: never', output: 'info: looking {"id":1}\n', attempt: 1 },
    ])
    await waitFor('an empty queue', async () => (await queue('broken')).length === 0)
    const { id } = await webhookOf('broken')
    const token = await first.adminToken()
    const replayed = await first.request('POST', `/api/webhooks/${id}/replays`, {
      token,
      body: { which: 'failed' },
    })
    expect(replayed.json).toMatchObject({ queued: 1 })
    await waitFor('the second failure', async () => (await deliveries('broken')).length === 2)
    const { items } = (await first.request('GET', '/api/admin/events?table=item&action=create', { token }))
      .json
    const timeline = await first.request('GET', `/api/admin/events/${items[0].id}`, { token })
    expect(timeline.text).toContain('the function failed: never')
  })

  test('give up an error and a log line with NUL', async () => {
    await add(1, 'nul')
    await waitFor('the delivery', async () => (await deliveries('broken')).length === 1)
    const [delivery] = await deliveries('broken')
    expect(delivery).toMatchObject({
      success: false,
      attempt: 1,
      output: expect.stringContaining('a\ufffdline'),
    })
    expect(delivery?.error).toMatch(/^[^\0]*a\ufffdb+$/)
    expect(delivery?.error).toHaveLength(4000)
    expect(await queue('broken')).toEqual([])
  })

  test('fail at once when they refuse', async () => {
    await add(1, 'refused')
    await waitFor('the refusal', async () => (await deliveries('refusing')).length === 1)
    expect(await deliveries('refusing')).toMatchObject([{ success: false, error: 'not this one' }])
    expect(await queue('refusing')).toEqual([])
  })

  test('are called again when kill -9 ends their process', async () => {
    await add(1, 'killed')
    await untilRetry('killed')
    expect(await seen('killed')).toEqual([])
    await hurry()
    await waitFor('the second attempt', async () => (await seen('killed')).length === 1)
    expect(await seen('killed')).toEqual([{ attempt: 2 }])
  })

  test('are called by another node when the lease of a lost one ends', async () => {
    await database.sql(`create function hold() returns trigger language plpgsql as $$
      begin
        if new.body like '%held%' then
          new.claim = 7; new.due_at = now() + interval '1 hour'; new.leased_until = now() + interval '1 hour';
        end if;
        return new;
      end $$;
      create trigger hold before insert on basalt.webhook_queue for each row execute function hold()`)
    await add(1, 'held')
    await waitFor('the claims', async () => (await queue('copied')).length === 1)
    await database.sql('drop trigger hold on basalt.webhook_queue; drop function hold')
    await database.sql(`update basalt.webhook_queue set due_at = now(), leased_until = now()`)
    await waitFor('the change', async () => (await seen('copied')).length === 1)
  })

  test('add jobs, which have the user of the change', async () => {
    const token = userToken({ sub: alice })
    await first.request('POST', '/api/collections/item', { token, body: { id: 1, name: 'queued' } })
    await waitFor('the job', async () => (await seen('later')).length === 1)
    expect(await seen('later')).toEqual([{ user: { id: alice } }])
  })

  test('end a recursion', async () => {
    await database.sql('insert into loop values (1)')
    await waitFor('the end', async () => (await deliveries('recursive')).some(({ success }) => !success))
    expect((await deliveries('recursive')).at(-1)?.error).toBe(
      'after functions have caused changes more than 8 times in a row',
    )
    expect(await database.sql('select count(*)::int as count from loop')).toEqual([{ count: 9 }])
  })

  test('are receivers that the API shows and does not change', async () => {
    const token = await first.adminToken()
    const webhook = await webhookOf('copied')
    expect(webhook).toMatchObject({ isOfFunction: true, tables: ['item'], enabled: true, hasSecret: false })
    const path = `/api/webhooks/${webhook.id}`
    for (const refused of [
      await first.request('PATCH', path, { token, body: { enabled: false } }),
      await first.request('DELETE', path, { token }),
      await first.request('POST', `${path}/test`, { token }),
    ])
      expect(envelope(refused)).toMatchObject({ code: 409, error: 'webhook_of_function' })
  })
})

describe('deploys of functions after a change', () => {
  test('let a call end, pass later changes to the new code, and disable a removed function', async () => {
    using next = makeFunctionsFolder({
      'items.ts': `${imports}export const patient = after('item', 'create', async (ctx, { record }) => {
        if (record.name === 'patient') await ctx.db.seen.create({ by: 'patient', note: 'second' })
      })`,
    })
    await add(1, 'patient')
    await waitFor(
      'the call',
      async () => (await queue('patient')).length === 1 && (await queue('copied')).length === 0,
    )
    for (const node of [first, second]) await node.app.functions.loadFolder(next.path)
    await untilCaptured(['patient'])
    await add(2, 'patient')
    await waitFor('the new code', async () => (await seen('patient')).length === 1)
    await database.sql('insert into gate values (true)')
    await waitFor('both', async () => (await seen('patient')).length === 2)
    expect(await seen('patient')).toEqual(['second', 'first'])
    for (const node of [first, second]) await node.app.functions.loadFolder(folder.path)
    await untilCaptured(names)
  })

  test('keep a change that is read after the removal of its function', async () => {
    using next = makeFunctionsFolder({
      'items.ts': `${imports}export const patient = after('item', 'create', () => {})`,
    })
    const reader = new pg.Client({ connectionString: database.url })
    await reader.connect()
    try {
      await reader.query("begin; select from basalt.event_cursors where consumer = 'webhooks' for update")
      await add(1, 'kept')
      for (const node of [first, second]) await node.app.functions.loadFolder(next.path)
      await untilCaptured(['patient'])
      await add(2, 'late')
    } finally {
      await reader.end()
    }
    await waitFor('the change', async () => (await queue('copied')).length > 0)
    expect(await queue('copied')).toHaveLength(1)
    for (const node of [first, second]) await node.app.functions.loadFolder(folder.path)
    await waitFor('the call', async () => (await seen('copied')).length === 1)
    expect(await seen('copied')).toMatchObject([{ record: { name: 'kept' } }])
    await untilCaptured(names)
  })

  test('are refused if their process ends before the server has checked the events of their tables', async () => {
    using next = makeFunctionsFolder({
      'late.ts': `${imports}
        import { existsSync } from 'node:fs'
        if (!existsSync(new URL('ready.txt', import.meta.url))) setTimeout(() => process.exit(3), 500)
        export const late = after('item', 'create', () => {})`,
    })
    const holder = new pg.Client({ connectionString: database.url })
    await holder.connect()
    try {
      // A query for the triggers of a table waits for this lock.
      await holder.query('begin; lock table pg_inherits in access exclusive mode')
      await expect(first.app.functions.loadFolder(next.path)).rejects.toThrow('it has ended with code 3')
    } finally {
      await holder.end()
    }
    next.write('ready.txt', '')
    await untilCaptured(['late'])
    await first.app.functions.loadFolder(folder.path)
    await untilCaptured(names)
  })

  test.each([
    ['a view', `after('items', 'create', () => {})`, 'wrong.ts: wrong: items has no events: it is no table'],
    [
      'a table without events',
      `after('quiet', 'create', () => {})`,
      'wrong.ts: wrong: quiet has no events: its comment holds @events off',
    ],
    ['an unknown operation', `after('item', 'truncate', () => {})`, 'expected create, update or delete'],
    ['a wrong option', `after('item', 'create', { timeout: 0 }, () => {})`, 'timeout must be an integer'],
  ])('are refused for %s', async (_name, text, message) => {
    using wrong = makeFunctionsFolder({ 'wrong.ts': `${imports}export const wrong = ${text}` })
    await expect(first.app.functions.loadFolder(wrong.path)).rejects.toThrow(message)
  })
})
