import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findingsOf } from '../../../../test/doctor.ts'
import { notes } from '../../../../test/fixtures.ts'
import { testConfig } from '../../../../test/test-config.ts'
import { startThrowAwayCluster, type ThrowAwayCluster } from '../../../../test/throw-away-cluster.ts'
import type { Config } from '../../../configuration.ts'
import { withDatabase } from '../../with-database.ts'
import { policies } from '../checks/policies.ts'
import { roles } from '../checks/roles.ts'

let cluster: ThrowAwayCluster
let config: Config

beforeAll(async () => {
  cluster = await startThrowAwayCluster()
  await cluster.sql('postgres', 'create role app login createrole; create role other')
  await cluster.sql('postgres', 'create role basalt_administrator login noinherit bypassrls')
  await cluster.sql('postgres', 'create database shop owner app')
  config = testConfig({ 'database.url': `postgresql://app@127.0.0.1:${cluster.port}/shop` })
  await withDatabase(config, 'test', async () => undefined)
  await cluster.sql('shop', notes, 'app')
})
afterAll(() => cluster[Symbol.asyncDispose]())

/** Breaks the roles, expects the finding, runs its line as a superuser, and expects it to be mended. */
async function expectMendable(
  check: typeof roles,
  id: string,
  breaking: string,
  expected: { status: string; message: string; fix: string },
): Promise<void> {
  await cluster.sql('shop', breaking)
  const { [id]: finding } = await findingsOf(config, check)
  expect(finding).toEqual({ id, ...expected })
  await cluster.sql('shop', finding?.fix ?? '')
  const after = await findingsOf(config, check)
  expect(after[id]?.status ?? 'ok').toBe('ok')
}

describe('basalt doctor › roles', () => {
  test('finds nothing to mend after a start', async () => {
    const ok = (id: string, message: string) => ({ id, status: 'ok', message, fix: null })
    expect(await findingsOf(config, roles)).toEqual({
      'roles.login': ok('roles.login', 'app is the login of database.url'),
      'roles.callers': ok(
        'roles.callers',
        'basalt_authenticated and basalt_anonymous exist, and policies apply to them',
      ),
      'roles.gateway': ok(
        'roles.gateway',
        'basalt_gateway may become the roles of callers, and nothing more',
      ),
      'roles.administrator': ok(
        'roles.administrator',
        'basalt_administrator sees every row, and may do nothing more',
      ),
      'roles.owner': ok('roles.owner', 'the schema basalt belongs to app'),
    })
  })

  test.each([
    {
      what: 'a gateway that bypasses policies',
      id: 'roles.gateway',
      breaking: 'alter role basalt_gateway bypassrls',
      status: 'failure',
      message: 'basalt_gateway may do more than requests need',
      fix: 'alter role basalt_gateway nosuperuser nocreaterole nocreatedb noreplication noinherit nobypassrls;',
    },
    {
      what: 'a gateway that may become the owner',
      id: 'roles.gateway',
      breaking: 'grant other to basalt_gateway',
      status: 'failure',
      message: 'basalt_gateway may do more than requests need',
      fix: 'revoke other from basalt_gateway;',
    },
    {
      what: 'a gateway that cannot become a caller',
      id: 'roles.gateway',
      breaking: 'revoke basalt_anonymous from basalt_gateway granted by app',
      status: 'failure',
      message: 'basalt_gateway cannot become basalt_anonymous, so requests fail',
      fix: 'grant basalt_anonymous to basalt_gateway;',
    },
    {
      what: 'a gateway that cannot log in',
      id: 'roles.gateway',
      breaking: 'alter role basalt_gateway nologin',
      status: 'warning',
      message: 'basalt_gateway cannot log in: requests of callers log in as app, with all its rights',
      fix: 'alter role basalt_gateway login;',
    },
    {
      what: 'callers that bypass policies',
      id: 'roles.callers',
      breaking: 'alter role basalt_authenticated bypassrls',
      status: 'failure',
      message: 'policies do not apply to basalt_authenticated: every caller sees every row',
      fix: 'alter role basalt_authenticated nosuperuser nobypassrls;',
    },
    {
      what: 'administrators to whom policies apply',
      id: 'roles.administrator',
      breaking: 'alter role basalt_administrator nobypassrls',
      status: 'failure',
      message: 'policies apply to basalt_administrator, so requests of administrators fail',
      fix: 'alter role basalt_administrator bypassrls;',
    },
    {
      what: 'a reader that may write as another role',
      id: 'roles.reader',
      breaking:
        'create role basalt_reader login noinherit bypassrls createrole; grant other to basalt_reader',
      status: 'failure',
      message: 'basalt_reader may do more than read-only SQL needs',
      fix: 'alter role basalt_reader nosuperuser nocreaterole nocreatedb noreplication noinherit; revoke other from basalt_reader;',
    },
    {
      what: 'a schema of another owner',
      id: 'roles.owner',
      breaking: 'alter schema basalt owner to other; grant usage on schema basalt to app',
      status: 'failure',
      message: 'the schema basalt belongs to other, and app is no member of it: migrations and requests fail',
      fix: 'grant other to app;',
    },
    {
      what: 'a login that is a superuser',
      id: 'roles.login',
      breaking: 'alter role app superuser',
      status: 'warning',
      message:
        'app, the login of database.url, is a superuser: a fault in Basalt would affect the whole cluster',
      fix: 'alter role app nosuperuser createrole;',
    },
    {
      what: 'a table that Basalt may not read',
      id: 'roles.grants',
      breaking:
        'create role sales; create table public.invoice (id int primary key); alter table invoice owner to sales',
      status: 'warning',
      message: '1 relations of sales are closed to Basalt, and so to administrators: public.invoice',
      fix: 'grant select, insert, update, delete on table public.invoice to app, basalt_administrator;',
    },
  ])('names $what, and its line mends it', async ({ id, breaking, status, message, fix }) => {
    await expectMendable(roles, id, breaking, { status, message, fix })
  })
})

describe('basalt doctor › policies', () => {
  test('reads the context of a caller back as its role, through the login of requests', async () => {
    const { policies: finding } = await findingsOf(config, policies)
    expect(finding).toEqual({
      id: 'policies',
      status: 'ok',
      message:
        'the context of a caller is in force (login basalt_gateway), and the policies of 1 tables apply to it',
      fix: null,
    })
  })

  test.each([
    {
      what: 'a table on which policies do not apply to callers',
      id: 'policies',
      breaking: 'alter table note owner to basalt_authenticated',
      status: 'failure',
      message:
        'policies do not apply to callers on note: basalt_authenticated owns the table or is a member of its owner',
      fix: 'alter table note owner to app;',
    },
    {
      what: 'a table without policies',
      id: 'policies.tables',
      breaking: 'create table open (id int primary key); grant select on open to basalt_authenticated',
      status: 'warning',
      message: '1 relations without policies are open to every signed-in caller (open)',
      fix: 'alter table open enable row level security;',
    },
  ])('names $what, and its line mends it', async ({ id, breaking, status, message, fix }) => {
    await expectMendable(policies, id, breaking, { status, message, fix })
  })

  test('warns if the login of requests is refused, and still tries the context', async () => {
    await cluster.sql('shop', 'alter role basalt_gateway nologin')
    const findings = await findingsOf(config, policies)
    await cluster.sql('shop', 'alter role basalt_gateway login')
    expect(findings['policies.login']).toEqual({
      id: 'policies.login',
      status: 'warning',
      message:
        'basalt_gateway cannot log in (role "basalt_gateway" is not permitted to log in): requests of callers log in with all rights of database.url',
      fix: 'basalt reload   # sets its password, and logs the statement that an administrator has to run',
    })
    expect(findings.policies?.status).toBe('ok')
  })

  test('is a warning while auth is off', async () => {
    const open = testConfig({ 'database.url': config.database.url, 'auth.enabled': 'false' })
    expect(await findingsOf(open, policies)).toEqual({
      policies: {
        id: 'policies',
        status: 'warning',
        message: 'auth.enabled is false: every request reads and writes all rows, without policies',
        fix: 'enabled = true   # in [auth]',
      },
    })
  })

  test('is skipped on a database that no start has prepared', async () => {
    await cluster.sql('postgres', 'create database bare owner app')
    const bare = testConfig({ 'database.url': `postgresql://app@127.0.0.1:${cluster.port}/bare` })
    expect(await findingsOf(bare, roles)).toEqual({
      roles: {
        id: 'roles',
        status: 'skipped',
        message: 'the first start has not prepared the database yet',
        fix: null,
      },
    })
    expect(await cluster.sql('bare', `select from pg_namespace where nspname = 'basalt'`)).toEqual([])
  })
})
