import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { envelope } from '../../../../../test/test-app.ts'
import { render, sql } from '../../../../database/sql.ts'
import { listObjects } from '../objects/object-queries.ts'
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
    expect(await list('limit=2&offset=3')).toEqual({ items: ['a/2', 'a/b/3'], totalItems: 8 })
    expect(await list('limit=0&offset=-1')).toEqual({ items: ['B'], totalItems: 8 })
    for (const offset of [100, 99_999_999_999]) {
      expect(await list(`offset=${offset}`)).toEqual({ items: [], totalItems: 8 })
    }
    expect(await list('delimiter=/&limit=2&offset=1')).toEqual({
      items: ['a'],
      prefixes: ['a/'],
      totalItems: 6,
    })
    expect(await list('prefix=%25')).toEqual({ items: [], totalItems: 0 })
    expect(problem(await get(apps.app, `/${bucket}?limit=x`, admin))).toEqual([
      400,
      'limit: must be integer',
      'invalid_request',
    ])
    expect(problem(await get(apps.app, `/${bucket}?prefx=a`, admin))[0]).toBe(400)
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
      const window = { bucket: 'photos', prefix: 'a/', delimiter, limit: 10, offset: 0 }
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
        expect(plan).toMatch(
          /Index Cond: \(\(bucket = .*\) AND \(name >= 'a\/'::text\) AND \(name < 'a0'::text\)\)/,
        )
        expect(plan).not.toContain('Seq Scan')
      } finally {
        await client.end()
      }
    },
  )

  test('answer 500 where a policy fails, and quote no hidden object', async () => {
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
