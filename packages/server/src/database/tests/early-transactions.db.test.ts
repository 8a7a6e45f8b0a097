import { connect, createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice, bob, notes } from '../../../test/fixtures.ts'
import { type ReleasingPooler, startReleasingPooler } from '../../../test/releasing-pooler.ts'
import {
  createTestApp,
  createTestDatabase,
  envelope,
  type TestApp,
  type TestDatabase,
  userToken,
} from '../../../test/test-app.ts'
import { findFreePort } from '../../../test/throw-away-cluster.ts'
import { startTransactionPooler } from '../../../test/transaction-pooler.ts'
import { waitFor } from '../../../test/wait-for.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
  await database.sql(`
    ${notes}
    create function leave() returns boolean language plpgsql as $$
    begin
      perform set_config('app.tenant', 'left', false), pg_advisory_lock(4711);
      return true;
    end $$;
    create function leave_and_fail() returns boolean language plpgsql as $$
    begin
      perform public.leave();
      raise exception 'no' using errcode = 'PT409';
    end $$;
    create function found() returns json language sql volatile as $$
      select json_build_object('tenant', coalesce(current_setting('app.tenant', true), ''), 'locks',
        (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()))
    $$`)
})
afterAll(() => database[Symbol.asyncDispose]())

function startPooler(keepsBlocks: boolean): Promise<ReleasingPooler> {
  const { port, username, pathname } = new URL(database.url)
  return startReleasingPooler({
    target: Number(port),
    user: username,
    database: pathname.slice(1),
    sessions: 3,
    keepsBlocks,
  })
}

function urlOf({ port }: ReleasingPooler): string {
  const url = new URL(database.url)
  url.port = String(port)
  return url.href
}

describe('pooler that ends the transaction of a message early', () => {
  let pooler: ReleasingPooler
  let app: TestApp
  const token = { alice: userToken({ sub: alice }), bob: userToken({ sub: bob }) }

  beforeAll(async () => {
    pooler = await startPooler(true)
    app = await createTestApp({ database, config: { 'database.url': urlOf(pooler) } })
  })
  afterAll(async () => {
    await app?.[Symbol.asyncDispose]()
    await pooler?.[Symbol.asyncDispose]()
  })

  test('lets callers read and change only their own rows', async () => {
    const created = await app.request('POST', '/api/collections/note', {
      token: token.alice,
      body: { body: 'secret' },
    })
    expect(created).toMatchObject({ status: 201, json: { owner_id: alice } })
    const path = `/api/collections/note/${created.json.id}`
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, turn) => {
        const who = turn % 2 === 0 ? token.alice : token.bob
        const [list, record] = await Promise.all([
          app.request('GET', '/api/collections/note', { token: who }),
          app.request('GET', path, { token: who }),
        ])
        return [list.json.totalItems, record.status]
      }),
    )
    expect(answers).toEqual(answers.map((_, turn) => (turn % 2 === 0 ? [1, 200] : [0, 404])))
    const change = { token: token.bob, body: { body: 'changed' } }
    expect((await app.request('PATCH', path, change)).status).toBe(404)
    expect((await app.request('DELETE', path, { token: token.bob })).status).toBe(404)
    const operations = [{ method: 'update', id: created.json.id, body: { body: 'changed' } }]
    const batch = { token: token.bob, body: { operations } }
    expect((await app.request('POST', '/api/collections/note/batch', batch)).status).toBe(404)
    const faulty = await app.request('POST', '/api/collections/note', {
      token: token.alice,
      body: { id: 'x' },
    })
    expect(envelope(faulty)).toMatchObject({ code: 400 })
    expect(await database.sql('select owner_id, body from note')).toEqual([
      { owner_id: alice, body: 'secret' },
    ])
  })

  test('exposes no session state of a function to another request', async () => {
    for (const name of ['leave', 'leave_and_fail']) {
      const left = await app.request('POST', `/api/rpc/${name}`, { token: token.alice, body: {} })
      expect(left.status).toBe(name === 'leave' ? 200 : 409)
      for (let turn = 0; turn < 6; turn += 1) {
        const found = await app.request('POST', '/api/rpc/found', { token: token.bob, body: {} })
        expect(found.json).toEqual({ tenant: '', locks: 0 })
      }
    }
  })

  test('serves nothing when its sessions end blocks early, too', async () => {
    pooler.keepsBlocks = false
    const closed = await createTestApp({ database, config: { 'database.url': urlOf(pooler) } }).then(
      async (opened) => {
        await opened[Symbol.asyncDispose]()
        return 'started'
      },
      (error: Error) => error.message,
    )
    pooler.keepsBlocks = true
    expect(closed).toBe(
      'the database, or a pooler before it, runs the statements of one transaction in several: policies would not apply; ' +
        'use a pooler that keeps a transaction on its session, as PgBouncer does with pool_mode = transaction',
    )
  })
})

test('early transaction ends › are noticed on the next connection when a pooler begins with them at run time', async () => {
  const { port, username, pathname } = new URL(database.url)
  const options = { target: Number(port), user: username, database: pathname.slice(1), sessions: 3 }
  await using before = await startTransactionPooler(options)
  await using after = await startReleasingPooler({ ...options, keepsBlocks: true })
  let target = before.port
  const sockets = new Set<Socket>()
  const way = createServer((client) => {
    const server = connect(target, '127.0.0.1')
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => undefined)
      from.on('close', () => to.destroy())
      from.pipe(to)
    }
  })
  const wayPort = await findFreePort()
  await new Promise<void>((resolve) => way.listen(wayPort, '127.0.0.1', resolve))
  const url = new URL(database.url)
  url.port = String(wayPort)
  {
    await using app = await createTestApp({ database, config: { 'database.url': url.href } })
    const list = async (who: string) =>
      await app.request('GET', '/api/collections/note', { token: userToken({ sub: who }) })
    await database.sql(`delete from note; insert into note (owner_id, body) values ('${alice}', 'secret')`)
    expect([(await list(alice)).json.totalItems, (await list(bob)).json.totalItems]).toEqual([1, 0])
    target = after.port
    for (const socket of sockets) socket.destroy()
    await waitFor('connections of the pooler', async () => (await list(alice)).status === 200)
    for (let turn = 0; turn < 10; turn += 1) {
      const [hers, his] = await Promise.all([list(alice), list(bob)])
      expect([hers.json.totalItems, his.json.totalItems]).toEqual([1, 0])
      const left = { token: userToken({ sub: alice }), body: {} }
      expect((await app.request('POST', '/api/rpc/leave', left)).status).toBe(200)
      const found = await app.request('POST', '/api/rpc/found', { token: userToken({ sub: bob }), body: {} })
      expect(found.json).toEqual({ tenant: '', locks: 0 })
    }
  }
  await new Promise((resolve) => way.close(resolve))
})

test('session state › of a function that is created or replaced at run time reaches no later request', async () => {
  await using app = await createTestApp({
    setup: `
      create table item (id int primary key);
      create function quiet() returns text language sql as 'select 1::text';
      create view seen with (security_invoker = true) as
        select 1 as id, coalesce(current_setting('app.tenant', true), '') as tenant`,
  })
  const disturbing = (name: string) => `
    create or replace function ${name}() returns text language plpgsql as $$
    begin return set_config('app.tenant', 'left', false); end $$`
  const asAlice = { token: userToken({ sub: alice }), body: {} }
  const tenants = async () => {
    const answers = await Promise.all(
      Array.from({ length: 24 }, () =>
        app.request('GET', '/api/collections/seen', { token: userToken({ sub: bob }) }),
      ),
    )
    return [...new Set(answers.map(({ json }) => json.items[0].tenant))]
  }
  expect(await tenants()).toEqual([''])
  await app.sql(disturbing('late'))
  for (let turn = 0; turn < 5; turn += 1) {
    const left = await app.request('POST', '/api/rpc/late', asAlice)
    expect([left.status, left.json, await tenants()]).toEqual([200, 'left', ['']])
  }
  await app.request('POST', '/api/rpc/quiet', asAlice)
  await app.sql(disturbing('quiet'))
  // Writes before the change is noticed are undone then.
  await waitFor('the change to be noticed', async () => {
    expect((await app.request('POST', '/api/rpc/quiet', asAlice)).json).toBe('left')
    return (await tenants()).every((tenant) => tenant === '')
  })
  for (let turn = 0; turn < 5; turn += 1) {
    await app.request('POST', '/api/rpc/quiet', asAlice)
    expect(await tenants()).toEqual([''])
  }
})
