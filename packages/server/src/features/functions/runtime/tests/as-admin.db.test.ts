import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { alice, bob, notes } from '../../../../../test/fixtures.ts'
import { type FunctionsFolder, makeFunctionsFolder } from '../../../../../test/functions-folder.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

/** Tables beyond the reach of callers, and SQL functions that change the role or run a text. */
const setup = `
${notes}
create table stock (product text primary key, count int not null check (count >= 0), remark text);
alter table stock enable row level security;
revoke all on stock from basalt_authenticated;
grant select on note to basalt_anonymous;
alter table note alter owner_id drop not null;
create table trap (id int generated always as identity primary key, body text);
grant all on trap to basalt_authenticated;
create function spring() returns trigger language plpgsql as $$ begin execute new.body; return new; end $$;
create trigger spring before insert on trap for each row execute function spring();
create function become(role text) returns text language sql as $$ select set_config('role', role, true) $$;
create function claim(id text) returns text language sql as $$ select set_config('basalt.user_id', id, true) $$;
create function run_text(command text) returns text language plpgsql as $$
declare found text;
begin execute command into found; return found;
exception when insufficient_privilege then return sqlerrm;
end $$;
create table committed (role text, body text);
grant insert on committed to basalt_authenticated, basalt_anonymous;
create function record_role() returns trigger language plpgsql as $$
begin insert into committed values (current_user, new.body); return null; end $$;
create constraint trigger record_role after insert on note deferrable initially deferred
  for each row execute function record_role();
`

const who = `select current_user as role, session_user as login, basalt.user_id() as "user",
  current_setting('row_security') as security, (select count(*)::int from note) as notes`

const files = {
  'orders.ts': `
    import { before, FunctionError, inbound, job, route } from '@basaltdb/functions'
    const input = { type: 'object', additionalProperties: true }
    const admin = { access: 'user', admin: true, input } as const
    const who = (db) => db.sql\`${who}\`.then(([row]) => row)
    // The statement is a text of the request here, as no function should do it.
    const run = (db, text) => db.sql(Object.assign([text], { raw: [text] }))
    const caught = (work) => work.then((done) => ({ done }), ({ status, error, message }) => ({ status, error, message }))
    export const interleaved = route('POST /interleaved', admin, async (ctx) => {
      const first = await who(ctx.db)
      const { db } = ctx.asAdmin('count all notes')
      const second = await who(db)
      const created = await ctx.db.note.create({ body: 'of the caller' })
      const owned = await db.note.create({ body: 'of the administrator' })
      const together = await Promise.all([ctx.db, db, ctx.db, db].map(who))
      return { first, second, owners: [created.owner_id, owned.owner_id], together, last: await who(ctx.db) }
    })
    export const order = route('POST /order', admin, async (ctx, { product, fails }) => {
      const left = await ctx.db.from('stock').get(product).catch((error) => error.error)
      const stock = ctx.asAdmin('reserve the stock').db.stock
      const { count } = await stock.get(product)
      const changed = await stock.update(product, { count: count - 1 }, { ifMatch: undefined })
      if (fails) throw new FunctionError(409, 'undone')
      return { left, changed }
    })
    export const take = route('POST /take', admin, async (ctx) => {
      const rows = await ctx.asAdmin('take one').db.sql\`update stock set count = count - 1 where product = 'lamp' returning count\`
      await ctx.db.note.create({ body: 'took one' })
      return rows
    })
    export const failing = route('POST /failing', admin, async (ctx, { text }) => {
      await ctx.db.note.create({ body: 'before' })
      const { db } = ctx.asAdmin('try a statement')
      return { failed: await caught(run(db, text)), after: await who(ctx.db), again: await who(db) }
    })
    export const hostile = route('POST /hostile', admin, async (ctx, { text, as }) => {
      await ctx.db.note.create({ body: 'undone' })
      const db = as === 'admin' ? ctx.asAdmin('run a hostile text').db : ctx.db
      const result = await caught(run(db, text))
      return { result, after: await caught(who(ctx.db)) }
    })
    export const sprung = route('POST /sprung', admin, async (ctx, { body, as }) => {
      await ctx.db.note.create({ body: 'undone' })
      const db = as === 'admin' ? ctx.asAdmin('write to the trap').db : ctx.db
      return { result: await caught(db.trap.create({ body })), after: await caught(who(ctx.db)) }
    })
    export const reasons = route('POST /reasons', admin, (ctx, { reason }) => caught(Promise.resolve().then(() => ctx.asAdmin(reason)))
      .then(({ message }) => message ?? 'accepted'))
    let leaked
    export const leak = route('POST /leak', admin, (ctx) => { leaked = ctx.asAdmin('leaked').db })
    export const useLeaked = route('POST /use-leaked', admin, async () => [
      await caught(leaked.stock.update('lamp', { count: 0 })), await caught(leaked.sql\`delete from stock\`)])
    export const unawaited = route('POST /unawaited', admin, (ctx) => {
      void ctx.asAdmin('not awaited').db.sql\`update stock set count = 4 where product = 'lamp'\`
    })
    export const nested = route('POST /nested', admin, async (ctx, { count }) => {
      const { db } = ctx.asAdmin('correct the stock')
      const refused = await caught(db.stock.update('lamp', { count }))
      await ctx.db.note.create({ body: 'hooked' })
      return { refused, after: await who(ctx.db) }
    })
    export const ordered = before('stock', 'update', async (ctx, change) => {
      if (change.values.count > 100) {
        await ctx.db.sql\`insert into note (body) values ('undone with the hook')\`
        throw new FunctionError(422, 'too many')
      }
      const denied = await caught(Promise.resolve().then(() => ctx.asAdmin('from a hook')))
      change.values.remark = JSON.stringify({ user: ctx.user ?? null, kind: ctx.claims.kind, role: (await who(ctx.db)).role, denied: denied.message })
    })
    export const hooked = before('note', 'create', async (ctx, change) => {
      if (change.values.body === 'hooked') change.values.body = 'hooked as ' + (await who(ctx.db)).role
    })
    export const count = job('count', {}, async (ctx) => {
      await ctx.db.stock.update('lamp', { count: 7 })
    })
    export const open = route('POST /open', { access: 'anonymous', admin: true }, async (ctx) =>
      [(await who(ctx.db)).role, (await who(ctx.asAdmin('count for everyone').db)).notes, (await who(ctx.db)).role])
    export const delivered = inbound('delivered', ({ headers }) => ({ id: headers['x-id'], time: new Date() }), { admin: true },
      async (ctx) => [(await who(ctx.db)).role, (await ctx.asAdmin('a delivery').db.stock.update('lamp', { count: 9 })).count])
  `,
  'plain.ts': `
    import { Socket } from 'node:net'
    import { route } from '@basaltdb/functions'
    const input = { type: 'object', additionalProperties: true }
    export const undeclared = route('POST /undeclared', { access: 'user' }, async (ctx) => {
      await ctx.db.note.create({ body: 'undone' })
      return await ctx.asAdmin('I am not declared').db.sql\`delete from stock\`
    })
    export const plainSprung = route('POST /plain-sprung', { access: 'user', input }, (ctx, { body }) => ctx.db.trap.create({ body }))
    // Sees the frames of its own call, and sends others with the same token.
    export const forge = route('POST /forge', { access: 'user', input }, async (ctx, { frames }) => {
      let sent
      const { write } = Socket.prototype
      Socket.prototype.write = function (chunk, ...rest) { sent = { socket: this, chunk }; return write.call(this, chunk, ...rest) }
      await ctx.db.sql\`select 'the token of the call'\`
      Socket.prototype.write = write
      const { call } = JSON.parse(sent.chunk.subarray(4))
      for (const frame of frames) {
        const body = Buffer.from(JSON.stringify({ ...frame, call }))
        const head = Buffer.alloc(4)
        head.writeUInt32BE(body.length)
        write.call(sent.socket, Buffer.concat([head, body]))
      }
      const [{ count }] = await ctx.db.sql\`select count(*)::int from note\`
      return { hasToken: call.length > 10, count }
    })
  `,
}

let folder: FunctionsFolder
let app: TestApp
const token = userToken({ sub: alice })

beforeAll(async () => {
  folder = makeFunctionsFolder(files)
  app = await createTestApp({
    setup,
    config: {
      'functions.folder': folder.path,
      'functions.connections': '3',
      'functions.timeout': '25',
      'audit.tables': 'stock',
    },
  })
})
afterAll(async () => {
  await app?.[Symbol.asyncDispose]()
  folder?.[Symbol.dispose]()
})
beforeEach(async () => {
  await app.sql('truncate note, stock, trap, committed, basalt.audit restart identity')
  await app.sql("insert into note (owner_id, body) values ($1, 'of alice'), ($2, 'of bob'), ($2, 'of bob')", [
    alice,
    bob,
  ])
  await app.sql("insert into stock values ('lamp', 3, null)")
  await app.sql('truncate committed, basalt.audit')
})

const call = (path: string, body: object | undefined = {}, options: Parameters<TestApp['request']>[2] = {}) =>
  app.request('POST', `/api/functions${path}`, { token, body, ...options })
const bodies = async () => (await app.sql('select body from note order by id')).map(({ body }) => body)
const stock = async () => (await app.sql('select count from stock')).map(({ count }) => count)
const unchanged = ['of alice', 'of bob', 'of bob']
const entries = async () =>
  await app.sql(`
    select actor, action, target, detail, user_id, address, app_id, api_key_id, operation, table_name, record_id,
      request_id, administrator, new_values ->> 'count' as count
    from basalt.audit order by id`)

const asCaller = { role: 'basalt_authenticated', login: 'basalt_administrator', user: alice, security: 'on' }
const asAdmin = { role: 'basalt_administrator', login: 'basalt_administrator', user: null, security: 'off' }
const none = { operation: null, table_name: null, record_id: null, count: null, administrator: null }
const client = {
  address: '127.0.0.1',
  app_id: '00000000-0000-0000-0000-000000000000',
  api_key_id: null,
}

describe('ctx.asAdmin', () => {
  test('is the administrator in the same transaction, and leaves ctx.db the caller', async () => {
    const { status, json } = await call('/interleaved')
    expect([status, json]).toEqual([
      200,
      {
        first: { ...asCaller, notes: 1 },
        second: { ...asAdmin, notes: 3 },
        owners: [alice, null],
        together: [
          { ...asCaller, notes: 2 },
          { ...asAdmin, notes: 5 },
          { ...asCaller, notes: 2 },
          { ...asAdmin, notes: 5 },
        ],
        last: { ...asCaller, notes: 2 },
      },
    ])
    expect(await app.sql('select role, body from committed order by body')).toEqual([
      // As of PostgreSQL 18, a deferred trigger runs as the role of its statement.
      { role: expect.stringMatching(/^basalt_(administrator|authenticated)$/), body: 'of the administrator' },
      { role: 'basalt_authenticated', body: 'of the caller' },
    ])
  })

  test('is recorded with function, call, caller and reason, once, and in the history of the rows', async () => {
    const headers = { 'x-request-id': 'request-order' }
    const { status, json } = await call('/order', { product: 'lamp' }, { headers })
    expect([status, json.left, json.changed?.count]).toEqual([200, 'insufficient_permissions', 2])
    const common = { ...client, user_id: alice, request_id: 'request-order' }
    expect(await entries()).toEqual([
      {
        ...none,
        ...common,
        actor: 'user',
        action: 'functions.as_admin',
        target: 'order',
        detail: { reason: 'reserve the stock' },
      },
      {
        ...none,
        ...common,
        actor: 'function as admin',
        action: 'rows.update',
        target: null,
        detail: { function: 'order', reason: 'reserve the stock' },
        operation: 'UPDATE',
        table_name: 'stock',
        record_id: 'lamp',
        count: '2',
      },
    ])
  })

  test('stays recorded when the call is undone', async () => {
    const { status } = await call('/order', { product: 'lamp', fails: true })
    expect([status, await stock()]).toEqual([409, [3]])
    expect(await entries()).toMatchObject([{ action: 'functions.as_admin', target: 'order' }])
  })

  test('is recorded with an administrator or an anonymous caller', async () => {
    const admin = await app.adminToken()
    await app.sql('truncate basalt.audit')
    expect((await call('/order', { product: 'lamp' }, { token: admin })).json.left).toMatchObject({
      count: 3,
    })
    const open = await app.request('POST', '/api/functions/open')
    expect([open.status, open.json]).toEqual([200, ['basalt_anonymous', 3, 'basalt_anonymous']])
    expect(await entries()).toMatchObject([
      { actor: 'admin', action: 'functions.as_admin', user_id: null },
      { actor: 'function as admin', action: 'rows.update', user_id: null },
      { actor: 'anonymous', action: 'functions.as_admin', target: 'open', user_id: null },
    ])
  })

  test('is the administrator in an inbound function', async () => {
    const response = await app.request('POST', '/api/functions/inbound/delivered', {
      headers: { 'x-id': 'delivery-1' },
      body: {},
    })
    expect([response.status, response.json]).toEqual([200, ['basalt_anonymous', 9]])
    expect(await entries()).toMatchObject([
      { actor: 'inbound', action: 'functions.as_admin', target: 'delivered', app_id: null },
      { actor: 'function as admin', detail: { function: 'delivered', reason: 'a delivery' }, count: '9' },
    ])
  })

  test('lets one of two concurrent callers take the last item, and refuses the other', async () => {
    await app.sql('update stock set count = 1')
    const by = [alice, bob].map((sub) => userToken({ sub }))
    const answers = await Promise.all(by.map((each) => call('/take', {}, { token: each })))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 400])
    expect([await stock(), (await bodies()).length]).toEqual([[0], 4])
  })

  test('continues after a failed statement, with the identity of each handle', async () => {
    const { status, json } = await call('/failing', { text: 'select 1 / 0' })
    expect([status, json.failed.status, json.after, json.again]).toEqual([
      200,
      400,
      { ...asCaller, notes: 2 },
      { ...asAdmin, notes: 4 },
    ])
  })

  test.each(['select from basalt.users', 'select * into copied from note'])(
    'has the rights of administrators on rows, and no others: %s',
    async (text) => {
      const { json } = await call('/failing', { text })
      expect(json.failed).toMatchObject({ status: 403, error: 'insufficient_permissions' })
      expect(json.after).toEqual({ ...asCaller, notes: 2 })
    },
  )

  test.each([
    'set role basalt_gateway',
    'reset role',
    "select set_config('role', 'none', true)",
    'commit',
    'rollback',
  ])('refuses %s in both handles', async (text) => {
    for (const as of ['admin', 'caller']) {
      const { json } = await call('/hostile', { text, as })
      expect([as, json.result.error, json.after.done?.role]).toEqual([
        as,
        'statement_not_allowed',
        'basalt_authenticated',
      ])
    }
  })

  test.each([
    ['caller', "select become('none')"],
    ['caller', "select become('basalt_anonymous')"],
    ['caller', `select claim('${bob}')`],
    ['admin', "select become('basalt_authenticated')"],
    ['admin', `select claim('${alice}')`],
  ])('undoes the transaction when a statement of the %s is %s', async (as, text) => {
    const { status, json } = await call('/hostile', { text, as })
    expect([status, json.error]).toEqual([409, 'transaction_ended'])
    expect(await bodies()).toEqual(unchanged)
  })

  test.each([
    ['caller', 'set local role none'],
    ['caller', `set local basalt.user_id = '${bob}'`],
    ['admin', 'set local role basalt_authenticated'],
  ])('undoes the transaction when a trigger changes the context of the %s by %s', async (as, body) => {
    const { status, json } = await call('/sprung', { body, as })
    expect([status, json.error]).toEqual([409, 'transaction_ended'])
    expect([await bodies(), await app.sql('select from trap')]).toEqual([unchanged, []])
  })

  test('lets a text that reaches execute become the administrator, and never the owner', async () => {
    const attempt = async (command: string) => {
      const text = `select run_text('${command.replaceAll("'", "''")}') as found`
      const { json } = await call('/hostile', { text, as: 'caller' })
      return json.result?.done?.[0].found ?? json.error
    }
    expect(await attempt('select count(*) from stock')).toBe('permission denied for table stock')
    expect(await attempt('select current_user')).toBe('basalt_authenticated')
    for (const role of ['postgres', 'basalt_gateway'])
      expect(await attempt(`set role ${role}`)).toBe(`permission denied to set role "${role}"`)
    // It has left the role of the caller, so its result is not delivered.
    expect(await attempt("select become('none')")).toBe('transaction_ended')
    // It returns to the role of the caller, so nothing shows that it has read all rows.
    const body = `set local role none; insert into committed select 'read', body from note;
      set local role basalt_authenticated`
    expect((await call('/sprung', { body, as: 'caller' })).json.result.done.id).toBe(1)
    const read = await app.sql("select distinct body from committed where role = 'read'")
    expect(read.map(({ body: found }) => found)).toContain('of bob')
    // Elsewhere its login reads nothing.
    await app.sql('truncate committed')
    expect((await call('/plain-sprung', { body })).status).toBe(500)
    expect(await app.sql('select from committed')).toEqual([])
  })

  test.each([[''], [' '], ['x'.repeat(201)], [7], [null], ['a\u0000b'], ['a\nb']])(
    'refuses the reason %j',
    async (reason) => {
      const { json } = await call('/reasons', { reason })
      expect(json).toMatch(
        /^ctx\.asAdmin: (expected a reason of 1 to 200 characters|the reason has a control)/,
      )
    },
  )

  test('is refused after the end of the call', async () => {
    await call('/leak')
    const { json } = await call('/use-leaked')
    expect(json).toMatchObject([{ error: 'transaction_ended' }, { error: 'transaction_ended' }])
    expect([await stock(), await entries()]).toEqual([[3], []])
  })

  test('commits a statement that is not awaited, with its record', async () => {
    expect((await call('/unawaited')).status).toBe(204)
    expect(await stock()).toEqual([4])
    expect(await entries()).toMatchObject([{ action: 'functions.as_admin' }, { action: 'rows.update' }])
  })

  test('passes hooks as an administrator, which have no such handle', async () => {
    const { status, json } = await call('/nested', { count: 5 })
    expect([status, json.after]).toEqual([200, { ...asCaller, notes: 2 }])
    const [row] = await app.sql('select count, remark from stock')
    expect([row?.count, JSON.parse(row?.remark)]).toEqual([
      5,
      {
        user: null,
        kind: 'administrator',
        role: 'basalt_administrator',
        denied: expect.stringContaining('asAdmin'),
      },
    ])
    expect(await bodies()).toContain('hooked as basalt_authenticated')
  })

  test('undoes the writes of a hook that refuses, and continues as the caller', async () => {
    const { status, json } = await call('/nested', { count: 101 })
    expect([status, json.refused.status, json.after]).toEqual([200, 422, { ...asCaller, notes: 2 }])
    expect([await stock(), await bodies()]).toEqual([[3], [...unchanged, 'hooked as basalt_authenticated']])
  })
})

describe('functions without admin: true', () => {
  test('have no ctx.asAdmin, and no connection of administrators', async () => {
    const response = await call('/undeclared', undefined)
    expect([response.status, envelope(response)]).toMatchObject([500, { error: 'function_failed' }])
    expect(app.log.some((line) => line.includes('the function is not declared with admin: true'))).toBe(true)
    expect([await stock(), await bodies(), await entries()]).toEqual([[3], unchanged, []])
  })

  test('gain nothing by frames with their own token', async () => {
    const request = { type: 'request', method: 'PATCH', path: 'collections/stock/lamp', query: '' }
    const { status, json } = await call('/forge', {
      frames: [
        { type: 'sql', id: 900_000, text: 'delete from stock', values: [], reason: 'forged' },
        { ...request, id: 900_001, body: '{"count":0}', reason: 'forged' },
      ],
    })
    expect([status, json]).toEqual([200, { hasToken: true, count: 1 }])
    expect([await stock(), await entries()]).toEqual([[3], []])
  })
})

test('jobs of functions › are recorded in the history of the rows', async () => {
  await app.sql("select basalt.enqueue('count', '{}')")
  await waitFor('the job', async () => (await stock())[0] === 7)
  expect(await entries()).toMatchObject([
    { actor: 'job', action: 'rows.update', detail: {}, app_id: null, address: null, count: '7' },
  ])
})
