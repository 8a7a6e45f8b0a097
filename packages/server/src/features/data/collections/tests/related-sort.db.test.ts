import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApiKey } from '../../../../../test/api-keys.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'

/** Lists sorted by columns of related records, compared with joins. */

const setup = `
  create table country (id int primary key, name text);
  create table artist (id int primary key, name text, country_id int references country, secret text,
    shape json, owner_id uuid);
  create table album (artist_id int references artist, number int, title text, primary key (artist_id, number));
  create table track (
    id int primary key, owner_id uuid, label text, artist_id int, album_number int, next_id int references track,
    foreign key (artist_id, album_number) references album);
  alter table track add constraint track_artist foreign key (artist_id) references artist;
  create table dotted (id int primary key, track_id int references track, "track.label" text);
  create table base (id int primary key, name text);
  create table derived () inherits (base);
  create table leaf (id int primary key, base_id int references base);

  insert into country values (1, 'Peru'), (2, 'Mali'), (3, null);
  insert into artist select n, case when n % 7 = 0 then null else 'artist ' || n * 37 % 11 end,
    nullif(n % 4, 0), 'secret', '{}', case when n % 3 = 0 then '${bob}' else '${alice}' end::uuid
    from generate_series(1, 30) n;
  insert into album select a, n, 'album ' || (a * n) % 5 from generate_series(1, 30) a, generate_series(1, 2) n;
  insert into track select n, case when n % 2 = 0 then '${alice}' else '${bob}' end::uuid, 'track ' || n % 3,
    case when n % 5 > 0 then 1 + n % 30 end, case when n % 10 < 7 then 1 + n % 2 end, nullif(n * 13 % 120, 0)
    from generate_series(1, 120) n;
  insert into base values (1, 'b'), (2, 'a');
  insert into derived values (1, 'c');
  insert into leaf values (1, 1), (2, 2);

  alter table artist enable row level security;
  create policy own on artist using (owner_id = basalt.user_id());
  alter table track enable row level security;
  create policy own on track using (owner_id = basalt.user_id());
  create index on track (owner_id);
  revoke select on artist from basalt_authenticated;
  grant select (id, name, country_id, shape, owner_id) on artist to basalt_authenticated;
  create table entry (id int primary key, owner_id uuid, track_id int references track, mark int);
  insert into entry select n, case when n % 500 = 0 then '${alice}' else '${bob}' end::uuid, 1 + n / 500 % 120, n % 3
    from generate_series(1, 30000) n;
  create index on entry (owner_id);
  create index on entry (mark);
  alter table entry enable row level security;
  create policy own on entry using (owner_id = basalt.user_id());

  insert into basalt.users (id, email, password_hash) values ('${alice}', 'alice@example.com', null);
  analyze;
`

let app: TestApp
let admin: string
const token = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({ setup })
  admin = await app.adminToken()
})
afterAll(() => app?.[Symbol.asyncDispose]())

const list = (parameters: Record<string, string>, as = token, table = 'track') =>
  app.request('GET', `/api/collections/${table}?${new URLSearchParams(parameters)}`, { token: as })

async function idsByCursor(sort: string, perPage: number, as: string, filter = ''): Promise<number[]> {
  const ids: number[] = []
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const { status, json } = await list({ sort, perPage: `${perPage}`, fields: 'id', cursor, filter }, as)
    expect(status).toBe(200)
    ids.push(...json.items.map(({ id }: { id: number }) => id))
    cursor = json.nextCursor
  }
  return ids
}

/** Columns that a list of tracks may be sorted by, as expressions over the joins below. */
const expressions: Readonly<Record<string, string>> = {
  label: 't.label',
  'artist.name': 'a.name',
  '"artist"."country".name': 'c.name',
  'artist.country_id': 'a.country_id',
  'album.title': 'al.title',
  'next.label': 'n.label',
  'next.artist_id.name': 'na.name',
}

describe('GET /collections/:table?sort by a column of a related record', () => {
  test('lists the rows in the order of a left join, page by page', async () => {
    const terms = fc.uniqueArray(
      fc.record({ name: fc.constantFrom(...Object.keys(expressions)), sign: fc.constantFrom('', '-', '+') }),
      { minLength: 1, maxLength: 3, selector: ({ name }) => name },
    )
    await fc.assert(
      fc.asyncProperty(
        terms,
        fc.boolean(),
        fc.boolean(),
        fc.integer({ min: 7, max: 80 }),
        async (sort, isAdmin, isFiltered, perPage) => {
          const mine = (alias: string) => (isAdmin ? 'true' : `${alias}.owner_id = '${alice}'`)
          const order = sort.map(({ name, sign }) => `${expressions[name]} ${sign === '-' ? 'desc' : ''}`)
          const wanted = await app.sql<{ id: number }>(`
          select t.id from track t
          left join artist a on a.id = t.artist_id and ${mine('a')}
          left join country c on c.id = a.country_id
          left join album al on al.artist_id = t.artist_id and al.number = t.album_number
          left join track n on n.id = t.next_id and ${mine('n')}
          left join artist na on na.id = n.artist_id and ${mine('na')}
          where ${mine('t')} and ${isFiltered ? "t.label <> 'track 1'" : 'true'}
          order by ${order}, t.id`)
          const ids = wanted.map(({ id }) => id)
          const written = sort.map(({ name, sign }) => sign + name).join()
          const as = isAdmin ? admin : token
          const filter = isFiltered ? "label != 'track 1'" : ''
          expect(await idsByCursor(written, perPage, as, filter)).toEqual(ids)
          const { json } = await list({ sort: written, perPage: '500', fields: 'id', filter }, as)
          expect(json).toMatchObject({ totalItems: ids.length, items: ids.map((id) => ({ id })) })
        },
      ),
      { numRuns: 60 },
    )
  })

  test('lists the few rows of a caller in a table of many', async () => {
    const wanted = await app.sql<{ id: number }>(`
      select e.id from entry e left join track t on t.id = e.track_id and t.owner_id = '${alice}'
      where e.owner_id = '${alice}' order by e.mark desc, t.label, e.id`)
    const ids = wanted.map(({ id }) => ({ id }))
    expect(ids).toHaveLength(60)
    // The second request knows that they are few, and reads them before it sorts them.
    for (const _ of [1, 2, 3]) {
      const query = { sort: '-mark,track.label', fields: 'id', perPage: '40' }
      const first = (await list({ ...query, cursor: '' }, token, 'entry')).json
      expect(first.items).toEqual(ids.slice(0, 40))
      const second = (await list({ ...query, cursor: first.nextCursor }, token, 'entry')).json
      expect(second.items).toEqual(ids.slice(40))
      expect((await list({ ...query, page: '2' }, token, 'entry')).json.items).toEqual(ids.slice(40))
    }
  })

  test('reads a name with a dot as a column if there is one', async () => {
    await app.sql(`
      insert into dotted values (1, 2, 'b'), (2, 4, 'a'), (3, 6, 'c')`)
    const sorted = (sort: string) => list({ sort, fields: 'id', skipTotal: 'true' }, admin, 'dotted')
    expect((await sorted('track.label')).json.items).toEqual([{ id: 2 }, { id: 1 }, { id: 3 }])
    // The labels are "track 2", "track 1" and "track 0".
    expect((await sorted('"track"."label"')).json.items).toEqual([{ id: 3 }, { id: 2 }, { id: 1 }])
    expect((await sorted('track_id.label')).json.items).toEqual([{ id: 3 }, { id: 2 }, { id: 1 }])
  })

  test('lists a row once though children of the related table have its key, too', async () => {
    const { json } = await list({ sort: 'base.name', fields: 'id' }, admin, 'leaf')
    expect(json).toMatchObject({ totalItems: 2, items: [{ id: 2 }, { id: 1 }] })
  })

  test('sorts rows like NULL whose related record the policies hide', async () => {
    const ids = await idsByCursor('-artist.owner_id', 100, token)
    const visible = await app.sql<{ id: number }>(`
      select t.id from track t join artist a on a.id = t.artist_id and a.owner_id = t.owner_id
      where t.owner_id = '${alice}'`)
    const hidden = ids.slice(0, ids.length - visible.length)
    expect(hidden).toEqual(hidden.toSorted((one, other) => one - other))
    expect(ids.slice(hidden.length)).toEqual(visible.map(({ id }) => id).toSorted((a, b) => a - b))
  })

  test('sorts exports, POST /query and pages of the dashboard', async () => {
    const sort = '-album.title,id'
    const wanted = await app.sql<{ id: number }>(`
      select t.id from track t left join album a on a.artist_id = t.artist_id and a.number = t.album_number
      where t.owner_id = '${alice}' order by a.title desc, t.id`)
    const ids = wanted.map(({ id }) => id)
    const csv = await app.request('GET', `/api/collections/track/export.csv?fields=id&sort=${sort}`, {
      token,
    })
    expect(csv.text).toBe(`id\n${ids.join('\n')}\n`)
    const query = await app.request('POST', '/api/collections/track/query', {
      token,
      body: { sort: ['-album.title', 'id'], fields: ['id'], perPage: 5 },
    })
    expect(query.json.items).toEqual(ids.slice(0, 5).map((id) => ({ id })))
    const params = new URLSearchParams({ sort, columns: 'id', limit: '7', as: alice })
    const grid = await app.request('GET', `/api/admin/tables/track/rows?${params}`, { token: admin })
    expect(grid.json).toMatchObject({ rows: ids.slice(0, 7).map((id) => ({ cells: [String(id)] })) })
  })

  test.each([
    ['an unknown relation', 'nothing.name', 'unknown_column', 'unknown column "nothing.name" in sort'],
    ['an unknown column', 'artist.nothing', 'unknown_column', 'unknown column "artist.nothing" in sort'],
    ['a relation alone', 'artist.country', 'unknown_column', 'unknown column "artist.country" in sort'],
    ['a quoted path to nothing', '"artist"."x"', 'unknown_column', 'unknown column "artist.x" in sort'],
    ['an empty name', 'artist..name', 'unknown_column', 'unknown column "artist..name" in sort'],
    [
      'a relation to many records',
      'track.label',
      'invalid_parameter',
      'sort: expected relations to one record in "track.label", but "track" leads to many',
    ],
    [
      'a column without an order',
      'artist.shape',
      'invalid_parameter',
      'sort: json of column "artist.shape" has no order',
    ],
    [
      'too many relations',
      'next.next.next.next.next.label',
      'invalid_parameter',
      'sort: expected at most 4 relations in "next.next.next.next.next.label"',
    ],
  ])('rejects %s', async (_what, sort, error, message) => {
    expect(envelope(await list({ sort }))).toEqual({ code: 400, error, message })
  })

  test('rejects a column and a table that the caller may not read', async () => {
    const { key } = await createApiKey(app, { userId: alice, allowedTables: ['track'] })
    expect(envelope(await list({ sort: 'artist.secret' }))).toEqual({
      code: 403,
      error: 'insufficient_permissions',
      message: 'insufficient permissions',
    })
    expect(envelope(await list({ sort: 'artist.name' }, key))).toEqual({
      code: 403,
      error: 'insufficient_scope',
      message: 'api key does not have access to table: artist',
    })
    const path = '/api/collections/track/export.csv?sort=artist.name'
    expect(envelope(await app.request('GET', path, { token: key }))).toEqual({
      code: 403,
      error: 'insufficient_scope',
      message: 'api key does not have access to table: artist',
    })
    expect((await list({ sort: 'next.label' }, key)).status).toBe(200)
  })

  test('rejects a cursor of another path to a column of the same name', async () => {
    const { json } = await list({ sort: 'artist.name', perPage: '1', cursor: '' })
    const other = await list({ sort: 'next.label', perPage: '1', cursor: json.nextCursor })
    expect(envelope(other)).toEqual({
      code: 400,
      error: 'invalid_cursor',
      message: 'invalid cursor: it belongs to another sort',
    })
  })
})
