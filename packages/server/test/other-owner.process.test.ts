import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask } from './ask.ts'
import { alice } from './fixtures.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { userToken } from './test-app.ts'
import { testAdminPassword } from './test-config.ts'
import { startThrowAwayCluster, type ThrowAwayCluster } from './throw-away-cluster.ts'
import { waitFor } from './wait-for.ts'

const token = userToken({ sub: alice })
let cluster: ThrowAwayCluster

beforeAll(async () => {
  cluster = await startThrowAwayCluster()
  await cluster.sql('postgres', 'create role app login createrole; create role "Sales" login')
  await cluster.sql('postgres', 'create database shop owner app')
  await cluster.sql('shop', 'create schema "Sales" authorization "Sales"')
  await cluster.sql('shop', 'grant create on schema public to "Sales"')
  await cluster.sql(
    'shop',
    `create table public.invoice (id serial primary key, total int);
     create table public."Line item" (id int generated always as identity primary key);
     create view public.report as select 1 as id;
     create table "Sales".lead (id int primary key);
     insert into invoice (total) values (7)`,
    'Sales',
  )
  // What the login role owns or may read is none of the matter, even when callers may not.
  await cluster.sql('shop', 'create table own (id int primary key)', 'app')
  await cluster.sql(
    'shop',
    'create table shared (id int primary key); grant select on shared to public',
    'Sales',
  )
})
afterAll(() => cluster[Symbol.asyncDispose]())

function start(schemas: string): Promise<ServerProcess> {
  const url = `postgresql://app@127.0.0.1:${cluster.port}/shop`
  return startServer({ config: { 'database.url': url, 'database.schemas': schemas } })
}

function warnings(server: ServerProcess): readonly Readonly<Record<string, unknown>>[] {
  return server.log().filter(({ level }) => level === 'warn')
}

async function statuses(
  { url }: ServerProcess,
  collections: readonly string[],
  as = token,
): Promise<number[]> {
  return await Promise.all(
    collections.map(
      async (name) => (await ask('GET', `${url}/api/collections/${name}`, { token: as })).status,
    ),
  )
}

describe('an existing database whose tables belong to another role', () => {
  const collections = ['invoice', 'Line%20item', 'report', 'Sales.lead']

  test('is served after the statement that the start names, and the next start names nothing', async () => {
    await using server = await start('public,Sales')
    expect(warnings(server)).toEqual([
      expect.objectContaining({
        msg: 'tables of other owners are not served: have the owner, or a superuser, run the statement',
        tables: ['"Sales".lead', 'public."Line item"', 'public.invoice', 'public.report'],
        run: [
          {
            as: 'Sales',
            statement:
              'grant usage on schema "Sales" to basalt_authenticated, app; ' +
              'grant usage, select on sequence public.invoice_id_seq to basalt_authenticated, app; ' +
              'grant select, insert, update, delete on table "Sales".lead, public."Line item", public.invoice, ' +
              'public.report to basalt_authenticated, app;',
          },
        ],
      }),
    ])
    expect(await statuses(server, collections)).toEqual([403, 403, 403, 403])

    const [{ run } = {}] = warnings(server)
    const [{ statement }] = run as [{ statement: string }]
    await cluster.sql('shop', statement, 'Sales')

    await waitFor('the tables', async () => (await statuses(server, collections)).every((one) => one === 200))
    const created = await ask('POST', `${server.url}/api/collections/invoice`, { token, body: { total: 8 } })
    expect([created.status, created.json]).toMatchObject([201, { id: 2, total: 8 }])
    const signIn = await ask('POST', `${server.url}/api/admin/auth`, {
      body: { password: testAdminPassword },
    })
    expect(await statuses(server, collections, signIn.json.token)).toEqual([200, 200, 200, 200])

    await using next = await start('public,Sales')
    expect(warnings(next)).toEqual([])
  })

  test('is not warned of for a table whose privilege the login role’s operator has revoked', async () => {
    await cluster.sql('shop', 'revoke all on own from basalt_authenticated', 'app')
    await using server = await start('public')
    expect(warnings(server)).toEqual([])
    expect(await statuses(server, ['own'])).toEqual([403])
  })
})
