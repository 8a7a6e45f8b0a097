import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { faultsOf } from '../../../server/test/faults.ts'
import { alice } from '../../../server/test/fixtures.ts'
import { createTestApp, type TestApp, userToken } from '../../../server/test/test-app.ts'
import { BasaltError, type Client, ConflictError, createClient, etagOf, isBasaltError } from '../index.ts'
import type { Database, Row } from './database.ts'
import { createNetwork, readFixture } from './harness.ts'
import { typed } from './typed.ts'

/** Two clients of one user, each on its own node. */
let app: TestApp
let second: TestApp
let mine: Client<Database>
let theirs: Client<Database>
const token = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({ setup: await readFixture() })
  second = await createTestApp({ database: app.database })
  mine = createClient<Database>({ url: app.url, auth: token })
  theirs = createClient<Database>({ url: second.url, auth: token })
})
beforeEach(async () => {
  await app.sql(`
    truncate artist, album, task, "constructor", pair restart identity cascade;
    insert into album (title, price) values ('one', 1.5);
    insert into task (title, album_id, owner) values ('write', 1, '${alice}'), ('read', null, '${alice}')`)
})
afterAll(async () => {
  expect([...faultsOf(app), ...faultsOf(second)]).toEqual([])
  await second[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})

async function caught(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => undefined,
    (error: unknown) => error,
  )
}

const titles = () => app.sql('select title from task order by id')

describe('collection › ifMatch on two nodes', () => {
  test('update › writes the record that was read, and rejects a second write with the current record', async () => {
    const [read, other] = [await mine.from('task').one(1), await theirs.from('task').one(1)]
    const saved = await theirs.from('task').update(1, { title: 'theirs' }, {}, { ifMatch: other })
    const tasks = mine.from('task')
    const error = await caught(tasks.update(1, { title: 'mine' }, {}, { ifMatch: read }))
    if (!tasks.isConflict(error)) throw error
    typed<Row<'task'> | undefined>()(error.current)
    expect(error).toMatchObject({ error: 'precondition_failed', status: 412 })
    expect(error.current).toEqual(saved)
    expect(error.data).toEqual({ etag: etagOf(error.current ?? {}) })
    const again = await tasks.update(1, { title: 'mine' }, {}, { ifMatch: error.current })
    expect([again.title, await titles()]).toEqual(['mine', [{ title: 'mine' }, { title: 'read' }]])
  })

  test('update › lets one of two concurrent writes win, and both know', async () => {
    const [read, other] = [await mine.from('task').one(1), await theirs.from('task').one(1)]
    const [a, b] = await Promise.all([
      caught(mine.from('task').update(1, { title: 'mine' }, {}, { ifMatch: read })),
      caught(theirs.from('task').update(1, { title: 'theirs' }, {}, { ifMatch: other })),
    ])
    const lost = [a, b].filter((each) => each !== undefined)
    expect(lost).toHaveLength(1)
    expect(lost[0]).toBeInstanceOf(ConflictError)
    const [won] = await titles()
    expect(won).toEqual({ title: a === undefined ? 'mine' : 'theirs' })
    expect(lost[0]).toMatchObject({ current: won })
  })

  test('update › needs no read after a write, whatever it returned', async () => {
    const tasks = mine.from('task')
    const created = await tasks.create({ title: 'new' })
    const updated = await tasks.update(created.id, { done: true }, { fields: ['id'] }, { ifMatch: created })
    await tasks.update(created.id, { title: 'newer' }, {}, { ifMatch: updated })
    expect(tasks.isConflict(await caught(tasks.delete(created.id, { ifMatch: created })))).toBe(true)
  })

  test('update › has no current record if it is deleted before it is read', async () => {
    const read = await mine.from('task').one(2)
    await theirs.from('task').update(2, { done: true })
    const network = createNetwork()
    const tasks = createClient<Database>({ url: app.url, auth: token, fetch: network.fetch }).from('task')
    const release = network.holdAnswer('/api/collections/task/2')
    const failing = caught(tasks.update(2, { done: false }, {}, { ifMatch: read }))
    await expect.poll(() => network.requests).toHaveLength(1)
    network.answer('/api/collections/task/2', Response.json({ error: 'record_not_found' }, { status: 404 }))
    release()
    const error = await failing
    expect(tasks.isConflict(error) && { current: error.current }).toEqual({ current: undefined })
  })

  test('update › stays record_not_found if the record does not exist', async () => {
    const tasks = mine.from('task')
    const read = await tasks.one(2)
    await theirs.from('task').delete(2)
    const missing = await caught(tasks.update(2, { done: true }, {}, { ifMatch: read }))
    expect([isBasaltError(missing, 'record_not_found'), tasks.isConflict(missing)]).toEqual([true, false])
  })

  test('update › rejects with the error of the server if the current record cannot be read', async () => {
    const read = await mine.from('task').one(1)
    await theirs.from('task').update(1, { done: true })
    const network = createNetwork()
    const options = { url: app.url, auth: token, fetch: network.fetch, retryForMs: 0 }
    const tasks = createClient<Database>(options).from('task')
    const release = network.holdAnswer('/api/collections/task/1')
    const failing = caught(tasks.update(1, { done: false }, {}, { ifMatch: read }))
    await expect.poll(() => network.requests).toHaveLength(1)
    network.answer('/api/collections/task/1', new Response('', { status: 503 }))
    release()
    const error = await failing
    expect(error).toBeInstanceOf(BasaltError)
    expect([isBasaltError(error, 'precondition_failed'), tasks.isConflict(error)]).toEqual([true, false])
  })

  test('update › gets the first response when its response was lost', async () => {
    const network = createNetwork()
    const tasks = createClient<Database>({ url: app.url, auth: token, fetch: network.fetch }).from('task')
    const read = await tasks.one(1)
    network.loseAnswer()
    const saved = await tasks.update(1, { title: 'mine' }, {}, { ifMatch: read })
    expect(saved.title).toBe('mine')
    expect(etagOf(saved)).toBe(etagOf(await tasks.one(1)))
    await theirs.from('task').update(1, { title: 'theirs' })
    network.loseAnswer()
    expect(tasks.isConflict(await caught(tasks.update(1, { done: true }, {}, { ifMatch: saved })))).toBe(true)
    expect(new Set(network.keys).size).toBe(2)
    expect(network.keys).toHaveLength(4)
  })

  test('delete › deletes the record that was read only', async () => {
    const tasks = mine.from('task')
    const read = await tasks.one(1)
    const now = await theirs.from('task').update(1, { done: true })
    const error = await caught(tasks.delete(1, { ifMatch: read }))
    expect(tasks.isConflict(error) && error.current).toEqual(now)
    await tasks.delete(1, { ifMatch: now })
    expect(await titles()).toEqual([{ title: 'read' }])
  })

  test('upsert › updates the record that was read only, and creates none', async () => {
    const tasks = mine.from('task')
    const read = await tasks.one(1)
    await theirs.from('task').update(1, { done: true })
    const values = { title: 'write', album_id: null }
    const error = await caught(tasks.upsert(values, { on: ['title'] }, { ifMatch: read }))
    const now = await tasks.one(1)
    expect(error).toMatchObject({ error: 'precondition_failed', data: { etag: etagOf(now) } })
    const saved = await tasks.upsert(values, { on: ['title'] }, { ifMatch: now })
    expect([saved.album_id, etagOf(saved)]).toEqual([null, etagOf(await tasks.one(1))])
    const missing = await caught(tasks.upsert({ title: 'x' }, { on: ['title'] }, { ifMatch: '*' }))
    expect(isBasaltError(missing, 'precondition_failed')).toBe(true)
    expect(await titles()).toEqual([{ title: 'write' }, { title: 'read' }])
  })

  test('batch › names the operation whose record has changed, and writes nothing', async () => {
    const [first, other] = [await mine.from('task').one(1), await mine.from('task').one(2)]
    const now = await theirs.from('task').update(2, { done: true })
    const run = (ifMatch: object) =>
      mine.batch((batch) => [
        batch.update('task', 1, { title: 'mine' }, { ifMatch: first }),
        batch.delete('task', 2, { ifMatch }),
        batch.upsert('task', { title: 'mine', done: true }, { on: ['title'], ifMatch: '*' }),
      ])
    expect(await caught(run(other))).toMatchObject({
      error: 'precondition_failed',
      operation: { index: 1, method: 'delete' },
      data: { etag: etagOf(now) },
    })
    expect(await titles()).toEqual([{ title: 'write' }, { title: 'read' }])
    await run(now)
    expect(await app.sql('select title, done from task')).toEqual([{ title: 'mine', done: true }])
  })

  test('batch › returns records with the tags for the next writes', async () => {
    const [created, updated, upserted, deleted] = await mine.batch((batch) => [
      batch.create('task', { title: 'new' }),
      batch.update('task', 1, { done: true }),
      batch.upsert('task', { title: 'read', done: true }, { on: ['title'] }),
      batch.delete('task', 1),
    ])
    expect([deleted, etagOf(updated)]).toEqual([undefined, expect.stringMatching(/^"[0-9a-f]+"$/)])
    const tasks = mine.from('task')
    await tasks.update(created.id, { title: 'newer' }, {}, { ifMatch: created })
    expect(tasks.isConflict(await caught(tasks.delete(created.id, { ifMatch: created })))).toBe(true)
    await tasks.delete(upserted.id, { ifMatch: upserted })
    const [first, second] = await tasks.createMany([{ title: 'a' }, { title: 'b' }])
    for (const ifMatch of [first, second]) {
      if (ifMatch === undefined) throw new Error('no record')
      await tasks.update(ifMatch.id, { done: true }, {}, { ifMatch })
      expect(tasks.isConflict(await caught(tasks.delete(ifMatch.id, { ifMatch })))).toBe(true)
    }
  })

  test('rejects a record without a tag, and sends nothing', async () => {
    const network = createNetwork()
    const client = createClient<Database>({ url: app.url, auth: token, fetch: network.fetch })
    const [listed] = (await mine.from('task').list()).items
    const copied = { ...(await mine.from('task').one(1)) }
    expect([etagOf(listed ?? {}), etagOf(copied)]).toEqual([undefined, undefined])
    const message = 'ifMatch is an entity tag, or a record that one, a write or a batch has returned'
    for (const ifMatch of [listed, copied]) {
      await expect(client.from('task').update(1, { done: true }, {}, { ifMatch })).rejects.toThrow(message)
      await expect(client.from('task').delete(1, { ifMatch })).rejects.toThrow(message)
      const batch = client.batch((each) => [each.delete('task', 1, { ifMatch })])
      await expect(batch).rejects.toThrow(message)
    }
    expect(network.requests).toEqual([])
  })

  test('keeps the tag out of the record itself', async () => {
    const read = await mine.from('task').one(1)
    expect(Reflect.ownKeys(JSON.parse(JSON.stringify(read)))).toEqual(Object.keys(read))
    expect(etagOf(new Proxy(read, {}))).toMatch(/^"[0-9a-f]+\.[0-9a-f]{24}"$/)
  })
})
