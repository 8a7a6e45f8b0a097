import { buildClientSchema, getIntrospectionQuery, type IntrospectionQuery, printType } from 'graphql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice } from '../../../../../test/fixtures.ts'
import { runGraphql } from '../../../../../test/graphql.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'

const setup = `
  create schema shop;
  create type "order state" as enum ('in progress', 'true', 'done', '2nd');
  create type pair as enum ('a b', 'a_b');
  create table task (id int primary key, title text, state "order state", pair pair, states "order state"[]);
  create table task_by_pk (id int primary key);
  create table task_aggregate (id int primary key);
  create table insert_task (id int primary key);
  create table "TaskWhereInput" (id int primary key);
  create table query (id int primary key);
  create table mutation (id int primary key);
  create table "Query" (id int primary key, label text);
  create table "Mutation" (id int primary key);
  create table "Int" (id int primary key, n int);
  create table "String" (id int primary key);
  create table "BigInt" (id bigint primary key);
  create table "JSON" (id int primary key, doc jsonb);
  create table "OrderByEnum" (id int primary key);
  create table shop.item (id int primary key, task_id int references task, name text);
  create table shop.sale (id int primary key);
  create table shop_sale (id int primary key);
  create table "Odd table" ("a b" int primary key, "2nd" text, "Größe" text, "__x" text unique, "a_b" text);
  create table logic (id int primary key, _and text, _or int, _not bool);
  create table parent (id int primary key, child text, child_aggregate text);
  create table child (id int primary key, parent_id int references parent);
  create table __hidden (id int primary key);
  create table invoice_line (id int primary key);
  create table "InvoiceLine" (id int primary key);
  create type "constructor" as range (subtype = int4);
  create table prototype (id int primary key, span "constructor", "toString" text, "valueOf" int);
  comment on column "Odd table"."a b" is 'Key of the table';
  insert into task values (1, 'one', 'in progress', 'a b', '{done,"in progress"}'), (2, 'two', 'true', 'a_b', null), (3, 'three', 'done', null, null);
  insert into shop.item values (1, 1, 'thing');
  insert into shop.sale values (7);
  insert into shop_sale values (8);
  insert into "Odd table" values (1, 'second', 'groß', 'x', 'plain');
  insert into logic values (1, 'x', 5, true), (2, 'y', 6, false);
  insert into "Query" values (1, 'table');
  insert into "Int" values (1, 2);
  insert into "BigInt" values (9007199254740993);
  insert into "JSON" values (1, '{"a": 1}');
  insert into task_by_pk values (1);
  insert into parent values (1, 'column', 'figure');
  insert into child values (1, 1);
  insert into prototype values (1, '[1,3)', 'text', 2);
`

let app: TestApp
const config = { 'database.schemas': 'public,shop' }
const token = userToken({ sub: alice })
const run = (query: string, variables?: object) =>
  runGraphql(app, query, { token, ...(variables === undefined ? {} : { variables }) })

beforeAll(async () => {
  app = await createTestApp({ setup, config })
})
afterAll(() => app[Symbol.asyncDispose]())

async function readSchema() {
  const { data } = await run(getIntrospectionQuery())
  return buildClientSchema(data as IntrospectionQuery)
}

describe('POST /api/graphql › names of tables', () => {
  test('are fields and types; generated names give way to them', async () => {
    expect(
      await run(`{
        __typename
        task_by_pk { __typename id }
        task_by_pk_(id: 1) { title }
        task_aggregate { id }
        task_aggregate_ { count }
        query { id }
        Query { __typename label }
        Int { __typename id n }
        BigInt { __typename id }
        JSON { __typename doc }
        OrderByEnum { id }
        TaskWhereInput { id }
      }`),
    ).toEqual({
      status: 200,
      data: {
        __typename: 'Query_',
        task_by_pk: [{ __typename: 'task_by_pk', id: 1 }],
        task_by_pk_: { title: 'one' },
        task_aggregate: [],
        task_aggregate_: { count: 3 },
        query: [],
        Query: [{ __typename: 'Query', label: 'table' }],
        Int: [{ __typename: 'Int_', id: 1, n: 2 }],
        BigInt: [{ __typename: 'BigInt_', id: '9007199254740993' }],
        JSON: [{ __typename: 'JSON_', doc: { a: 1 } }],
        OrderByEnum: [],
        TaskWhereInput: [],
      },
    })
    expect(
      await run(`mutation {
        __typename
        insert_insert_task(objects: [{id: 1}]) { affected_rows }
        insert_mutation(objects: [{id: 1}]) { affected_rows }
        insert_Mutation(objects: [{id: 1}]) { affected_rows }
        delete_String(where: {}) { affected_rows }
      }`),
    ).toEqual({
      status: 200,
      data: {
        __typename: 'Mutation_',
        insert_insert_task: { affected_rows: 1 },
        insert_mutation: { affected_rows: 1 },
        insert_Mutation: { affected_rows: 1 },
        delete_String: { affected_rows: 0 },
      },
    })
  })

  test('outside public begin with the schema', async () => {
    expect(
      await run('{ shop_item { name task { title item { id } } } shop_sale { id } shop_sale_ { id } }'),
    ).toEqual({
      status: 200,
      data: {
        shop_item: [{ name: 'thing', task: { title: 'one', item: [{ id: 1 }] } }],
        shop_sale: [{ id: 8 }],
        shop_sale_: [{ id: 7 }],
      },
    })
  })

  test('get underscores for characters outside GraphQL', async () => {
    expect(
      await run(`mutation {
        insert_Odd_table(
          objects: [{a_b_: 1, _2nd: "new", _x: "x"}, {a_b_: 2, a_b: "two"}]
          on_conflict: {constraint: Odd_table_pkey, update_columns: ["_2nd"]}
        ) { affected_rows returning { a_b_ _2nd Gr__e _x a_b } }
        update_Odd_table(where: {a_b_: {_eq: 2}}, _set: {Gr__e: "klein"}) { returning { Gr__e } }
      }`),
    ).toEqual({
      status: 200,
      data: {
        insert_Odd_table: {
          affected_rows: 2,
          returning: [
            { a_b_: 1, _2nd: 'new', Gr__e: 'groß', _x: 'x', a_b: 'plain' },
            { a_b_: 2, _2nd: null, Gr__e: null, _x: null, a_b: 'two' },
          ],
        },
        update_Odd_table: { returning: [{ Gr__e: 'klein' }] },
      },
    })
    expect(
      await run(`{
        Odd_table(order_by: {a_b_: DESC}, distinct_on: [a_b_], where: {_x: {_is_null: true}}) { a_b_ }
        Odd_table_by_pk(a_b_: 1) { _2nd }
        Odd_table_aggregate { max { a_b_ } }
        _hidden { id }
        prototype(where: {toString: {_eq: "text"}}) { span toString valueOf }
        prototype_aggregate { max { span } sum { valueOf } }
      }`),
    ).toEqual({
      status: 200,
      data: {
        Odd_table: [{ a_b_: 2 }],
        Odd_table_by_pk: { _2nd: 'new' },
        Odd_table_aggregate: { max: { a_b_: 2 } },
        _hidden: [],
        prototype: [{ span: '[1,3)', toString: 'text', valueOf: 2 }],
        prototype_aggregate: { max: { span: '[1,3)' }, sum: { valueOf: '2' } },
      },
    })
  })

  test('prefer columns to relations and figures, and reserve operators', async () => {
    expect(
      await run(`{
        parent { child child_aggregate child_ { id } child__aggregate { count } }
        logic(where: {_and: [{_and_: {_eq: "x"}}, {_or_: {_lt: 6}}], _or: [{_not_: {_eq: true}}], _not: {id: {_eq: 2}}}) {
          id _and_ _or_ _not_
        }
      }`),
    ).toEqual({
      status: 200,
      data: {
        parent: [
          { child: 'column', child_aggregate: 'figure', child_: [{ id: 1 }], child__aggregate: { count: 1 } },
        ],
        logic: [{ id: 1, _and_: 'x', _or_: 5, _not_: true }],
      },
    })
  })

  test('are the same for a caller who sees fewer tables', async () => {
    await app.sql('revoke all on task_by_pk, shop_sale, "Query" from basalt_authenticated')
    await using other = await createTestApp({ database: app.database, config })
    expect(
      await runGraphql(other, '{ __typename task_by_pk_(id: 1) { title } shop_sale_ { id } }', { token }),
    ).toEqual({
      status: 200,
      data: { __typename: 'Query_', task_by_pk_: { title: 'one' }, shop_sale_: [{ id: 7 }] },
    })
    await app.sql('grant all on task_by_pk, shop_sale, "Query" to basalt_authenticated')
  })

  test('are in descriptions where the schema has others', async () => {
    const schema = await readSchema()
    const described = (name: string) => schema.getType(name)?.description
    const field = (name: string) => schema.getQueryType()?.getFields()[name]?.description
    expect({
      odd: described('Odd_table'),
      int: described('Int_'),
      item: field('shop_item'),
      task: described('task'),
      byKey: field('task_by_pk_'),
      aggregate: field('task_aggregate_'),
      query: schema.getQueryType()?.description,
    }).toEqual({
      odd: 'Name of the table: `Odd table`.',
      int: 'Name of the table: `Int`.',
      item: 'Name of the table: `shop.item`.',
      task: null,
      byKey: 'Has this name because a table is named `task_by_pk`.',
      aggregate: 'Has this name because a table is named `task_aggregate`.',
      query: 'Has this name because a table is named `Query`.',
    })
    const [record, constraint, state] = ['Odd_table', 'OddTableConstraintEnum', 'OrderStateEnum'].map(
      (name) => {
        const type = schema.getType(name)
        return type === undefined ? '' : printType(type)
      },
    )
    expect(record).toBe(`"""Name of the table: \`Odd table\`."""
type Odd_table {
  """
  Key of the table
  
  Name of the column: \`a b\`.
  """
  a_b_: Int!

  """Name of the column: \`2nd\`."""
  _2nd: String

  """Name of the column: \`Größe\`."""
  Gr__e: String

  """Name of the column: \`__x\`."""
  _x: String
  a_b: String

  """
  Excerpt as safe HTML with the matches of \`search\` marked; null in other lists.
  """
  _highlight: String

  """
  Text of each searched column with its matches marked, by the name of the column in the database: \`value\` and \`matchLevel\`. Null in lists without \`search\`.
  """
  _highlightResult: JSON
}`)
    expect(constraint).toBe(`enum OddTableConstraintEnum {
  """Name of the index: \`Odd table___x_key\`."""
  Odd_table___x_key

  """Name of the index: \`Odd table_pkey\`."""
  Odd_table_pkey
}`)
    expect(state).toBe(`enum OrderStateEnum {
  """Name of the label: \`in progress\`."""
  in_progress

  """Name of the label: \`true\`."""
  true_
  done

  """Name of the label: \`2nd\`."""
  _2nd
}`)
  })
})

describe('POST /api/graphql › labels of enums', () => {
  test('are written and read by their names in the schema', async () => {
    expect(
      await run(
        `mutation ($state: OrderStateEnum) {
          one: insert_task(objects: [{id: 10, state: in_progress}, {id: 11, state: $state}]) { returning { id state } }
          two: update_task(where: {id: {_eq: 10}}, _set: {state: done}) { returning { state } }
          three: delete_task(where: {id: {_gte: 10}}) { affected_rows }
        }`,
        { state: '_2nd' },
      ),
    ).toEqual({
      status: 200,
      data: {
        one: {
          returning: [
            { id: 10, state: 'in_progress' },
            { id: 11, state: '_2nd' },
          ],
        },
        two: { returning: [{ state: 'done' }] },
        three: { affected_rows: 2 },
      },
    })
  })

  test('are found by label and by name', async () => {
    const query =
      'query ($states: [String!]) { task(where: {state: {_in: $states}}, order_by: {id: ASC}) { id state states pair } }'
    const one = { id: 1, state: 'in_progress', states: ['done', 'in progress'], pair: 'a b' }
    const two = { id: 2, state: 'true_', states: null, pair: 'a_b' }
    expect(await run(query, { states: ['in progress', 'true'] })).toEqual({
      status: 200,
      data: { task: [one, two] },
    })
    expect(await run(query, { states: ['in_progress', 'true_'] })).toEqual({
      status: 200,
      data: { task: [one, two] },
    })
    expect(await run('{ task(where: {state: {_eq: "true_"}, pair: {_eq: "a_b"}}) { id } }')).toEqual({
      status: 200,
      data: { task: [{ id: 2 }] },
    })
    expect(await run('{ task(where: {state: {_eq: "gone"}}) { id } }')).toMatchObject({
      status: 200,
      data: null,
      errors: [{ extensions: { code: 'invalid_value' } }],
    })
  })
})
