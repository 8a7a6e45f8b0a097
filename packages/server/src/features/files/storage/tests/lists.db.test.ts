import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { envelope, type TestApp } from '../../../../../test/test-app.ts'
import { render, sql } from '../../../../database/sql.ts'
import { compareNames, listObjects } from '../objects/list-queries.ts'
import {
  createBucket,
  createStorageApps,
  get,
  newUser,
  problem,
  put,
  type StorageApps,
} from './storage-requests.ts'

let apps: StorageApps
let admin: string

beforeAll(async () => {
  apps = await createStorageApps()
  admin = await apps.app.adminToken()
})
afterAll(() => apps[Symbol.asyncDispose]())

/** Adds objects of one byte, each with its owner. */
async function addObjects(
  { sql: run }: Pick<TestApp, 'sql'>,
  bucket: string,
  objects: readonly (readonly [name: string, owner: string | null])[],
): Promise<void> {
  const names = objects.map(([name]) => name)
  const salt = randomUUID()
  await run('insert into basalt.stored_bytes (key) select md5($1 || n) from unnest($2::text[]) n', [
    salt,
    names,
  ])
  await run(
    `insert into basalt.objects (bucket, name, size, content_type, user_id, app_id, key)
     select $1, o.name, 1, 'text/plain', o.owner, '00000000-0000-0000-0000-000000000000', md5($4 || o.name)
     from unnest($2::text[], $3::uuid[]) o (name, owner)`,
    [bucket, names, objects.map(([, owner]) => owner), salt],
  )
}

/** Returns the objects and folders below a prefix. */
function entriesOf(names: readonly string[], prefix: string, delimiter: string): string[] {
  const entries = names
    .filter((name) => name.startsWith(prefix))
    .map((name) => {
      const end = delimiter === '' ? -1 : name.indexOf(delimiter, prefix.length)
      return end === -1 ? name : name.slice(0, end + delimiter.length)
    })
  return [...new Set(entries)].sort(compareNames)
}

describe('storage › lists', () => {
  test('are in the order of names, by prefix and delimiter, in pages', async () => {
    const bucket = await createBucket(apps.app)
    const names = ['B', 'a', 'a/1', 'a/2', 'a/b/3', 'a_c', 'é/x', '😀/y']
    for (const name of names) await put(apps.app, `/${bucket}/${encodeURIComponent(name)}`, admin, name)
    const list = async (query: string) => {
      const { json } = await get(apps.app, `/${bucket}?${query}`, admin)
      return { ...json, items: json.items.map(({ name }: { name: string }) => name) }
    }
    expect(await list('')).toEqual({ items: names, totalItems: 8 })
    expect(await list('prefix=a/')).toEqual({ items: ['a/1', 'a/2', 'a/b/3'], totalItems: 3 })
    expect(await list('delimiter=/')).toEqual({
      items: ['B', 'a', 'a_c'],
      prefixes: ['a/', 'é/', '😀/'],
      totalItems: 6,
    })
    expect(await list('delimiter=/&prefix=a/')).toEqual({
      items: ['a/1', 'a/2'],
      prefixes: ['a/b/'],
      totalItems: 3,
    })
    expect(await list(`delimiter=/&prefix=${encodeURIComponent('😀/')}`)).toEqual({
      items: ['😀/y'],
      prefixes: [],
      totalItems: 1,
    })
    const nextCursor = expect.any(String)
    expect(await list('limit=2&offset=3')).toEqual({ items: ['a/2', 'a/b/3'], totalItems: 8, nextCursor })
    expect(await list('limit=0&offset=-1')).toEqual({ items: ['B'], totalItems: 8, nextCursor })
    expect(await list('limit=3&offset=5&skipTotal=true')).toEqual({
      items: ['a_c', 'é/x', '😀/y'],
      totalItems: -1,
    })
    for (const offset of [100, 99_999_999_999]) {
      expect(await list(`offset=${offset}`)).toEqual({ items: [], totalItems: 8 })
    }
    expect(await list('delimiter=/&limit=2&offset=1')).toEqual({
      items: ['a'],
      prefixes: ['a/'],
      totalItems: 6,
      nextCursor,
    })
    expect(await list('prefix=%25')).toEqual({ items: [], totalItems: 0 })
    expect(problem(await get(apps.app, `/${bucket}?limit=x`, admin))).toEqual([
      400,
      'limit: must be integer',
      'invalid_request',
    ])
    expect(problem(await get(apps.app, `/${bucket}?prefx=a`, admin))[0]).toBe(400)
  })

  test.each([
    ['cursor=*', 'invalid cursor; expected nextCursor of the page before'],
    ['cursor=AA', 'invalid cursor; expected nextCursor of the page before'],
    ['cursor=_w', 'invalid cursor; expected nextCursor of the page before'],
    ['cursor=YQ==', 'invalid cursor; expected nextCursor of the page before'],
    ['cursor=YQ&offset=1', 'invalid offset; a cursor says where the page begins'],
    ['skipTotal=1', 'invalid skipTotal; must be one of: true, false'],
  ])('refuse %s', async (query, message) => {
    const bucket = await createBucket(apps.app)
    const answer = await get(apps.app, `/${bucket}?${query}`, admin)
    expect(problem(answer)).toEqual([400, message, 'invalid_list_parameter'])
  })

  test('return by cursor, page by page, the objects that policies show', async () => {
    const bucket = await createBucket(apps.app)
    const user = newUser()
    await apps.app.sql(
      `create policy "${bucket}" on basalt.objects for select to basalt_authenticated
       using (bucket = '${bucket}' and user_id = basalt.user_id())`,
    )
    const letters = ['a', 'b', '/', '//', '-', '\u{d7ff}', '\u{e000}', '\u{10ffff}', '\u{1f600}']
    const name = fc
      .array(fc.constantFrom(...letters), { minLength: 1, maxLength: 5 })
      .map((parts) => parts.join(''))
    // More in a row than one step of the list reads.
    const run = fc
      .tuple(name, fc.integer({ min: 0, max: 230 }))
      .map(([start, length]) => Array.from({ length }, (_, index) => `${start}${1000 + index}`))
    const lists = fc.record({
      names: fc.array(name, { maxLength: 40 }),
      run,
      prefix: fc.oneof(fc.constant(''), name),
      delimiter: fc.constantFrom('', '/', '//', '-', '\u{10ffff}', 'ab'),
      limit: fc.constantFrom(1, 3, 7, 150),
    })
    await fc.assert(
      fc.asyncProperty(lists, async ({ names, run: more, prefix, delimiter, limit }) => {
        // Objects of the previous run are deleted, even if it failed.
        await apps.app.sql('delete from basalt.objects where bucket = $1', [bucket])
        const all = [...new Set([...names, ...more])]
        const isOwn = (each: string) => all.indexOf(each) % 4 !== 0
        await addObjects(
          apps.app,
          bucket,
          all.map((each) => [each, isOwn(each) ? user.id : null]),
        )
        const expected = entriesOf(all.filter(isOwn), prefix, delimiter)
        const read = async (query: Record<string, string>) => {
          const text = new URLSearchParams({ prefix, delimiter, limit: String(limit), ...query })
          const { status, json } = await get(apps.app, `/${bucket}?${text}`, user.token)
          expect(status).toBe(200)
          const items = json.items.map((item: { name: string }) => item.name)
          const entries: string[] = [...items, ...(json.prefixes ?? [])].sort(compareNames)
          expect(entries.length).toBeLessThanOrEqual(limit)
          return { ...json, entries }
        }
        const found: string[] = []
        for (let cursor: string | undefined = ''; cursor !== undefined; ) {
          const page: Awaited<ReturnType<typeof read>> = await read({ cursor })
          expect(page.totalItems).toBe(-1)
          found.push(...page.entries)
          cursor = page.nextCursor
        }
        expect(found).toEqual(expected)
        const offset = Math.floor(expected.length / 2)
        const page = await read({ offset: String(offset) })
        expect(page.entries).toEqual(expected.slice(offset, offset + limit))
        expect(page.totalItems).toBe(expected.length)
      }),
      { numRuns: 40 },
    )
  })

  test.each([
    ['', 10_000],
    ['/', 1000],
  ])('with the delimiter "%s" count up to %i entries, and one beyond a page', async (delimiter, most) => {
    const bucket = await createBucket(apps.app)
    const add = (from: number, to: number) =>
      addObjects(
        apps.app,
        bucket,
        Array.from({ length: to - from }, (_, index) => [String(from + index).padStart(5, '0'), null]),
      )
    const total = async (query: string) => {
      const { json } = await get(apps.app, `/${bucket}?delimiter=${delimiter}&${query}`, admin)
      return [json.items.length, json.totalItems, json.isTotalBounded]
    }
    await add(0, most)
    expect(await total('limit=2')).toEqual([2, most, undefined])
    await add(most, most + 5)
    expect(await total('limit=2')).toEqual([2, most, true])
    // Who reads until the offset is the total reads everything.
    expect(await total(`limit=2&offset=${most - 2}`)).toEqual([2, most + 1, true])
    expect(await total(`limit=2&offset=${most + 2}`)).toEqual([2, most + 5, undefined])
    expect(await total(`limit=2&offset=${most + 4}`)).toEqual([1, most + 5, undefined])
  })

  test('find the names under a prefix wherever it ends in the order of code points', async () => {
    const bucket = await createBucket(apps.app)
    const names = [
      'a',
      'a~',
      'a\u{d7ff}x',
      'a\u{e000}',
      'a\u{10ffff}',
      'a\u{10ffff}z',
      'b',
      '\u{10ffff}',
      '\u{10ffff}z',
    ]
    for (const name of names) await put(apps.app, `/${bucket}/${encodeURIComponent(name)}`, admin, name)
    for (const prefix of ['', ...names]) {
      const under = names.filter((name) => name.startsWith(prefix))
      for (const delimiter of ['', '/']) {
        const query = new URLSearchParams({ prefix, delimiter })
        const { json } = await get(apps.app, `/${bucket}?${query}`, admin)
        expect([json.items.map(({ name }: { name: string }) => name), json.totalItems]).toEqual([
          under,
          under.length,
        ])
      }
    }
  })

  test.each(['', '/'])(
    'with the delimiter "%s" use the index of names before policies',
    async (delimiter) => {
      const window = {
        bucket: 'photos',
        prefix: 'a/',
        delimiter,
        limit: 10,
        offset: 0,
        after: '',
        isCounted: true,
      }
      const { text, values } = render(sql`explain (costs off) ${listObjects(window)}`)
      const client = new pg.Client({ connectionString: apps.database.url })
      await client.connect()
      try {
        await client.query(`
        begin;
        create function is_seen(name text) returns bool language plpgsql as 'begin return true; end';
        create policy seen on basalt.objects using (is_seen(name));
        set local enable_seqscan = off;
        set local role basalt_authenticated`)
        const { rows } = await client.query<{ 'QUERY PLAN': string }>(text, [...values])
        const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
        expect(plan).toMatch(/Index Cond: \(\(bucket = .*\) AND \(name >= .*\) AND \(name < 'a0'::text\)\)/)
        expect(plan).not.toContain('Seq Scan')
      } finally {
        await client.end()
      }
    },
  )

  test('return 500 where a policy fails, and quote no hidden object', async () => {
    const bucket = await createBucket(apps.app)
    await put(apps.app, `/${bucket}/hidden_name`, admin, 'x')
    await apps.app.sql(
      `create policy faulty on basalt.objects using (bucket <> '${bucket}' or name::regtype is not null)`,
    )
    const { token } = newUser()
    const answers = [
      await get(apps.app, `/${bucket}`, token),
      await get(apps.app, `/${bucket}/hidden_name`, token),
      await put(apps.app, `/${bucket}/own`, token, 'x'),
    ]
    const message = 'a definition of the database failed on "basalt.objects" (SQLSTATE 42704)'
    for (const answer of answers) {
      expect(envelope(answer)).toEqual({
        ...{ code: 500, message, error: 'database_definition_error' },
        data: { sqlState: '42704', relation: 'basalt.objects' },
      })
    }
    expect(apps.app.log.filter((line) => line.includes('hidden_name" does not exist'))).toEqual([])
    await apps.app.sql('drop policy faulty on basalt.objects')
  })
})
