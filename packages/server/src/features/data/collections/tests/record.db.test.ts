import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { alice, library, restoreLibrary } from '../../../../../test/fixtures.ts'
import {
  createTestApp,
  createTestDatabase,
  envelope,
  type TestApp,
  userToken,
} from '../../../../../test/test-app.ts'

let app: TestApp
const token = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({ setup: library, config: { 'database.schemas': 'public,archive' } })
  await app.sql(`
    create table guarded (
      id int generated always as identity primary key,
      code varchar(5) unique,
      level smallint check (level between 0 and 9),
      starts date, ends date,
      days int generated always as (ends - starts) stored,
      exclude using gist (int4range(level::int, level::int + 1) with &&) where (level > 5)
    );
    create domain email as text not null check (value like '%@%');
    create table member (id int primary key, email email, nick text default 'none');
    create function refuse() returns trigger language plpgsql as $$
    begin raise exception 'closed on sundays'; end $$;
    create table closed (id int primary key);
    create trigger refuse before insert on closed for each row execute function refuse();
    create function swallow() returns trigger language plpgsql as $$ begin return null; end $$;
    create table hole (id int primary key);
    create trigger swallow before insert on hole for each row execute function swallow();
    create table deferred (id int primary key, other int references deferred deferrable initially deferred);
    create table hidden (id int primary key, secret text);
    revoke all on hidden from basalt_authenticated;
    create table partly (id int primary key, shown text, secret text default 'hush');
    revoke all on partly from basalt_authenticated;
    grant select (id, shown), insert (id, shown), update (shown) on partly to basalt_authenticated;
    create table by_name (name text primary key);
    create type place as (aisle int, shelf text);
    create table by_place (place place primary key, note text);
    create table by_type (type regtype primary key, note text)`)
  await app.app.catalog.refresh()
})
afterAll(() => app[Symbol.asyncDispose]())
/** Each test writes, so each gets the original library. */
beforeEach(() =>
  app.sql(
    `${restoreLibrary} truncate guarded, member, closed, hole, deferred, hidden, partly, by_name restart identity`,
  ),
)

function send(method: string, path: string, body?: unknown) {
  return app.request(method, `/api/collections/${path}`, { token, ...(body === undefined ? {} : { body }) })
}

async function expectError(response: ReturnType<typeof send>, expected: Record<string, unknown>) {
  const answer = await response
  expect(envelope(answer)).toEqual(expected)
  expect(answer.status).toBe(expected.code)
}

async function rows(table: string) {
  return await app.sql(`select * from ${table} order by 1`)
}

/** Returns the error of a value that does not fit its column. */
function misfit(column: string, message: string) {
  const fault = { code: 'invalid_value', message }
  return { code: 400, message, error: 'invalid_value', data: { [column]: fault } }
}

describe('GET /collections/:table/:id', () => {
  test('returns the record', async () => {
    const response = await send('GET', 'book/2')
    expect(response.status).toBe(200)
    expect(response.json).toEqual({
      book_id: 2,
      title: 'Solaris',
      author_id: 2,
      editor_id: null,
      pages: 204,
      price: 9,
      isbn: 'a2',
      tags: ['ocean'],
      added_at: '2026-01-02T03:04:05+00:00',
    })
    // The digits of a numeric are those of the database.
    expect(response.text).toContain('"price":9.00')
  })

  test('returns the named columns', async () => {
    expect((await send('GET', 'book/2?fields=title')).json).toEqual({ title: 'Solaris' })
  })

  test('returns the columns that the caller may read', async () => {
    await app.sql("insert into partly values (1, 'yes', 'no')")
    expect((await send('GET', 'partly/1')).json).toEqual({ id: 1, shown: 'yes' })
    await expectError(send('GET', 'partly/1?fields=secret'), {
      code: 403,
      message: 'insufficient permissions',
      error: 'insufficient_permissions',
    })
  })

  test.each([
    ['composite keys', 'shelf/north,1', 'N1'],
    ['an encoded comma inside a value', 'shelf/a%2Cb,1', 'comma'],
    ['an id that was encoded as a whole', 'shelf/north%2C1', 'N1'],
    ['encoded characters', 'shelf/n%6Frth,1', 'N1'],
  ])('accepts %s', async (_what, path, label) => {
    expect((await send('GET', path)).json).toMatchObject({ label })
  })

  test.each([
    ['a slash', 'one/two'],
    ['a percent sign', '100%'],
    ['a question mark', 'what?'],
    ['a plus', 'a+b'],
    ['blanks and letters', 'Größe 😀'],
    ['a comma', 'x,y'],
  ])('finds a text key with %s', async (_what, key) => {
    await app.sql('insert into by_name values ($1)', [key])
    expect((await send('GET', `by_name/${encodeURIComponent(key)}`)).json).toEqual({ name: key })
  })

  test.each([
    ['a row', 'by_place', '(4,"top, left")', 'place', { aisle: 4, shelf: 'top, left' }],
    ['the name of an object of the database', 'by_type', 'integer', 'type', 'integer'],
  ])('finds, changes and removes a record whose key is %s', async (_what, table, id, key, shown) => {
    await app.sql(`insert into ${table} values ($1, 'old')`, [id])
    const path = `${table}/${encodeURIComponent(id)}`
    expect((await send('GET', path)).json).toEqual({ [key]: shown, note: 'old' })
    expect((await send('PATCH', path, { note: 'new' })).json).toEqual({ [key]: shown, note: 'new' })
    expect((await send('DELETE', path)).status).toBe(204)
    expect(await rows(table)).toEqual([])
  })

  test.each([
    ['an unknown id', 'book/99', 404, 'record not found', 'record_not_found'],
    ['an unknown collection', 'nothing/1', 404, 'collection not found: nothing', 'collection_not_found'],
    ['too few values', 'shelf/north', 400, 'invalid primary key: expected 2 values', 'invalid_primary_key'],
    ['too many values', 'shelf/a,b,1', 400, 'invalid primary key: expected 2 values', 'invalid_primary_key'],
    ['no primary key', 'log_line/1', 400, 'table has no primary key', 'no_primary_key'],
    ['a view', 'long_book/1', 400, 'table has no primary key', 'no_primary_key'],
    [
      'an id of the wrong type',
      'book/abc',
      400,
      'invalid integer value "abc" — expected a whole number, e.g. 42',
      'invalid_value',
    ],
    [
      'an id out of range',
      'book/99999999999',
      400,
      'invalid value: value "99999999999" is out of range for type integer',
      'invalid_value',
    ],
    ['an unknown field', 'book/1?fields=nope', 400, 'unknown column "nope" in fields', 'unknown_column'],
  ])('rejects %s', async (_what, path, code, message, error) => {
    await expectError(send('GET', path), { code, message, error })
  })

  test('rejects a broken encoding', async () => {
    expect((await send('GET', 'book/%E0%A4%A')).status).toBe(400)
    expect((await send('GET', 'book/%00')).status).toBe(400)
  })
})

describe('POST /collections/:table', () => {
  test('stores the record and returns it whole', async () => {
    const response = await send('POST', 'book', {
      title: 'Ubik',
      author_id: 3,
      tags: ['half-life', 'a "b" {c}'],
    })
    expect(response.status).toBe(201)
    expect(response.json).toEqual({
      book_id: 6,
      title: 'Ubik',
      author_id: 3,
      editor_id: null,
      pages: null,
      price: 9.9,
      isbn: null,
      tags: ['half-life', 'a "b" {c}'],
      added_at: '2026-01-02T03:04:05+00:00',
    })
  })

  test('accepts numbers and booleans as text', async () => {
    const response = await send('POST', 'book', { title: 5, author_id: '3', pages: '12' })
    expect(response.json).toMatchObject({ title: '5', author_id: 3, pages: 12 })
  })

  test('accepts a record as it was read', async () => {
    const { json: read } = await send('GET', 'book/1?expand=author')
    const { book_id: _, isbn: __, ...copy } = read
    const response = await send('POST', 'book', { ...copy, _highlight: 'x' })
    expect(response.status).toBe(201)
    expect(response.json).toMatchObject({ title: 'The Dispossessed', price: 12.5 })
  })

  test('stores null as SQL NULL and applies defaults to absent columns', async () => {
    await send('POST', 'member', { id: 1, email: 'a@b', nick: null })
    await send('POST', 'member', { id: 2, email: 'a@b' })
    expect(await rows('member')).toEqual([
      { id: 1, email: 'a@b', nick: null },
      { id: 2, email: 'a@b', nick: 'none' },
    ])
  })

  test('works through a partitioned table', async () => {
    const response = await send('POST', 'event', { id: 7, day: '2026-07-08', note: 'seventh' })
    expect(response.json).toEqual({ id: 7, day: '2026-07-08', note: 'seventh' })
  })

  test.each([
    ['', 'empty request body', 'empty_body'],
    ['{}', 'no recognized columns in request body', 'no_recognized_columns'],
    ['{"expand":{},"_x":1}', 'no recognized columns in request body', 'no_recognized_columns'],
    ['[]', 'invalid JSON body: expected an object', 'body_not_object'],
    ['[{"title":"x"}]', 'invalid JSON body: expected an object', 'body_not_object'],
    ['"x"', 'invalid JSON body: expected an object', 'body_not_object'],
    ['null', 'invalid JSON body: expected an object', 'body_not_object'],
    ['{"title":', 'invalid JSON body', 'invalid_json'],
    ['{title:1}', 'invalid JSON body', 'invalid_json'],
    ['{"title":"x","nope":1}', 'unknown column "nope" in request body', 'unknown_column'],
  ])('rejects the body %s', async (body, message, error) => {
    await expectError(send('POST', 'book', body), { code: 400, message, error })
    expect(await rows('book')).toHaveLength(5)
  })

  test.each([
    [
      'a unique constraint',
      'book',
      { title: 'x', author_id: 1, isbn: 'a1' },
      {
        code: 409,
        message: 'unique constraint violation',
        error: 'unique_violation',
        data: { book_isbn_key: { code: 'unique_violation', message: 'Key (isbn)=(a1) already exists.' } },
      },
    ],
    [
      'a foreign key',
      'book',
      { title: 'x', author_id: 77 },
      {
        code: 400,
        message: 'foreign key violation',
        error: 'foreign_key_violation',
        data: {
          book_author_id_fkey: {
            code: 'foreign_key_violation',
            message: 'Key (author_id)=(77) is not present in table "author".',
          },
        },
      },
    ],
    [
      'a missing value',
      'book',
      { title: 'x' },
      {
        code: 400,
        message: 'missing required value',
        error: 'not_null_violation',
        data: {
          author_id: {
            code: 'not_null_violation',
            message: 'null value in column "author_id" of relation "book" violates not-null constraint',
          },
        },
      },
    ],
    [
      'a check',
      'book',
      { title: 'x', author_id: 1, pages: -1 },
      {
        code: 400,
        message: 'check constraint violation',
        error: 'check_violation',
        data: {
          book_pages_check: {
            code: 'check_violation',
            message: expect.stringContaining('Failing row contains'),
          },
        },
      },
    ],
    [
      'a value that is too long',
      'guarded',
      { code: 'abcdef' },
      misfit('code', 'invalid value: value too long for type character varying(5)'),
    ],
    [
      'a value that is out of range',
      'guarded',
      { level: 70000 },
      misfit('level', 'invalid value: value "70000" is out of range for type smallint'),
    ],
    [
      'a fraction for an integer',
      'guarded',
      { level: 1.5 },
      misfit('level', 'invalid smallint value "1.5" — expected a whole number, e.g. 42'),
    ],
    [
      'a bad date',
      'guarded',
      { starts: '2026-02-30' },
      misfit('starts', 'invalid value: date/time field value out of range: "2026-02-30"'),
    ],
    [
      'an object for a number',
      'guarded',
      { level: { a: 1 } },
      misfit('level', expect.stringContaining('invalid smallint value')),
    ],
    [
      'an array of the wrong shape',
      'book',
      { title: 'x', author_id: 1, tags: 'x' },
      misfit('tags', expect.stringContaining('invalid value')),
    ],
    [
      'an escape that text cannot hold',
      'author',
      '{"name":"a\\u0000b"}',
      {
        code: 400,
        message: expect.stringContaining('text cannot hold the character U+0000'),
        error: 'invalid_value',
      },
    ],
    [
      'half a surrogate pair',
      'author',
      '{"name":"\\ud83d"}',
      {
        code: 400,
        message: 'invalid value: text cannot hold half of a surrogate pair',
        error: 'invalid_value',
      },
    ],
    [
      'an identity column',
      'guarded',
      { id: 5 },
      {
        code: 400,
        message: 'cannot insert a non-DEFAULT value into column "id"',
        error: 'read_only_column',
      },
    ],
    [
      'a rule of a domain',
      'member',
      { id: 1, email: 'nobody' },
      {
        code: 400,
        message: 'check constraint violation',
        error: 'check_violation',
        data: { email_check: { code: 'check_violation', message: expect.stringContaining('domain email') } },
      },
    ],
    [
      'a trigger that raises',
      'closed',
      { id: 1 },
      { code: 400, message: 'closed on sundays', error: 'raised' },
    ],
    [
      'a trigger that discards',
      'hole',
      { id: 1 },
      {
        code: 409,
        message: 'the database discarded the record: a trigger or rule of the table did not store it',
        error: 'row_discarded',
      },
    ],
    [
      'a constraint checked at the commit',
      'deferred',
      { id: 1, other: 2 },
      {
        code: 400,
        message: 'foreign key violation',
        error: 'foreign_key_violation',
        data: { deferred_other_fkey: { code: 'foreign_key_violation', message: expect.any(String) } },
      },
    ],
    [
      'a table without the right',
      'hidden',
      { id: 1 },
      {
        code: 403,
        message: 'insufficient permissions',
        error: 'insufficient_permissions',
        data: {
          hint: 'the role of the caller lacks a privilege (grant) on the table, on a column of it, or on what its defaults, triggers and policies use',
        },
      },
    ],
  ])('reports %s', async (_what, table, body, expected) => {
    await expectError(send('POST', table, body), expected)
  })

  test('reports an exclusion constraint', async () => {
    await send('POST', 'guarded', { level: 7 })
    await expectError(send('POST', 'guarded', { level: 7 }), {
      code: 400,
      message: 'exclusion constraint violation',
      error: 'exclusion_violation',
      data: { guarded_int4range_excl: { code: 'exclusion_violation', message: expect.any(String) } },
    })
  })

  test('rejects read-only collections', async () => {
    for (const [name, kind] of [
      ['long_book', 'view'],
      ['author_count', 'materialized view'],
    ]) {
      const response = await send('POST', name ?? '', { title: 'x' })
      expect(envelope(response)).toEqual({
        code: 405,
        message: `write operations not allowed on ${kind}`,
        error: 'write_not_allowed',
      })
      expect(response.headers.get('allow')).toBe('GET, HEAD')
    }
  })

  test('returns the readable columns when only some are granted', async () => {
    const response = await send('POST', 'partly', { id: 1, shown: 'x' })
    expect([response.status, response.json]).toEqual([201, { id: 1, shown: 'x' }])
    expect(await rows('partly')).toEqual([{ id: 1, shown: 'x', secret: 'hush' }])
    await expectError(send('POST', 'partly', { id: 2, secret: 'x' }), {
      code: 403,
      message: 'insufficient permissions',
      error: 'insufficient_permissions',
      data: { hint: expect.any(String) },
    })
  })
})

describe('PATCH /collections/:table/:id', () => {
  test('changes only the given fields and returns the whole record', async () => {
    const { json: before } = await send('GET', 'book/2')
    const response = await send('PATCH', 'book/2', { pages: 210, isbn: null })
    expect(response.status).toBe(200)
    expect(response.json).toEqual({ ...before, pages: 210, isbn: null })
    expect((await send('GET', 'book/2')).json).toEqual({ ...before, pages: 210, isbn: null })
  })

  test('accepts a record as it was read, computed columns included', async () => {
    await send('POST', 'guarded', { code: 'x', starts: '2026-01-01', ends: '2026-01-11' })
    const { json: read } = await send('GET', 'guarded/1')
    expect(read.days).toBe(10)
    const response = await send('PATCH', 'guarded/1', { ...read, ends: '2026-01-21' })
    expect(response.json).toEqual({ ...read, ends: '2026-01-21', days: 20 })
  })

  test('does not check the domains of other columns', async () => {
    await send('POST', 'member', { id: 1, email: 'a@b' })
    expect((await send('PATCH', 'member/1', { nick: 'z' })).json).toEqual({ id: 1, email: 'a@b', nick: 'z' })
  })

  test('may change the primary key', async () => {
    expect((await send('PATCH', 'shelf/north,2', { number: 9 })).json).toEqual({
      room: 'north',
      number: 9,
      label: null,
    })
    expect((await send('GET', 'shelf/north,9')).status).toBe(200)
    expect((await send('GET', 'shelf/north,2')).status).toBe(404)
  })

  test.each([
    ['an unknown id', 'book/99', { pages: 1 }, 404, 'record not found', 'record_not_found'],
    ['no body', 'book/1', '', 400, 'empty request body', 'empty_body'],
    [
      'no known column',
      'book/1',
      { nope: 1 },
      400,
      'unknown column "nope" in request body',
      'unknown_column',
    ],
    [
      'only computed columns',
      'guarded/1',
      { days: 1, id: 1 },
      400,
      'no recognized columns in request body',
      'no_recognized_columns',
    ],
    ['a view', 'long_book/1', { pages: 1 }, 405, 'write operations not allowed on view', 'write_not_allowed'],
    ['no primary key', 'log_line/1', { line: 'x' }, 400, 'table has no primary key', 'no_primary_key'],
    [
      'a raised error',
      'book/x',
      { pages: 1 },
      400,
      expect.stringContaining('invalid integer value'),
      'invalid_value',
    ],
  ])('rejects %s', async (_what, path, body, code, message, error) => {
    await expectError(send('PATCH', path, body), { code, message, error })
  })

  test('loses no field of two concurrent updates', async () => {
    await Promise.all([send('PATCH', 'book/1', { pages: 1 }), send('PATCH', 'book/1', { title: 'Both' })])
    expect((await send('GET', 'book/1')).json).toMatchObject({ pages: 1, title: 'Both' })
  })
})

describe('DELETE /collections/:table/:id', () => {
  test('removes the record', async () => {
    const response = await send('DELETE', 'book/4')
    expect([response.status, response.text, response.headers.get('content-type')]).toEqual([204, '', null])
    expect((await send('GET', 'book/4')).status).toBe(404)
    await expectError(send('DELETE', 'book/4'), {
      code: 404,
      message: 'record not found',
      error: 'record_not_found',
    })
  })

  test('rejects deleting a referenced record', async () => {
    await expectError(send('DELETE', 'author/1'), {
      code: 400,
      message: 'foreign key violation',
      error: 'foreign_key_violation',
      data: { book_author_id_fkey: { code: 'foreign_key_violation', message: expect.any(String) } },
    })
  })

  test('succeeds once for concurrent requests', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => send('DELETE', 'book/4')))
    expect(answers.map(({ status }) => status).sort()).toEqual([204, ...Array(9).fill(404)])
  })

  test.each([
    ['a view', 'long_book/1', 405],
    ['no primary key', 'log_line/1', 400],
    ['a wrong id', 'book/x', 400],
    ['an unknown collection', 'nothing/1', 404],
  ])('rejects %s', async (_what, path, code) => {
    expect((await send('DELETE', path)).status).toBe(code)
  })
})

test('records › a table of an extension is readable, and writable only by administrators', async () => {
  // Granted in full, as an extension's objects are when created after the first start.
  await app?.sql(`
    create extension pg_trgm;
    create table extra (id int primary key);
    grant all on extra to basalt_authenticated;
    grant insert on extra to basalt_anonymous;
    alter extension pg_trgm add table extra`)
  expect((await send('GET', 'extra')).json.items).toEqual([])
  const refusal = {
    code: 403,
    message: 'insufficient permissions',
    error: 'insufficient_permissions',
    data: { hint: 'the table belongs to an extension of the database' },
  }
  await expectError(send('POST', 'extra', { id: 1 }), refusal)
  await expectError(send('PATCH', 'extra/1', { id: 2 }), refusal)
  await expectError(send('DELETE', 'extra/1'), refusal)
  await expectError(send('DELETE', 'extra?filter=id>0&expect=0'), refusal)
  await expectError(send('POST', 'extra/batch', { operations: [{ method: 'delete', id: 1 }] }), refusal)
  await expectError(send('POST', 'extra/import', [{ id: 1 }]), refusal)
  const anonymous = await app?.request('POST', '/api/collections/extra', { body: { id: 1 } })
  expect(anonymous?.status).toBe(401)
  const administrator = { token: await app?.adminToken(), body: { id: 1 } }
  expect((await app?.request('POST', '/api/collections/extra', administrator))?.status).toBe(201)
})

test('records › a table that is created after the start is served at once', async () => {
  await using database = await createTestDatabase()
  await using other = await createTestApp({ database })
  await database.sql('create table late (id int primary key); insert into late values (1)')
  expect((await other.request('GET', '/api/collections/late/1', { token })).json).toEqual({ id: 1 })
})
