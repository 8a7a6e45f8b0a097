import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { faultsOf } from '../../../../../test/faults.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import {
  createTestApp,
  envelope,
  type TestApp,
  type TestResponse,
  userToken,
} from '../../../../../test/test-app.ts'
import { recordedChanges, recording, recordingTables } from './recorded-changes.ts'

/** Entity tags of records and lists, `If-None-Match`, and `If-Match` of writes (RFC 9110 §13). */

const setup = `
${recordingTables}
create table artist (id int primary key, name text);
create table item (id int primary key, sku text unique, name text, price numeric, data json, artist_id int references artist);
create view cheap as select id, sku, name from item where price < 100;
comment on view cheap is '@primaryKey id';
create table parted (id int, kind text, name text, primary key (id, kind)) partition by list (kind);
create table parted_a partition of parted for values in ('a');
create table parted_b partition of parted for values in ('b');
create table owned (id int primary key, owner uuid default basalt.user_id(), body text);
alter table owned enable row level security;
create policy own on owned using (owner = basalt.user_id());
create table shared (id int primary key, owner uuid default basalt.user_id(), body text);
alter table shared enable row level security;
create policy all_read on shared for select using (true);
create policy own_write on shared for update using (owner = basalt.user_id());
create table partly (id int primary key, shown text, secret text default 'hush');
revoke all on partly from basalt_authenticated;
grant select (id, shown), insert (id, shown), update (shown) on partly to basalt_authenticated;
create table open (id int primary key, name text);
grant select on open to basalt_anonymous;
insert into open values (1, 'x');
`

let app: TestApp
let second: TestApp
const token = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({ setup, changes: recording })
  second = await createTestApp({ database: app.database, changes: recording })
})
beforeEach(async () => {
  recordedChanges.clear()
  await app.sql(`
    truncate item, artist, parted, owned, shared, partly, captured.change;
    insert into artist values (1, 'Ann');
    insert into item values (1, 'a', 'one', 1.50, '{"a": 1}', 1), (2, 'b', 'two', 2, null, null);
    insert into parted values (1, 'a', 'first');
    insert into owned values (1, '${alice}', 'hers'), (2, '${bob}', 'his');
    insert into shared values (1, '${bob}', 'his');
    insert into partly values (1, 'one', 'secret')`)
})
afterAll(async () => {
  expect(faultsOf(app)).toEqual([])
  await second[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})

interface Sent {
  readonly body?: unknown
  readonly ifMatch?: string
  readonly ifNoneMatch?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly on?: TestApp
  readonly as?: string | undefined
}

function send(
  method: string,
  path: string,
  { body, ifMatch, ifNoneMatch, headers, on = app, as = token }: Sent = {},
) {
  return on.request(method, `/api/collections/${path}`, {
    token: as,
    ...(body === undefined ? {} : { body }),
    headers: {
      ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
      ...(ifNoneMatch === undefined ? {} : { 'if-none-match': ifNoneMatch }),
      ...headers,
    },
  })
}

async function tagOf(path: string, sent: Sent = {}): Promise<string> {
  return (await send('GET', path, sent)).headers.get('etag') ?? ''
}

const versionOf = (tag: string) => tag.slice(1).split('.')[0]

/** Asserts a 412 that has the current tag of the path, or none. */
async function expectFailed(response: TestResponse, path?: string): Promise<void> {
  const etag = path === undefined ? undefined : await tagOf(path)
  expect(envelope(response)).toEqual({
    code: 412,
    error: 'precondition_failed',
    message: 'the record has changed since it was read; nothing was written',
    ...(etag === undefined ? {} : { data: { etag } }),
  })
  expect(response.headers.get('etag')).toBe(etag ?? null)
  expect(response.headers.get('cache-control')).toBe('no-store')
}

const notFound = { code: 404, error: 'record_not_found', message: 'record not found' }

describe('conditional requests › GET of a record', () => {
  test('responds with a strong tag, for the caller alone', async () => {
    const { status, headers } = await send('GET', 'item/1')
    expect(status).toBe(200)
    expect(headers.get('etag')).toMatch(/^"[0-9a-f]+\.[0-9a-f]{24}"$/)
    expect(headers.get('cache-control')).toBe('private, no-cache')
    expect(headers.get('vary')?.split(', ')).toEqual(expect.arrayContaining(['Authorization', 'Cookie']))
    expect(await tagOf('item/1', { on: second })).toBe(headers.get('etag'))
  })

  test.each([
    ['the tag', (tag: string) => tag],
    ['the tag, weakened', (tag: string) => `W/${tag}`],
    ['a list with the tag', (tag: string) => `"other" , ${tag},"x"`],
    ['the tag of a compressed response', (tag: string) => tag.replace(/"$/, '-gzip"')],
    ['any tag', () => '*'],
  ])('responds 304 without a body to %s', async (_, header) => {
    const tag = await tagOf('item/1')
    const known = await send('GET', 'item/1', { ifNoneMatch: header(tag) })
    const coded = header(tag).includes('-gzip') ? tag.replace(/"$/, '-gzip"') : tag
    expect([known.status, known.text, known.headers.get('etag')]).toEqual([304, '', coded])
    expect(known.headers.get('cache-control')).toBe('private, no-cache')
    expect(known.headers.get('content-type')).toBeNull()
    const head = await send('HEAD', 'item/1', { ifNoneMatch: header(tag) })
    expect([head.status, head.headers.get('etag')]).toEqual([304, coded])
  })

  test.each([
    ['another tag', '"1f.0"'],
    ['a malformed header', 'abc'],
  ])('responds 200 to %s in If-None-Match', async (_, ifNoneMatch) => {
    expect((await send('GET', 'item/1', { ifNoneMatch })).status).toBe(200)
  })

  test('changes the tag with the row, and the version only with the row', async () => {
    const [whole, fields, expanded] = [
      await tagOf('item/1'),
      await tagOf('item/1?fields=name'),
      await tagOf('item/1?expand=artist'),
    ]
    expect(new Set([whole, fields, expanded]).size).toBe(3)
    expect(new Set([whole, fields, expanded].map(versionOf)).size).toBe(1)
    await app.sql(`update artist set name = 'Bob'`)
    expect([await tagOf('item/1'), await tagOf('item/1?fields=name')]).toEqual([whole, fields])
    expect(await tagOf('item/1?expand=artist')).not.toBe(expanded)
    await app.sql('update item set price = 3 where id = 1')
    expect(versionOf(await tagOf('item/1?fields=name'))).not.toBe(versionOf(fields))
  })

  test('responds 412 to a tag in If-Match that the record no longer has', async () => {
    const tag = await tagOf('item/1')
    expect((await send('GET', 'item/1', { ifMatch: tag })).status).toBe(200)
    await app.sql(`update item set name = 'new' where id = 1`)
    await expectFailed(await send('GET', 'item/1', { ifMatch: tag }), 'item/1')
  })

  test('stores no response to a request without a token', async () => {
    const { status, headers } = await app.request('GET', '/api/collections/open/1')
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store'])
  })

  test('stores no error', async () => {
    expect((await send('GET', 'item/9')).headers.get('cache-control')).toBe('no-store')
    expect((await send('GET', 'item/9')).headers.get('etag')).toBeNull()
  })
})

describe('conditional requests › GET of a list', () => {
  test('responds with a weak tag, and 304 until the list changes', async () => {
    const first = await send('GET', 'item?sort=id')
    const tag = first.headers.get('etag') ?? ''
    expect(tag).toMatch(/^W\/"[0-9a-f]{24}"$/)
    expect(first.headers.get('cache-control')).toBe('private, no-cache')
    const known = await send('GET', 'item?sort=id', { ifNoneMatch: tag, on: second })
    expect([known.status, known.text]).toEqual([304, ''])
    await app.sql(`insert into item values (3, 'c')`)
    expect((await send('GET', 'item?sort=id', { ifNoneMatch: tag })).status).toBe(200)
  })
})

/** Ways to write item 1, all of which set its name to `mine` or delete it. */
const writes: readonly [string, (sent: Sent) => Promise<TestResponse>][] = [
  ['PATCH', (sent) => send('PATCH', 'item/1', { body: { name: 'mine' }, ...sent })],
  ['DELETE', (sent) => send('DELETE', 'item/1', sent)],
  [
    'an upsert',
    (sent) => send('POST', 'item?onConflict=sku', { body: { id: 1, sku: 'a', name: 'mine' }, ...sent }),
  ],
]

describe.each([false, true])('conditional requests › If-Match, captured %s', (isCaptured) => {
  beforeEach(() => {
    if (isCaptured) for (const action of ['update', 'delete', 'upsert']) recordedChanges.add(`item ${action}`)
  })

  describe.each(writes)('%s', (name, write) => {
    test('writes the record in this version', async () => {
      const { status } = await write({ ifMatch: `"other", ${await tagOf('item/1?fields=id')}` })
      expect(status).toBe(name === 'DELETE' ? 204 : 200)
    })

    test('responds 412 with the current tag to another version, and writes nothing', async () => {
      const tag = await tagOf('item/1')
      await app.sql(`update item set price = 9 where id = 1`)
      const before = await app.sql('select * from item order by id')
      await expectFailed(await write({ ifMatch: tag }), 'item/1')
      expect(await app.sql('select * from item order by id')).toEqual(before)
    })

    test('never matches a weak tag', async () => {
      await expectFailed(await write({ ifMatch: `W/${await tagOf('item/1')}` }), 'item/1')
    })

    test('accepts any version for *', async () => {
      expect((await write({ ifMatch: '*' })).status).toBe(name === 'DELETE' ? 204 : 200)
    })

    test('lets one of ten concurrent writes on two nodes win', async () => {
      const tag = await tagOf('item/1')
      const responses = await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          write({
            ifMatch: tag,
            on: index % 2 === 0 ? app : second,
            ...(name === 'DELETE' ? {} : { body: { id: 1, sku: 'a', name: `mine ${index}` } }),
          }),
        ),
      )
      const statuses = responses.map(({ status }) => status).sort()
      const [won, lost] = name === 'DELETE' ? [204, 404] : [200, 412]
      expect(statuses).toEqual([won, ...Array(9).fill(lost)])
    })

    test.each(['abc', '"open', '"a" "b"', ''])('rejects %j, which is no list of tags', async (ifMatch) => {
      expect(envelope(await write({ ifMatch }))).toEqual({
        code: 400,
        error: 'invalid_precondition',
        message: 'If-Match: expected entity tags in double quotes, or *',
      })
    })
  })
})

describe('conditional requests › If-Match', () => {
  test('is 404 for a missing record and for one that a policy hides', async () => {
    for (const ifMatch of ['*', '"1f.0"']) {
      for (const path of ['owned/9', 'owned/2']) {
        expect(envelope(await send('PATCH', path, { ifMatch, body: { body: 'x' } }))).toEqual(notFound)
        expect(envelope(await send('DELETE', path, { ifMatch }))).toEqual(notFound)
      }
    }
  })

  test('is 404 for a record that the caller may read but not write, or 412 in another version', async () => {
    const tag = await tagOf('shared/1')
    const write = (ifMatch: string) => send('PATCH', 'shared/1', { ifMatch, body: { body: 'x' } })
    expect(envelope(await write(tag))).toEqual(notFound)
    await expectFailed(await write('"1f.0"'), 'shared/1')
  })

  test('is 412 for an upsert or create whose record does not exist, and creates none', async () => {
    for (const [path, ifMatch] of [
      ['item?onConflict=sku', '*'],
      ['item?onConflict=sku', '"1f.0"'],
      ['item', '*'],
    ] as const) {
      await expectFailed(await send('POST', path, { ifMatch, body: { id: 7, sku: 'z' } }))
    }
    expect(await app.sql('select id from item where id = 7')).toEqual([])
  })

  test('is rejected where nothing is written, and for a whole batch', async () => {
    const body = { id: 1, sku: 'a' }
    expect(
      envelope(await send('POST', 'item?onConflict=sku&onConflictAction=ignore', { ifMatch: '*', body })),
    ).toEqual({
      code: 400,
      error: 'precondition_not_supported',
      message: 'If-Match: expected only with onConflictAction=update',
    })
    const operations = [{ method: 'delete', id: 1 }]
    expect(envelope(await send('POST', 'item/batch', { ifMatch: '*', body: { operations } }))).toEqual({
      code: 400,
      error: 'precondition_not_supported',
      message: 'If-Match: expected for one record; in a batch, per operation as ifMatch',
    })
    const all = await send('DELETE', 'item?filter=id%3D1', { ifMatch: '*' })
    expect([all.status, all.json.error]).toEqual([400, 'precondition_not_supported'])
  })

  test('ignores If-Unmodified-Since', async () => {
    const headers = { 'if-unmodified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' }
    expect((await send('PATCH', 'item/1', { body: { name: 'x' }, headers })).status).toBe(200)
  })

  test('compares rows of partitions, also when the write moves them, and of views', async () => {
    const tag = await tagOf('parted/1,a')
    expect((await send('PATCH', 'parted/1,a', { ifMatch: tag, body: { kind: 'b' } })).status).toBe(200)
    const moved = await tagOf('parted/1,b')
    await app.sql(`update parted set name = 'other'`)
    await expectFailed(await send('DELETE', 'parted/1,b', { ifMatch: moved }), 'parted/1,b')
  })

  test('compares a row that a write has moved to another partition by the tag of that write', async () => {
    const moved = await send('PATCH', 'parted/1,a', { body: { kind: 'b' } })
    expect(moved.headers.get('etag')).toBe(await tagOf('parted/1,b'))
  })

  test('compares the columns that the caller may read', async () => {
    const tag = await tagOf('partly/1')
    await app.sql(`update partly set secret = 'new'`)
    expect((await send('PATCH', 'partly/1', { ifMatch: tag, body: { shown: 'two' } })).status).toBe(200)
    await expectFailed(
      await send('PATCH', 'partly/1', { ifMatch: tag, body: { shown: 'three' } }),
      'partly/1',
    )
    // The administrator reads all columns, so this tag has another version.
    const admin = await tagOf('partly/1', { as: await app.adminToken() })
    await expectFailed(await send('PATCH', 'partly/1', { ifMatch: admin, body: { shown: 'x' } }), 'partly/1')
  })

  test('is part of a request with an Idempotency-Key', async () => {
    const tag = await tagOf('item/1')
    const headers = { 'idempotency-key': 'one' }
    const write = (ifMatch: string) => send('PATCH', 'item/1', { ifMatch, headers, body: { name: 'mine' } })
    const made = await write(tag)
    const replayed = await write(tag)
    expect([made.status, replayed.status, replayed.text]).toEqual([200, 200, made.text])
    expect(replayed.headers.get('idempotency-replayed')).toBe('true')
    expect((await write('*')).status).toBe(422)
  })
})

describe.each([false, true])('conditional requests › ETag of a write, captured %s', (isCaptured) => {
  beforeEach(() => {
    if (!isCaptured) return
    for (const action of ['create', 'update', 'delete', 'upsert']) recordedChanges.add(`item ${action}`)
  })

  const body = { id: 1, sku: 'a', name: 'mine', artist_id: 1 }
  const tagged: readonly [string, string, string, object, number, string][] = [
    ['a create', 'POST', 'item', { id: 5, sku: 'e', data: { b: [1] } }, 201, 'item/5'],
    ['an update', 'PATCH', 'item/1', { name: 'mine' }, 200, 'item/1'],
    ['an upsert that creates', 'POST', 'item?onConflict=sku', { id: 5, sku: 'e' }, 201, 'item/5'],
    ['an upsert that updates', 'POST', 'item?onConflict=sku', body, 200, 'item/1'],
    ['an upsert that ignores', 'POST', 'item?onConflict=sku&onConflictAction=ignore', body, 200, 'item/1'],
  ]

  test.each(tagged)('is the tag of a read after %s', async (_, method, path, values, status, record) => {
    for (const shape of ['', 'fields=name,id', 'expand=artist']) {
      const written = await send(method, `${path}${path.includes('?') ? '&' : '?'}${shape}`, { body: values })
      expect(written.status).toBe(status)
      const read = await send('GET', `${record}?${shape}`)
      expect([written.text, written.headers.get('etag')]).toEqual([read.text, read.headers.get('etag')])
      expect(written.headers.get('cache-control')).toBe('no-store')
      if (status === 201) await send('DELETE', record)
    }
  })

  test('is the condition of the next write, without a read', async () => {
    const created = await send('POST', 'item', { body: { id: 5, sku: 'e' } })
    const first = created.headers.get('etag') ?? ''
    const updated = await send('PATCH', 'item/5', { ifMatch: first, body: { name: 'one' } })
    expect(updated.status).toBe(200)
    await expectFailed(await send('PATCH', 'item/5', { ifMatch: first, body: { name: 'two' } }), 'item/5')
    const ifMatch = updated.headers.get('etag') ?? ''
    expect((await send('DELETE', 'item/5', { ifMatch })).status).toBe(204)
  })

  test('is replayed with the response of an Idempotency-Key', async () => {
    const headers = { 'idempotency-key': `tagged ${isCaptured}` }
    const write = (on: TestApp) => send('PATCH', 'item/1', { headers, body: { name: 'mine' }, on })
    const [made, replayed] = [await write(app), await write(second)]
    expect(made.headers.get('etag')).toBe(await tagOf('item/1'))
    expect([replayed.text, replayed.headers.get('etag')]).toEqual([made.text, made.headers.get('etag')])
  })
})

describe.each([false, true])('conditional requests › etags of a batch, captured %s', (isCaptured) => {
  beforeEach(() => {
    if (!isCaptured) return
    for (const action of ['create', 'update', 'delete', 'upsert']) recordedChanges.add(`item ${action}`)
  })

  const operations = [
    { method: 'create', body: { id: 5, sku: 'e', data: { b: '"' } } },
    { method: 'create', body: { id: 6, sku: 'f', data: null } },
    { method: 'create', body: { id: 7 } },
    { method: 'update', id: 1, body: { name: 'mine' } },
    { method: 'create', onConflict: 'sku', body: { id: 1, sku: 'a', name: 'theirs' } },
    { method: 'create', onConflict: 'sku', onConflictAction: 'ignore', body: { id: 9, sku: 'e' } },
    { method: 'delete', id: 7 },
  ]
  const run = (body: object) => send('POST', 'item/batch', { body })

  test('are the versions of the written records, if requested', async () => {
    const { status, json } = await run({ operations, etags: true })
    expect([status, json.map((result: object) => Object.keys(result).join())]).toEqual([
      200,
      [...Array(6).fill('index,status,body,etag'), 'index,status'],
    ])
    const [first, second, , updated, upserted, ignored] = json
    const tags = [first, second, upserted, ignored].map(({ etag }: { etag: string }) => etag)
    const read = await Promise.all(['item/5', 'item/6', 'item/1', 'item/5'].map((path) => tagOf(path)))
    expect(tags).toEqual(read.map((tag) => `"${versionOf(tag)}"`))
    expect(json[0].body).toEqual((await send('GET', 'item/5')).json)
    const ifMatch = tags[0] ?? ''
    await expectFailed(
      await send('PATCH', 'item/1', { ifMatch: updated.etag, body: { name: 'x' } }),
      'item/1',
    )
    expect((await send('PATCH', 'item/5', { ifMatch, body: { name: 'x' } })).status).toBe(200)
    await expectFailed(await send('PATCH', 'item/5', { ifMatch, body: { name: 'y' } }), 'item/5')
  })

  test.each([{ operations }, { operations, etags: false }])('are absent unless requested', async (body) => {
    const { json } = await run(body)
    expect(json.map((result: object) => Object.keys(result).join())).toEqual([
      ...Array(6).fill('index,status,body'),
      'index,status',
    ])
  })

  test.each(['true', 1, null])('are a 400 where the member is %j', async (etags) => {
    expect(envelope(await run({ operations, etags }))).toEqual({
      ...{ code: 400, error: 'invalid_batch' },
      message: expect.stringContaining('etags: expected true or false'),
    })
  })
})

describe('conditional requests › 412 with an Idempotency-Key', () => {
  const headers = { 'idempotency-key': 'failed' }
  const isReplayed = (response: TestResponse) => response.headers.get('idempotency-replayed') === 'true'
  const operations = (ifMatch: string) => [
    { method: 'create', body: { id: 3, sku: 'c' } },
    { method: 'update', id: 1, ifMatch, body: { name: 'mine' } },
  ]
  const keyed: readonly [string, (ifMatch: string, on?: TestApp) => Promise<TestResponse>][] = [
    ...writes.map(
      ([name, write]) =>
        [name, (ifMatch: string, on = app) => write({ ifMatch, headers, on })] as (typeof keyed)[number],
    ),
    [
      'a batch',
      (ifMatch, on = app) =>
        send('POST', 'item/batch', { body: { operations: operations(ifMatch) }, headers, on }),
    ],
  ]

  beforeEach(async () => {
    await app.sql('truncate basalt.idempotency_keys')
  })

  test.each(keyed)('is replayed on the other node, although %s would be made by now', async (_, write) => {
    const tag = await tagOf('item/1')
    await app.sql('update item set price = 9 where id = 1')
    const failed = await write(tag)
    await app.sql('update item set price = 1.50 where id = 1')
    expect(await tagOf('item/1')).toBe(tag)
    const before = await app.sql('select * from item order by id')
    const replayed = await write(tag, second)
    expect([failed.status, isReplayed(failed), isReplayed(replayed)]).toEqual([412, false, true])
    expect([replayed.status, envelope(replayed), replayed.headers.get('etag')]).toEqual([
      412,
      envelope(failed),
      failed.headers.get('etag'),
    ])
    expect(await app.sql('select * from item order by id')).toEqual(before)
  })

  test.each(keyed)('is the response of ten concurrent sendings of %s on two nodes', async (_, write) => {
    const tag = await tagOf('item/1')
    await app.sql('update item set price = 9 where id = 1')
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_, index) => write(tag, index % 2 === 0 ? app : second)),
    )
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([412]))
    expect(responses.filter((response) => !isReplayed(response))).toHaveLength(1)
    expect(await app.sql('select from basalt.idempotency_keys')).toHaveLength(1)
  })

  test('is 422 for another write, and for another condition', async () => {
    await expectFailed(await send('DELETE', 'item/1', { ifMatch: '"1f.0"', headers }), 'item/1')
    const reused = [
      await send('DELETE', 'item/1', { ifMatch: '"2f.0"', headers }),
      await send('DELETE', 'item/1', { headers }),
      await send('DELETE', 'item/2', { ifMatch: '"1f.0"', headers }),
    ]
    expect(reused.map(({ status }) => status)).toEqual([422, 422, 422])
    expect(await app.sql('select from item')).toHaveLength(2)
  })

  test('leaves the key free if the connection is lost before it is stored', async () => {
    const tag = await tagOf('item/1')
    const write = () => send('DELETE', 'item/1', { ifMatch: tag, headers })
    await app.sql(`
      update item set price = 9 where id = 1;
      create function basalt.crash() returns trigger language plpgsql security definer as $$
      begin
        if new.result like '%failure%' then perform pg_terminate_backend(pg_backend_pid()); end if;
        return new;
      end $$;
      create trigger crash before update on basalt.idempotency_keys for each row execute function basalt.crash()`)
    try {
      expect((await write()).status).toBe(503)
      expect(await app.sql('select from basalt.idempotency_keys')).toEqual([])
    } finally {
      await app.sql('drop trigger crash on basalt.idempotency_keys; drop function basalt.crash')
    }
    const evaluated = await write()
    expect([evaluated.status, isReplayed(evaluated)]).toEqual([412, false])
    expect(isReplayed(await write())).toBe(true)
  })
})

describe('conditional requests › ifMatch of a batch', () => {
  const run = (operations: readonly unknown[], path = 'item/batch') =>
    path === 'batch'
      ? app.request('POST', '/api/batch', { token, body: { operations } })
      : send('POST', path, { body: { operations } })

  test('is compared per operation, and undoes the whole batch', async () => {
    const [first, other] = [await tagOf('item/1'), await tagOf('item/2')]
    const operations = (second: string) => [
      { method: 'create', body: { id: 3, sku: 'c' } },
      { method: 'update', id: 1, ifMatch: first, body: { name: 'mine' } },
      { method: 'delete', id: 2, ifMatch: second },
      { method: 'create', onConflict: 'sku', ifMatch: '*', body: { id: 3, sku: 'c', name: 'found' } },
    ]
    await app.sql(`update item set price = 7 where id = 2`)
    const failed = await run(operations(other))
    expect(envelope(failed)).toEqual({
      code: 412,
      error: 'precondition_failed',
      message: 'the record has changed since it was read; nothing was written',
      operation: { index: 2, method: 'delete' },
      data: { etag: await tagOf('item/2') },
    })
    expect(await app.sql('select id, name from item order by id')).toEqual([
      { id: 1, name: 'one' },
      { id: 2, name: 'two' },
    ])
    const made = await run(operations(await tagOf('item/2')))
    expect(made.json.map(({ status }: { status: number }) => status)).toEqual([201, 200, 204, 200])
  })

  test('is 412 for a record that an earlier operation has changed, or that has no key', async () => {
    const ifMatch = await tagOf('item/1')
    const update = (name: string) => ({ table: 'item', method: 'update', id: 1, ifMatch, body: { name } })
    const failed = await run([update('x'), update('y')], 'batch')
    expect([failed.status, failed.json.operation]).toEqual([412, { index: 1, method: 'update' }])
    const missing = await run([
      { method: 'create', onConflict: 'sku', ifMatch: '*', body: { id: 8, sku: 'h' } },
    ])
    expect([missing.status, missing.json.error]).toEqual([412, 'precondition_failed'])
    expect(await app.sql(`select id from item where id = 8 or name in ('x', 'y')`)).toEqual([])
  })

  test.each([
    [{ method: 'update', id: 1, ifMatch: 5, body: { name: 'x' } }, 'invalid_precondition'],
    [{ method: 'update', id: 1, ifMatch: 'abc', body: { name: 'x' } }, 'invalid_precondition'],
    [{ method: 'create', ifMatch: '*', body: { id: 5 } }, 'invalid_batch'],
  ])('rejects %j', async (operation, error) => {
    const { status, json } = await run([operation])
    expect([status, json.error, json.operation.index]).toEqual([400, error, 0])
  })
})
