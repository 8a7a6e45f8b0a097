import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { anyUnits } from '../../../../../test/any-text.ts'
import { faultsOf } from '../../../../../test/faults.ts'
import { alice } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { quoteIdentifier, quoteLiteral } from '../../../../database/sql.ts'

/** Pages, by number and by cursor, compared with one query for everything. */

/** Columns to sort by, with values that are hard to distinguish or to write. */
const pools: Readonly<Record<string, { readonly type: string; readonly values: readonly string[] }>> = {
  int: { type: 'int', values: ['-2147483648', '0', '7', '2147483647'] },
  big: { type: 'int8', values: ['9007199254740992', '9007199254740993', '-9223372036854775808', '0'] },
  digits: {
    type: 'numeric',
    values: [
      '0.1',
      '0.10000000000000000000000000000000000001',
      'NaN',
      'Infinity',
      '-Infinity',
      '1e300',
      '-0.0',
    ],
  },
  double: {
    type: 'float8',
    values: ['NaN', 'Infinity', '-Infinity', '0', '-0', '0.1', '0.30000000000000004', '5e-324'],
  },
  single: { type: 'float4', values: ['0.1', '16777217', 'NaN', '3.4028235e38', '1e-45'] },
  text: { type: 'text collate "C"', values: ['', ' ', 'a', 'B', "it's", '"', '\\', '😀', 'null', '%'] },
  folded: { type: 'text collate folded', values: ['a', 'A', 'ä', 'Ä', 'b', 'B', ''] },
  local: { type: 'text collate "en-x-icu"', values: ['a', 'A', 'á', 'B', 'b', 'Z', '_'] },
  padded: { type: 'char(5)', values: ['a', 'a  ', 'b', ''] },
  short: { type: 'varchar(9)', values: ['a', 'b', 'a b'] },
  flag: { type: 'bool', values: ['true', 'false'] },
  moment: {
    type: 'timestamptz',
    values: [
      '2026-01-02 03:04:05.000001+00',
      '2026-01-02 03:04:05.000002+00',
      'infinity',
      '-infinity',
      '0044-03-15 BC',
    ],
  },
  local_moment: {
    type: 'timestamp',
    values: ['2026-01-02 03:04:05.000001', '2026-01-02 03:04:05', '294276-12-31'],
  },
  day: { type: 'date', values: ['0001-01-01 BC', '2026-01-02', 'infinity', '5874897-12-31'] },
  clock: { type: 'timetz', values: ['12:00+02', '10:00+00', '11:00+01', '24:00:00+00'] },
  span: {
    type: 'interval',
    values: ['1 mon', '30 days', '29 days 24:00:00', '-1 mon +30 days', '00:00:00.000001'],
  },
  key: {
    type: 'uuid',
    values: [alice, '00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
  },
  mood: { type: 'mood', values: ['sad', 'it\'s "ok"', 'happy'] },
  tags: { type: 'text[]', values: ['{}', '{a}', '{a,NULL}', '{"a,b","\\"c\\""}', '{{a,b},{c,d}}', '{NULL}'] },
  pair: { type: 'pair', values: ['(1,a)', '(1,)', '(,)', '(1,"a ""b"", (c)")'] },
  pairs: { type: 'pair[]', values: ['{}', '{"(1,a)"}', '{"(1,a)","(1,)"}', '{NULL}'] },
  range: { type: 'int4range', values: ['empty', '[1,2)', '(,)', '[1,)', '(,5)'] },
  moments: { type: 'tstzmultirange', values: ['{}', '{[2026-01-01,2026-01-02)}', '{(,)}'] },
  document: {
    type: 'jsonb',
    values: ['null', '1', '1.00', '"a"', '[1,{"a":null}]', '{"b":12345678901234567890}'],
  },
  bytes: { type: 'bytea', values: ['\\x', '\\x00', '\\x00ff', '\\xff'] },
  address: { type: 'inet', values: ['10.0.0.1', '10.0.0.1/8', '::1', '10.0.0.0/8'] },
  bits: { type: 'varbit', values: ['', '0', '00', '1'] },
  price: { type: 'money', values: ['-1234.56', '0', '1000000'] },
  kind: { type: 'regtype', values: ['integer', 'text', 'timestamp with time zone'] },
  place: { type: 'pg_lsn', values: ['0/0', '16/B374D848', 'FFFFFFFF/FFFFFFFF'] },
  words: { type: 'tsvector', values: ["'a':1 'b''c':2A", '', "'a'"] },
  even: { type: 'even', values: ['2', '4', '-2'] },
  'odd "name", -x': { type: 'int', values: ['1', '2', '3'] },
}
const columns = Object.keys(pools)

const setup = `
  create collation folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
  create type mood as enum ('sad', 'it''s "ok"', 'happy');
  create type pair as (a int, b text collate "C");
  create domain even as int check (value % 2 = 0);
  create table sorted (id bigint primary key,
    ${columns.map((name) => `${quoteIdentifier(name)} ${pools[name]?.type}`).join(', ')});

  create table live (id int primary key, rank int);

  create table log_line (line text);
  insert into log_line select 'line ' || n % 3 from generate_series(1, 20) n;
  create table parted (a int, note text) partition by list (a);
  create table parted_one partition of parted for values in (1);
  create table parted_two partition of parted for values in (2, 3);
  insert into parted select 1 + n % 3, 'n' || n % 4 from generate_series(1, 20) n;
  create table keyed (code text not null unique, label text unique, n int);
  insert into keyed select 'c' || n, case when n % 2 = 0 then 'l' || n end, n % 3 from generate_series(1, 20) n;
  create table pairs (n int, b int, a int, primary key (a, b));
  insert into pairs select n % 2, n % 5, n from generate_series(1, 20) n;
  create view shown as select line from log_line;
  create materialized view stored as select line from log_line;
  create table bare ();
  insert into bare select from generate_series(1, 5);

  create table note (id int primary key, owner text, rank int, label text);
  insert into note
    select n, case n % 2 when 0 then '${alice}' else 'x' end, nullif(n % 4, 0), 'l' || n % 5 from generate_series(1, 60) n;
  alter table note enable row level security;
  create policy own on note using (owner = current_setting('basalt.user_id', true));

  create table story (id int primary key, body text);`

const token = userToken({ sub: alice })
let app: TestApp
let admin: string

beforeAll(async () => {
  app = await createTestApp({ setup })
  admin = await app.adminToken()
})
afterAll(async () => {
  expect(faultsOf(app)).toEqual([])
  await app[Symbol.asyncDispose]()
})

interface Request {
  readonly table: string
  readonly sort: string
  readonly perPage: number
  readonly parameters?: Readonly<Record<string, string>>
  readonly as?: string
}

async function fetchPage(
  { table, sort, perPage, parameters, as = admin }: Request,
  paging: Record<string, string>,
) {
  const query = new URLSearchParams({ ...parameters, sort, perPage: String(perPage), ...paging })
  const response = await app.request('GET', `/api/collections/${table}?${query}`, { token: as })
  expect(response.status, response.text).toBe(200)
  return response
}

/** Returns the texts of the items, because parsing would round large numbers. */
function itemsOf(text: string): string[] {
  const items = text.slice(text.indexOf('"items":[') + '"items":['.length, -2)
  return items === '' ? [] : items.split(/,\s*(?=\{)/).map((item) => item.trim())
}

/** Returns all items by following the cursor; each page is as full as it can be. */
async function readByCursor(request: Request): Promise<string[]> {
  const items: string[] = []
  for (let cursor = ''; ; ) {
    if (items.length > 1000) throw new Error('the cursor does not come to an end')
    const { text, json } = await fetchPage(request, { cursor })
    const page = itemsOf(text)
    items.push(...page)
    const keys = ['perPage', ...(json.nextCursor === undefined ? [] : ['nextCursor']), 'items']
    expect(Object.keys(json)).toEqual(keys)
    if (json.nextCursor === undefined) return items
    expect(page).toHaveLength(request.perPage)
    cursor = json.nextCursor
  }
}

/** Returns all items page by page; the totals must not change. */
async function readByPage(request: Request): Promise<string[]> {
  const items: string[] = []
  for (let page = 1; ; page += 1) {
    const { text, json } = await fetchPage(request, { page: String(page) })
    items.push(...itemsOf(text))
    expect(json.page).toBe(page)
    expect(json.totalPages).toBe(Math.ceil(json.totalItems / request.perPage))
    if (page < json.totalPages) continue
    expect(json.totalItems).toBe(items.length)
    return items
  }
}

interface SortTerm {
  readonly column: string
  readonly sign: string
}

const sortTerms = (names: readonly string[]) =>
  fc.uniqueArray(fc.record({ column: fc.constantFrom(...names), sign: fc.constantFrom('', '-', '+') }), {
    minLength: 1,
    maxLength: 4,
    selector: ({ column }) => column,
  })

function printSort(terms: readonly SortTerm[]): string {
  return terms.map(({ column, sign }) => sign + quoteIdentifier(column)).join(',')
}

function orderBy(terms: readonly SortTerm[]): string {
  return terms
    .map(({ column, sign }) => `${quoteIdentifier(column)} ${sign === '-' ? 'desc' : 'asc'}`)
    .join(', ')
}

describe('paging', () => {
  /** Row that has for each sort key the index of its value in the pool, or null. */
  const row = fc.array(fc.option(fc.nat(9), { freq: 4 }), { minLength: 4, maxLength: 4 })

  async function store(
    terms: readonly SortTerm[],
    rows: readonly (readonly (number | null)[])[],
  ): Promise<void> {
    const tuples = rows.map((indexes, row) => {
      const values = terms.map(({ column }, key) => {
        const values = pools[column]?.values ?? []
        const index = indexes[key] ?? null
        return index === null ? 'null' : quoteLiteral(values[index % values.length] ?? '')
      })
      // These ids are equal as JavaScript numbers.
      return `(${[`${2n ** 53n + BigInt(row)}`, ...values].join(', ')})`
    })
    const names = ['id', ...terms.map(({ column }) => column)].map(quoteIdentifier)
    await app.sql('delete from sorted')
    if (tuples.length > 0) await app.sql(`insert into sorted (${names}) values ${tuples.join(', ')}`)
  }

  async function expectWholeList(terms: readonly SortTerm[], perPage: number): Promise<void> {
    const wanted = await app.sql<{ id: string }>(`select id from sorted order by ${orderBy(terms)}, id`)
    const items = wanted.map(({ id }) => `{"id":${id}}`)
    const request = { table: 'sorted', sort: printSort(terms), perPage, parameters: { fields: 'id' } }
    expect(await readByCursor(request)).toEqual(items)
    expect(await readByPage(request)).toEqual(items)
  }

  test('concatenates to the whole sorted list, whatever the rows and the sort', async () => {
    await fc.assert(
      fc.asyncProperty(
        sortTerms(columns),
        fc.array(row, { maxLength: 25 }),
        fc.integer({ min: 1, max: 9 }),
        async (terms, rows, perPage) => {
          await store(terms, rows)
          await expectWholeList(terms, perPage)
        },
      ),
      { numRuns: 100 },
    )
  })

  test.each(columns)('follows %s in both directions', async (column) => {
    const indexes = [...(pools[column]?.values.keys() ?? [])]
    await store(
      [{ column, sign: '' }],
      [...indexes, null, 0, 1, null].map((index) => [index]),
    )
    await expectWholeList([{ column, sign: '' }], 1)
    await expectWholeList([{ column, sign: '-' }], 2)
  })

  const filters = [
    ['', 'true'],
    ['rank = 1 OR rank = null', '(rank = 1 or rank is null)'],
    ["rank != 1 AND label = 'l1' OR label ~ '%2'", "(rank <> 1 and label = 'l1' or label like '%2')"],
    ['id IN (2, 4, 5, 6, 40)', 'id in (2, 4, 5, 6, 40)'],
  ] as const

  test('stays within filter and policies', async () => {
    await fc.assert(
      fc.asyncProperty(
        sortTerms(['id', 'rank', 'label', 'owner']),
        fc.constantFrom(...filters),
        fc.boolean(),
        fc.integer({ min: 1, max: 12 }),
        async (terms, [filter, condition], isAdmin, perPage) => {
          const visible = isAdmin ? 'true' : `owner = '${alice}'`
          const wanted = await app.sql<{ id: number }>(
            `select id from note where ${condition} and ${visible} order by ${orderBy(terms)}, id`,
          )
          const request = {
            table: 'note',
            sort: printSort(terms),
            perPage,
            parameters: { fields: 'id', filter },
            as: isAdmin ? admin : token,
          }
          const items = wanted.map((found) => JSON.stringify(found))
          expect(await readByCursor(request)).toEqual(items)
          expect(await readByPage(request)).toEqual(items)
        },
      ),
      { numRuns: 60 },
    )
  })

  test.each([
    ['a table without a key', 'log_line', ['', 'line', '-line']],
    ['partitions without a key', 'parted', ['', 'note', '-a', '-note,a']],
    ['a materialized view', 'stored', ['', 'line', '-line']],
    ['a table with a unique key', 'keyed', ['', 'n', '-label', 'label,-n']],
    ['a composite key in another order', 'pairs', ['', 'n', '-b', '-n,b', '-b,-a']],
    ['a table without columns', 'bare', ['']],
  ])('covers %s', async (_what, table, sorts) => {
    for (const sort of sorts) {
      for (const perPage of [3, 20, 500]) {
        const byCursor = await readByCursor({ table, sort, perPage })
        expect(byCursor).toEqual(await readByPage({ table, sort, perPage }))
        const [count] = await app.sql<{ count: number }>(`select count(*)::int from ${table}`)
        expect(byCursor).toHaveLength(count?.count ?? -1)
      }
    }
  })

  test('returns rows that were NULL before their column was declared NOT NULL', async () => {
    // Only PostgreSQL 18 can declare that without reading the rows.
    const [server] = await app.sql<{ version: number }>(
      "select current_setting('server_version_num')::int as version",
    )
    const declare =
      (server?.version ?? 0) >= 180000 ? 'not null a not valid' : 'check (a is not null) not valid'
    await app.sql(`
      create table formerly (a int, b int);
      create unique index on formerly (a);
      insert into formerly values (1, 1), (null, 1), (null, 2), (2, null);
      alter table formerly add constraint stated ${declare}`)
    await app.app.catalog.refresh()
    const isNullable = () => app.app.catalog.current.relations.get('formerly')?.column.get('a')?.nullable
    expect(isNullable()).toBe(true)
    for (const sort of ['', 'a', '-a', '-b,a']) {
      const request = { table: 'formerly', sort, perPage: 1 }
      const items = await readByCursor(request)
      expect(items).toHaveLength(4)
      expect(items).toEqual(await readByPage(request))
    }
    await app.sql(`
      update formerly set a = 10 + b where a is null;
      alter table formerly validate constraint stated;
      alter table formerly alter a set not null`)
    await app.app.catalog.refresh()
    expect(isNullable()).toBe(false)
    expect(await readByCursor({ table: 'formerly', sort: 'a', perPage: 1 })).toHaveLength(4)
  })

  test('returns columns, relations and odd names by cursor as by number', async () => {
    await app.sql(`
      create table "cursor" (id int primary key, "cursor" int, "cursor_" int, r int, t int, record int, place int, key int);
      insert into "cursor" values (1, 10, 11, 12, 13, 14, 15, 16), (2, 20, 21, 22, 23, 24, 25, 26)`)
    await app.app.catalog.refresh()
    const request = { table: 'cursor', sort: '-cursor,r', perPage: 1 }
    const items = await readByCursor(request)
    expect(items).toEqual(await readByPage(request))
    expect(items.map((item) => Object.values(JSON.parse(item)))).toEqual([
      [2, 20, 21, 22, 23, 24, 25, 26],
      [1, 10, 11, 12, 13, 14, 15, 16],
    ])
  })
})

describe('paging while rows are inserted and deleted', () => {
  interface Live {
    readonly id: number
    readonly rank: number | null
  }

  /** Compares with NULLs last ascending and first descending, then by id. */
  function compare(descending: boolean): (one: Live, other: Live) => number {
    const weight = ({ rank }: Live) => (rank === null ? 1000 : rank) * (descending ? -1 : 1)
    return (one, other) => weight(one) - weight(other) || one.id - other.id
  }

  const rank = fc.option(fc.nat(4), { freq: 3 })

  test('neither repeats rows nor hides others', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(rank, { minLength: 1, maxLength: 15 }),
        fc.array(
          fc.record({
            insert: fc.array(rank, { maxLength: 3 }),
            remove: fc.array(fc.nat(20), { maxLength: 3 }),
          }),
        ),
        fc.boolean(),
        fc.integer({ min: 1, max: 4 }),
        async (ranks, changes, descending, perPage) => {
          let rows: Live[] = []
          let nextId = 0
          const insert = async (added: readonly (number | null)[]) => {
            for (const each of added) {
              // Each id is used once, in part after and in part before the existing ones.
              nextId = (nextId + 37) % 1009
              rows.push({ id: nextId, rank: each })
            }
            const tuples = rows
              .slice(rows.length - added.length)
              .map(({ id, rank: each }) => `(${id}, ${each})`)
            if (tuples.length > 0) await app.sql(`insert into live values ${tuples.join(', ')}`)
          }
          await app.sql('delete from live')
          await insert(ranks)
          const request = { table: 'live', sort: descending ? '-rank' : 'rank', perPage }
          let cursor = ''
          let last: Live | undefined
          for (const change of [...changes, { insert: [], remove: [] }]) {
            const { json } = await fetchPage(request, { cursor })
            const order = compare(descending)
            const ahead = rows.filter((row) => last === undefined || order(row, last) > 0).sort(order)
            expect(json.items).toEqual(ahead.slice(0, perPage))
            expect(json.nextCursor === undefined).toBe(ahead.length <= perPage)
            if (json.nextCursor === undefined) return
            cursor = json.nextCursor
            last = ahead[perPage - 1]
            const gone = change.remove.flatMap((index) => rows[index % Math.max(1, rows.length)]?.id ?? [])
            rows = rows.filter(({ id }) => !gone.includes(id))
            if (gone.length > 0) await app.sql('delete from live where id = any ($1)', [gone])
            await insert(change.insert)
          }
        },
      ),
      { numRuns: 60 },
    )
  })
})

describe('cursor', () => {
  let cursor: string

  beforeEach(async () => {
    cursor = (await fetchPage({ table: 'note', sort: '-rank', perPage: 5 }, { cursor: '' })).json.nextCursor
  })

  function list(table: string, parameters: Record<string, string>) {
    return app.request('GET', `/api/collections/${table}?${new URLSearchParams(parameters)}`, {
      token: admin,
    })
  }

  function token(content: unknown): string {
    return Buffer.from(JSON.stringify(content)).toString('base64url')
  }

  test.each([
    ['another column', { sort: 'rank' }, 'invalid cursor: it belongs to another sort'],
    ['no sort', {}, 'invalid cursor: cursor has 2 values but sort has 1 fields'],
    ['another direction', { sort: 'rank' }, 'invalid cursor: it belongs to another sort'],
    ['another column of the same kind', { sort: '-label' }, 'invalid cursor: it belongs to another sort'],
    ['one more column', { sort: '-rank,label' }, 'invalid cursor: cursor has 2 values but sort has 3 fields'],
    ['the key in another direction', { sort: '-rank,-id' }, 'invalid cursor: it belongs to another sort'],
  ])('does not continue with %s', async (_what, parameters: Record<string, string>, message) => {
    const response = await list('note', { ...parameters, cursor })
    expect(envelope(response)).toEqual({ code: 400, message, error: 'invalid_cursor' })
  })

  test('continues when the key is named', async () => {
    const one = await list('note', { sort: '-rank', cursor })
    const other = await list('note', { sort: '-rank,id', cursor })
    expect(other.json).toEqual(one.json)
  })

  test('is rejected for a table with another key', async () => {
    const response = await list('pairs', { sort: '-n', cursor })
    expect(envelope(response)).toMatchObject({ code: 400, error: 'invalid_cursor' })
  })

  test.each([
    ['page', 'cursor and page parameters are mutually exclusive', { page: '2' }],
    ['a total of its own kind', 'total: expected "estimated"', { total: 'exact' }],
  ])('cannot be combined with %s', async (_what, message, parameters: Record<string, string>) => {
    const response = await list('note', { sort: '-rank', cursor, ...parameters })
    expect(envelope(response)).toEqual({ code: 400, message, error: 'invalid_parameter' })
  })

  test.each([
    ['no text of base64url', 'not a cursor!', 'invalid cursor'],
    ['another form', token({ v: [1, 2], k: ['-rank', 'id'] }), 'invalid cursor'],
    ['values without their sort', token({ v: ['1', '2'] }), 'invalid cursor'],
  ])('is rejected when it is %s', async (_what, text, message) => {
    const response = await list('note', { sort: '-rank', cursor: text })
    expect(envelope(response)).toEqual({ code: 400, message, error: 'invalid_cursor' })
  })

  test('is rejected when it is too long', async () => {
    const response = await list('note', { sort: '-rank', cursor: 'A'.repeat(4097) })
    expect(envelope(response)).toEqual({ code: 400, message: 'cursor too long', error: 'cursor_too_long' })
  })

  test.each([
    ['a word for a number', 'x', 'invalid integer value "x" — expected a whole number, e.g. 42'],
    ['SQL', '1) or true --', 'invalid integer value "1) or true --" — expected a whole number, e.g. 42'],
    ['NUL', '\0', 'invalid value: text cannot hold the character U+0000'],
    ['too large a number', '1e9', 'invalid integer value "1e9" — expected a whole number, e.g. 42'],
  ])('is rejected with a value that does not fit: %s', async (_what, value, message) => {
    const response = await list('note', {
      sort: '-rank',
      cursor: token({ v: [value, '1'], k: ['-rank', 'id'] }),
    })
    expect(envelope(response)).toEqual({ code: 400, message, error: 'invalid_value' })
  })

  test('has nothing after a page of NULLs alone', async () => {
    const forged = token({ v: [null, null], k: ['rank', 'id'] })
    expect((await list('note', { sort: 'rank', cursor: forged })).json).toEqual({ perPage: 20, items: [] })
  })

  test('never fails nor discloses anything when it was tampered with', async () => {
    const tampered = fc
      .tuple(fc.nat(200), anyUnits({ maxLength: 2 }), fc.nat(3))
      .map(([at, insert, remove]) => {
        const offset = at % cursor.length
        return cursor.slice(0, offset) + insert.toWellFormed() + cursor.slice(offset + remove)
      })
    const forged = fc
      .array(fc.option(fc.string({ maxLength: 8 })), { minLength: 2, maxLength: 2 })
      .map((values) => token({ v: values, k: ['-rank', 'id'] }))
    const user = userToken({ sub: alice })
    await fc.assert(
      fc.asyncProperty(fc.oneof(tampered, forged), async (text) => {
        const query = new URLSearchParams({ sort: '-rank', fields: 'owner', cursor: text })
        const { status, json } = await app.request('GET', `/api/collections/note?${query}`, { token: user })
        expect([200, 400]).toContain(status)
        if (status === 200) for (const { owner } of json.items) expect(owner).toBe(alice)
      }),
      { numRuns: 200 },
    )
  })

  test('requires rows that can be distinguished', async () => {
    const response = await list('shown', { cursor: '' })
    expect(envelope(response)).toEqual({
      code: 400,
      message: 'cursor: "shown" has no readable key that could tell its rows apart; use page',
      error: 'invalid_parameter',
    })
    expect((await list('shown', {})).json.totalItems).toBe(20)
  })

  test('is not made when it would be too long to send', async () => {
    await app.sql("insert into story values (1, repeat('x', 3000)), (2, repeat('x', 4000)), (3, 'z')")
    const sorted = { table: 'story', sort: 'body', perPage: 1, parameters: { fields: 'id' } }
    const { json } = await fetchPage(sorted, { cursor: '' })
    expect(json.items).toEqual([{ id: 1 }])
    const next = await list('story', { sort: 'body', perPage: '1', cursor: json.nextCursor })
    expect(envelope(next)).toEqual({
      code: 400,
      message:
        'sort: the values of the last record are too long for a cursor; sort by shorter ones, or use page',
      error: 'invalid_parameter',
    })
    // A page that ends with a shorter value can be read, and so can the last page.
    expect(await readByCursor({ ...sorted, perPage: 3 })).toEqual(['{"id":1}', '{"id":2}', '{"id":3}'])
  })
})
