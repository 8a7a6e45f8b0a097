import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { alice } from '../../../../../test/fixtures.ts'
import { createTcpProxy } from '../../../../../test/tcp-proxy.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

let app: TestApp
let other: TestApp
let admin: string
const token = userToken({ sub: alice })

const setup = `
create extension pg_trgm;
create table song (id int primary key, title text, lyrics text, plays int, shape json, secret text, doc jsonb);
insert into song values
  (1, 'Night boat', 'a harbour and a harbour, the harbour', 5, '{}', 'a'),
  (2, 'Harbour', 'lights', 1, '{}', 'b'),
  (3, 'Harbour', 'lights', 9, '{}', 'c'),
  (4, 'The big apple', 'a train', 2, '{}', 'd'),
  (5, 'NYC blues', 'slow', 3, '{}', 'e'),
  (6, 'An apple so big', 'pie', 4, '{}', 'f');
create schema archive;
create table archive.song (id int primary key, title text);
create table record (id text primary key, note text);
insert into record values ('synonyms', 'a row'), ('search-settings', 'another');
`

beforeAll(async () => {
  app = await createTestApp({ setup, config: { 'database.schemas': 'public,archive' } })
  other = await createTestApp({
    database: app.database,
    config: { 'database.schemas': 'public,archive' },
  })
  admin = await app.adminToken()
})
afterAll(async () => {
  await other[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})

beforeEach(async () => {
  await put('song/search-settings', {})
  await put('song/synonyms', { groups: [] })
})

function get(path: string, as: string | undefined = admin) {
  return app.request('GET', `/api/collections/${path}`, { token: as })
}

function put(path: string, body: unknown, as: string | undefined = admin) {
  return app.request('PUT', `/api/collections/${path}`, { token: as, body })
}

async function found(search: string, node: TestApp = app) {
  const response = await node.request(
    'GET',
    `/api/collections/song?${new URLSearchParams({ search, fields: 'id' })}`,
    { token },
  )
  expect(response.status, response.text).toBe(200)
  return response.json.items.map(({ id }: { id: number }) => id)
}

describe('search settings', () => {
  test('are empty until they are put, and are then the put ones', async () => {
    const plain = { attributes: [], customRanking: [], ignoreAccents: true }
    expect((await get('song/search-settings')).json).toEqual(plain)
    const settings = {
      attributes: [{ column: 'title', weight: 'high' }],
      customRanking: [{ column: 'plays', order: 'desc' }],
      ignoreAccents: true,
    }
    const response = await put('song/search-settings/', settings)
    expect(response.status, response.text).toBe(200)
    expect(response.json).toEqual(settings)
    expect((await get('song/search-settings/')).json).toEqual(settings)
    expect((await get('archive.song/search-settings')).json).toEqual(plain)
  })

  test('weigh columns', async () => {
    expect(await found('harbour')).toEqual([1, 2, 3])
    await put('song/search-settings', { attributes: [{ column: 'title', weight: 'high' }] })
    expect(await found('harbour')).toEqual([2, 3, 1])
  })

  test('rank records of the same rank', async () => {
    await put('song/search-settings', {
      attributes: [{ column: 'title', weight: 'high' }],
      customRanking: [{ column: 'plays', order: 'desc' }],
    })
    expect(await found('harbour')).toEqual([3, 2, 1])
  })

  test('do not change an explicit sort', async () => {
    await put('song/search-settings', { customRanking: [{ column: 'plays', order: 'desc' }] })
    const response = await get('song?search=harbour&sort=title,id&fields=id', token)
    expect(response.json.items).toEqual([{ id: 2 }, { id: 3 }, { id: 1 }])
  })

  test('are in the cursor', async () => {
    await put('song/search-settings', {
      attributes: [{ column: 'title', weight: 'high' }],
      customRanking: [{ column: 'plays', order: 'desc' }],
    })
    const ids: number[] = []
    let cursor: string | undefined = ''
    while (cursor !== undefined) {
      const { json } = await get(`song?search=harbour&perPage=1&cursor=${cursor}`, token)
      ids.push(json.items[0].id)
      cursor = json.nextCursor
    }
    expect(ids).toEqual([3, 2, 1])
  })

  test('are in force on another node within a second', async () => {
    await put('song/search-settings', { attributes: [{ column: 'title', weight: 'high' }] })
    await waitFor('the weights', async () => JSON.stringify(await found('harbour', other)) === '[2,3,1]')
    await put('song/search-settings', {})
    await waitFor('no weights', async () => JSON.stringify(await found('harbour', other)) === '[1,2,3]')
  })

  test('are those of the last change on a node that read an earlier change late', async () => {
    const url = new URL(app.database.url)
    await using proxy = await createTcpProxy(Number(url.port))
    url.port = String(proxy.port)
    await using late = await createTestApp({ database: app.database, config: { 'database.url': url.href } })
    const token = await app.adminToken()
    const change = (node: TestApp, column: string) =>
      node.request('PUT', '/api/collections/song/search-settings', {
        token,
        body: { attributes: [{ column, weight: 'high' }] },
      })
    // The first reply is that of the change itself.
    let replies = 0
    const read = proxy.holdReply((reply) => reply.includes('"title"') && ++replies > 1)
    const first = change(late, 'title')
    await read.held
    expect((await change(other, 'lyrics')).status).toBe(200)
    // Once the node has read a later change, it could have read that one, too.
    const settings = '/api/admin/auth-settings'
    const { totp_enabled, ...others } = (await other.request('GET', settings, { token })).json
    const switched = { ...others, totp_enabled: !totp_enabled }
    expect((await other.request('PATCH', settings, { token, body: switched })).status).toBe(200)
    await expect.poll(async () => (await late.request('GET', settings, { token })).json).toEqual(switched)
    read.release()
    expect((await first).status).toBe(200)
    await waitFor('the last change', async () => JSON.stringify(await found('harbour', late)) === '[1,2,3]')
  })

  test('outlive a column that they name', async () => {
    await app.sql('create table loose (id int primary key, body text, gone text)')
    await app.sql("insert into loose values (1, 'word', 'word')")
    const settings = {
      attributes: [{ column: 'gone', weight: 'high' }],
      customRanking: [{ column: 'gone', order: 'asc' }],
    }
    expect((await put('loose/search-settings', settings)).status).toBe(200)
    expect((await get('loose?search=word', token)).json.totalItems).toBe(1)
    await app.sql('alter table loose drop column gone')
    expect((await get('loose?search=word', token)).json.items).toEqual([{ id: 1, body: 'word' }])
  })

  test('leave an audit row', async () => {
    await app.sql('delete from basalt.audit')
    await put('song/search-settings', { attributes: [{ column: 'title', weight: 'low' }] })
    const rows = await app.sql(
      'select actor, action, target, detail, request_id is not null as by_request from basalt.audit',
    )
    expect(rows).toEqual([
      {
        actor: 'admin',
        action: 'search_settings.replace',
        target: 'song',
        detail: { attributes: [{ column: 'title', weight: 'low' }], customRanking: [] },
        by_request: true,
      },
    ])
  })

  test('are one of ten concurrent changes, half on another node', async () => {
    const weights = ['high', 'medium', 'low', 'lowest', 'high', 'medium', 'low', 'lowest', 'high', 'low']
    const otherAdmin = await other.adminToken()
    const answers = await Promise.all(
      weights.map((weight, index) => {
        const node = index % 2 === 0 ? app : other
        const body = { attributes: [{ column: 'title', weight }] }
        const as = index % 2 === 0 ? admin : otherAdmin
        return node.request('PUT', '/api/collections/song/search-settings', { token: as, body })
      }),
    )
    expect(answers.map(({ status }) => status)).toEqual(weights.map(() => 200))
    const stored = (await get('song/search-settings')).json
    expect(weights).toContain(stored.attributes[0].weight)
    expect(
      (await other.request('GET', '/api/collections/song/search-settings', { token: otherAdmin })).json,
    ).toEqual(stored)
  })

  test.each<[string, unknown, string]>([
    ['no column', { attributes: [{ weight: 'high' }] }, 'search setting attribute column is required'],
    [
      'a column twice',
      {
        attributes: [
          { column: 'title', weight: 'high' },
          { column: 'title', weight: 'low' },
        ],
      },
      'duplicate search setting attribute column: title',
    ],
    [
      'another weight',
      { attributes: [{ column: 'title', weight: 'heavy' }] },
      'unknown search setting attribute weight: heavy',
    ],
    ['no weight', { attributes: [{ column: 'title' }] }, 'unknown search setting attribute weight: '],
    [
      'a column that is no text',
      { attributes: [{ column: 'plays', weight: 'high' }] },
      'search setting attribute column "plays" is not a searchable text column on table "song"',
    ],
    [
      'an unknown column',
      { attributes: [{ column: 'chorus', weight: 'high' }] },
      'search setting attribute column "chorus" is not a searchable text column on table "song"',
    ],
    [
      'too many columns',
      { attributes: Array.from({ length: 33 }, (_, index) => ({ column: `c${index}`, weight: 'high' })) },
      'search settings may include at most 32 attributes',
    ],
    [
      'no ranking column',
      { customRanking: [{ order: 'asc' }] },
      'search setting custom ranking column is required',
    ],
    [
      'another order',
      { customRanking: [{ column: 'plays', order: 'up' }] },
      'unknown search setting custom ranking order: up',
    ],
    [
      'an unknown ranking column',
      { customRanking: [{ column: 'likes', order: 'asc' }] },
      'search setting custom ranking column "likes" was not found on table "song"',
    ],
    [
      'a ranking column without an order',
      { customRanking: [{ column: 'shape', order: 'asc' }] },
      'search setting custom ranking column "shape" is not rankable on table "song"',
    ],
    [
      'a ranking column of documents',
      { customRanking: [{ column: 'doc', order: 'asc' }] },
      'search setting custom ranking column "doc" is not rankable on table "song"',
    ],
    [
      'a ranking column twice',
      {
        customRanking: [
          { column: 'plays', order: 'asc' },
          { column: 'plays', order: 'desc' },
        ],
      },
      'duplicate search setting custom ranking column: plays',
    ],
  ])('are rejected with %s', async (_name, body, message) => {
    const response = await put('song/search-settings', body)
    expect(response.status).toBe(400)
    expect(envelope(response)).toMatchObject({ code: 400, message, error: 'invalid_search_settings' })
  })

  test.each(['{', '[]', '"a"', '{"attributes": 1}', '{"attributes": [1]}'])(
    'are rejected with the body %s',
    async (body) => {
      expect((await put('song/search-settings', body)).status).toBe(400)
    },
  )
})

describe('synonyms', () => {
  test('are stored in lower case, trimmed and sorted', async () => {
    const response = await put('song/synonyms/', { groups: [{ terms: [' NYC', 'Big  Apple '] }] })
    expect(response.status, response.text).toBe(200)
    expect(response.json).toEqual({ groups: [{ terms: ['big apple', 'nyc'] }] })
    expect((await get('song/synonyms/')).json).toEqual({ groups: [{ terms: ['big apple', 'nyc'] }] })
  })

  test('find each other, a phrase where a term has several words', async () => {
    expect(await found('nyc')).toEqual([5])
    await put('song/synonyms', { groups: [{ terms: ['nyc', 'big apple'] }] })
    expect((await found('nyc')).toSorted()).toEqual([4, 5])
    expect((await found('"big apple"')).toSorted()).toEqual([4, 5])
    // The separate words still find the same records.
    expect((await found('big apple')).toSorted()).toEqual([4, 5, 6])
    expect((await found('nyc -train')).toSorted()).toEqual([5])
    expect((await found('-nyc')).toSorted()).toEqual([1, 2, 3, 6])
  })

  test('match by stem, and the longest term first', async () => {
    await put('song/synonyms', {
      groups: [{ terms: ['big apple', 'lights'] }, { terms: ['apple', 'boat'] }],
    })
    expect((await found('light')).toSorted()).toEqual([2, 3, 4])
    expect((await found('"big apples"')).toSorted()).toEqual([2, 3, 4])
    expect((await found('apples')).toSorted()).toEqual([1, 4, 6])
  })

  test('change nothing when they are only stop words', async () => {
    await put('song/synonyms', { groups: [{ terms: ['the', 'nyc'] }] })
    expect(await found('nyc')).toEqual([5])
    expect(await found('the')).toEqual([])
  })

  test('are highlighted', async () => {
    await put('song/synonyms', { groups: [{ terms: ['nyc', 'train'] }] })
    const { json } = await get('song?search=nyc&highlight=true&filter=id=4&fields=id', token)
    expect(json.items[0]._highlight).toBe('The big apple a <b>train</b> d')
  })

  test('are removed by an empty list', async () => {
    await put('song/synonyms', { groups: [{ terms: ['nyc', 'train'] }] })
    expect((await put('song/synonyms', { groups: [] })).json).toEqual({ groups: [] })
    expect(await found('nyc')).toEqual([5])
  })

  test('work at their maximum size', async () => {
    const groups = Array.from({ length: 256 }, (_, group) => ({
      terms: Array.from({ length: 8 }, (_, term) => `word${group} number${term}`),
    }))
    expect((await put('song/synonyms', { groups })).status).toBe(200)
    expect(await found('harbour lights word7 or nyc')).toEqual([5])
  })

  test('leave an audit row', async () => {
    await app.sql('delete from basalt.audit')
    await put('song/synonyms', { groups: [{ terms: ['a', 'b'] }] })
    expect(await app.sql('select action, target, detail from basalt.audit')).toEqual([
      { action: 'synonyms.replace', target: 'song', detail: { groups: 1 } },
    ])
  })

  test.each<[string, unknown, string]>([
    ['no groups', {}, 'groups is required'],
    ['a group of one', { groups: [{ terms: ['a'] }] }, 'each synonym group must include at least two terms'],
    ['a group of none', { groups: [{}] }, 'each synonym group must include at least two terms'],
    [
      'a group of nine',
      { groups: [{ terms: [...'abcdefghi'] }] },
      'synonym groups may include at most 8 terms',
    ],
    ['a term twice', { groups: [{ terms: ['a', 'A '] }] }, 'duplicate synonym term: a'],
    [
      'a term in two groups',
      { groups: [{ terms: ['a', 'b'] }, { terms: ['c', 'a'] }] },
      'duplicate synonym term: a',
    ],
    ['an empty term', { groups: [{ terms: ['a', ' '] }] }, 'synonym terms must not be empty'],
    [
      'a long term',
      { groups: [{ terms: ['a', 'b'.repeat(129)] }] },
      'synonym terms must be 128 characters or fewer',
    ],
    ['a NUL', { groups: [{ terms: ['a', 'b\0'] }] }, 'synonym terms must not contain the character U+0000'],
    [
      'too many groups',
      { groups: Array.from({ length: 257 }, (_, index) => ({ terms: [`a${index}`, `b${index}`] })) },
      'synonyms may include at most 256 groups',
    ],
  ])('are rejected with %s', async (_name, body, message) => {
    const response = await put('song/synonyms', body)
    expect(response.status).toBe(400)
    expect(envelope(response)).toMatchObject({ code: 400, message, error: 'invalid_synonyms' })
  })

  test('survive hostile terms', async () => {
    const terms = [`'`, `\\`, `a' | 'b`, '<->', '!:*&', '%s $1', '\ud800x', '💥']
    expect((await put('song/synonyms', { groups: [{ terms }] })).status).toBe(200)
    expect(await found(`' nyc`)).toEqual([5])
  })
})

describe('search settings and synonyms', () => {
  test.each(['search-settings', 'synonyms'])('return 404 for %s of an unknown collection', async (path) => {
    for (const response of [await get(`nowhere/${path}`), await put(`nowhere/${path}`, { groups: [] })]) {
      expect(response.status).toBe(404)
      expect(envelope(response)).toMatchObject({ message: 'collection not found: nowhere' })
    }
  })

  test.each(['search-settings', 'synonyms'])('require an administrator for %s', async (path) => {
    for (const method of ['GET', 'PUT']) {
      const url = `/api/collections/song/${path}`
      const body = method === 'PUT' ? { groups: [] } : undefined
      expect((await app.request(method, url, { body })).status).toBe(401)
      expect((await app.request(method, url, { token, body })).status).toBe(401)
      expect((await app.request(method, url, { token: 'basalt_key_nonsense', body })).status).toBe(401)
    }
  })

  test('take precedence over records with such a key, which lists and filters still reach', async () => {
    expect((await get('record/synonyms')).json).toEqual({ groups: [] })
    expect((await get("record?filter=id='synonyms'", token)).json.items).toEqual([
      { id: 'synonyms', note: 'a row' },
    ])
    const patched = await app.request('PATCH', '/api/collections/record/synonyms', {
      token,
      body: { note: 'changed' },
    })
    expect(patched.json).toEqual({ id: 'synonyms', note: 'changed' })
  })
})

describe('search settings of a renamed table', () => {
  const attributes = [{ column: 'title', weight: 'high' }]
  const groups = [{ terms: ['lamp', 'light'] }]
  const settingsOf = async (table: string) => (await get(`${table}/search-settings`)).json.attributes

  test('stay with it and so do the synonyms, in another schema too', async () => {
    await app.sql('create table poem (id int primary key, title text)')
    expect((await put('poem/search-settings', { attributes })).status).toBe(200)
    expect((await put('poem/synonyms', { groups })).status).toBe(200)
    await app.sql('alter table poem rename to verse')
    await waitFor('the settings to follow', async () => (await settingsOf('verse'))?.length === 1)
    expect((await get('verse/synonyms')).json).toEqual({ groups })
    await app.sql('alter table verse set schema archive')
    await waitFor('the settings to follow', async () => (await settingsOf('archive.verse'))?.length === 1)
    expect((await get('archive.verse/synonyms')).json).toEqual({ groups })
  })

  test('stay with it when its columns are renamed, too', async () => {
    await app.sql('create table ode (id int primary key, title text, body text, score int, "n?" int)')
    const customRanking = ['score', 'n?', 'id'].map((column) => ({ column, order: 'desc' }))
    const given = { attributes: [...attributes, { column: 'body', weight: 'low' }], customRanking }
    expect((await put('ode/search-settings', given)).status).toBe(200)
    await app.sql('alter table ode rename title to "the title"; alter table ode rename score to points')
    const columnsOf = async (table: string) => {
      const { json } = await get(`${table}/search-settings`)
      return [...(json.attributes ?? []), ...(json.customRanking ?? [])].map(({ column }) => column).join()
    }
    await waitFor('columns', async () => (await columnsOf('ode')) === 'the title,body,points,n?,id')
    await app.sql('alter table ode rename to hymn; alter table hymn rename body to "text"')
    await waitFor('both', async () => (await columnsOf('hymn')) === 'the title,text,points,n?,id')
    expect((await get('hymn/search-settings')).json.attributes).toEqual([
      { column: 'the title', weight: 'high' },
      { column: 'text', weight: 'low' },
    ])
  })

  test('stay with the table that takes its name', async () => {
    await app.sql('create table tale (id int primary key, title text)')
    await app.sql('create table tale_next (id int primary key, title text)')
    await put('tale/search-settings', { attributes })
    await app.sql('alter table tale rename to tale_last; alter table tale_next rename to tale')
    await waitFor('the tables to be swapped', async () => (await get('tale_last')).status === 200)
    expect([await settingsOf('tale'), await settingsOf('tale_last')]).toEqual([attributes, []])
  })
})

describe('api.text_search_config', () => {
  test('decides which words are the same', async () => {
    await using simple = await createTestApp({
      setup: "create table line (id int primary key, body text); insert into line values (1, 'the whales')",
      config: { 'api.text_search_config': 'simple' },
    })
    const search = async (word: string) =>
      (await simple.request('GET', `/api/collections/line?search=${word}`, { token })).json.totalItems
    expect(await search('whale')).toBe(0)
    expect(await search('whales')).toBe(1)
    expect(await search('the')).toBe(1)
  })

  test("may name an operator's configuration, in another schema and with a name that needs quotes", async () => {
    await using own = await createTestApp({
      setup: `create schema words; grant usage on schema words to public; create text search configuration words."My ""Own""" (copy = simple);
        create table line (id int primary key, body text); insert into line values (1, 'whales')`,
      config: { 'api.text_search_config': 'words."My ""Own"""' },
    })
    const response = await own.request('GET', '/api/collections/line?search=whales', { token })
    expect(response.json.totalItems).toBe(1)
  })

  test('prevents a start with a configuration that callers may not use', async () => {
    const setup = 'create schema words; create text search configuration words.own (copy = simple)'
    await expect(createTestApp({ setup, config: { 'api.text_search_config': 'words.own' } })).rejects.toThrow(
      'api.text_search_config: callers may not use it: grant usage on schema words to basalt_authenticated',
    )
  })

  test.each(['klingon', 'a b c', "x'", 'nowhere.english'])('prevents a start with %s', async (name) => {
    await expect(createTestApp({ config: { 'api.text_search_config': name } })).rejects.toThrow(
      `api.text_search_config: there is no text search configuration "${name}"; there are `,
    )
  })
})
