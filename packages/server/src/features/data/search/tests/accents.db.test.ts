import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { oneAdministrator } from '../../../../../test/one-administrator.ts'
import { basaltHere } from '../../../../../test/terminal.ts'
import {
  createTestApp,
  createTestDatabase,
  envelope,
  type TestApp,
  userToken,
} from '../../../../../test/test-app.ts'
import { testSecret } from '../../../../../test/test-config.ts'

let app: TestApp
let admin: string
const token = userToken({ sub: alice })

const setup = `
create extension pg_trgm;
create table fruit (id int primary key, owner text not null, name text not null, note text);
alter table fruit enable row level security;
create policy own on fruit using (owner = current_setting('basalt.user_id', true));
insert into fruit values
  (1, '${alice}', 'Äpfel & Crème brûlée', 'süß'),
  (2, '${alice}', 'Apfel', 'sour'),
  (3, '${bob}', 'Äpfel', 'hidden'),
  (4, '${alice}', normalize('Pâté', nfd), null),
  (5, '${alice}', 'война и мир', 'й'),
  (6, '${alice}', 'x\u0303 unknown, éclair', repeat('word ', 60) || 'the Ångström at the end');
create table plain (id int primary key, name text);
insert into plain values (1, 'Äpfel'), (2, 'Apfel');
`

beforeAll(async () => {
  app = await createTestApp({ setup })
  admin = await app.adminToken()
})
afterAll(() => app[Symbol.asyncDispose]())

async function list(table: string, parameters: Readonly<Record<string, string>>) {
  const path = `/api/collections/${table}?${new URLSearchParams({ sort: 'id', ...parameters })}`
  const response = await app.request('GET', path, { token })
  expect(response.status, response.text).toBe(200)
  return response.json
}

async function found(table: string, search: string, more: Readonly<Record<string, string>> = {}) {
  const { items } = await list(table, { search, fields: 'id', ...more })
  return items.map(({ id }: { id: number }) => id)
}

function put(table: string, body: unknown) {
  return app.request('PUT', `/api/collections/${table}/search-settings`, { token: admin, body })
}

/** Defines the tests that hold with and without indexes. */
function searchTests() {
  test('finds words with and without their accents, whatever the search has', async () => {
    expect(await found('fruit', 'apfel')).toEqual([1, 2])
    expect(await found('fruit', 'ÄPFEL')).toEqual([1, 2])
    expect(await found('fruit', '"creme brulee"')).toEqual([1])
    expect(await found('fruit', 'apfel -sûss -süss -süß')).toEqual([2])
    expect(await found('fruit', 'pate')).toEqual([4])
    expect(await found('fruit', 'voina')).toEqual([])
    expect(await found('fruit', 'воина')).toEqual([])
    expect(await found('fruit', 'война')).toEqual([5])
  })

  test('finds words with typos', async () => {
    const fuzzy = { fuzzy: 'true', typo_threshold: '0.3' }
    expect(await found('fruit', 'creme bruleee', fuzzy)).toEqual([1])
    expect(await found('fruit', 'crème brüleee', fuzzy)).toEqual([1])
    expect(await found('fruit', 'apfeln -creme', fuzzy)).toEqual([2])
  })

  test('finds synonyms', async () => {
    const path = '/api/collections/fruit/synonyms'
    const groups = [{ terms: ['dessert', 'crème brûlée'] }]
    await app.request('PUT', path, { token: admin, body: { groups } })
    expect(await found('fruit', 'Dessért')).toEqual([1])
    await app.request('PUT', path, { token: admin, body: { groups: [] } })
  })
}

describe('accents', () => {
  searchTests()

  test('marks the words as they are written', async () => {
    const { items } = await list('fruit', { search: 'apfel brulee', highlight: 'true', fields: 'id' })
    expect(items).toEqual([
      {
        id: 1,
        _highlight: `${alice} <b>Äpfel</b> &amp; Crème <b>brûlée</b> süß`,
        _highlightResult: {
          name: { value: '<b>Äpfel</b> &amp; Crème <b>brûlée</b>', matchLevel: 'full' },
          note: { value: 'süß', matchLevel: 'none' },
          owner: { value: alice, matchLevel: 'none' },
        },
      },
    ])
  })

  test('marks words in an excerpt, in decomposed texts, and beside characters without a composed form', async () => {
    const highlight = async (search: string) =>
      (await list('fruit', { search, highlight: 'true', fields: 'id' })).items
    const [long] = await highlight('angstrom')
    expect(long._highlightResult.note.value).toMatch(/ the <b>Ångström<\/b> at the end$/)
    // Accents of this column are compared, because the text without them has another length.
    expect(long._highlightResult.name.value).toBe('x\u0303 unknown, éclair')
    const [decomposed] = await highlight('pate')
    expect(decomposed._highlightResult.name.value).toBe('<b>Pâté</b>')
  })

  test('counts facets, and finds values of facets by their beginning', async () => {
    const { facets } = await list('fruit', { search: 'apfel', facets: 'name' })
    expect(facets.name).toEqual([
      { value: 'Apfel', count: 1 },
      { value: 'Äpfel & Crème brûlée', count: 1 },
    ])
    for (const q of ['apf', 'äpf']) {
      const path = `/api/collections/fruit/facets/name/search?q=${encodeURIComponent(q)}`
      expect((await app.request('GET', path, { token })).json).toEqual({
        facetHits: [
          { value: 'Apfel', highlighted: '<mark>Apf</mark>el', count: 1 },
          { value: 'Äpfel & Crème brûlée', highlighted: '<mark>Äpf</mark>el &amp; Crème brûlée', count: 1 },
        ],
        exhaustiveFacetsCount: true,
      })
    }
  })
})

describe('accents › by indexes', () => {
  beforeAll(async () => {
    const response = await app.request('POST', '/api/admin/search/fruit/enable', { token: admin })
    expect(response.json).toMatchObject({ isIndexed: true, advice: null })
  })
  searchTests()
})

describe('basalt search accents', () => {
  test('switches a table beside the server, rebuilds requested indexes, and is in the audit', async () => {
    const env = { BASALT_DATABASE_URL: app.database.url, BASALT_AUTH_JWT_SECRET: testSecret }
    const respect = await basaltHere(['search', 'accents', 'fruit', 'respect'], { env })
    expect([respect.code, respect.stderr]).toEqual([0, ''])
    expect(respect.stdout).toMatch(/^fruit: searches respect accents\nbuilt idx_basalt_search_/)
    await expect.poll(() => found('fruit', 'apfel')).toEqual([2])
    const ignore = await basaltHere(['search', 'accents', 'fruit', 'ignore'], { env })
    expect(ignore.stdout).toMatch(/^fruit: searches ignore accents\nbuilt idx_basalt_search_/)
    await expect.poll(() => found('fruit', 'apfel')).toEqual([1, 2])
    expect(
      await app.sql(
        `select actor, target, detail from basalt.audit where action = 'search_settings.accents' order by id`,
      ),
    ).toEqual([
      { actor: 'command line', target: 'fruit', detail: { ignoreAccents: false } },
      { actor: 'command line', target: 'fruit', detail: { ignoreAccents: true } },
    ])
  })
})

describe('PUT /collections/:table/search-settings › ignoreAccents', () => {
  const plain = { attributes: [], customRanking: [] }

  test('is on for new tables, switches, and stays if it is absent', async () => {
    const path = '/api/collections/plain/search-settings'
    expect((await app.request('GET', path, { token: admin })).json).toEqual({ ...plain, ignoreAccents: true })
    expect((await put('plain', { ignoreAccents: false })).json).toEqual({ ...plain, ignoreAccents: false })
    expect(await found('plain', 'apfel')).toEqual([2])
    expect(await found('plain', 'äpfel')).toEqual([1])
    expect((await put('plain', {})).json).toEqual({ ...plain, ignoreAccents: false })
    expect((await put('plain', { ignoreAccents: true })).json).toEqual({ ...plain, ignoreAccents: true })
    expect(await found('plain', 'apfel')).toEqual([1, 2])
    expect(envelope(await put('plain', { ignoreAccents: 'no' }))).toMatchObject({ code: 400 })
  })

  test('is off for tables from before the setting, and the list of indexes omits these', async () => {
    await using database = await createTestDatabase()
    await database.sql(`
      ${setup}
      delete from basalt.migrations where version >= 31;
      ${oneAdministrator};
      drop table basalt.secrets;
      drop function basalt.enqueue(text, jsonb, text, timestamptz);
      drop table basalt.sql_job_types;
      alter table basalt.jobs drop column runs, drop column key;
      update basalt.migrations set applied_at = applied_at - interval '1 day';
      drop function basalt.headline(regconfig, text, tsquery, text);
      drop function basalt.without_accents(text);
      alter table basalt.search_settings drop column ignores_accents`)
    await using upgraded = await createTestApp({ database })
    await upgraded.sql(
      `create table later (id int primary key, name text); insert into later values (1, 'Äpfel')`,
    )
    const search = async (table: string) =>
      (await upgraded.request('GET', `/api/collections/${table}?search=apfel&fields=id`, { token })).json
        .items
    expect(await search('plain')).toEqual([{ id: 2 }])
    expect(await search('later')).toEqual([{ id: 1 }])
    const status = await upgraded.request('GET', '/api/admin/search', { token: await upgraded.adminToken() })
    expect(status.json.items.map(({ collection }: { collection: string }) => collection)).toEqual([
      'later',
      'plain',
    ])
  })
})
