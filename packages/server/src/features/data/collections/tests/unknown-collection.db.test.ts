import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTransaction } from '../../../../../test/account-nodes.ts'
import { alice } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import type { Catalog } from '../../../../database/catalog/model.ts'
import { withCatalog } from '../access/catalog-access.ts'
import { collectionErrors } from '../errors.ts'

let app: TestApp
const token = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({
    setup: `
      create table held (id int primary key, name text default 'x' || 'y', check (id > 0));
      create table guarded (id int primary key);
      alter table guarded enable row level security;
      create policy own on guarded using (id > 1)`,
  })
})
afterAll(() => app[Symbol.asyncDispose]())

const sendRequest = (collection: string) => app.request('GET', `/api/collections/${collection}`, { token })

const notFound = (collection: string) => ({
  code: 404,
  message: `collection not found: ${collection}`,
  error: 'collection_not_found',
})

describe('unknown collection', () => {
  test('returns 404 while a transaction holds an exclusive lock and others create tables', async () => {
    await using holder = await openTransaction(app.database)
    await holder.sql('lock table held in access exclusive mode')
    await holder.sql('alter table held add column note text')
    for (const index of [1, 2, 3]) {
      await app.sql(`create table made_${index} (id int primary key)`)
      const [unknown, made] = await Promise.all([sendRequest('nothing'), sendRequest(`made_${index}`)])
      expect(envelope(unknown)).toEqual(notFound('nothing'))
      expect(made.status).toBe(200)
    }
    await holder.commit()
  })

  test('returns 404 while a table with policies is locked, and is found when it is not', async () => {
    await using holder = await openTransaction(app.database)
    await holder.sql('lock table guarded in access exclusive mode')
    await app.sql('create table beside (id int primary key)')
    expect(envelope(await sendRequest('nothing'))).toEqual(notFound('nothing'))
    await holder.commit()
    expect((await sendRequest('beside')).status).toBe(200)
  })

  test('makes the catalog read once, although every read finds other definitions', async () => {
    const seen: Catalog[] = []
    const work = withCatalog(app.app.catalog, async (catalog) => {
      seen.push(catalog)
      await app.sql(`create table storm_${seen.length} (id int)`)
      throw collectionErrors.collectionNotFound('nothing')
    })
    await expect(work).rejects.toMatchObject(notFoundError)
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen.length).toBeLessThanOrEqual(3)
  })

  test('returns 404 for a hundred concurrent requests, and is found once it is created', async () => {
    const responses = await Promise.all(
      Array.from({ length: 100 }, (_, index) => sendRequest(`later_${index % 10}`)),
    )
    expect(responses.map(({ status }) => status)).toEqual(Array(100).fill(404))
    await app.sql('create table later_5 (id int primary key)')
    expect((await sendRequest('later_5')).status).toBe(200)
  })
})

const notFoundError = { kind: 'collection_not_found', status: 404 }
