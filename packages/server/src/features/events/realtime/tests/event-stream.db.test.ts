import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type EventStreamClient, openEventStream } from '../../../../../test/event-stream.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { created, deleted, idsOf, namesOf, updated } from './messages.ts'

let app: TestApp
const aliceToken = userToken({ sub: alice })
const bobToken = userToken({ sub: bob })

beforeAll(async () => {
  app = await createTestApp({
    setup: `
      create table item (id bigint primary key, name text, price numeric);
      create table note (id int primary key, owner text not null, body text);
      alter table note enable row level security;
      create policy own on note using (owner = current_setting('basalt.user_id', true));
      create table pair (a int, b text, v int, primary key (a, b));
      create table keyless (v int);
      create table document (id int primary key, body json, big numeric, tags text[]);
      create table secretive (id int primary key, shown text, hidden text);
      revoke select on secretive from basalt_authenticated;
      grant select (id, shown) on secretive to basalt_authenticated;
      create table closed (id int primary key);
      revoke all on closed from basalt_authenticated;
      create view item_names as select name from item`,
  })
})
afterAll(() => app[Symbol.asyncDispose]())
beforeEach(() => app.sql('delete from item; delete from note; delete from pair; delete from document'))

function open(query: string, token: string | undefined = aliceToken, lastEventId?: string) {
  return openEventStream(app.url, query, { token, lastEventId })
}

async function write(method: string, path: string, body?: unknown, token = aliceToken): Promise<void> {
  const response = await app.request(method, `/api/collections/${path}`, { token, body })
  if (response.status >= 400) throw new Error(response.text)
}

/** Returns all changes up to a last one, without it. */
async function until(stream: EventStreamClient, table = 'item') {
  await write('POST', table, { id: 999 })
  const all = await waitFor('the last change', () =>
    stream.messages.some(({ record }) => record.id === 999) ? stream.messages : undefined,
  )
  return all.filter(({ record }) => record.id !== 999)
}

describe('realtime › GET /api/realtime', () => {
  test('sends its client id, and then creates, updates and deletes', async () => {
    await using stream = await open('tables=item')
    expect(stream.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
    })
    expect(stream.events[0]).toEqual({
      name: 'connected',
      id: expect.stringMatching(/./),
      data: { clientId: expect.stringMatching(/^[0-9a-f-]{36}$/) },
    })
    await write('POST', 'item', { id: 1, name: 'a', price: 2.5 })
    await write('PATCH', 'item/1', { price: 3 })
    await write('DELETE', 'item/1')
    expect(await stream.next(3)).toEqual([
      created('item', { id: 1, name: 'a', price: 2.5 }),
      updated('item', { id: 1, name: 'a', price: 3 }),
      deleted('item', { id: '1' }),
    ])
    expect(new Set(stream.events.map(({ id }) => id)).size).toBe(4)
  })

  test('accepts the token as a parameter, which no log contains', async () => {
    const token = userToken({ sub: alice, email: 'parameter@example.com' })
    await using stream = await openEventStream(app.url, `tables=item&token=${token}`)
    await write('POST', 'item', { id: 1 })
    expect(await stream.next(1)).toHaveLength(1)
    expect(app.log.join()).not.toContain(token)
  })

  test('sends events of each subscribed table and of no other', async () => {
    await using stream = await open('tables=item,%20pair,,item')
    await write('POST', 'document', { id: 1 })
    await write('POST', 'pair', { a: 1, b: 'x,y', v: 1 })
    await write('DELETE', 'pair/1,x%2Cy')
    expect(await until(stream)).toEqual([
      created('pair', { a: 1, b: 'x,y', v: 1 }),
      deleted('pair', { a: '1', b: 'x,y' }),
    ])
  })

  test('preserves every digit, and sends JSON of several lines in one', async () => {
    await using stream = await open('tables=document')
    await write(
      'POST',
      'document',
      '{"id":1,"body":{"a":\n\r\n1.10},"big":12345678901234567890.10,"tags":["a\\nb"]}',
    )
    const raw = await waitFor('the change', () => stream.messages[0])
    expect(raw).toEqual({
      action: 'create',
      table: 'document',
      record: { id: 1, body: { a: 1.1 }, big: expect.any(Number), tags: ['a\nb'] },
    })
    expect(stream.text).toContain('"big":12345678901234567890.10')
  })

  test('sends creates of a table without a primary key', async () => {
    await using stream = await open('tables=keyless')
    await write('POST', 'keyless', { v: 1 })
    expect(await stream.next(1)).toEqual([created('keyless', { v: 1 })])
  })

  test('sends only columns that callers may read', async () => {
    await app.sql(`grant insert, update, delete on secretive to basalt_authenticated`)
    await using stream = await open('tables=secretive')
    await app.sql(`insert into secretive values (1, 'a', 'b')`)
    await app.request('PATCH', '/api/collections/secretive/1', {
      token: await app.adminToken(),
      body: { shown: 'c', hidden: 'd' },
    })
    await app.request('DELETE', '/api/collections/secretive/1', { token: await app.adminToken() })
    expect(await stream.next(3)).toEqual([
      created('secretive', { id: 1, shown: 'a' }),
      updated('secretive', { id: 1, shown: 'c' }),
      deleted('secretive', { id: '1' }),
    ])
    expect(stream.text).not.toContain('hidden')
  })

  test('sends a committed batch in its order, and nothing of a batch that is rolled back', async () => {
    await using stream = await open('tables=item')
    const operations = [
      { method: 'create', body: { id: 1, name: 'a' } },
      { method: 'update', id: '1', body: { name: 'b' } },
      { method: 'create', body: { id: 2 } },
      { method: 'delete', id: '1' },
    ]
    await write('POST', 'item/batch', { operations })
    const failing = {
      operations: [
        { method: 'create', body: { id: 3 } },
        { method: 'delete', id: '77' },
      ],
    }
    expect(
      (await app.request('POST', '/api/collections/item/batch', { token: aliceToken, body: failing })).status,
    ).toBe(404)
    expect((await until(stream)).map(({ action, record }) => `${action} ${record.id}`)).toEqual([
      'create 1',
      'update 1',
      'create 2',
      'delete 1',
    ])
  })

  test('misses no transaction that commits late, and sends writes of plain SQL', async () => {
    await using captured = await createTestApp({ setup: 'create table thing (id int primary key)' })
    await using stream = await openEventStream(captured.url, 'tables=thing', { token: aliceToken })
    let release = () => {}
    const blocked = new Promise<void>((resolve) => {
      release = resolve
    })
    const late = captured.app.database.system.transaction(async (transaction) => {
      await transaction.execute({ text: 'insert into thing values (1)', values: [] })
      await blocked
    })
    await captured.sql('insert into thing values (2)')
    await stream.next(1)
    release()
    await late
    expect((await stream.next(2)).map(({ record }) => record.id)).toEqual([2, 1])
  })
})

test('realtime › a transaction of thousands of rows › is sent completely and in order, also after a reconnect', async () => {
  await using big = await createTestApp({ setup: 'create table thing (id int primary key, text text)' })
  await using stream = await openEventStream(big.url, 'tables=thing', { token: aliceToken })
  // Batches end by number and by size.
  await big.sql(`insert into thing select n, repeat('x', case when n > 2000 then 5000 else 1 end)
    from generate_series(1, 2600) n`)
  const ids = Array.from({ length: 2600 }, (_, index) => index + 1)
  expect((await stream.next(2600)).map(({ record }) => record.id)).toEqual(ids)
  const positions = [0, 499, 500, 501, 1700, 2300].map((index) => [index, stream.events[index]?.id] as const)
  for (const [index, id] of positions) {
    await using resumed = await openEventStream(big.url, 'tables=thing', {
      token: aliceToken,
      lastEventId: id,
    })
    await resumed.next(2600 - index)
    expect(idsOf(resumed)).toEqual(ids.slice(index))
    expect(namesOf(resumed)).not.toContain('gap')
  }
})

describe('realtime › row-level security', () => {
  test('decides about each event, including deletes', async () => {
    await using mine = await open('tables=note')
    await using theirs = await open('tables=note', bobToken)
    await write('POST', 'note', { id: 1, owner: alice, body: 'a' })
    await write('PATCH', 'note/1', { body: 'b' })
    await write('DELETE', 'note/1')
    await write('POST', 'note', { id: 2, owner: bob }, bobToken)
    expect(await theirs.next(1)).toEqual([created('note', { id: 2, owner: bob, body: null })])
    expect(await mine.next(3)).toEqual([
      created('note', { id: 1, owner: alice, body: 'a' }),
      updated('note', { id: 1, owner: alice, body: 'b' }),
      deleted('note', { id: '1' }),
    ])
    expect(mine.messages).toHaveLength(3)
  })

  test('sends a newly hidden record as a delete, and a newly visible one as an update', async () => {
    await using mine = await open('tables=note')
    await using theirs = await open('tables=note', bobToken)
    await write('POST', 'note', { id: 1, owner: alice, body: 'a' })
    await app.request('PATCH', '/api/collections/note/1', {
      token: await app.adminToken(),
      body: { owner: bob },
    })
    expect(await mine.next(2)).toEqual([
      created('note', { id: 1, owner: alice, body: 'a' }),
      deleted('note', { id: '1' }),
    ])
    expect(await theirs.next(1)).toEqual([updated('note', { id: 1, owner: bob, body: 'a' })])
  })

  test('evaluates the policies once per identity and event, whatever the number of streams', async () => {
    await using counted = await createTestApp({
      setup: `
        create sequence evaluated;
        grant usage on sequence evaluated to basalt_authenticated;
        create table room (id int primary key, owner text);
        alter table room enable row level security;
        create policy listed on room for select
          using (case when nextval('public.evaluated') > 0 then owner = current_setting('basalt.user_id', true) end)`,
    })
    const ids = Array.from({ length: 10 }, (_, n) => `00000000-0000-4000-8000-00000000000${n}`)
    const streams = await Promise.all(
      Array.from({ length: 500 }, (_, n) =>
        openEventStream(counted.url, 'tables=room', { token: userToken({ sub: ids[n % 10] ?? '' }) }),
      ),
    )
    const body = { id: 1, owner: ids[3] }
    const admin = await counted.adminToken()
    await counted.request('POST', '/api/collections/room', { token: admin, body })
    const subscribed = streams.filter((_, n) => n % 10 === 3)
    await Promise.all(subscribed.map((stream) => stream.next(1)))
    const countEvaluated = async () =>
      Number((await counted.sql('select last_value from evaluated'))[0]?.last_value)
    await waitFor('all to be evaluated', async () => (await countEvaluated()) >= 10)
    // Nothing more is evaluated after the next event, which causes as many evaluations.
    await counted.request('DELETE', '/api/collections/room/1', { token: admin })
    await Promise.all(subscribed.map((stream) => stream.next(2)))
    await waitFor('all to be evaluated again', async () => (await countEvaluated()) >= 20)
    expect(await countEvaluated()).toBe(20)
    expect(streams.filter(({ messages }) => messages.length > 0)).toEqual(subscribed)
    await Promise.all(streams.map((stream) => stream[Symbol.asyncDispose]()))
  })

  test('applies every kind of policy', async () => {
    await using odd = await createTestApp({
      setup: `
        create schema shop;
        create table member (room int, who text);
        create table post (id int primary key, room int, draft bool default false, "odd ""name" text, divisor int);
        create function shop.is_public(p post) returns bool language sql stable as 'select p.room = 0';
        create function own_room(room int) returns bool language sql stable security definer
          set search_path = public as
          $$ select exists (select from member m where m.room = own_room.room
            and m.who = current_setting('basalt.user_id', true)) $$;
        alter table post enable row level security;
        grant usage on schema shop to basalt_authenticated;
        create policy members on post for select to basalt_authenticated
          using (exists (select from member m where m.room = post.room
            and m.who = current_setting('basalt.user_id', true)));
        create policy everybody on post using (shop.is_public(post));
        create policy no_drafts on post as restrictive for select using (not draft);
        create policy others on post for select to pg_monitor using (true);
        create policy odd on post for select using ("odd ""name" = 'it''s me' and own_room(room - 1));
        create policy failing on post for select using (divisor is not null and 1 / divisor = 1);
        insert into member values (1, '${alice}')`,
    })
    await using stream = await openEventStream(odd.url, 'tables=post', { token: aliceToken })
    const admin = await odd.adminToken()
    const posts = [
      { id: 1, room: 1 },
      { id: 2, room: 0 },
      { id: 3, room: 5 },
      { id: 4, room: 1, draft: true },
      { id: 5, room: 2, 'odd "name': "it's me" },
      { id: 6, room: 3, 'odd "name': "it's me" },
      { id: 7, room: 5, divisor: 1 },
      { id: 8, room: 5, divisor: 0 },
      { id: 9, room: 1 },
    ]
    const operations = posts.map((body) => ({ method: 'create', body }))
    await odd.request('POST', '/api/collections/post/batch', { token: admin, body: { operations } })
    expect((await stream.next(5)).map(({ record }) => record.id)).toEqual([1, 2, 5, 7, 9])
    const listed = await odd.request('GET', '/api/collections/post?fields=id&filter=id!=8', {
      token: aliceToken,
    })
    // A list would show the same rows if one row did not make its policy fail.
    expect(listed.status === 200 ? listed.json.items.map(({ id }: { id: number }) => id) : 'failed').toEqual([
      1, 2, 5, 7, 9,
    ])
  })

  test('sends nothing where a policy needs the table itself, and logs it', async () => {
    await using strange = await createTestApp({
      setup: `
        create table odd (id int primary key);
        create table even (id int primary key);
        alter table odd enable row level security;
        create policy strange on odd using (tableoid > 0)`,
    })
    await using stream = await openEventStream(strange.url, 'tables=odd,even', { token: aliceToken })
    for (const table of ['odd', 'even'])
      await strange.request('POST', `/api/collections/${table}`, { token: aliceToken, body: { id: 1 } })
    expect(await stream.next(1)).toEqual([created('even', { id: 1 })])
    expect(stream.hasEnded).toBe(false)
    expect(strange.log.join()).toContain('a policy failed on a changed record')
  })

  test('sends a gap when a policy changes, and decides by the new one', async () => {
    await using stream = await open('tables=note')
    await app.sql(`drop policy own on note; create policy own on note using (body = 'shared')`)
    await stream.named('gap')
    await write('POST', 'note', { id: 1, owner: bob, body: 'shared' })
    expect(await stream.next(1)).toHaveLength(1)
    await app.sql(`drop policy own on note;
      create policy own on note using (owner = current_setting('basalt.user_id', true))`)
    await app.app.catalog.refresh()
  })
})

describe('realtime › filter', () => {
  beforeAll(() =>
    app.sql(`
      create type mood as enum ('sad', 'ok', 'happy');
      create domain short as varchar(5) check (value <> 'bad');
      create table typed (
        id int primary key, small int2, big int8, amount numeric, moment timestamptz, flag bool, key uuid,
        feeling mood, name short, day date, data jsonb, list int[], hidden int
      )`),
  )
  beforeEach(() => app.sql('delete from typed'))

  test.each([
    ['small=eq.7', { small: 7 }, { small: 8 }],
    ['big=eq.9007199254740993', '{"big":9007199254740993}', '{"big":9007199254740992}'],
    ['big=neq.5', { big: 6 }, { big: 5 }],
    ['amount=eq.1.5', { amount: 1.5 }, { amount: 1.51 }],
    ['amount=eq.1.50', { amount: 1.5 }, {}],
    ['amount=gt.10', { amount: 10.01 }, { amount: 9 }],
    ['amount=gte.10,amount=lt.20', { amount: 10 }, { amount: 20 }],
    ['amount=lte.-1', { amount: -1 }, { amount: 0 }],
    [
      'moment=gt.2026-01-01T00:00:00Z',
      { moment: '2026-01-01T00:00:01Z' },
      { moment: '2026-01-01T01:00:00+02' },
    ],
    ['flag=eq.true', { flag: true }, { flag: false }],
    ['key=eq.A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', { key: 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11' }, {}],
    ['feeling=gt.sad', { feeling: 'happy' }, { feeling: 'sad' }],
    ['feeling=in.sad|ok', { feeling: 'ok' }, { feeling: 'happy' }],
    ['name=eq.a.b', { name: 'a.b' }, { name: 'a' }],
    ['name="eq"'.replace('"eq"', 'eq."a,b"'), { name: 'a,b' }, { name: 'a' }],
    ['"name"=eq.x', { name: 'x' }, { name: 'y' }],
    ['name=in.a|"b\\', { name: '"b\\' }, { name: 'b' }],
    ['day=eq.2026-02-03', { day: '2026-02-03' }, { day: '2026-02-04' }],
    ['id=in.100|101', { id: 101 }, { id: 102 }],
  ])('%s compares as the column does', async (filter, matching, other) => {
    await using stream = await open(`tables=typed&filter=${encodeURIComponent(filter)}`)
    const bodyOf = (values: object | string, id: number) =>
      typeof values === 'string' ? values.replace('{', `{"id":${id},`) : { id, ...values }
    await write('POST', 'typed', bodyOf(other, 1))
    await write('POST', 'typed', bodyOf(matching, 2))
    const [message] = await stream.next(1)
    expect(message.record.id).toBe(typeof matching === 'object' && 'id' in matching ? matching.id : 2)
    expect(stream.messages).toHaveLength(1)
  })

  test('matches a change if it matches the new or the old version of the record', async () => {
    await using stream = await open('tables=item&filter=price=gte.10')
    await write('POST', 'item', { id: 1, price: 5 })
    await write('PATCH', 'item/1', { price: 10 })
    await write('PATCH', 'item/1', { price: 9 })
    await write('PATCH', 'item/1', { price: 8 })
    await write('DELETE', 'item/1')
    await write('POST', 'item', { id: 2, price: 20 })
    await write('DELETE', 'item/2')
    expect((await stream.next(4)).map(({ action, record }) => [action, record.id, record.price])).toEqual([
      ['update', 1, 10],
      ['update', 1, 9],
      ['create', 2, 20],
      ['delete', '2', undefined],
    ])
  })

  test('does not disclose the old version of a hidden record', async () => {
    await using stream = await open('tables=note&filter=body=eq.secret')
    await app.request('POST', '/api/collections/note', {
      token: await app.adminToken(),
      body: { id: 1, owner: bob, body: 'secret' },
    })
    await app.request('PATCH', '/api/collections/note/1', {
      token: await app.adminToken(),
      body: { owner: alice, body: 'public' },
    })
    await write('POST', 'note', { id: 2, owner: alice, body: 'secret' })
    expect((await stream.next(1)).map(({ record }) => record.id)).toEqual([2])
  })

  test.each([
    ['small', 'expected column=operator.value at position 0'],
    ['small=7', 'expected one of eq, neq, gt, gte, lt, lte, in and a dot after "small="'],
    ['small=like.7', 'expected one of eq, neq, gt, gte, lt, lte, in and a dot after "small="'],
    ['small=eq.7,', 'expected column=operator.value at position 11'],
    ['=eq.7', 'expected column=operator.value at position 0'],
    ['nothing=eq.7', 'unknown column: nothing'],
    ['small=eq.x', 'the value for small is not of type smallint'],
    ['small=eq.', 'the value for small is not of type smallint'],
    ['small=eq.99999', 'the value for small is not of type smallint'],
    ['small=in.1|x', 'the value for small is not of type smallint'],
    ['moment=gt.never', 'the value for moment is not of type timestamp with time zone'],
    ['key=eq.1', 'the value for key is not of type uuid'],
    ['feeling=eq.angry', 'the value for feeling is not of type mood'],
    ['name=eq.bad', 'the value for name is not of type short'],
    ['list=in.{1}', 'in does not apply to list, which is integer[]'],
    [`small=in.${'1|'.repeat(1000)}1`, 'at most 2000 characters'],
    [Array(21).fill('small=eq.1').join(), 'at most 20 conditions'],
  ])('rejects %s', async (filter, problem) => {
    const response = await app.request(
      'GET',
      `/api/realtime?tables=typed&filter=${encodeURIComponent(filter)}`,
      { token: aliceToken },
    )
    expect([response.status, envelope(response)]).toEqual([
      400,
      { code: 400, message: `invalid filter: ${problem}`, error: 'invalid_stream_filter' },
    ])
  })

  test('rejects a column that callers may not read', async () => {
    const response = await app.request('GET', '/api/realtime?tables=secretive&filter=hidden=eq.b', {
      token: aliceToken,
    })
    expect(envelope(response).message).toBe('invalid filter: unknown column: hidden')
  })

  test('sends each of 30 streams its own row with filters of one shape', async () => {
    const streams = await Promise.all(
      Array.from({ length: 30 }, (_, n) => open(`tables=item&filter=id=eq.${n}`)),
    )
    for (let id = 0; id < 30; id += 1) await write('POST', 'item', { id })
    await Promise.all(streams.map((stream) => stream.next(1)))
    expect(streams.map(({ messages }) => messages.map(({ record }) => record.id))).toEqual(
      streams.map((_, n) => [n]),
    )
    await Promise.all(streams.map((stream) => stream[Symbol.asyncDispose]()))
  })
})

describe('realtime › GET /api/realtime › rejected subscriptions', () => {
  test.each([
    ['', 'tables parameter is required', 'tables_required'],
    ['tables=', 'tables parameter is required', 'tables_required'],
    ['tables=,%20,', 'at least one valid table is required', 'no_valid_table'],
    ['tables=item,nothing', 'unknown table: nothing', 'unknown_table', { table: 'nothing' }],
    ['tables=basalt.users', 'unknown table: basalt.users', 'unknown_table', { table: 'basalt.users' }],
    ['tables=item_names', 'unknown table: item_names', 'unknown_table', { table: 'item_names' }],
    ['tables=closed', 'unknown table: closed', 'unknown_table', { table: 'closed' }],
    [
      `tables=${Array.from({ length: 101 }, (_, n) => `t${n}`)}`,
      'tables: at most 100 may be listened to',
      'too_many_tables',
    ],
  ])('returns 400 for "%s"', async (query, message, error, data = undefined) => {
    const response = await app.request('GET', `/api/realtime?${query}`, { token: aliceToken })
    expect([response.status, envelope(response)]).toEqual([400, { code: 400, message, error, data }])
  })

  test('names a repeated parameter', async () => {
    const response = await app.request('GET', '/api/realtime?tables=item&tables=note', { token: aliceToken })
    expect([response.status, response.json.message]).toEqual([400, 'tables: must not be repeated'])
  })

  test('accepts a table that was just created', async () => {
    await app.sql('create table brand_new (id int primary key)')
    await using stream = await open('tables=brand_new')
    await write('POST', 'brand_new', { id: 1 })
    expect(await stream.next(1)).toHaveLength(1)
  })
})

test('realtime › with auth.enabled = false › sends every event to every stream', async () => {
  await using open_ = await createTestApp({
    config: { 'auth.enabled': 'false' },
    setup: `create table note (id int primary key); alter table note enable row level security`,
  })
  await using stream = await openEventStream(open_.url, 'tables=note')
  expect((await open_.request('POST', '/api/collections/note', { body: { id: 1 } })).status).toBe(201)
  expect((await open_.request('DELETE', '/api/collections/note/1')).status).toBe(204)
  expect(await stream.next(2)).toEqual([created('note', { id: 1 }), deleted('note', { id: '1' })])
})
