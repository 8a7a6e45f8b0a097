import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice } from './fixtures.ts'
import { sendRequest } from './send-request.ts'
import { failToStart, runCommand, type ServerProcess, startServer } from './server-process.ts'
import { userToken } from './test-app.ts'
import { testAdminPassword } from './test-config.ts'
import { startThrowAwayCluster, type ThrowAwayCluster } from './throw-away-cluster.ts'
import { waitFor } from './wait-for.ts'

const token = userToken({ sub: alice })
let cluster: ThrowAwayCluster
let config: Readonly<Record<string, string>>

beforeAll(async () => {
  cluster = await startThrowAwayCluster()
  config = { 'database.url': `postgresql://app@127.0.0.1:${cluster.port}/shop` }
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
  // Tables that the login role owns or may read do not matter, even if callers may not read them.
  await cluster.sql('shop', 'create table own (id int primary key)', 'app')
  await cluster.sql(
    'shop',
    'create table shared (id int primary key); grant select on shared to public',
    'Sales',
  )
})
afterAll(() => cluster[Symbol.asyncDispose]())

function start(schemas: string, others: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
  return startServer({ config: { ...config, 'database.schemas': schemas, ...others } })
}

/** Lists warnings except the one of every start here: the login may create no role that bypasses policies. */
function warnings(server: ServerProcess): readonly Readonly<Record<string, unknown>>[] {
  return server
    .log()
    .filter(({ level, msg }) => level === 'warn' && msg !== 'the data API of administrators logs in as app')
}

async function statuses(
  { url }: ServerProcess,
  collections: readonly string[],
  as = token,
): Promise<number[]> {
  return await Promise.all(
    collections.map(
      async (name) => (await sendRequest('GET', `${url}/api/collections/${name}`, { token: as })).status,
    ),
  )
}

describe('existing database whose tables belong to another role', () => {
  const collections = ['invoice', 'Line%20item', 'report', 'Sales.lead']
  let admin: string

  async function signIn({ url }: ServerProcess): Promise<string> {
    const response = await sendRequest('POST', `${url}/api/admin/auth`, {
      body: { password: testAdminPassword },
    })
    return response.json.token
  }

  test('opens to Basalt by one statement that the start names, and to callers table by table', async () => {
    await using server = await start('public,Sales')
    const toCallers = (name: string, before = '', sequence = '') => ({
      as: 'Sales',
      table: name,
      statement: `${before}${sequence}grant select, insert, update, delete on table ${name} to basalt_authenticated;`,
    })
    const enable = (name: string) => `alter table ${name} enable row level security; `
    expect(warnings(server)).toEqual([
      expect.objectContaining({
        msg: 'tables of other owners are not served, not even to administrators: have the owner, or a superuser, run the statement',
        tables: ['"Sales".lead', 'public."Line item"', 'public.invoice', 'public.report'],
        run: [
          {
            as: 'Sales',
            statement:
              'grant usage on schema "Sales" to app; ' +
              'grant usage, select on sequence public.invoice_id_seq to app; ' +
              'grant select, insert, update, delete on table "Sales".lead, public."Line item", public.invoice, ' +
              'public.report to app;',
          },
        ],
      }),
      expect.objectContaining({
        msg: expect.stringMatching(/^tables of other owners are closed to callers: for each one/),
        tables: ['"Sales".lead', '"Sales".shared', 'public."Line item"', 'public.invoice', 'public.report'],
        run: [
          toCallers(
            '"Sales".lead',
            enable('"Sales".lead'),
            'grant usage on schema "Sales" to basalt_authenticated; ',
          ),
          toCallers(
            '"Sales".shared',
            enable('"Sales".shared'),
            'grant usage on schema "Sales" to basalt_authenticated; ',
          ),
          toCallers('public."Line item"', enable('public."Line item"')),
          toCallers(
            'public.invoice',
            enable('public.invoice'),
            'grant usage, select on sequence public.invoice_id_seq to basalt_authenticated; ',
          ),
          toCallers('public.report', 'alter view public.report set (security_invoker = true); '),
        ],
      }),
    ])
    expect(await statuses(server, collections)).toEqual([403, 403, 403, 403])
    admin = await signIn(server)
    const refused = await sendRequest('GET', `${server.url}/api/collections/invoice`, { token: admin })
    expect([refused.status, refused.json]).toMatchObject([
      403,
      {
        message:
          'insufficient permissions: permission denied for table invoice; have "Sales" or a superuser run: ' +
          'grant select, insert, update, delete on table public.invoice to app;',
        data: { statement: 'grant select, insert, update, delete on table public.invoice to app;' },
      },
    ])

    const [toBasalt, closed] = warnings(server).map(
      ({ run }) => run as { table?: string; statement: string }[],
    )
    await cluster.sql('shop', toBasalt?.[0]?.statement ?? '', 'Sales')
    await waitFor('the tables', async () =>
      (await statuses(server, collections, admin)).every((one) => one === 200),
    )
    expect(await statuses(server, collections)).toEqual([403, 403, 403, 403])

    const invoice = closed?.find(({ table }) => table === 'public.invoice')
    await cluster.sql('shop', invoice?.statement ?? '', 'Sales')
    const listed = () => sendRequest('GET', `${server.url}/api/collections/invoice`, { token })
    await waitFor('the table', async () => (await listed()).status === 200)
    // Without a policy no row is visible.
    expect((await listed()).json.items).toEqual([])
    await cluster.sql('shop', 'create policy everybody on invoice using (true)', 'Sales')
    expect((await listed()).json.items).toEqual([{ id: 1, total: 7 }])
    const created = await sendRequest('POST', `${server.url}/api/collections/invoice`, {
      token,
      body: { total: 8 },
    })
    expect([created.status, created.json]).toMatchObject([201, { id: 2, total: 8 }])
    expect(await statuses(server, collections)).toEqual([200, 403, 403, 403])

    await using next = await start('public,Sales')
    expect(warnings(next)).toEqual([])
  })

  test('names the statement that grants administrators each refused privilege', async () => {
    await using server = await start('public,Sales')
    const { url } = server
    const membership = 'have a superuser run: grant "Sales" to app;'
    const runs = await sendRequest('POST', `${url}/api/admin/sql`, {
      token: admin,
      body: { query: 'alter table invoice add note text', mode: 'write' },
    })
    expect(runs.json).toMatchObject({
      message: 'must be owner of table invoice',
      data: { hint: membership },
    })
    const script = await runCommand(['sql', 'create index on invoice (total)'], { config })
    expect([script.code, script.stderr]).toEqual([
      1,
      `basalt: must be owner of table invoice; ${membership}\n`,
    ])
    const list = await sendRequest('GET', `${url}/api/collections/invoice`, { token: admin })
    expect([list.status, list.json.message]).toEqual([
      403,
      'insufficient permissions: query would be affected by row-level security policy for table "invoice"; ' +
        membership,
    ])

    await cluster.sql('shop', list.json.data.statement)
    expect(
      (await sendRequest('GET', `${url}/api/collections/invoice`, { token: admin })).json.totalItems,
    ).toBe(2)
    expect((await runCommand(['sql', 'create index on invoice (total)'], { config })).code).toBe(0)
  })

  test('refuses to start and names the statement if the login may not create its schema', async () => {
    await cluster.sql('postgres', 'create database bare')
    const url = `postgresql://app@127.0.0.1:${cluster.port}/bare`
    const refused = await failToStart({ config: { 'database.url': url } })
    expect(refused.stdout + refused.stderr).toContain(
      'permission denied for database bare; have "postgres" or a superuser run: grant create on database bare to app;',
    )
  })

  test('closes tables without row-level security by default, and the first start lists them once', async () => {
    await cluster.sql('shop', 'create table bare (id int primary key)', 'app')
    await using server = await start('public,Sales', { 'database.require_rls': 'auto' })
    const list = warnings(server).filter(({ msg }) => String(msg).startsWith('database.require_rls is on'))
    expect(list).toMatchObject([{ tables: ['bare', 'own'] }])
    const refused = await sendRequest('GET', `${server.url}/api/collections/bare`, { token })
    expect([refused.status, refused.json]).toMatchObject([
      403,
      {
        error: 'rls_required',
        message:
          '"bare" is not protected by row-level security: alter table "public"."bare" enable row level security',
      },
    ])
    expect(await statuses(server, ['bare', 'Sales.shared', 'invoice'], admin)).toEqual([200, 200, 200])
    await using next = await start('public,Sales', { 'database.require_rls': 'auto' })
    expect(warnings(next)).toEqual([])
  })

  test('logs no warning for a table whose privilege the login role’s operator has revoked', async () => {
    await cluster.sql('shop', 'revoke all on own from basalt_authenticated', 'app')
    await using server = await start('public')
    expect(warnings(server)).toEqual([])
    expect(await statuses(server, ['own'])).toEqual([403])
  })

  test('opens to the login of administrators, too, if there is one', async () => {
    await cluster.sql('postgres', 'create role basalt_administrator login noinherit bypassrls')
    await cluster.sql('postgres', 'revoke "Sales" from app')
    await using server = await start('public,Sales')
    const found = warnings(server).filter(({ msg }) => /not even to administrators/.test(String(msg)))
    const [{ statement } = { statement: '' }] = (found[0]?.run ?? []) as { statement: string }[]
    expect(statement).toContain('grant usage on schema "Sales" to app, basalt_administrator;')
    expect(statement).toMatch(/public\.invoice, public\.report to app, basalt_administrator;$/)
  })
})
