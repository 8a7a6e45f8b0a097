import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

const setup = `
  create table person (id int primary key, name text not null, owner_id uuid);
  create table shop (region int, no int, name text, primary key (region, no));
  create table orders (
    id int primary key, person_id int references person, seller int references person, region int, no int, total int,
    foreign key (region, no) references shop);
  create table line (id int primary key, orders_id int references orders, article text);
  comment on constraint orders_seller_fkey on orders is '@name sold_by
@reverse_name sales';

  create view plain as select * from orders;
  create view renamed with (security_invoker) as
    select o.id as order_no, o.person_id as buyer_id, o.seller as agent, o.region, o.no from orders o;
  create view joined as
    select o.id, p.id as pid, p.name, s.name as shop, o.region, o.no
    from orders o left join person p on p.id = o.person_id join shop s on (s.region, s.no) = (o.region, o.no);
  create view over_view as select buyer_id, region, no from renamed where order_no < 3;
  create materialized view stored as select person_id, count(*) as orders from orders group by person_id;
  create view computed as select id + 0 as id, coalesce(person_id, 1) as person_id, seller::bigint as seller from orders;
  create view united as select person_id from orders union all select id from person;
  create view self as select one.region, other.no, one.person_id, other.person_id as other_id from orders one, orders other;
  create view halves as
    with part as (select region, no from orders) select one.region, other.no from part one, part other;
  create view twice as select one.region, other.no from plain one, plain other;

  insert into person values (1, 'Ada', '${alice}'), (2, 'Ben', '${bob}'), (3, 'Zoe', '${alice}');
  insert into shop values (1, 1, 'north'), (1, 2, 'south'), (2, 1, 'west');
  insert into orders values (1, 3, 1, 1, 2, 10), (2, 2, 3, 2, 1, 20), (3, 1, null, 1, 1, 30), (4, null, 1, 1, 1, 40);
  insert into line values (1, 1, 'tea'), (2, 1, 'cup'), (3, 2, 'pot');
  refresh materialized view stored;
  alter table person enable row level security;
  create policy own on person using (owner_id = basalt.user_id());
`

let app: TestApp
let admin: string
const token = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({ setup })
  admin = await app.adminToken()
})
afterAll(() => app[Symbol.asyncDispose]())

async function list(path: string, as: string = admin) {
  const { status, json } = await app.request('GET', `/api/collections/${path}`, { token: as })
  return status === 200 ? json.items : json
}

/** Returns the names of the relations of the collection, with the other side. */
async function relations(name: string): Promise<Record<string, string>> {
  const { json } = await app.request('GET', '/api/schema', { token: admin })
  return Object.fromEntries(
    (json.tables[`public.${name}`].relationships ?? []).map((each: Record<string, string>) => [
      each.fieldName,
      `${each.fromColumns} > ${each.toTable}.${each.toColumns}`,
    ]),
  )
}

describe('relations of views', () => {
  test.each<[string, Record<string, string>]>([
    [
      'plain',
      {
        line: 'id > line.orders_id',
        person: 'person_id > person.id',
        shop: 'region,no > shop.region,no',
        sold_by: 'seller > person.id',
      },
    ],
    [
      'renamed',
      {
        buyer: 'buyer_id > person.id',
        line: 'order_no > line.orders_id',
        person: 'agent > person.id',
        shop: 'region,no > shop.region,no',
      },
    ],
    [
      'joined',
      {
        line: 'id > line.orders_id',
        orders: 'pid > orders.person_id',
        sales: 'pid > orders.seller',
        shop: 'region,no > shop.region,no',
      },
    ],
    ['over_view', { buyer: 'buyer_id > person.id', shop: 'region,no > shop.region,no' }],
    ['stored', { person: 'person_id > person.id' }],
    ['self', { other: 'other_id > person.id', person: 'person_id > person.id' }],
    ['computed', {}],
    ['united', {}],
    ['halves', {}],
    ['twice', {}],
  ])('are those of the columns that %s shows unchanged, of one row', async (name, expected) => {
    expect(await relations(name)).toEqual(expected)
  })

  test('leave the relations of tables as they are', async () => {
    expect(await relations('person')).toEqual({
      orders: 'id > orders.person_id',
      sales: 'id > orders.seller',
    })
  })

  test('are expanded, filtered and sorted by', async () => {
    expect(await list('renamed?sort=order_no&perPage=1&expand=buyer,shop,line&fields=order_no')).toEqual([
      {
        order_no: 1,
        expand: {
          buyer: { id: 3, name: 'Zoe', owner_id: alice },
          shop: { region: 1, no: 2, name: 'south' },
          line: [
            { id: 1, orders_id: 1, article: 'tea' },
            { id: 2, orders_id: 1, article: 'cup' },
          ],
        },
      },
    ])
    const numbers = async (query: string, as?: string) =>
      (await list(`renamed?fields=order_no&${query}`, as)).map((each: { order_no: number }) => each.order_no)
    expect(
      await numbers(`filter=${encodeURIComponent("buyer.name = 'Ben' OR line.article = 'cup'")}`),
    ).toEqual([1, 2])
    expect(await numbers('sort=buyer.name,order_no')).toEqual([3, 2, 1, 4])
    expect(await numbers('sort=-shop.name,order_no')).toEqual([2, 1, 3, 4])
    expect(await list('stored?sort=person.name&expand=person&fields=orders')).toEqual([
      { orders: 1, expand: { person: { id: 1, name: 'Ada', owner_id: alice } } },
      { orders: 1, expand: { person: { id: 2, name: 'Ben', owner_id: bob } } },
      { orders: 1, expand: { person: { id: 3, name: 'Zoe', owner_id: alice } } },
      { orders: 1, expand: {} },
    ])
  })

  test('show related records by the rights of the caller, whatever the view reads', async () => {
    const expanded = await list('plain?sort=id&fields=id&expand=person', token)
    expect(expanded).toEqual([
      { id: 1, expand: { person: { id: 3, name: 'Zoe', owner_id: alice } } },
      { id: 2, expand: {} },
      { id: 3, expand: { person: { id: 1, name: 'Ada', owner_id: alice } } },
      { id: 4, expand: {} },
    ])
    expect(await list(`plain?filter=${encodeURIComponent("person.name = 'Ben'")}`, token)).toEqual([])
    const showsPersons = async () =>
      JSON.stringify(await list('plain?expand=person', token)).includes('"Zoe"')
    await app.sql('revoke select on person from basalt_authenticated')
    await waitFor('the revoke', async () => !(await showsPersons()))
    await app.sql('grant select on person to basalt_authenticated')
    await waitFor('the grant', showsPersons)
  })

  test('are fields and conditions of GraphQL', async () => {
    const query = `{ renamed(where: {buyer: {name: {_eq: "Zoe"}}}) { order_no buyer { name } line { article } } }`
    const { json } = await app.request('POST', '/api/graphql', { token: admin, body: { query } })
    expect(json).toEqual({
      data: {
        renamed: [{ order_no: 1, buyer: { name: 'Zoe' }, line: [{ article: 'tea' }, { article: 'cup' }] }],
      },
    })
  })

  test('follow a new definition of the view', async () => {
    await app.sql('create or replace view over_view as select seller as buyer_id, region, no from orders')
    await waitFor(
      'the new relation',
      async () => (await relations('over_view')).buyer === 'buyer_id > person.id',
    )
    await waitFor('the new buyers', async () => {
      const rows: { expand: { buyer?: { name: string } } }[] = await list(
        'over_view?sort=buyer.name&expand=buyer',
      )
      return rows.map(({ expand }) => expand.buyer?.name).join() === 'Ada,Ada,Zoe,'
    })
    await app.sql('create or replace view over_view as select seller + 0 as buyer_id, region, no from orders')
    await waitFor('no relation', async () => (await relations('over_view')).buyer === undefined)
  })
})
