import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApiKey } from '../../../../../test/api-keys.ts'
import { faultsOf } from '../../../../../test/faults.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'

/** Matches of filters beyond comparisons of columns. filter-oracle.db.test.ts compares those with an oracle. */

const setup = `
create table artist (id int primary key, name text, owner uuid);
create table album (
  id int primary key, title text, artist_id int references artist, "odd.name" text, owner uuid, secret text
);
create table track (id int primary key, name text, milliseconds int, album_id int references album, meta jsonb);
create table "dotted" (id int primary key, "album.title" text, album_id int references album);
create table thing (
  id int primary key,
  doc jsonb, plain json, tags text[], amounts int[], moods mood[], span int4range, spans int4multirange,
  period tstzrange, words tsvector, body text, documents jsonb[], code varchar(10)
);
create table folder (id int primary key, name text, parent_id int references folder);
insert into artist values (1, 'Ann', '${alice}'), (2, 'Bob', '${bob}'), (3, null, '${alice}');
insert into album values
  (1, 'First', 1, 'x', '${alice}', 's'), (2, 'Second', 1, null, '${alice}', 's'), (3, 'Third', 2, 'x', '${bob}', 's'),
  (4, null, 3, 'y', '${alice}', 's');
insert into track values
  (1, 'a', 100, 1, '{"bpm": 90, "key": "C"}'), (2, 'b', 200, 1, '{"bpm": 120}'), (3, 'c', 300, 2, null),
  (4, 'd', 400, 3, null), (5, 'e', 500, null, null);
insert into dotted values (1, 'own', 1), (2, 'First', 2);
insert into thing (id, doc, plain, tags, amounts, moods, span, spans, period, words, body, documents, code) values
  (1, '{"n": 5, "s": "5", "a": {"b": ["x", {"c": true}]}, "z": null}', '{"n": 5}', '{a,b}', '{1,2}', '{sad}', '[1,5)',
    '{[1,3),[7,9)}', '[2026-01-01 00:00+00,2026-02-01 00:00+00)', to_tsvector('english', 'running dogs'),
    'The dogs were running', array['{"a": 1}'::jsonb], 'x'),
  (2, '{"n": 10, "s": "ten", "a": {"b": ["y"]}}', null, '{b,"c,d"}', '{2,3}', '{sad,happy}', '[5,9)', '{[9,12)}',
    '[2026-02-01 00:00+00,)', to_tsvector('english', 'a cat'), 'A cat sat', '{}', null),
  (3, '{"n": "10", "s": 5.0}', null, '{}', '{}', '{}', 'empty', '{}', 'empty', '', '', '{}', ''),
  (4, '[1, [2, 3], "x"]', null, null, null, null, null, null, null, null, null, null, null),
  (5, null, null, '{NULL}', '{NULL}', null, '(,1)', null, null, null, 'dogs', null, null);
insert into folder values (1, 'root', null), (2, 'usr', 1), (3, 'lib', 2), (4, 'node', 3), (5, 'bin', 4), (6, 'deep', 5);
create table sealed (id int primary key, artist_id int references artist, note text);
insert into sealed values (1, 1, 'hidden');
revoke all on sealed from basalt_authenticated;
revoke select on album from basalt_authenticated;
grant select (id, title, artist_id, "odd.name", owner) on album to basalt_authenticated;
alter table artist enable row level security;
create policy own on artist using (owner = basalt.user_id());
`

let app: TestApp
let admin: string
const token = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({ setup: `create type mood as enum ('sad', 'happy');${setup}` })
  admin = await app.adminToken()
})
afterAll(async () => {
  expect(faultsOf(app)).toEqual([])
  await app[Symbol.asyncDispose]()
})

function list(table: string, filter: string, as = admin) {
  return app.request('GET', `/api/collections/${table}?fields=id&filter=${encodeURIComponent(filter)}`, {
    token: as,
  })
}

/** Returns the ids of the matching records, whose number is the total. */
async function find(table: string, filter: string, as = admin): Promise<number[]> {
  const { status, json, text } = await list(table, filter, as)
  expect(status, `${filter}\n${text}`).toBe(200)
  const ids = json.items.map(({ id }: { id: number }) => id)
  expect(json.totalItems).toBe(ids.length)
  return ids
}

function refusal(message: string, position: number, error = 'invalid_filter') {
  return { code: 400, error, message: `invalid filter: ${message}`, data: { position } }
}

describe('filter by related records', () => {
  test.each([
    ['track', "album.title = 'First'", [1, 2]],
    ['track', "album_id.title = 'First'", [1, 2]],
    ['track', "album.artist.name ~ 'A%'", [1, 2, 3]],
    ['track', "album.title != 'First'", [3, 4]],
    ['track', "NOT album.title = 'First'", [3, 4, 5]],
    ['track', 'album.title IS NULL', []],
    ['album', 'artist.name IS NULL', [4]],
    ['track', 'album."odd.name" = \'x\'', [1, 2, 4]],
    ['track', '"album"."title" IN (\'First\', \'Third\')', [1, 2, 4]],
    ['album', 'track.milliseconds > 150', [1, 2, 3]],
    ['album', 'track.milliseconds BETWEEN 150 AND 250', [1]],
    ['album', 'NOT track.milliseconds > 250', [1, 4]],
    ['album', 'track.milliseconds NOT BETWEEN 150 AND 250', [1, 2, 3]],
    ['album', "track.meta->'bpm' > 100", [1]],
    ['album', "track.meta->>'key' = 'C'", [1]],
    ['artist', "album.track.name = 'd'", [2]],
    ['artist', "album.track.name = 'd' OR name = 'Ann'", [1, 2]],
    ['artist', 'album.track.milliseconds < 250 AND album.track.milliseconds > 250', [1]],
    ['folder', "parent.parent.parent.parent.name = 'root'", [5]],
    // A column whose name has a dot takes precedence over a path.
    ['dotted', "album.title = 'own'", [1]],
    ['dotted', "album.title = 'First'", [2]],
    ['dotted', '"album"."title" = \'First\'', [1]],
  ])('finds %s: %s', async (table, filter, ids) => {
    expect(await find(table, filter)).toEqual(ids)
  })

  test('finds only rows that the caller may read', async () => {
    expect(await find('album', 'artist.id > 0')).toEqual([1, 2, 3, 4])
    expect(await find('album', 'artist.id > 0', token)).toEqual([1, 2, 4])
    expect(await find('album', "artist.name = 'Bob'", token)).toEqual([])
    expect(await find('album', "NOT artist.name = 'Bob'", token)).toEqual([1, 2, 3, 4])
    expect(await find('track', "album.artist.name = 'Bob'", token)).toEqual([])
  })

  test.each([
    ['artist', "sealed.note = 'hidden'"],
    ['artist', 'sealed.id IS NULL'],
    ['track', "album.secret = 's'"],
  ])('%s: %s is rejected where the caller may not read', async (table, filter) => {
    expect(await find(table, filter)).toEqual(expect.any(Array))
    const response = await list(table, filter, token)
    expect(envelope(response)).toEqual({
      code: 403,
      error: 'insufficient_permissions',
      message: 'insufficient permissions',
    })
  })

  test('restricts a program to its tables', async () => {
    const { json: user } = await app.request('POST', '/api/auth/register', {
      body: { email: 'program@example.com', password: 'tangerine-harbour-42' },
    })
    const { key } = await createApiKey(app, { userId: user.user.id, allowedTables: ['track', 'album'] })
    expect(await find('track', "album.title = 'First'", key)).toEqual([1, 2])
    for (const filter of [
      "album.artist.name = 'Ann'",
      "id = 1 AND NOT (album.artist.name = 'Ann' OR id = 2)",
    ]) {
      const response = await list('track', filter, key)
      expect(response.status).toBe(403)
      expect(response.json.message).toBe('api key does not have access to table: artist')
    }
  })

  test('works with a cursor, an estimate and expand', async () => {
    const filter = encodeURIComponent("album.artist.name = 'Ann'")
    const first = await app.request(
      'GET',
      `/api/collections/track?fields=id&perPage=2&cursor=&filter=${filter}`,
      { token },
    )
    expect(first.json.items).toEqual([{ id: 1 }, { id: 2 }])
    const second = await app.request(
      'GET',
      `/api/collections/track?fields=id&perPage=2&filter=${filter}&cursor=${first.json.nextCursor}`,
      { token },
    )
    expect(second.json).toEqual({ perPage: 2, items: [{ id: 3 }] })
    const estimated = await app.request('GET', `/api/collections/track?total=estimated&filter=${filter}`, {
      token,
    })
    expect(estimated.status).toBe(200)
    const expanded = await app.request(
      'GET',
      `/api/collections/track?fields=id,album_id&expand=album&filter=${encodeURIComponent("album.title = 'Second'")}`,
      { token },
    )
    expect(expanded.json.items).toEqual([
      {
        id: 3,
        album_id: 2,
        expand: { album: { id: 2, title: 'Second', artist_id: 1, 'odd.name': null, owner: alice } },
      },
    ])
  })

  const levels = 'expected at most 4 levels of relations'
  const many = Array.from({ length: 21 }, () => 'album.id = 1').join(' OR ')

  test.each([
    ['folder', "parent.parent.parent.parent.parent.name = 'root'", refusal(levels, 0)],
    ['track', many, refusal('expected at most 20 conditions on related records', 320)],
    ['track', 'albums.title = 1', refusal('unknown column: albums.title', 0, 'unknown_filter_column')],
    ['track', 'album.name = 1', refusal('unknown column: album.name', 0, 'unknown_filter_column')],
    ['track', 'album. = 1', refusal('unknown column: album.', 0, 'unknown_filter_column')],
    [
      'track',
      'id=1 AND "album.title" = 1',
      refusal('unknown column: album.title', 9, 'unknown_filter_column'),
    ],
    [
      'track',
      'album.title > 1 AND album.id ~ 1',
      refusal('operator ~ does not apply to id, which is integer', 20),
    ],
  ])('rejects %s: %s', async (table, filter, expected) => {
    expect(envelope(await list(table, filter))).toEqual(expected)
  })

  test('plans the maximum number of conditions quickly', async () => {
    const filter = Array.from({ length: 20 }, () => 'parent.parent.parent.parent.id > 0').join(' AND ')
    expect(await find('folder', filter, token)).toEqual([5, 6])
  })
})

describe('filter by values in JSON', () => {
  test.each([
    ["doc->'n' = 5", [1]],
    ["doc->'n' = 5.0", [1]],
    ["doc->>'n' = 5", [1]],
    ["doc->'n' != 5", [2, 3]],
    ["doc->'n' > 5", [2]],
    ["doc->'n' >= 5", [1, 2]],
    ["doc->>'n' < 6", [1]],
    ["doc->'n' BETWEEN 6 AND 10", [2]],
    ["doc->>'n' = '10'", [2, 3]],
    ["doc->'n' = '\"10\"'", [3]],
    ["doc->>'n' > '2'", [1]],
    ["doc->>'s' = 5", [3]],
    ["doc->>'s' = '5.0'", [3]],
    ["doc->>'s' ~ 't%'", [2]],
    ["doc->>'s' ~* 'T%'", [2]],
    ["doc->>'s' IN ('5', 'ten')", [1, 2]],
    ["doc->>'s' IN ('ten', 5)", [2, 3]],
    ["doc->>'s' NOT IN ('ten', 5)", [1]],
    ["doc->'n' IN (5, 10)", [1, 2]],
    ["doc->'a'->'b'->>0 = 'x'", [1]],
    ["doc->'a'->'b'->-1->'c' = true", [1]],
    ["doc->'a'->'b'->1->>'c' = true", [1]],
    ["doc->'a'->'b' CONTAINS '\"x\"'", [1]],
    ['doc->\'a\' CONTAINS \'{"b": ["y"]}\'', [2]],
    ['doc CONTAINS \'{"n": 5}\'', [1]],
    ['doc CONTAINS 1', [4]],
    ['doc NOT CONTAINS \'{"n": 5}\'', [2, 3, 4]],
    ['doc->1->0 = 2', [4]],
    ["doc->'z' = 'null'", [1]],
    ["doc->'z' IS NULL", [2, 3, 4, 5]],
    ["doc->>'z' IS NULL", [1, 2, 3, 4, 5]],
    ["doc->'z' IS NOT NULL", [1]],
    ["NOT doc->'n' > 5", [1]],
    ["doc->>'s' MATCHES 'ten'", [2]],
    ["doc->'it''s \\'; --' = 1", []],
    ["doc->'n' > 1e400", []],
  ])('matches %s', async (filter, ids) => {
    expect(await find('thing', filter)).toEqual(ids)
  })

  test.each([
    ["plain->'n' = 5", '-> does not apply to plain, which is json and not jsonb', 0],
    ["tags->0 = 'a'", '-> does not apply to tags, which is text[] and not jsonb', 0],
    ["doc->'n' ~ '5'", "operator ~ does not apply to doc->'n', which is jsonb", 0],
    ["doc->'n'->>0 CONTAINS '5'", "CONTAINS does not apply to doc->'n'->>0, which is text", 0],
    ["doc->'n' MATCHES '5'", "MATCHES does not apply to doc->'n', which is jsonb", 0],
    ["doc->'n' OVERLAPS '[5]'", "OVERLAPS does not apply to doc->'n', which is jsonb", 0],
    ["id=1 AND doc->'n' = 'ten'", `expected JSON beside doc->'n', such as '{"key": 1}' or '"text"'`, 9],
    ["doc->'a' CONTAINS ('x', 'y')", "expected one value after CONTAINS, as doc->'a' is no array", 0],
  ])('rejects %s', async (filter, message, position) => {
    expect(envelope(await list('thing', filter))).toEqual(refusal(message, position))
  })
})

describe('filter by arrays and ranges', () => {
  test.each([
    ["tags CONTAINS 'b'", [1, 2]],
    ["tags CONTAINS ('a', 'b')", [1]],
    ["tags CONTAINS 'c,d'", [2]],
    ["tags CONTAINS '{a,b}'", []],
    ["tags NOT CONTAINS 'b'", [3, 5]],
    ["NOT tags CONTAINS 'b'", [3, 5]],
    ["tags OVERLAPS ('a', 'c,d')", [1, 2]],
    ["tags OVERLAPS 'a'", [1]],
    ['amounts CONTAINS 2', [1, 2]],
    ['amounts OVERLAPS (1, 3)', [1, 2]],
    ["moods CONTAINS 'happy'", [2]],
    ['documents CONTAINS \'{"a": 1}\'', [1]],
    ['span CONTAINS 4', [1]],
    ["span CONTAINS '4'", [1]],
    ["span CONTAINS '[2,4)'", [1]],
    ["span CONTAINS 'empty'", [1, 2, 3, 5]],
    ["span OVERLAPS '[4,6)'", [1, 2]],
    ["span ADJACENT '[5,6)'", [1]],
    ['span ADJACENT 9', [2]],
    ['span CONTAINS -2147483648', [5]],
    ['spans CONTAINS 8', [1]],
    ["spans CONTAINS '{[1,2),[8,9)}'", [1]],
    ["spans OVERLAPS '[8,10)'", [1, 2]],
    ["spans ADJACENT '[12,13)'", [2]],
    ["period CONTAINS '2026-01-15T00:00:00Z'", [1]],
    ["period CONTAINS '2026-03-01 00:00:00+01'", [2]],
  ])('matches %s', async (filter, ids) => {
    expect(await find('thing', filter)).toEqual(ids)
  })

  test.each([
    ["body CONTAINS 'x'", 'CONTAINS does not apply to body, which is text'],
    ['id OVERLAPS (1, 2)', 'OVERLAPS does not apply to id, which is integer'],
    ["tags ADJACENT 'a'", 'ADJACENT does not apply to tags, which is text[]'],
    ['span CONTAINS (1, 2)', 'expected one value after CONTAINS, as span is no array'],
    ["tags MATCHES 'a'", 'MATCHES does not apply to tags, which is text[]'],
  ])('rejects %s', async (filter, message) => {
    expect(envelope(await list('thing', filter))).toEqual(refusal(message, 0))
  })

  test.each([
    ['amounts CONTAINS (1, 1.5)', 'invalid integer value "1.5" — expected a whole number, e.g. 42'],
    ["moods CONTAINS 'angry'", 'invalid value: invalid input value for enum mood: "angry"'],
    ["span CONTAINS 'x'", 'invalid integer value "x" — expected a whole number, e.g. 42'],
    ["span OVERLAPS '[5'", 'invalid value: malformed range literal: "[5"'],
    [
      "span OVERLAPS '[5,1]'",
      'invalid value: range lower bound must be less than or equal to range upper bound',
    ],
  ])('rejects the value in %s', async (filter, message) => {
    expect(envelope(await list('thing', filter))).toEqual({ code: 400, error: 'invalid_value', message })
  })
})

describe('filter by words', () => {
  test.each([
    ["body MATCHES 'dog'", [1, 5]],
    ["body MATCHES 'dog run'", [1]],
    ["body MATCHES 'dog -run'", [5]],
    ["body MATCHES 'cat or run'", [1, 2]],
    ['body MATCHES \'"cat sat"\'', [2]],
    ["body NOT MATCHES 'dog'", [2, 3]],
    ["words MATCHES 'runs'", [1]],
    ["code MATCHES 'x'", [1]],
    ["body MATCHES ''", []],
    ["body MATCHES 'the'", []],
    ["body MATCHES '!@#$%^&*():|<->'", []],
    ["body ~* '%DOGS%'", [1, 5]],
    ["body !~* '%DOGS%'", [2, 3]],
    ['body IS NULL', [4]],
    ['body is not null', [1, 2, 3, 5]],
  ])('matches %s', async (filter, ids) => {
    expect(await find('thing', filter)).toEqual(ids)
  })
})
