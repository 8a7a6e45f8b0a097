import { expect, test } from 'vitest'
import { createTestApp, createTestDatabase } from '../../../test/test-app.ts'

test("session defaults › of an operator's database change neither our statements nor their results", async () => {
  await using database = await createTestDatabase()
  await database.sql(`
    create table item (id int primary key, name text, price numeric, at timestamptz, took interval, bytes bytea, tags text[]);
    insert into item values (1, '=a\\b', 1.50, '2026-01-31T12:00:00Z', '1 day', '\\x00ff', array['x', null]);
    insert into item values (2, 'a10'), (3, 'a9');
    do $$
      declare setting text;
      begin
        foreach setting in array array[
          'standard_conforming_strings = off', 'quote_all_identifiers = on', 'array_nulls = off',
          'transform_null_equals = on', 'bytea_output = ''escape''', 'datestyle = ''German, DMY''',
          'intervalstyle = ''postgres_verbose''', 'timezone = ''Asia/Tokyo''', 'extra_float_digits = -5',
          'search_path = ''pg_catalog''', 'default_transaction_isolation = ''serializable''', 'row_security = off'
        ] loop
          execute format('alter database %I set %s', current_database(), setting);
        end loop;
      end $$`)
  await using app = await createTestApp({ database })
  const token = await app.adminToken()
  const items = async (query: string) =>
    (await app.request('GET', `/api/collections/item?${query}`, { token })).json.items
  const first = {
    ...{ id: 1, name: '=a\\b', price: 1.5, at: '2026-01-31T12:00:00+00:00', took: 'P1D' },
    ...{ bytes: '\\x00ff', tags: ['x', null] },
  }
  expect(await items('filter=id=1')).toEqual([first])
  expect(await items(`filter=${encodeURIComponent("name='=a\\\\b' and price in (1.5, null)")}`)).toEqual([
    first,
  ])
  expect((await items('filter=price=null&fields=id&sort=id')).map(({ id }: { id: number }) => id)).toEqual([
    2, 3,
  ])
  const created = await app.request('POST', '/api/collections/item', {
    token,
    body: { ...first, id: 4, name: "it's \\ 'x" },
  })
  expect([created.status, created.json]).toEqual([201, { ...first, id: 4, name: "it's \\ 'x" }])
  const csv = await app.request(
    'GET',
    '/api/collections/item/export.csv?filter=id=1&fields=id,name&spreadsheet=true',
    {
      token,
    },
  )
  expect(csv.text).toBe("id,name\n1,'=a\\b\n")
  const schema = await app.request('GET', '/api/schema', { token })
  expect(schema.text).not.toContain('\\"integer\\"')
})
