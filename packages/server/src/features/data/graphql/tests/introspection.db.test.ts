import { spawnSync } from 'node:child_process'
import {
  buildClientSchema,
  getIntrospectionQuery,
  type IntrospectionQuery,
  parse,
  validate,
  validateSchema,
} from 'graphql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice } from '../../../../../test/fixtures.ts'
import { runGraphql } from '../../../../../test/graphql.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'

const tables = Array.from(
  { length: 60 },
  (_, n) =>
    `create table part_${n} (id int primary key, whole_id int ${n > 0 ? `references part_${n - 1}` : ''}, size float8);`,
)
const setup = `
  create type mood as enum ('good', 'bad');
  create table task (id int primary key, n bigint, mood mood, moods mood[], price numeric unique);
  insert into task values (1, 5, 'good', '{bad}', 1.5);
  ${tables.join('\n')}
`

let app: TestApp
const token = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({ setup })
})
afterAll(() => app[Symbol.asyncDispose]())

async function readSchema(node: TestApp) {
  const { data } = await runGraphql(node, getIntrospectionQuery(), { token })
  return data as IntrospectionQuery
}

/** Each document names a type that no root field has, and is the first of its server. */
const documents: readonly (readonly [string, object, object])[] = [
  [
    'query ($c: BigIntComparisonInput) { task(where: {n: $c}) { id } }',
    { c: { _eq: '5' } },
    { task: [{ id: 1 }] },
  ],
  ['query ($o: OrderByEnum) { task(order_by: {id: $o}) { id } }', { o: 'ASC' }, { task: [{ id: 1 }] }],
  ['query ($c: [TaskColumnEnum!]) { task(distinct_on: $c) { id } }', { c: ['id'] }, { task: [{ id: 1 }] }],
  ['{ task_aggregate { max { ... on TaskMax { n } } } }', {}, { task_aggregate: { max: { n: '5' } } }],
  [
    'mutation ($m: MoodEnum, $n: BigInt) { update_task(where: {id: {_eq: 2}}, _set: {mood: $m, n: $n}) { affected_rows } }',
    { m: 'bad', n: 1 },
    { update_task: { affected_rows: 0 } },
  ],
  [
    'mutation ($k: TaskConstraintEnum!) { insert_task(objects: [], on_conflict: {constraint: $k}) { affected_rows } }',
    { k: 'task_price_key' },
    { insert_task: { affected_rows: 0 } },
  ],
  ['{ __type(name: "TaskSum") { name kind } }', {}, { __type: { name: 'TaskSum', kind: 'OBJECT' } }],
  ['{ __type(name: "Tas") { name } }', {}, { __type: null }],
]

describe('POST /api/graphql › types', () => {
  test.each(documents)('are found by name before introspection: %s', async (query, variables, data) => {
    await using node = await createTestApp({ database: app.database })
    expect(await runGraphql(node, query, { token, variables })).toEqual({ status: 200, data })
  })

  test('are the same in introspection whatever was requested before', async () => {
    const before = await readSchema(app)
    const schema = buildClientSchema(before)
    expect(validateSchema(schema)).toEqual([])
    for (const [query, variables] of documents) {
      expect(validate(schema, parse(query)), query).toEqual([])
      await runGraphql(app, query, { token, variables })
    }
    expect(await readSchema(app)).toEqual(before)
    const names = before.__schema.types.map(({ name }) => name)
    expect(names).toEqual([...names].sort())
    expect(before.__schema.types.find(({ name }) => name === 'Query')).toMatchObject({
      fields: { length: 61 * 4 },
    })
  })

  test('are listed under every alias, with variables and fragments', async () => {
    const query = `query ($deprecated: Boolean = true) {
      s: __schema { a: types { ...N } b: types { kind } ...D queryType { fields(includeDeprecated: $deprecated) { name } } }
    }
    fragment N on __Type { name }
    fragment D on __Schema { directives { name } }`
    const { data } = await runGraphql(app, query, { token })
    const { __schema: whole } = await readSchema(app)
    expect(Object.keys(data.s)).toEqual(['a', 'b', 'directives', 'queryType'])
    expect(data.s.a).toEqual(whole.types.map(({ name }) => ({ name })))
    expect(data.s.b).toEqual(whole.types.map(({ kind }) => ({ kind })))
    expect(data.s.directives).toEqual(whole.directives.map(({ name }) => ({ name })))
    expect(data.s.queryType.fields).toHaveLength(61 * 4)
  })

  test('are read by several requests at once', async () => {
    const all = await Promise.all(Array.from({ length: 4 }, () => readSchema(app)))
    for (const each of all) expect(each).toEqual(all[0])
  })
})

describe('feature graphql', () => {
  test('does not load the library before the first request', () => {
    const script = `
      import { registerHooks } from 'node:module'
      const loaded = []
      registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context) } })
      const { graphql } = await import(${JSON.stringify(new URL('../index.ts', import.meta.url).href)})
      const feature = graphql({ config: { enabled: true }, collections: {}, database: {} })
      const isLibrary = (url) => url.includes('/node_modules/graphql/')
      console.log(feature.name, loaded.length > 0, loaded.some(isLibrary))
      await import(${JSON.stringify(new URL('../engine.ts', import.meta.url).href)})
      console.log(loaded.some(isLibrary))`
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
      encoding: 'utf8',
    })
    expect([stdout, stderr]).toEqual(['graphql true false\ntrue\n', ''])
  })
})
