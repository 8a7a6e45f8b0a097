import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createApiKey } from '../../../../../test/api-keys.ts'
import { faultsOf } from '../../../../../test/faults.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { type GraphqlOptions, runGraphql } from '../../../../../test/graphql.ts'
import { createClient, createOAuthApp, obtainTokens } from '../../../../../test/oauth.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'
import {
  eventsOf,
  recordedChanges,
  recording,
  recordingTables,
} from '../../collections/tests/recorded-changes.ts'

const setup = `
  ${recordingTables}
  create table item (id int primary key, name text not null default 'unnamed', n int default 1, code text unique, secret text unique);
  create table own (id int primary key, owner_id uuid not null default basalt.user_id(), body text);
  create table node (id int primary key, parent_id int not null references node);
  alter table own enable row level security;
  create policy own on own using (owner_id = basalt.user_id());
  revoke all on item from basalt_authenticated;
  grant select (id, name, n, code), insert, update, delete on item to basalt_authenticated;
`

let app: TestApp
const token = userToken({ sub: alice })
const run = (query: string, options: GraphqlOptions = {}) => runGraphql(app, query, { token, ...options })

beforeAll(async () => {
  app = await createOAuthApp({ setup, changes: recording })
})
beforeEach(async () => {
  recordedChanges.clear()
  for (const action of ['create', 'update', 'delete']) recordedChanges.add(`item ${action}`)
  await app.sql(`
    truncate item, own, node, captured.change, basalt.idempotency_keys;
    insert into item (id, name, n, code) values (1, 'one', 1, 'a'), (2, 'two', null, 'b');
    insert into own values (1, '${alice}', 'hers'), (2, '${bob}', 'his')`)
})
afterAll(async () => {
  expect(faultsOf(app)).toEqual([])
  await app[Symbol.asyncDispose]()
})

const refused = (field: string, code: string) => ({
  status: 200,
  data: null,
  errors: [expect.objectContaining({ path: [field], extensions: expect.objectContaining({ code }) })],
})

describe('POST /api/graphql › null and absent', () => {
  test('give an absent member its default, and store null as NULL', async () => {
    const insert = `mutation ($n: Int, $m: Int = 7) {
      insert_item(objects: [{id: 10, n: $n}, {id: 11, n: null}, {id: 12, n: $m}, {id: 13}]) { returning { id name n } }
    }`
    const row = (id: number, n: number | null) => ({ id, name: 'unnamed', n })
    expect((await run(insert)).data.insert_item.returning).toEqual([
      row(10, 1),
      row(11, null),
      row(12, 7),
      row(13, 1),
    ])
    await app.sql('delete from item where id >= 10')
    expect((await run(insert, { variables: { n: null, m: null } })).data.insert_item.returning).toEqual([
      row(10, null),
      row(11, null),
      row(12, null),
      row(13, 1),
    ])
  })

  test('leave absent columns of an update as they are', async () => {
    const update = `mutation ($name: String, $n: Int) {
      update_item(where: {id: {_eq: 1}}, _set: {name: $name, n: $n}) { returning { name n } }
    }`
    expect((await run(update, { variables: { n: null } })).data.update_item.returning).toEqual([
      { name: 'one', n: null },
    ])
    expect(await run(update)).toEqual(refused('update_item', 'invalid_graphql_argument'))
    expect(await run(update, { variables: { name: null } })).toEqual(
      refused('update_item', 'not_null_violation'),
    )
  })

  test('keep NULL when it is incremented, and reject an increment by null', async () => {
    const query = (n: string) =>
      `mutation { update_item(where: {id: {_eq: 2}}, _inc: {n: ${n}}) { returning { n } } }`
    expect((await run(query('1'))).data.update_item.returning).toEqual([{ n: null }])
    expect(await run(query('null'))).toEqual(refused('update_item', 'invalid_graphql_argument'))
  })
})

describe('POST /api/graphql › several writes', () => {
  test('see each other if they change one row, and record each change', async () => {
    expect(
      await run(`mutation {
        a: update_item(where: {id: {_eq: 1}}, _inc: {n: 1}) { returning { n } }
        b: update_item(where: {id: {_eq: 1}}, _inc: {n: 1}, _set: {id: 5}) { returning { id n } }
        c: insert_item(objects: [{id: 9, code: "a", name: "x"}], on_conflict: {constraint: item_code_key, update_columns: ["name"]}) { returning { id name n } }
        d: delete_item(where: {id: {_eq: 5}}) { returning { name } }
      }`),
    ).toEqual({
      status: 200,
      data: {
        a: { returning: [{ n: 2 }] },
        b: { returning: [{ id: 5, n: 3 }] },
        c: { returning: [{ id: 5, name: 'x', n: 3 }] },
        d: { returning: [{ name: 'x' }] },
      },
    })
    const steps = (await eventsOf(app)).map(({ action, rows }) => [
      action,
      rows.map((row: { record: { id: number; n: number } }) => [row.record.id, row.record.n]),
    ])
    expect(steps).toEqual([
      ['update', [[1, 2]]],
      ['update', [[5, 3]]],
      ['update', [[5, 3]]],
      ['delete', [[5, 3]]],
    ])
  })

  test('leave neither rows nor changes if the second fails', async () => {
    const before = await app.sql('select * from item order by id')
    expect(
      await run(`mutation {
        a: insert_item(objects: [{id: 20}]) { affected_rows }
        b: update_item(where: {}, _set: {code: "same"}) { affected_rows }
        c: delete_item(where: {}) { affected_rows }
      }`),
    ).toEqual(refused('b', 'unique_violation'))
    expect(await app.sql('select * from item order by id')).toEqual(before)
    expect(await eventsOf(app)).toEqual([])
  })

  test('cannot give a row to another user', async () => {
    expect(
      await run(`mutation {
        a: update_own(where: {}, _set: {body: "changed"}) { affected_rows }
        b: update_own(where: {id: {_eq: 1}}, _set: {owner_id: "${bob}"}) { affected_rows }
      }`),
    ).toEqual(refused('b', 'insufficient_permissions'))
    expect(await app.sql('select body from own where id = 1')).toEqual([{ body: 'hers' }])
  })

  test('insert a row that refers to itself', async () => {
    expect(
      await run(
        'mutation { insert_node(objects: [{id: 1, parent_id: 1}]) { returning { id parent { id } } } }',
      ),
    ).toEqual({ status: 200, data: { insert_node: { returning: [{ id: 1, parent: null }] } } })
    const { data } = await run('{ __type(name: "node") { fields { name type { kind } } } }')
    expect(data.__type.fields).toContainEqual({ name: 'parent', type: { kind: 'OBJECT' } })
  })
})

describe('POST /api/graphql › Idempotency-Key', () => {
  test('replays the response, and refuses another document', async () => {
    const headers = { 'idempotency-key': 'one' }
    const insert = (id: number) => `mutation { insert_item(objects: [{id: ${id}}]) { returning { id n } } }`
    const first = await run(insert(30), { headers })
    await app.sql('update item set n = 99 where id = 30')
    expect(await run(insert(30), { headers })).toEqual(first)
    const { data, errors } = await run(insert(31), { headers })
    expect([data, errors?.[0]?.extensions.code]).toEqual([null, 'idempotency_key_reused'])
    expect(await app.sql('select id, n from item where id >= 30')).toEqual([{ id: 30, n: 99 }])
    expect(await eventsOf(app)).toHaveLength(1)
  })
})

describe('POST /api/graphql › hidden names', () => {
  test('are neither in the schema nor in suggestions', async () => {
    await app.sql('create table vault (id int primary key); revoke all on vault from basalt_authenticated')
    await app.app.catalog.refresh()
    const names = await run('{ __type(name: "ItemConstraintEnum") { enumValues { name } } }')
    expect(names.data.__type.enumValues).toEqual([{ name: 'item_code_key' }, { name: 'item_pkey' }])
    for (const query of [
      '{ vaul { id } }',
      '{ item { secre } }',
      '{ item(where: {secre: {_eq: ""}}) { id } }',
      'mutation { insert_vaul(objects: []) { affected_rows } }',
      'query ($v: VaultWhereInpu) { item { id } }',
      'mutation { insert_item(objects: [{id: 40}], on_conflict: {constraint: item_secret_ke}) { affected_rows } }',
    ]) {
      const { data, errors } = await run(query)
      expect([query, data]).toEqual([query, null])
      expect(JSON.stringify(errors)).not.toMatch(/vault\b|secret\b|VaultWhereInput|item_secret_key/)
    }
  })
})

describe('POST /api/graphql › introspection', () => {
  const query = '{ __schema { queryType { fields { name } } mutationType { name } } }'
  const tablesOf = async (node: TestApp, options: GraphqlOptions) => {
    const { status, data } = await runGraphql(node, query, options)
    if (data === null || data === undefined) return status
    const names: string[] = data.__schema.queryType.fields.map(({ name }: { name: string }) => name)
    return [
      names.filter((name) => ['item', 'own', 'vault'].includes(name)),
      data.__schema.mutationType !== null,
    ]
  }

  test.each([
    [
      'caller',
      {
        anonymous: 401,
        user: [['item', 'own'], true],
        key: [['own'], false],
        admin: [['item', 'own', 'vault'], true],
      },
    ],
    ['admin', { anonymous: 401, user: 403, key: 403, admin: [['item', 'own', 'vault'], true] }],
    [
      'open',
      {
        anonymous: [['item', 'own', 'vault'], true],
        user: [['item', 'own', 'vault'], true],
        key: [['item', 'own', 'vault'], true],
        admin: [['item', 'own', 'vault'], true],
      },
    ],
    ['disabled', { anonymous: 401, user: 403, key: 403, admin: 403 }],
  ] as const)('%s shows each caller what it allows', async (mode, expected) => {
    await using node = await createTestApp({
      database: app.database,
      config: { 'graphql.introspection': mode, 'auth.oauth_provider.enabled': 'true' },
    })
    const { key } = await createApiKey(app, { userId: alice, scope: 'readonly', allowedTables: ['own'] })
    const client = await createClient(app, { scopes: ['readonly'] })
    const { access_token: access } = await obtainTokens(app, token, client, { scope: 'readonly' })
    expect({
      anonymous: await tablesOf(node, {}),
      user: await tablesOf(node, { token }),
      key: await tablesOf(node, { token: key }),
      admin: await tablesOf(node, { token: await node.adminToken() }),
    }).toEqual(expected)
    const program = await tablesOf(node, { token: access })
    expect(program).toEqual(mode === 'caller' ? [['item', 'own'], false] : expected.user)
  })
})

describe('POST /api/graphql › a database that refuses connections', () => {
  test('is a 503 in the envelope of GraphQL without text of the database', async () => {
    await using node = await createTestApp({ setup: 'create table item (id int primary key)' })
    expect((await runGraphql(node, '{ item { id } }', { token })).status).toBe(200)
    const name = new URL(node.database.url).pathname.slice(1)
    await app.sql(`alter database ${name} allow_connections false`)
    await app.sql(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`)
    const response = await node.request('POST', '/api/graphql', { token, body: { query: '{ item { id } }' } })
    expect([response.status, response.headers.get('retry-after'), response.json]).toEqual([
      503,
      '1',
      {
        data: null,
        errors: [{ message: 'the database is unavailable', extensions: { code: 'database_unavailable' } }],
      },
    ])
    await app.sql(`alter database ${name} allow_connections true`)
  })
})

describe('POST /api/graphql › filters of writes', () => {
  test.each([
    ['a comparison', 'where: {id: {_eq: $id}}', {}, 'where: expected a value of the variable $id'],
    ['all comparisons of a column', 'where: {id: $ids}', {}, 'where: expected a value of the variable $ids'],
    [
      'a condition of several',
      'where: {_and: [{n: {_eq: 1}}, {_or: [{id: $ids}]}]}',
      {},
      'where: expected a value of the variable $ids',
    ],
    ['a member of a variable', 'where: $where', { where: { id: {} } }, 'where: id: expected a comparison'],
    [
      'a nested member of a variable',
      'where: {_and: [$where]}',
      { where: { _not: { id: {} } } },
      'where: id: expected a comparison',
    ],
  ])('reject the absent value of %s', async (_, where, variables, message) => {
    const used = Object.entries({ id: 'Int', ids: 'IntComparisonInput', where: 'ItemWhereInput' })
      .filter(([name]) => where.includes(`$${name}`) && !(name === 'id' && where.includes('$ids')))
      .map(([name, type]) => `$${name}: ${type}${name === 'where' ? '!' : ''}`)
    for (const write of [`delete_item(${where})`, `update_item(${where}, _set: {name: "x"})`]) {
      const { data, errors } = await run(`mutation (${used}) { ${write} { affected_rows } }`, { variables })
      expect([data, errors?.map((error) => error.message)]).toEqual([null, [message]])
    }
    expect(await app.sql(`select count(*)::int from item where name <> 'x'`)).toEqual([{ count: 2 }])
  })

  test('accept the default of a variable, and {} for all records', async () => {
    const remove = 'mutation ($id: Int = 1) { delete_item(where: {id: {_eq: $id}}) { affected_rows } }'
    expect((await run(remove)).data).toEqual({ delete_item: { affected_rows: 1 } })
    expect((await run('mutation { delete_item(where: {}) { affected_rows } }')).data).toEqual({
      delete_item: { affected_rows: 1 },
    })
  })
})
