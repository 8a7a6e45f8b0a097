import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'

let app: TestApp
const token = userToken({ sub: alice })

const shop = `
create extension pg_trgm;
create extension citext;
create domain heading as varchar(80);
create table artist (artist_id int primary key, name text not null);
create table track (
  track_id int primary key,
  name heading not null,
  artist_id int references artist,
  composer citext,
  code char(6),
  tags text[] not null default '{}',
  plays int
);
insert into artist values (1, 'Queen'), (2, 'Nirvana');
insert into track values
  (1, 'Bohemian Rhapsody', 1, 'Freddie Mercury', 'BR', '{opera}', 10),
  (2, 'Killer Queen', 1, 'Freddie Mercury', 'KQ', '{}', 30),
  (3, 'Come as You Are', 2, 'Kurt Cobain', 'CA', '{}', 20),
  (4, 'Queen of the Rhapsodies', null, null, null, '{}', null),
  (5, 'Queen & <Country> "live"', null, 'Queen, the queen of queens', 'QC', '{}', 5);
create table note (id int primary key, owner text not null, body text);
alter table note enable row level security;
create policy own on note using (owner = current_setting('basalt.user_id', true));
insert into note values
  (1, '${alice}', 'a quiet river'), (2, '${bob}', 'a river of secrets'), (3, '${alice}', 'nothing');
create table paper (id int primary key, title text, draft text);
insert into paper values (1, 'open', 'hidden'), (2, 'hidden', 'open');
revoke all on paper from basalt_authenticated;
grant select (id, title) on paper to basalt_authenticated;
create table number (id int primary key, value int);
create table clash (id int primary key, body text, _highlight text);
create view quiet as select * from track where plays < 25;
create materialized view popular as select * from track where plays >= 20;
create table part (id int, body text, primary key (id)) partition by range (id);
create table part_low partition of part for values from (0) to (10);
create table part_high partition of part for values from (10) to (20);
insert into part values (1, 'low tide'), (11, 'high tide');
`

beforeAll(async () => {
  app = await createTestApp({ setup: shop })
})
afterAll(() => app[Symbol.asyncDispose]())

function list(table: string, parameters: Readonly<Record<string, string>>, as: string = token) {
  return app.request('GET', `/api/collections/${table}?${new URLSearchParams(parameters)}`, { token: as })
}

/** Returns the keys of the matches, in order. */
async function found(table: string, parameters: Readonly<Record<string, string>>, key = 'track_id') {
  const response = await list(table, parameters)
  expect(response.status, response.text).toBe(200)
  return response.json.items.map((item: Record<string, unknown>) => item[key])
}

async function expectInvalid(table: string, parameters: Readonly<Record<string, string>>, message: string) {
  const response = await list(table, parameters)
  expect(response.status).toBe(400)
  expect(envelope(response)).toMatchObject({ code: 400, message })
}

describe('search › syntax', () => {
  test.each([
    ['a word, by its stem', 'rhapsodies', [1, 4]],
    ['several words, all of them', 'queen rhapsody', [4]],
    ['either of two words', 'cobain or killer', [2, 3]],
    ['a phrase', '"killer queen"', [2]],
    ['a phrase that has another order', '"queen killer"', []],
    ['an excluded word', 'queen -rhapsody', [2, 5]],
    ['nothing but an excluded word', '-queen', [1, 3]],
    ['a word of another case', 'NIRVANA or MERCURY', [1, 2]],
    ['a char column', 'kq', [2]],
    ['a stop word alone', 'the', []],
    ['a minus alone', '-', []],
    ['quotes that do not end', '"killer', [2]],
    ['operators of tsquery as text', "killer & ' | ! ( :*", [2]],
  ])('finds %s', async (_name, search, expected) => {
    expect(await found('track', { search, sort: 'track_id' })).toEqual(expected)
  })

  test('ignores a blank search', async () => {
    expect(await found('track', { search: '  ' })).toEqual([1, 2, 3, 4, 5])
  })

  test('does not search arrays', async () => {
    expect(await found('track', { search: 'opera' })).toEqual([])
  })
})

describe('search › order', () => {
  test('puts the best matches first, and rows of the same rank by primary key', async () => {
    expect(await found('track', { search: 'queen' })).toEqual([5, 2, 4])
  })

  test('follows sort if given', async () => {
    expect(await found('track', { search: 'queen', sort: '-track_id' })).toEqual([5, 4, 2])
  })

  test('pages by cursor through the ranked list', async () => {
    const keys: unknown[] = []
    let cursor: string | undefined = ''
    while (cursor !== undefined) {
      const page = await list('track', { search: 'queen or rhapsody or cobain', perPage: '1', cursor })
      expect(page.status, page.text).toBe(200)
      keys.push(...page.json.items.map(({ track_id }: { track_id: number }) => track_id))
      cursor = page.json.nextCursor
    }
    expect(keys).toEqual(await found('track', { search: 'queen or rhapsody or cobain' }))
    expect(keys).toHaveLength(5)
  })

  test('rejects a cursor of a list without a search', async () => {
    const { json } = await list('track', { perPage: '1', cursor: '' })
    await expectInvalid(
      'track',
      { search: 'queen', cursor: json.nextCursor },
      'invalid cursor: cursor has 1 values but sort has 2 fields',
    )
  })
})

describe('search › with other parameters', () => {
  test('counts the matches, on every page', async () => {
    expect((await list('track', { search: 'queen', perPage: '2', page: '2' })).json).toMatchObject({
      page: 2,
      totalItems: 3,
      totalPages: 2,
      items: [{ track_id: 4 }],
    })
  })

  test('combines with filter, fields and expand', async () => {
    const response = await list('track', {
      search: 'queen',
      filter: 'plays > 10',
      fields: 'track_id,artist_id',
      expand: 'artist',
    })
    expect(response.json).toEqual({
      page: 1,
      perPage: 20,
      totalItems: 1,
      totalPages: 1,
      items: [{ track_id: 2, artist_id: 1, expand: { artist: { artist_id: 1, name: 'Queen' } } }],
    })
  })

  test('estimates the total', async () => {
    const response = await list('track', { search: 'queen', total: 'estimated' })
    expect(response.status).toBe(200)
    expect(response.json.items).toHaveLength(3)
  })

  test.each([
    ['a view', 'quiet', 'queen', [5]],
    ['a materialized view', 'popular', 'queen', [2]],
  ])('works on %s', async (_name, table, search, expected) => {
    expect(await found(table, { search })).toEqual(expected)
  })

  test('works on partitioned tables', async () => {
    expect(await found('part', { search: 'tide' }, 'id')).toEqual([1, 11])
  })
})

describe('search › hidden data', () => {
  test('rows that policies hide are neither found nor counted', async () => {
    const response = await list('note', { search: 'river', highlight: 'true', skipTotal: 'false' })
    expect(response.json.items.map(({ id }: { id: number }) => id)).toEqual([1])
    expect(response.json.totalItems).toBe(1)
    expect(response.text).not.toContain('secret')
  })

  test('columns without a privilege take no part in matches, ranks and highlights', async () => {
    const response = await list('paper', { search: 'hidden', highlight: 'true' })
    expect(response.json.items).toEqual([
      {
        id: 2,
        title: 'hidden',
        _highlight: '<b>hidden</b>',
        _highlightResult: { title: { value: '<b>hidden</b>', matchLevel: 'full' } },
      },
    ])
    expect(await found('paper', { search: 'hiden', fuzzy: 'true' }, 'id')).toEqual([2])
  })

  test('covers all columns for an administrator', async () => {
    const response = await list('paper', { search: 'hidden' }, await app.adminToken())
    expect(response.json.totalItems).toBe(2)
  })
})

describe('search › fuzzy', () => {
  test('finds words with typos, the best match first', async () => {
    expect(await found('track', { search: 'bohemain rapsody', fuzzy: 'true' })).toEqual([1])
    expect(await found('track', { search: 'bohemain rapsody' })).toEqual([])
  })

  test('finds correctly spelled words, too', async () => {
    expect(await found('track', { search: 'cobain', fuzzy: 'true' })).toEqual([3])
  })

  test('follows the threshold', async () => {
    expect(await found('track', { search: 'kobain', fuzzy: 'true', typo_threshold: '0.3' })).toEqual([3])
    expect(await found('track', { search: 'kobain', fuzzy: 'true', typo_threshold: '0.9' })).toEqual([])
  })

  test('leaves out excluded words', async () => {
    const search = 'quen -killer'
    expect(await found('track', { search, fuzzy: 'true', typo_threshold: '0.1' })).not.toContain(2)
    expect(await found('track', { search: 'quen', fuzzy: 'true', typo_threshold: '0.1' })).toContain(2)
  })

  test('pages by cursor', async () => {
    const parameters = { search: 'quen', fuzzy: 'true', typo_threshold: '0.1', perPage: '1' }
    const first = await list('track', { ...parameters, cursor: '' })
    const second = await list('track', { ...parameters, cursor: first.json.nextCursor })
    const keys = [...first.json.items, ...second.json.items].map(({ track_id }) => track_id)
    expect(keys).toEqual((await found('track', { ...parameters, perPage: '2' })).slice(0, 2))
  })

  test('returns the whole text, escaped, where no word matches', async () => {
    const { json } = await list('track', {
      search: 'contry',
      fuzzy: 'true',
      typo_threshold: '0.2',
      highlight: 'true',
      fields: 'track_id',
    })
    expect(json.items).toEqual([
      {
        track_id: 5,
        _highlight: 'Queen &amp; &lt;Country&gt; "live" Queen, the queen of queens QC',
        _highlightResult: {
          name: { value: 'Queen &amp; &lt;Country&gt; "live"', matchLevel: 'none' },
          composer: { value: 'Queen, the queen of queens', matchLevel: 'none' },
          code: { value: 'QC', matchLevel: 'none' },
        },
      },
    ])
  })
})

describe('search › highlight', () => {
  test('marks the matches and escapes the source', async () => {
    const { json } = await list('track', { search: 'live', highlight: 'true', fields: 'track_id' })
    expect(json.items).toEqual([
      {
        track_id: 5,
        _highlight: 'Queen &amp; &lt;Country&gt; "<b>live</b>" Queen, the queen of queens QC',
        _highlightResult: {
          name: { value: 'Queen &amp; &lt;Country&gt; "<b>live</b>"', matchLevel: 'full' },
          composer: { value: 'Queen, the queen of queens', matchLevel: 'none' },
          code: { value: 'QC', matchLevel: 'none' },
        },
      },
    ])
  })

  test('returns an empty text where a column is null', async () => {
    const { json } = await list('track', { search: 'rhapsody -bohemian', highlight: 'true' })
    expect(json.items[0]._highlightResult.composer).toEqual({ value: '', matchLevel: 'none' })
  })

  test('works with pages by cursor', async () => {
    const { json } = await list('track', { search: 'cobain', highlight: 'true', cursor: '' })
    expect(json.items[0]._highlight).toBe('Come as You Are Kurt <b>Cobain</b> CA')
  })

  test('changes nothing without a search', async () => {
    const { json } = await list('track', { highlight: 'true', perPage: '1' })
    expect(Object.keys(json.items[0])).not.toContain('_highlight')
  })

  test('is rejected on a table with a column of that name', async () => {
    await expectInvalid(
      'clash',
      { search: 'a', highlight: 'true' },
      'search not supported: highlight cannot be used on table "clash" because it has a "_highlight" column',
    )
  })
})

describe('search › with faulty parameters', () => {
  test.each<[string, Record<string, string>, string]>([
    ['a long term', { search: 'x'.repeat(1001) }, 'search term too long'],
    ['a long term of few characters', { search: 'é'.repeat(501) }, 'search term too long'],
    ['a NUL', { search: 'a\0b' }, 'search: PostgreSQL text cannot hold the character U+0000'],
    ['fuzzy without a search', { fuzzy: 'true' }, 'fuzzy parameter requires non-empty search'],
    [
      'fuzzy with a blank search',
      { fuzzy: 'true', search: ' ' },
      'fuzzy parameter requires non-empty search',
    ],
    ['another fuzzy', { fuzzy: 'yes', search: 'a' }, 'fuzzy parameter must be a boolean'],
    ['another highlight', { highlight: '1', search: 'a' }, 'highlight parameter must be a boolean'],
    ['a threshold alone', { typo_threshold: '0.2', search: 'a' }, 'typo_threshold requires fuzzy=true'],
    [
      'a threshold without fuzziness',
      { typo_threshold: '0.2', search: 'a', fuzzy: 'false' },
      'typo_threshold requires fuzzy=true',
    ],
    ...['2', '-0.1', 'NaN', 'abc', '', '1e400', '0x1'].map(
      (typo_threshold): [string, Record<string, string>, string] => [
        `the threshold ${JSON.stringify(typo_threshold)}`,
        { typo_threshold, search: 'a', fuzzy: 'true' },
        'typo_threshold must be a number between 0 and 1',
      ],
    ),
  ])('rejects %s', async (_name, parameters, message) => {
    await expectInvalid('track', parameters, message)
  })

  test('rejects a table without text columns', async () => {
    await expectInvalid(
      'number',
      { search: 'a' },
      'search not supported: table "number" has no text columns to search',
    )
  })

  test('rejects fuzzy without the extension', async () => {
    await using bare = await createTestApp({ setup: 'create table line (id int primary key, body text)' })
    const response = await bare.request('GET', '/api/collections/line?search=a&fuzzy=true', { token })
    expect(envelope(response)).toMatchObject({
      code: 400,
      message: 'fuzzy search is unavailable because pg_trgm is not installed',
      error: 'fuzzy_search_unavailable',
    })
    // The extension is recognized as soon as it exists.
    await bare.sql('create extension pg_trgm')
    await bare.sql("insert into line values (1, 'whale')")
    const after = await bare.request('GET', '/api/collections/line?search=whael&fuzzy=true', { token })
    expect(after.json.items).toEqual([{ id: 1, body: 'whale' }])
  })
})

describe('search › hostile input', () => {
  test.each(
    [
      'x'.repeat(1000),
      'a '.repeat(500),
      '"'.repeat(1000),
      '-'.repeat(1000),
      `${'- '.repeat(499)}a`,
      '(((((&|!<->:*',
      '\\ \' " $1 %s {0}',
      '💥 🧨 ﷽',
      'é'.repeat(500),
      '-"a" -b or -c',
      '\u202e\ufeff\u0001',
    ].map((search) => [search.slice(0, 20), search]),
  )('handles %j', async (_name, search) => {
    for (const fuzzy of ['true', 'false']) {
      const response = await list('track', { search, fuzzy, highlight: 'true' })
      expect(response.status, response.text).toBe(200)
    }
  })

  test('handles a text of a megabyte of words', async () => {
    await app.sql('create table long (id int primary key, body text)')
    await app.sql(`
      insert into long select 1, 'needle ' || string_agg(md5(n::text), ' ') from generate_series(1, 60000) n`)
    expect((await list('long', { search: 'needle', highlight: 'true' })).status).toBe(200)
    expect(await found('long', { search: 'needle' }, 'id')).toEqual([1])
  })

  test('handles a table of 300 text columns', async () => {
    const names = Array.from({ length: 300 }, (_, index) => `c${index} text`)
    await app.sql(`create table wide (id int primary key, ${names.join(', ')})`)
    await app.sql("insert into wide (id, c299) values (1, 'needle')")
    for (const fuzzy of ['true', 'false']) {
      const response = await list('wide', { search: 'needle', fuzzy, highlight: 'true' })
      expect(response.status, response.text).toBe(200)
      expect(response.json.items).toHaveLength(1)
    }
  })

  test('handles ten concurrent requests, half of them on another node', async () => {
    await using other = await createTestApp({ database: app.database })
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        (index % 2 === 0 ? app : other).request('GET', '/api/collections/track?search=queen&highlight=true', {
          token,
        }),
      ),
    )
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(answers[0]?.json.totalItems).toBe(3)
  })
})
