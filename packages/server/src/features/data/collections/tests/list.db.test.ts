import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice, library } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'

let app: TestApp
const token = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({
    setup: library,
    config: { 'database.schemas': 'public,archive' },
  })
})
afterAll(() => app[Symbol.asyncDispose]())

function list(path: string) {
  return app.request('GET', `/api/collections/${path}`, { token })
}

/** Returns the values of one column, in the order of the list. */
async function column(path: string, name: string): Promise<unknown[]> {
  const response = await list(path)
  expect(response.status, response.text).toBe(200)
  return response.json.items.map((item: Record<string, unknown>) => item[name])
}

async function expectError(path: string, status: number, message: string, error: string) {
  const response = await list(path)
  expect(envelope(response)).toMatchObject({ code: status, message, error })
  expect(response.status).toBe(status)
}

describe('GET /collections/:table', () => {
  test('returns every column, the page and the totals, ordered by primary key', async () => {
    const response = await list('author')
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(response.headers.get('cache-control')).toBe('private, no-cache')
    expect(response.json).toEqual({
      page: 1,
      perPage: 20,
      totalItems: 3,
      totalPages: 1,
      items: [
        { author_id: 1, name: 'Ursula', born: '1929-10-21' },
        { author_id: 2, name: 'Stanisław', born: '1921-09-12' },
        { author_id: 3, name: 'Octavia', born: null },
      ],
    })
  })

  test('returns an empty page when no row matches', async () => {
    const response = await list('author?filter=author_id>100')
    expect(response.json).toEqual({ page: 1, perPage: 20, totalItems: 0, totalPages: 0, items: [] })
  })

  test('sorts texts as a dictionary does, also page by page', async () => {
    await app.sql(`
      create table fruit (id int primary key, name text);
      insert into fruit select ordinality, name from
        unnest(array['Zoe', 'banana', 'éclair', 'Banana', 'apple', 'Äpfel', 'adam']) with ordinality f (name, ordinality)`)
    const sorted = ['adam', 'Äpfel', 'apple', 'banana', 'Banana', 'éclair', 'Zoe']
    expect(await column('fruit?sort=name', 'name')).toEqual(sorted)
    expect(await column('fruit?sort=-name', 'name')).toEqual(sorted.toReversed())
    const paged: string[] = []
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const { json } = await list(`fruit?sort=name&perPage=2&cursor=${cursor}`)
      paged.push(...json.items.map(({ name }: { name: string }) => name))
      cursor = json.nextCursor
    }
    expect(paged).toEqual(sorted)
    await app.sql('drop table fruit')
  })

  test('accepts a trailing slash', async () => {
    expect((await list('author/')).json.totalItems).toBe(3)
  })

  test('returns no body for HEAD', async () => {
    const response = await app.request('HEAD', '/api/collections/author', { token })
    expect([response.status, response.text]).toEqual([200, ''])
  })

  test.each([
    ['view', 'long_book', 2],
    ['materialized view', 'author_count', 1],
    ['partitioned table', 'event', 2],
    ['table of another schema', 'archive.report', 1],
    ['table without a primary key', 'log_line', 3],
    ['table with an odd name', encodeURIComponent('Odd "table"'), 1],
  ])('lists a %s', async (_kind, name, count) => {
    expect((await list(name)).json).toMatchObject({ totalItems: count })
  })

  test.each([
    ['an unknown name', 'nothing'],
    ['a table by a name in another case', 'Author'],
    ['a table of a schema that is not exposed', 'information_schema.tables'],
    ['a system table', 'basalt.migrations'],
    ['a table of public under its schema', 'public.author'],
    ['a table of another schema without it', 'report'],
    ['an index', 'author_pkey'],
  ])('returns 404 for %s', async (_what, name) => {
    await expectError(name, 404, `collection not found: ${name}`, 'collection_not_found')
  })
})

describe('GET /collections/:table?page', () => {
  test('pages by page and perPage', async () => {
    const response = await list('book?page=2&perPage=2')
    expect(response.json).toMatchObject({ page: 2, perPage: 2, totalItems: 5, totalPages: 3 })
    expect(response.json.items.map((item: { book_id: number }) => item.book_id)).toEqual([3, 4])
  })

  test('returns an empty page with the totals past the end', async () => {
    expect((await list('book?page=9')).json).toMatchObject({ page: 9, totalItems: 5, items: [] })
  })

  test.each([
    ['perPage=0', { perPage: 1 }],
    ['perPage=-5', { perPage: 1 }],
    ['perPage=501', { perPage: 500 }],
    ['perPage=99999999999999999999', { perPage: 500 }],
    ['page=0', { page: 1 }],
    ['page=-3', { page: 1 }],
    ['page=%2B1', { page: 1 }],
  ])('clamps %s', async (query, expected) => {
    expect((await list(`book?${query}`)).json).toMatchObject(expected)
  })

  test.each([
    ['page=x', 'page: expected an integer'],
    ['page=1.5', 'page: expected an integer'],
    ['page=', 'page: expected an integer'],
    ['perPage=ten', 'perPage: expected an integer'],
    ['perPage=1e3', 'perPage: expected an integer'],
    ['page=9999999999999999999', 'page: expected a smaller number'],
    ['page=1&page=2', 'parameter "page" is given more than once'],
    ['skipTotal=yes', 'skipTotal: expected true or false'],
    ['total=exact', 'total: expected "estimated"'],
  ])('rejects %s', async (query, message) => {
    await expectError(`book?${query}`, 400, message, 'invalid_parameter')
  })

  /** Table whose policy counts its evaluations. */
  const counted = `
    create sequence evaluated;
    grant usage on sequence evaluated to basalt_authenticated;
    create table counted (id int primary key);
    insert into counted select generate_series(1, 7);
    alter table counted enable row level security;
    create policy evaluated on counted using (nextval('evaluated') > 0);`

  test.each([
    { query: 'perPage=10', totalItems: 7, evaluated: 7, what: 'the first page is not full' },
    { query: 'perPage=5&page=2', totalItems: 7, evaluated: 7, what: 'the last page is not full' },
    { query: 'filter=id>9', totalItems: 0, evaluated: 0, what: 'nothing matches' },
    { query: 'perPage=5', totalItems: 7, evaluated: 5 + 7, what: 'more pages follow' },
    { query: 'perPage=7', totalItems: 7, evaluated: 7 + 7, what: 'the only page is full' },
    { query: 'perPage=5&page=3', totalItems: 7, evaluated: 7 + 7, what: 'the page is past the end' },
    { query: 'perPage=5&skipTotal=true', totalItems: -1, evaluated: 5, what: 'no total is requested' },
  ])('reads $evaluated of seven rows when $what', async ({ query, totalItems, evaluated }) => {
    await app.sql(`drop table if exists counted; drop sequence if exists evaluated; ${counted}`)
    expect((await list(`counted?${query}`)).json).toMatchObject({ totalItems })
    expect(await app.sql("select nextval('evaluated')::int - 1 as evaluated")).toEqual([{ evaluated }])
  })

  test('skips the count', async () => {
    expect((await list('book?skipTotal=true')).json).toMatchObject({ totalItems: -1, totalPages: -1 })
    expect((await list('book?skipTotal=false')).json).toMatchObject({ totalItems: 5 })
  })

  test("returns the planner's estimate", async () => {
    await app.sql('analyze book')
    expect((await list('book?total=estimated')).json).toMatchObject({ totalItems: 5, totalPages: 1 })
    const filtered = await list("book?total=estimated&filter=title='Solaris'")
    expect(filtered.json.totalItems).toBe(1)
  })
})

describe('GET /collections/:table?sort', () => {
  test.each([
    ['sort=title', [5, 3, 2, 1, 4]],
    ['sort=-pages', [1, 5, 3, 2, 4]],
    ['sort=author_id,-price', [1, 4, 5, 2, 3]],
    ['sort=-author_id', [3, 2, 5, 1, 4]],
    ['sort=+pages', [4, 2, 3, 5, 1]],
    ['sort=%2Bpages', [4, 2, 3, 5, 1]],
    ['sort=editor_id', [3, 5, 1, 2, 4]],
    ['sort=-editor_id', [2, 4, 1, 3, 5]],
    ['sort=', [1, 2, 3, 4, 5]],
    ['sort=%22title%22', [5, 3, 2, 1, 4]],
  ])('sorts by %s', async (query, ids) => {
    expect(await column(`book?${query}`, 'book_id')).toEqual(ids)
  })

  test('keeps the stored order of a table without a primary key', async () => {
    expect(await column('log_line', 'line')).toEqual(['one', 'two', 'three'])
  })

  test.each([
    ['sort=nope', 'unknown column "nope" in sort', 'unknown_column'],
    ['sort=title,', 'sort: expected a name after the last comma', 'invalid_parameter'],
    ['sort=,title', 'sort: expected comma-separated names, at position 0', 'invalid_parameter'],
    [`sort=${Array(11).fill('title').join()}`, 'sort: expected at most 10 fields', 'invalid_parameter'],
  ])('rejects %s', async (query, message, error) => {
    await expectError(`book?${query}`, 400, message, error)
  })
})

describe('GET /collections/:table?fields', () => {
  test('returns the named columns', async () => {
    const response = await list('book?fields=title,book_id&perPage=1')
    expect(response.json.items).toEqual([{ title: 'The Dispossessed', book_id: 1 }])
  })

  test('accepts a column named twice', async () => {
    expect((await list('author?fields=name,name&perPage=1')).json.items).toEqual([{ name: 'Ursula' }])
  })

  test('finds odd names in quotes', async () => {
    const name = encodeURIComponent('Odd "table"')
    const fields = encodeURIComponent('"a b","x.y","quo""te",Größe,select')
    expect((await list(`${name}?fields=${fields}`)).json.items).toEqual([
      { 'a b': 'blank', 'x.y': 'dot', 'quo"te': 'quote', Größe: 'groß', select: 1 },
    ])
  })

  test('rejects unknown columns', async () => {
    await expectError('book?fields=title,nope', 400, 'unknown column "nope" in fields', 'unknown_column')
  })
})

describe('GET /collections/:table?filter', () => {
  test.each([
    ['book_id = 2', [2]],
    ['book_id=2', [2]],
    ['book_id != 2', [1, 3, 4, 5]],
    ['pages > 264', [1, 5]],
    ['pages >= 264', [1, 3, 5]],
    ['pages < 204', [4]],
    ['pages <= 204', [2, 4]],
    ["title ~ 'The %'", [1, 4]],
    ["title !~ 'The %'", [2, 3, 5]],
    ["title ~ 'the %'", []],
    ["title = 'Solaris'", [2]],
    ['isbn = null', [4]],
    ['isbn != null', [1, 2, 3, 5]],
    ["isbn != 'a1'", [2, 3, 5]],
    ['book_id IN (1, 3, 9)', [1, 3]],
    ["isbn in ('a1', null, 'a5')", [1, 5]],
    ['price = 12.5', [1]],
    ['price > 1e1', [1, 3, 5]],
    ["tags = '{ocean}'", [2]],
    ["tags IN ('{ocean}', '{dreams}')", [2, 4]],
    ["added_at < '2026-01-02T03:04:06Z'", [1, 2, 3, 4, 5]],
    ['pages > 300 AND price < 12', [5]],
    ['pages > 300 and price < 12', [5]],
    ['pages > 300 && price < 12', [5]],
    ['pages > 340 OR pages < 190', [1, 4]],
    ['pages > 340 || pages < 190', [1, 4]],
    ['book_id = 1 OR book_id = 2 AND pages > 300', [1]],
    ['(book_id = 1 OR book_id = 2) AND pages < 300', [2]],
    ['((book_id = 1))', [1]],
    ['"title" = \'Solaris\'', [2]],
    ['', [1, 2, 3, 4, 5]],
    ['   ', [1, 2, 3, 4, 5]],
  ])('matches %s', async (filter, ids) => {
    expect(await column(`book?filter=${encodeURIComponent(filter)}`, 'book_id')).toEqual(ids)
  })

  test.each([
    [String.raw`name = 'O\'Hara'`, "O'Hara"],
    ["name = 'O''Hara'", "O'Hara"],
    [String.raw`name = 'back\\slash'`, String.raw`back\slash`],
    ["name = 'line\nbreak'", 'line\nbreak'],
    ["name = '; drop table author; --'", '; drop table author; --'],
    ["name = '$1'", '$1'],
    ["name = '😀'", '😀'],
    ["name = ''", ''],
  ])('reads the string of %s', async (filter, name) => {
    await app.sql('insert into author (author_id, name) values (900, $1)', [name])
    try {
      expect(await column(`author?filter=${encodeURIComponent(filter)}`, 'author_id')).toEqual([900])
    } finally {
      await app.sql('delete from author where author_id = 900')
    }
  })

  test('finds odd names', async () => {
    const name = encodeURIComponent('Odd "table"')
    const filter = `"a b" = 'blank' AND "x.y" = 'dot' AND x.y = 'dot' AND "quo""te" = 'quote' AND Größe = 'groß'`
    expect((await list(`${name}?filter=${encodeURIComponent(filter)}`)).json.totalItems).toBe(1)
  })

  test.each([
    ['nope = 1', 'unknown column: nope', 0],
    ['Title = 1', 'unknown column: Title', 0],
    ['book_id = 1 AND nope = 1', 'unknown column: nope', 16],
    ['book_id', 'expected operator after column book_id', 7],
    ['book_id = ', 'unexpected end of filter expression', 10],
    ['book_id == 1', 'expected value, got =', 9],
    ['book_id = 1 2', 'unexpected token at position 12: 2', 12],
    ['book_id = 1 AND', 'unexpected end of filter expression', 15],
    ['= 1', 'unexpected token at position 0: =', 0],
    ['(book_id = 1', 'expected closing parenthesis', 12],
    ['book_id = 1)', 'unexpected token at position 11: )', 11],
    ['book_id IN 1', "expected '(' after IN", 11],
    ['book_id IN ()', 'expected value, got )', 12],
    ['book_id IN (1', "expected ')' to close IN list", 13],
    ['book_id IN (1 2)', "expected ',' or ')' in IN list", 14],
    ["title = 'open", 'unterminated string at position 8', 8],
    ['title = "open', 'unterminated name at position 8', 8],
    ['title = # 1', "unexpected character '#' at position 8", 8],
    ['title = ’curly’', "unexpected character '’' at position 8", 8],
    ['pages = 1.2.3', 'invalid number: 1.2.3', 8],
    ['pages = 12abc', 'invalid number: 12abc', 8],
    ['pages > null', 'null can only be compared with = or !=', 6],
    ['pages = title', 'expected value, got title', 8],
    ["pages ~ '1%'", 'operator ~ does not apply to pages, which is integer', 0],
    ['title = 1 -- x', "unexpected character '-' at position 10", 10],
    [
      `${'('.repeat(51)}pages = 1${')'.repeat(51)}`,
      'filter expression too deeply nested (max 50 levels)',
      50,
    ],
  ])('rejects %s', async (filter, message, position) => {
    const response = await list(`book?filter=${encodeURIComponent(filter)}`)
    expect(envelope(response)).toMatchObject({
      code: 400,
      message: `invalid filter: ${message}`,
      data: { position },
    })
  })

  test('accepts 50 nested levels', async () => {
    const filter = `${'('.repeat(50)}pages = 341${')'.repeat(50)}`
    expect(await column(`book?filter=${encodeURIComponent(filter)}`, 'book_id')).toEqual([1])
  })

  test('accepts at most 10000 bytes', async () => {
    await expectError(
      `book?filter=${`title='${'x'.repeat(10_000)}'`}`,
      400,
      'filter expression too long',
      'filter_too_long',
    )
  })

  test.each([
    ["book_id = 'abc'", 'invalid integer value "abc" — expected a whole number, e.g. 42'],
    ['book_id = 1.5', 'invalid integer value "1.5" — expected a whole number, e.g. 42'],
    ['book_id = 99999999999', 'invalid value: value "99999999999" is out of range for type integer'],
    ["price = 'x'", 'invalid numeric value "x" — expected a number, e.g. 3.14'],
    ["added_at = 'yesterdayish'", 'invalid timestamp with time zone value "yesterdayish"'],
    ["tags = 'x'", 'invalid value: malformed array literal: "x"'],
    ['book_id in (1, true)', 'invalid integer value "true" — expected a whole number, e.g. 42'],
  ])('binds values by the type of the column: %s', async (filter, message) => {
    await expectError(`book?filter=${encodeURIComponent(filter)}`, 400, message, 'invalid_value')
  })
})
