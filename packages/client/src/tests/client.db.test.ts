import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { generateTypes } from '../../../server/src/features/data/types/index.ts'
import { systemClock } from '../../../server/src/lib/clock.ts'
import { faultsOf } from '../../../server/test/faults.ts'
import { alice, bob } from '../../../server/test/fixtures.ts'
import { createTestApp, type TestApp, userToken } from '../../../server/test/test-app.ts'
import { BasaltError, type Client, createClient, gt, isBasaltError, neq, oneOf, where } from '../index.ts'
import type { Database, Row } from './database.ts'
import { createNetwork, readFixture } from './harness.ts'
import { typed } from './typed.ts'

let app: TestApp
let client: Client<Database>
const token = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({ setup: await readFixture() })
  client = createClient<Database>({ url: `${app.url}/`, auth: token })
})
beforeEach(async () => {
  await app.sql(`
    truncate artist, album, task, "constructor", pair restart identity cascade;
    insert into artist (name) values ('Ursula'), ('Miles');
    insert into album (title, price, artist_id) values ('one', 1.5, 1), ('two', 12345678901234567.89, null);
    insert into task (title, album_id, owner) values ('write', 1, '${alice}'), ('read', null, '${alice}'), ('hidden', 1, '${bob}')`)
})
afterAll(async () => {
  expect(faultsOf(app)).toEqual([])
  await app[Symbol.asyncDispose]()
})

test('database types › equal the output of `basalt types`', async () => {
  const { text } = await app.app.database.system.transaction((transaction) =>
    generateTypes(transaction, { schemas: ['public'] }, 'client', systemClock.now()),
  )
  expect(await readFile(join(import.meta.dirname, 'database.ts'), 'utf8')).toBe(text)
})

describe('collection', () => {
  test('lists filtered and sorted pages, whose records have the type of their table', async () => {
    const page = await client.from('task').list({ filter: { done: false }, sort: ['-title'], perPage: 1 })
    typed<Row<'task'>[]>()(page.items)
    expect(page).toMatchObject({
      page: 1,
      perPage: 1,
      totalItems: 2,
      totalPages: 2,
      items: [{ title: 'write' }],
    })
    const without = await client.from('task').list({ total: 'none', page: 2, perPage: 1 })
    expect(without).toMatchObject({ totalItems: -1, items: [{ title: 'read' }] })
  })

  test('returns its first record and the number of records', async () => {
    const tasks = client.from('task')
    const first = await tasks.first({ sort: ['-title'], fields: ['title'] })
    expect(typed<{ title: string } | undefined>()(first)).toEqual({ title: 'write' })
    expect(await tasks.first({ filter: { title: 'nothing' } })).toBeUndefined()
    const counts = [
      tasks.count(),
      tasks.count({ filter: { title: 'read' } }),
      tasks.count({ search: 'write' }),
    ]
    expect(await Promise.all(counts)).toEqual([2, 1, 1])
    expect(await tasks.count({ filter: { album_id: oneOf([1, null]) } })).toBe(2)
    expect(await tasks.count({ filter: { album_id: neq(null) } })).toBe(1)
    // @ts-expect-error it is never null
    expect(await tasks.count({ filter: { title: neq(null) } })).toBe(2)
    // @ts-expect-error there is no such column
    await expect(tasks.first({ filter: { nothing: 1 } })).rejects.toThrow('unknown column')
  })

  test('rejects an option of another type by its name, and sends nothing', async () => {
    const network = createNetwork()
    const tasks = createClient<Database>({ url: app.url, auth: token, fetch: network.fetch }).from('task')
    const refused: [() => Promise<unknown>, string][] = [
      // @ts-expect-error a text
      [() => tasks.list({ sort: 'id' }), "sort is a list, as in { sort: ['a'] }"],
      // @ts-expect-error a text
      [() => tasks.first({ fields: 'id' }), "fields is a list, as in { fields: ['a'] }"],
      // @ts-expect-error a text
      [() => tasks.one(1, { fields: 'id' }), "fields is a list, as in { fields: ['a'] }"],
      // @ts-expect-error a text
      [() => tasks.list({ expand: 'album' }), 'expand is an object, as in { expand: { a: true } }'],
      // @ts-expect-error a list
      [() => tasks.list({ expand: ['album'] }), 'expand is an object, as in { expand: { a: true } }'],
      // @ts-expect-error null
      [() => tasks.list({ filter: null }), 'a filter is a plain object or made by where'],
      // @ts-expect-error a text
      [() => tasks.upsert({ title: 'a' }, { on: 'title' }), "on is a list, as in { on: ['a'] }"],
      // @ts-expect-error on is missing
      [() => tasks.upsert({ title: 'a' }, {}), "on is a list, as in { on: ['a'] }"],
      // @ts-expect-error on is missing
      [() => tasks.upsert({ title: 'a' }), "on is a list, as in { on: ['a'] }"],
      // @ts-expect-error not a list
      [() => tasks.createMany({ title: 'a' }), 'records is a list'],
      [
        // @ts-expect-error on is missing
        () => client.batch((batch) => [batch.upsert('task', { title: 'a' }, {})]),
        "on is a list, as in { on: ['a'] }",
      ],
    ]
    // @ts-expect-error not set
    expect(() => createClient({ url: undefined })).toThrow(TypeError)
    for (const [failing, message] of refused) {
      await expect(failing()).rejects.toThrow(new TypeError(message))
    }
    expect(network.requests).toEqual([])
  })

  test('rejects JSON that does not belong to the request', async () => {
    const network = createNetwork()
    const tasks = createClient<Database>({ url: app.url, auth: token, fetch: network.fetch }).from('task')
    const requests: [string, () => Promise<unknown>][] = [
      ['/api/collections/task', () => tasks.list()],
      ['/api/collections/task', () => tasks.first()],
      ['/api/collections/task', () => tasks.count()],
      ['/api/collections/task', () => tasks.each().next()],
      ['/api/batch', () => tasks.createMany([{ title: 'a' }])],
      ['/api/collections/task', () => tasks.updateAll({ id: 1 }, { done: true }, 1)],
    ]
    for (const [path, request] of requests) {
      for (const answer of [null, {}, 'text', { items: {} }]) {
        network.answer(path, Response.json(answer))
        await expect(request()).rejects.toMatchObject({ error: 'invalid_response', status: 200 })
      }
    }
  })

  test('creates many records, all or none, in the given order', async () => {
    const tasks = client.from('task')
    const created = await tasks.createMany([{ title: 'b' }, { title: 'a', done: true }])
    expect(typed<Row<'task'>[]>()(created)).toEqual([
      { id: 4, title: 'b', done: false, album_id: null, owner: alice },
      { id: 5, title: 'a', done: true, album_id: null, owner: alice },
    ])
    const failing = tasks.createMany([{ title: 'c' }, { title: 'a' }])
    await expect(failing).rejects.toMatchObject({ error: 'unique_violation', operation: { index: 1 } })
    expect(await tasks.createMany([])).toEqual([])
    expect(await tasks.count()).toBe(4)
    // @ts-expect-error a title is missing
    await expect(tasks.createMany([{ done: true }])).rejects.toMatchObject({ error: 'not_null_violation' })
    // A write whose response was lost is not applied twice.
    const network = createNetwork()
    const shaky = createClient<Database>({ url: app.url, auth: token, fetch: network.fetch })
    network.loseAnswer()
    expect(await shaky.from('task').createMany([{ title: 'once' }])).toMatchObject([{ title: 'once' }])
    expect(await tasks.count({ filter: { title: 'once' } })).toBe(1)
  })

  test('lists by cursor, and iterates over the records of all pages', async () => {
    const first = await client.from('task').list({ cursor: '', perPage: 1, sort: ['id'] })
    expect([first.items.length, typeof first.nextCursor]).toEqual([1, 'string'])
    const titles: string[] = []
    for await (const { title } of client.from('task').each({ perPage: 1, fields: ['title'] }))
      titles.push(title)
    expect(titles).toEqual(['write', 'read'])
  })

  test('returns the requested columns and related records, and types no others', async () => {
    const { items } = await client
      .from('artist')
      .list({ fields: ['name'], expand: { album: { task: true } }, sort: ['id'] })
    const [ursula, miles] = items
    // @ts-expect-error the column was not requested
    expect(ursula?.id).toBeUndefined()
    typed<string | undefined>()(ursula?.name)
    expect(ursula?.expand.album?.[0]?.expand.task?.map(({ title }) => title)).toEqual(['write'])
    expect(miles).toEqual({ name: 'Miles', expand: {} })
    const task = await client.from('task').one(1, { expand: { album: { artist: true } } })
    typed<string | undefined>()(task.expand.album?.expand.artist?.name)
    expect(task.expand.album?.expand.artist?.name).toBe('Ursula')
    const alone = await client.from('task').one(2, { expand: { album: true } })
    expect(alone.expand).toEqual({})
    // @ts-expect-error no relation has this name
    await expect(client.from('task').one(2, { expand: { artist: true } })).rejects.toThrow('unknown relation')
  })

  test('sorts by columns of related records', async () => {
    const tasks = client.from('task')
    const sorted = async (sort: Parameters<typeof tasks.list>[0] & object) =>
      (await tasks.list(sort)).items.map(({ id }) => id)
    // Only the first task has an album.
    expect(await sorted({ sort: ['album.title', '-id'] })).toEqual([1, 2])
    expect(await sorted({ sort: ['-album.artist.name', 'id'] })).toEqual([2, 1])
    // @ts-expect-error the album has no column of this name
    await expect(tasks.list({ sort: ['album.name'] })).rejects.toMatchObject({ error: 'unknown_column' })
    // @ts-expect-error an artist has many albums
    const many = client.from('artist').list({ sort: ['album.title'] })
    await expect(many).rejects.toMatchObject({ error: 'invalid_parameter' })
  })

  test('creates, updates, upserts and deletes', async () => {
    const tasks = client.from('task')
    const created = typed<Row<'task'>>()(await tasks.create({ title: 'new' }))
    expect(created).toEqual({ id: 4, title: 'new', done: false, album_id: null, owner: alice })
    expect(await tasks.update(4, { done: true }, { fields: ['done'] })).toEqual({ done: true })
    const upserted = await tasks.upsert(
      { title: 'new', done: false },
      { on: ['title'], fields: ['id', 'done'] },
    )
    expect(upserted).toEqual({ id: 4, done: false })
    expect(await tasks.delete(4)).toBeUndefined()
    await expect(tasks.delete(4)).rejects.toMatchObject({ error: 'record_not_found', status: 404 })
    // @ts-expect-error a title is missing
    await expect(tasks.create({ done: true })).rejects.toMatchObject({ error: 'not_null_violation' })
    // @ts-expect-error an identity column that is always generated cannot be written
    const refused = tasks.create({ id: 7, title: 'x' })
    await expect(refused).rejects.toBeInstanceOf(BasaltError)
  })

  test('updates and deletes by filter as many records as expected, or none', async () => {
    const tasks = client.from('task')
    expect(await tasks.updateAll({ id: gt(0) }, { done: true }, 2)).toBe(2)
    await expect(tasks.deleteAll({ done: true }, 1)).rejects.toMatchObject({ error: 'unexpected_count' })
    expect(await tasks.deleteAll({ done: true }, 2)).toBe(2)
  })

  test('keeps every digit of int8 and numeric, both ways', async () => {
    const albums = client.from('album')
    const big = await albums.create({ id: 9007199254740993n, title: 'big', price: '0.12345678901234567890' })
    expect(big).toMatchObject({ id: '9007199254740993', price: '0.12345678901234567890' })
    expect((await albums.one('9007199254740993')).title).toBe('big')
    expect((await albums.list({ filter: { id: 9007199254740993n } })).totalItems).toBe(1)
    expect((await albums.one(2)).price).toBe('12345678901234567.89')
    expect((await albums.one(1)).price).toBe(1.5)
  })

  test('may have any name, and so may its columns', async () => {
    const odd = client.from('constructor')
    // A literal with a member of this name looks like a promise.
    const record = JSON.parse('{"id": 1, "then": "x", "odd \\"name\\"": "y"}')
    await odd.create(record)
    const query = {
      filter: { 'odd "name"': 'y' },
      sort: ['-odd "name"'],
      fields: ['then', 'odd "name"'],
    } as const
    expect((await odd.list(query)).items).toMatchObject([{ 'odd "name"': 'y' }])
    expect(await odd.one(1)).toEqual(record)
  })

  test('rejects invalid arguments, and throws nothing synchronously', async () => {
    const tasks = client.from('task')
    const key = 'a key is a text or a number, or a list of them'
    const calls: [() => Promise<unknown>, string][] = [
      // @ts-expect-error not a key
      [() => tasks.one(null), key],
      // @ts-expect-error not a key
      [() => tasks.update({}, {}), key],
      // @ts-expect-error not a key of this table
      [() => tasks.delete('..'), 'not a name or key of an address: ".."'],
      [
        // @ts-expect-error not a value
        () => tasks.list({ filter: { done: {} } }),
        'a filter takes texts, numbers, booleans, dates and null, not an object',
      ],
      // @ts-expect-error not a key
      [() => tasks.one([]), key],
      // @ts-expect-error not a key
      [() => client.batch((batch) => [batch.delete('task', undefined)]), key],
      // @ts-expect-error not a key
      [() => client.batch((batch) => [batch.update('task', { id: 1 }, {})]), key],
      // @ts-expect-error not a title
      [() => tasks.create({ title: new Date('no date') }), 'title is an invalid date'],
    ]
    for (const [call, message] of calls) await expect(call()).rejects.toThrow(message)
    expect((await tasks.list()).totalItems).toBe(2)
  })

  test('writes NaN and infinities, not null', async () => {
    const albums = client.from('album')
    // JSON has no number for some values of numeric.
    expect((await albums.create({ title: 'odd', price: Number.NaN })).price).toBe('NaN')
    await expect(albums.create({ title: 'odd', id: Number.NaN })).rejects.toMatchObject({ status: 400 })
  })

  test('may have columns named like inherited members of JavaScript objects', async () => {
    await app.sql('create table odd ("__proto__" text primary key, "constructor" text, "toString" int)')
    try {
      const odd = createClient({ url: app.url, auth: token }).from('odd')
      const record = JSON.parse('{"__proto__": "a/b", "constructor": "c", "toString": 1}')
      for (const made of [
        await odd.create(record),
        await odd.one('a/b'),
        await odd.first({ filter: record }),
      ]) {
        expect(JSON.stringify(made)).toBe(JSON.stringify(record))
      }
      const changed = await odd.update('a/b', JSON.parse('{"__proto__": "d"}'), { fields: ['__proto__'] })
      expect([Object.keys(changed), Object.getPrototypeOf(changed)]).toEqual([
        ['__proto__'],
        Object.prototype,
      ])
      expect(await odd.count({ filter: JSON.parse('{"__proto__": "other"}') })).toBe(0)
    } finally {
      await app.sql('drop table odd')
    }
  })

  test('returns each record once, however many there are', async () => {
    await app.sql("insert into artist (name) select 'artist ' || number from generate_series(1, 1201) number")
    const network = createNetwork()
    const artists = createClient<Database>({ url: app.url, auth: token, fetch: network.fetch }).from('artist')
    const ids = new Set<number>()
    for await (const { id } of artists.each({ fields: ['id'] })) ids.add(id)
    expect([ids.size, network.requests.length]).toEqual([1203, 3])
    const controller = new AbortController()
    const aborted = (async () => {
      for await (const _ of artists.each({}, { signal: controller.signal }))
        controller.abort(new Error('left'))
    })()
    await expect(aborted).rejects.toThrow('left')
    for await (const _ of artists.each()) break
    expect(network.requests).toHaveLength(5)
  })

  test('accepts any text as a key, and composite keys in their order', async () => {
    const pairs = client.from('pair')
    for (const a of ['a,b', '..', 'é/?#%2C "', ' ', '.', '%']) {
      await pairs.create({ a, b: 1, v: 'x' })
      expect(await pairs.one([a, 1]), a).toEqual({ a, b: 1, v: 'x' })
      expect((await pairs.update([a, 1], { v: 'y' })).v).toBe('y')
      const [deleted] = await client.batch((batch) => [batch.delete('pair', [a, 1])])
      expect(deleted).toBeUndefined()
    }
    const tasks = client.from('task')
    for (const key of ['..', '.', '']) {
      // @ts-expect-error a text is not a key of this table, and it would lead to another URL
      await expect(async () => await tasks.delete(key)).rejects.toThrow(TypeError)
    }
    expect((await tasks.list()).totalItems).toBe(2)
  })

  test('finds exactly the records with a text, whatever characters it has', async () => {
    const pairs = client.from('pair')
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }), async (text) => {
        // PostgreSQL stores neither.
        fc.pre(!text.includes('\0') && text.isWellFormed())
        await app.sql('truncate pair')
        await app.sql("insert into pair values ('other', 1, 'x'), ($1, 2, $1) on conflict do nothing", [text])
        const byObject = await pairs.list({ filter: { a: text, b: 2 } })
        expect(byObject.items).toEqual([{ a: text, b: 2, v: text }])
        const byTemplate = await pairs.list({ filter: where`v = ${text} and a in (${[text, 'no']})` })
        expect(byTemplate.items).toEqual(byObject.items)
        const byList = await pairs.list({ filter: { a: oneOf([text]) } })
        expect(byList.totalItems).toBe(1)
      }),
      {
        numRuns: 40,
        examples: [["' or '1' = '1"], ['\\'], ["\\' or true --"], ["''"], ['"; drop table pair']],
      },
    )
  })

  test('reads a view, and cannot write it by type', async () => {
    const names = client.from('album_names')
    const { items } = await names.list({ filter: { title: 'one' } })
    typed<{ id: number | string; title: string }[]>()(items)
    // @ts-expect-error nothing fits
    await expect(names.create({ title: 'x' })).rejects.toMatchObject({ error: 'write_not_allowed' })
  })

  test('rejects an unknown name by type and with 404', async () => {
    // @ts-expect-error there is no such collection
    await expect(client.from('nothing').list()).rejects.toMatchObject({ error: 'collection_not_found' })
  })
})

describe('batch', () => {
  test('returns the typed result of each operation', async () => {
    const [album, task, gone] = await client.batch((batch) => [
      batch.create('album', { title: 'three' }),
      batch.update('task', 1, { done: true }),
      batch.delete('task', 2),
    ])
    typed<Row<'album'>>()(album)
    typed<Row<'task'>>()(task)
    typed<undefined>()(gone)
    expect([album.title, task.done, gone]).toEqual(['three', true, undefined])
  })

  test('upserts a record by its key', async () => {
    const before = await client.from('task').one(1)
    const [changed, kept] = await client.batch((batch) => [
      batch.upsert('task', { title: before.title, done: !before.done }, { on: ['title'] }),
      batch.upsert('task', { title: before.title, done: before.done }, { on: ['title'], action: 'ignore' }),
    ])
    expect(typed<Row<'task'>>()(changed)).toMatchObject({ id: 1, done: !before.done })
    expect(kept).toEqual(changed)
  })

  test('names the failed operation and changes nothing', async () => {
    const failing = client.batch((batch) => [
      batch.create('album', { title: 'three' }),
      batch.create('task', { title: 'write' }),
    ])
    await expect(failing).rejects.toMatchObject({
      error: 'unique_violation',
      operation: { index: 1, method: 'create' },
    })
    expect((await client.from('album').list()).totalItems).toBe(2)
  })
})

test('procedure › returns a typed result', async () => {
  expect(typed<number | null>()(await client.rpc('add', { a: 1 }))).toBe(2)
  expect(await client.rpc('add', { a: 1, b: 2 })).toBe(3)
  expect(await client.rpc('forget', {})).toBeUndefined()
  // @ts-expect-error there is no such argument
  await expect(client.rpc('add', { c: 1 })).rejects.toBeInstanceOf(BasaltError)
})

describe('failed request', () => {
  test('rejects with the error of the server', async () => {
    const error = await client
      .from('task')
      .create({ title: 'write' })
      .catch((thrown) => thrown)
    expect(isBasaltError(error, 'unique_violation')).toBe(true)
    expect(isBasaltError(error, 'record_not_found')).toBe(false)
    expect(error).toMatchObject({ status: 409, data: { task_title_key: { code: 'unique_violation' } } })
    expect(error.requestId).toMatch(/./)
  })

  test('rejects with the abort reason of its signal', async () => {
    const reason = new Error('left')
    await expect(client.from('task').list({}, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    const controller = new AbortController()
    const slow = createClient<Database>({
      url: app.url,
      auth: token,
      fetch: (_input, init) =>
        new Promise((_resolve, reject) => {
          init?.signal?.addEventListener('abort', () => reject(init.signal?.reason))
          controller.abort(reason)
        }),
    })
    await expect(slow.from('task').list({}, { signal: controller.signal })).rejects.toBe(reason)
  })

  test('rejects with `timeout`', async () => {
    const stuck = createClient<Database>({
      url: app.url,
      retries: 0,
      timeoutMs: 5,
      fetch: (_input, init) =>
        new Promise((_resolve, reject) => {
          init?.signal?.addEventListener('abort', () => reject(init.signal?.reason))
        }),
    })
    await expect(stuck.from('task').list()).rejects.toMatchObject({ error: 'timeout', status: 0 })
  })
})

describe('request retries', () => {
  test.each([
    ['before it was sent', 'loseRequest' as const],
    ['after it was done', 'loseAnswer' as const],
  ])('repeat a request after its connection broke %s, and it is applied once', async (_what, lose) => {
    const network = createNetwork()
    const shaky = createClient<Database>({ url: app.url, auth: token, fetch: network.fetch })
    network[lose]()
    const task = await shaky.from('task').create({ title: 'once' })
    expect(task.title).toBe('once')
    expect(network.requests).toEqual(['POST /api/collections/task', 'POST /api/collections/task'])
    expect(network.keys[0]).toBe(network.keys[1])
    expect((await client.from('task').list({ filter: { title: 'once' } })).items).toEqual([task])
    network[lose]()
    await shaky.from('task').delete(task.id)
    expect((await client.from('task').list()).totalItems).toBe(2)
  })

  test('reject an aborted request at once while its token is being renewed', async () => {
    const reason = new Error('left')
    const never = new Promise<string>(() => undefined)
    const controller = new AbortController()
    for (const auth of [{ token: () => never }, { token: () => 'refused', renew: () => never }]) {
      const waiting = createClient<Database>({ url: app.url, auth })
      const list = waiting.from('task').list({}, { signal: controller.signal })
      setImmediate(() => controller.abort(reason))
      await expect(list).rejects.toBe(reason)
    }
  })

  test('reject with the error when the connection stays broken', async () => {
    const network = createNetwork()
    const shaky = createClient<Database>({ url: app.url, auth: token, fetch: network.fetch, retries: 0 })
    network.loseRequest()
    await expect(shaky.from('task').list()).rejects.toMatchObject({ error: 'network_error', status: 0 })
    expect(network.requests).toHaveLength(1)
  })

  test('wait for a short Retry-After of a rate limit', async () => {
    const path = '/api/collections/task'
    const refuse = (after?: string) => {
      const body = JSON.stringify({ code: 429, error: 'too_many_requests', message: 'too many requests' })
      return new Response(body, { status: 429, headers: after === undefined ? {} : { 'retry-after': after } })
    }
    const network = createNetwork()
    const limited = createClient<Database>({ url: app.url, auth: token, fetch: network.fetch }).from('task')
    network.answer(path, refuse('0.01'), refuse('0.01'))
    expect((await limited.create({ title: 'patient' })).title).toBe('patient')
    expect(new Set(network.keys).size).toBe(1)
    expect(network.requests).toHaveLength(3)
    for (const after of ['31', undefined]) {
      network.answer(path, refuse(after))
      const retryAfterSeconds = after === undefined ? undefined : 31
      await expect(limited.list()).rejects.toMatchObject({ error: 'too_many_requests', retryAfterSeconds })
    }
    expect(network.requests).toHaveLength(5)
  })

  test('may last without a time limit', async () => {
    const tasks = createClient<Database>({ url: app.url, auth: token, timeoutMs: Number.POSITIVE_INFINITY })
    expect(await tasks.from('task').count()).toBe(2)
    expect(await client.from('task').count({}, { timeoutMs: 2 ** 31 })).toBe(2)
  })

  test('do not repeat a request that needs a component to be installed or enabled', async () => {
    const network = createNetwork()
    const retrying = createClient<Database>({ url: app.url, auth: token, fetch: network.fetch })
    const body = { code: 503, error: 'push_disabled', message: 'push notifications are not enabled' }
    network.answer('/api/collections/task', new Response(JSON.stringify(body), { status: 503 }))
    await expect(retrying.from('task').list()).rejects.toMatchObject({ error: 'push_disabled', status: 503 })
    expect(network.requests).toHaveLength(1)
  })

  test('reject with the response of a proxy, whatever its body', async () => {
    const network = createNetwork()
    const proxied = createClient<Database>({ url: app.url, auth: token, fetch: network.fetch, retries: 0 })
    const restarting = 'the server is restarting or unavailable; try again in a moment'
    const answers: [Response, object][] = [
      [new Response('<html>', { status: 502 }), { error: 'http_502', message: restarting }],
      [
        Response.json({ error: { code: 502, message: 'no backend' } }, { status: 502 }),
        { error: 'http_502', message: restarting },
      ],
      [Response.json(['no backend'], { status: 502 }), { error: 'http_502' }],
      [
        Response.json({ error: 502, message: ['no backend'] }, { status: 502 }),
        { error: 'http_502', message: restarting },
      ],
      [
        Response.json({ error: 'shutting_down', message: 'server is shutting down' }, { status: 503 }),
        { error: 'shutting_down', message: 'the server is restarting; try again in a moment' },
      ],
      [new Response('<html>', { status: 418 }), { error: 'http_418', message: 'the server returned 418' }],
      [
        new Response('<html>'),
        { error: 'invalid_response', message: 'the response is not JSON', status: 200 },
      ],
      [new Response(''), { error: 'invalid_response', message: 'the response is not JSON', status: 200 }],
    ]
    for (const [answer, expected] of answers) {
      network.answer('/api/collections/task', answer)
      await expect(proxied.from('task').first()).rejects.toMatchObject(expected)
    }
    expect(network.requests).toHaveLength(answers.length)
  })

  test('use the idempotency key of the caller', async () => {
    const idempotencyKey = randomUUID()
    const first = await client.from('task').create({ title: 'keyed' }, {}, { idempotencyKey })
    expect(await client.from('task').create({ title: 'keyed' }, {}, { idempotencyKey })).toEqual(first)
    const other = client.from('task').create({ title: 'other' }, {}, { idempotencyKey })
    await expect(other).rejects.toMatchObject({ error: 'idempotency_key_reused' })
  })
})
