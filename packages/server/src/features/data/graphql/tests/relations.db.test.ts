import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice } from '../../../../../test/fixtures.ts'
import { runGraphql } from '../../../../../test/graphql.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'

const setup = `
  create type size as enum ('small', 'large');
  create type spot as (x int, y int);
  create table thing (
    id int primary key, title text, weight int, price numeric, tags text[], span int4range, doc jsonb, raw json,
    made timestamptz, day date, clock time, took interval, bits bit(3), address inet, cost money, bytes bytea,
    code uuid, size size, spot spot, flag bool, ratio float8, shape point);
  insert into thing values
    (1, 'Whale song', 5, 1.50, '{a,b}', '[1,5)', '{"a": 1}', '{"a": 1}', '2026-01-02 03:04:05+00', '2026-01-02', '12:30',
     '1 day', '101', '10.0.0.1', 12.5, '\\x00ff', 'a11ce000-0000-4000-8000-000000000001', 'small', '(1,2)', true, 0.5, '(1,2)'),
    (2, 'Wolf', null, 2.25, '{}', 'empty', '"text"', '[]', '2026-02-02 03:04:05+00', '2026-02-02', '13:30',
     '2 days', '000', '10.0.0.2', 1, '\\x', 'b0b00000-0000-4000-8000-000000000002', 'large', '(1,3)', false, -1.5, '(3,4)'),
    (3, '100%_sure', 7, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null);
  create table number (id int primary key);
  create table place (country text, number int, name text, primary key (country, number));
  create table road (id int primary key, from_country text, from_number int, to_country text, to_number int,
    parent_id int references road,
    foreign key (from_country, from_number) references place,
    foreign key (to_country, to_number) references place);
  insert into place values ('de', 1, 'Kiel'), ('pl', 1, 'Lodz'), ('pl', 2, 'Opole');
  insert into road values (1, 'de', 1, 'pl', 2, null), (2, 'pl', 1, 'de', 1, 1), (3, 'pl', 2, null, 2, 1);
  create view heavy as select id, title from thing where weight > 5;
  create materialized view titles as select id, title from thing;
  create table log (id int generated always as identity, line text);
  create table event (id int, day date, note text, primary key (id, day)) partition by range (day);
  create table event_2026 partition of event for values from ('2026-01-01') to ('2027-01-01');
  create table keyless (line text);
  create table worth (id int generated always as identity primary key, net numeric, gross numeric generated always as (net * 2) stored);
  insert into worth (net) values (1.5);
  create function all_roads() returns setof road stable language sql as 'select * from road';
`

let app: TestApp
const token = userToken({ sub: alice })
const run = (query: string, variables?: object) =>
  runGraphql(app, query, { token, ...(variables === undefined ? {} : { variables }) })

beforeAll(async () => {
  app = await createTestApp({ setup })
  await app.sql(`
    create extension postgres_fdw;
    create server self foreign data wrapper postgres_fdw options (dbname 'postgres');
    create foreign table abroad (id int, name text) server self`)
  await app.app.catalog.refresh()
})
afterAll(() => app[Symbol.asyncDispose]())

describe('POST /api/graphql › relations', () => {
  test('join composite keys on all columns, and distinguish two keys to one table', async () => {
    expect(
      await run(`{
        road(order_by: {id: ASC}, limit: 10) { place { name } place_by_to_country_to_number { name } }
        place(order_by: {name: ASC}, limit: 10) { name road { id } road_by_to_country_to_number { id } }
        to: road(where: {place_by_to_country_to_number: {name: {_eq: "Opole"}}}) { id }
      }`),
    ).toEqual({
      status: 200,
      data: {
        road: [
          { place: { name: 'Kiel' }, place_by_to_country_to_number: { name: 'Opole' } },
          { place: { name: 'Lodz' }, place_by_to_country_to_number: { name: 'Kiel' } },
          { place: { name: 'Opole' }, place_by_to_country_to_number: null },
        ],
        place: [
          { name: 'Kiel', road: [{ id: 1 }], road_by_to_country_to_number: [{ id: 2 }] },
          { name: 'Lodz', road: [{ id: 2 }], road_by_to_country_to_number: [] },
          { name: 'Opole', road: [{ id: 3 }], road_by_to_country_to_number: [{ id: 1 }] },
        ],
        to: [{ id: 1 }],
      },
    })
  })

  test('follow a table to itself', async () => {
    expect(
      await run(
        '{ road(order_by: {id: ASC}) { id parent { id } road { id } road_aggregate { count max { id } } } }',
      ),
    ).toEqual({
      status: 200,
      data: {
        road: [
          { id: 1, parent: null, road: [{ id: 2 }, { id: 3 }], road_aggregate: { count: 2, max: { id: 3 } } },
          { id: 2, parent: { id: 1 }, road: [], road_aggregate: { count: 0, max: { id: null } } },
          { id: 3, parent: { id: 1 }, road: [], road_aggregate: { count: 0, max: { id: null } } },
        ],
      },
    })
  })
})

describe('POST /api/graphql › order_by', () => {
  const ids = (records: readonly { readonly id: number }[]) => records.map(({ id }) => id)

  test('sorts by columns of related records, in lists of any level', async () => {
    const { data } = await run(`{
      last: road(order_by: {place_by_to_country_to_number: {name: DESC}, id: ASC}) { id }
      first: road(order_by: [{parent: {place: {name: ASC}}}, {place: {country: DESC, name: DESC}}]) { id }
      distinct: road(distinct_on: [parent_id], order_by: [{parent_id: ASC}, {place: {name: DESC}}]) { id }
      top: road(where: {id: {_eq: 1}}) { road(order_by: {place: {name: DESC}}, limit: 1) { id } }
    }`)
    // The third road leads nowhere, and NULL sorts first in descending order.
    expect(ids(data.last)).toEqual([3, 1, 2])
    expect(ids(data.first)).toEqual([3, 2, 1])
    expect(ids(data.distinct)).toEqual([3, 1])
    expect(data.top).toEqual([{ road: [{ id: 3 }] }])
  })

  test('takes nested terms from variables, in their order', async () => {
    const declared = '($o: [RoadOrderByInput!])'
    const list = async (o: unknown) =>
      ids((await run(`query ${declared} { road(order_by: $o) { id } }`, { o })).data.road)
    expect(await list([{ place: { name: 'DESC' } }])).toEqual([3, 2, 1])
    expect(await list({ place: { country: 'DESC', number: 'ASC' }, id: 'ASC' })).toEqual([2, 3, 1])
    expect(await list({ place: { number: 'ASC', country: 'DESC' }, id: 'ASC' })).toEqual([2, 1, 3])
    expect(await list({ place: null, id: 'DESC' })).toEqual([3, 2, 1])
    const term = `query ($d: OrderByEnum) { road(order_by: {place: {name: $d}}) { id } }`
    expect(ids((await run(term, { d: 'DESC' })).data.road)).toEqual([3, 2, 1])
  })

  test('rejects relations to many records, long paths, and related records of a function', async () => {
    const messageOf = async (query: string) => (await run(query)).errors?.[0]?.message
    expect(await messageOf('{ place(order_by: {road: {id: ASC}}) { name } }')).toContain(
      'Field "road" is not defined by type "PlaceOrderByInput"',
    )
    const deep = '{parent: {parent: {parent: {parent: {parent: {id: ASC}}}}}}'
    expect(await messageOf(`{ road(order_by: ${deep}) { id } }`)).toBe(
      'order_by: expected at most 4 relations',
    )
    expect(await messageOf('{ all_roads(order_by: {place: {name: ASC}}) { id } }')).toBe(
      'order_by: expected columns of the records of a function, not "place.name" of related records',
    )
    expect(await run('{ all_roads(order_by: {id: DESC}) { id } }')).toMatchObject({
      data: { all_roads: [{ id: 3 }, { id: 2 }, { id: 1 }] },
    })
  })

  test('hides nothing by a policy on related records but their position', async () => {
    await app.sql(`
      alter table place enable row level security;
      create policy own on place using (country = 'pl')`)
    await app.app.catalog.refresh()
    // The start of the first road is hidden, so it sorts as NULL.
    const { data } = await run('{ road(order_by: {place: {name: ASC}}) { id } }')
    await app.sql('drop policy own on place; alter table place disable row level security')
    await app.app.catalog.refresh()
    expect(ids(data.road)).toEqual([2, 3, 1])
  })
})

describe('POST /api/graphql › kinds of relations', () => {
  test('have mutations if their rows can be written, and a field by key if they have one', async () => {
    const { data } = await run(`{
      __schema { queryType { fields { name } } mutationType { fields { name } } }
    }`)
    const named = (pattern: RegExp, fields: readonly { readonly name: string }[]) =>
      fields.map(({ name }) => name).filter((name) => pattern.test(name))
    const pattern = /heavy|titles|log|event|keyless|abroad/
    expect(named(pattern, data.__schema.queryType.fields).sort()).toEqual([
      ...[
        'abroad',
        'abroad_aggregate',
        'abroad_facets',
        'event',
        'event_aggregate',
        'event_by_pk',
        'event_facets',
        'heavy',
        'heavy_aggregate',
        'heavy_facets',
      ],
      ...['keyless', 'keyless_aggregate', 'keyless_facets', 'log', 'log_aggregate', 'log_facets'],
      ...['titles', 'titles_aggregate', 'titles_facets'],
    ])
    expect(named(pattern, data.__schema.mutationType.fields).sort()).toEqual([
      ...['delete_event', 'delete_keyless', 'delete_log', 'insert_event', 'insert_keyless', 'insert_log'],
      ...['update_event', 'update_keyless', 'update_log'],
    ])
  })

  test('read views, materialized views and partitions through their table', async () => {
    expect(
      await run(`mutation {
        insert_event(objects: [{id: 1, day: "2026-05-05", note: "x"}]) { returning { id day } }
        update_event(where: {id: {_eq: 1}}, _set: {note: "y"}) { affected_rows }
        insert_keyless(objects: [{line: "a"}, {line: "a"}]) { affected_rows }
        update_keyless(where: {line: {_eq: "a"}}, _set: {line: "b"}) { returning { line } }
        insert_log(objects: [{line: "a"}]) { returning { id line } }
        insert_worth(objects: [{net: "2.5"}]) { returning { id net gross } }
      }`),
    ).toEqual({
      status: 200,
      data: {
        insert_event: { returning: [{ id: 1, day: '2026-05-05' }] },
        update_event: { affected_rows: 1 },
        insert_keyless: { affected_rows: 2 },
        update_keyless: { returning: [{ line: 'b' }, { line: 'b' }] },
        insert_log: { returning: [{ id: 1, line: 'a' }] },
        insert_worth: { returning: [{ id: 2, net: '2.5', gross: '5.0' }] },
      },
    })
    expect(
      await run(`{
        heavy { id title }
        titles(where: {id: {_eq: 2}}) { title }
        event_by_pk(id: 1, day: "2026-05-05") { note }
        keyless_aggregate { count }
        worth(where: {gross: {_gt: 4}}) { gross }
      }`),
    ).toEqual({
      status: 200,
      data: {
        heavy: [{ id: 3, title: '100%_sure' }],
        titles: [{ title: 'Wolf' }],
        event_by_pk: { note: 'y' },
        keyless_aggregate: { count: 2 },
        worth: [{ gross: '5.0' }],
      },
    })
  })

  test.each([
    ['insert_worth(objects: [{id: 9, net: 1}])', 'Field "id" is not defined by type "WorthInsertInput".'],
    ['insert_worth(objects: [{gross: 1}])', 'Field "gross" is not defined by type "WorthInsertInput".'],
    ['update_worth(where: {}, _set: {id: 9})', 'Field "id" is not defined by type "WorthSetInput".'],
  ])('refuse columns that the database computes: %s', async (field, message) => {
    expect(await run(`mutation { ${field} { affected_rows } }`)).toMatchObject({
      data: null,
      errors: [{ message }],
    })
  })
})

describe('POST /api/graphql › figures', () => {
  test('exist for every type that has an order', async () => {
    expect(
      await run(`{
        thing_aggregate {
          min { id title weight price span doc made day clock took bits address cost bytes code size spot flag ratio }
          max { flag size code tags: title }
          sum { weight price ratio took }
          avg { weight price ratio }
        }
        none: thing_aggregate(where: {id: {_in: []}}) { count min { price flag } sum { weight } avg { weight } }
      }`),
    ).toEqual({
      status: 200,
      data: {
        thing_aggregate: {
          min: {
            ...{ id: 1, title: '100%_sure', weight: 5, price: '1.50', span: 'empty', doc: 'text' },
            ...{ made: '2026-01-02T03:04:05+00:00', day: '2026-01-02', clock: '12:30:00', took: 'P1D' },
            ...{ bits: '000', address: '10.0.0.1', cost: '$1.00', bytes: '\\x', size: 'small' },
            code: 'a11ce000-0000-4000-8000-000000000001',
            ...{ spot: { x: 1, y: 2 }, flag: false, ratio: -1.5 },
          },
          max: { flag: true, size: 'large', code: 'b0b00000-0000-4000-8000-000000000002', tags: 'Wolf' },
          sum: { weight: '12', price: '3.75', ratio: -1, took: 'P3D' },
          avg: { weight: '6.0000000000000000', price: '1.8750000000000000', ratio: -0.5 },
        },
        none: {
          count: 0,
          min: { price: null, flag: null },
          sum: { weight: null },
          avg: { weight: null },
        },
      },
    })
  })
})

describe('POST /api/graphql › fragments and directives', () => {
  test('apply variables, also on fragments and at the root', async () => {
    const query = `query ($yes: Boolean!, $no: Boolean = false) {
      thing(where: {id: {_eq: 1}}) {
        id @skip(if: $yes)
        ...F @include(if: $yes)
        ... @include(if: $no) { weight }
        ... on thing @skip(if: $no) { title }
        both: id @include(if: $yes) @skip(if: $yes)
      }
      place @include(if: $no) { name }
      number @skip(if: $no) { id }
    }
    fragment F on thing { price }`
    expect(await run(query, { yes: true })).toEqual({
      status: 200,
      data: { thing: [{ price: '1.50', title: 'Whale song' }], number: [] },
    })
    expect(await run('{ thing @skip(if: true) { id } }')).toEqual({ status: 200, data: {} })
    expect(await run('{ thing(limit: 1) { id @skip(if: true) } }')).toEqual({
      status: 200,
      data: { thing: [{}] },
    })
    expect(await run('mutation { delete_keyless(where: {}) @skip(if: true) { affected_rows } }')).toEqual({
      status: 200,
      data: {},
    })
  })

  test('merge selections of one response key', async () => {
    expect(
      await run(`{
        road(where: {id: {_eq: 2}}) { parent { id } ...P parent { to_number } }
        road(where: {id: {_eq: 2}}) { id }
      }
      fragment P on road { parent { from_number } }`),
    ).toEqual({
      status: 200,
      data: { road: [{ parent: { id: 1, from_number: 1, to_number: 2 }, id: 2 }] },
    })
  })

  test.each([
    [
      'a fragment on another type',
      '{ thing { ... on place { name } } }',
      'Fragment cannot be spread here as objects of type "thing" can never be of type "place".',
    ],
    [
      'a fragment on an input',
      '{ thing { ... on ThingWhereInput { id } } }',
      'Fragment cannot condition on non composite type "ThingWhereInput".',
    ],
    [
      'one alias with different arguments',
      '{ a: thing(limit: 1) { id } a: thing(limit: 2) { id } }',
      'Fields "a" conflict because they have differing arguments. Use different aliases on the fields to fetch both if this was intentional.',
    ],
    [
      'one alias of two fields',
      '{ thing { a: id a: title } }',
      'Fields "a" conflict because "id" and "title" are different fields. Use different aliases on the fields to fetch both if this was intentional.',
    ],
    [
      'a directive without its argument',
      '{ thing { id @include } }',
      'Directive "@include" argument "if" of type "Boolean!" is required, but it was not provided.',
    ],
    ['an unknown directive', '{ thing { id @live } }', 'Unknown directive "@live".'],
    [
      'a record without a selection',
      '{ thing }',
      'Field "thing" of type "[thing!]!" must have a selection of subfields. Did you mean "thing { ... }"?',
    ],
    [
      'a variable of another type',
      'query ($n: String) { thing(limit: $n) { id } }',
      'Variable "$n" of type "String" used in position expecting type "Int".',
    ],
    ['a variable that is not declared', '{ thing(limit: $n) { id } }', 'Variable "$n" is not defined.'],
    [
      'a variable of a record type',
      'query ($n: thing) { thing { id } }',
      'Variable "$n" cannot be non-input type "thing".',
    ],
  ])('refuse %s', async (_, query, message) => {
    const { status, data, errors } = await run(query)
    expect([status, data, errors?.[0]?.message]).toEqual([200, null, message])
  })
})
