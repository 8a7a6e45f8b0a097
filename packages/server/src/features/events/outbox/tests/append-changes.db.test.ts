import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openEventStream } from '../../../../../test/event-stream.ts'
import { alice } from '../../../../../test/fixtures.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { gatewayFunctions } from '../../../../database/caller/gateway-functions.ts'

let app: TestApp

beforeAll(async () => {
  app = await createTestApp({
    config: { 'webhooks.deliver': 'false' },
    setup: `
      create table item (id int primary key, name text);
      create table pair (a int, b text, name text, primary key (b, a));
      create schema shop;
      create table shop.item (id int primary key);
      create view seen as select * from item`,
  })
})
afterAll(() => app[Symbol.asyncDispose]())
beforeEach(() => app.sql('truncate basalt.outbox'))

/** Appends changes as the message of a caller does after its write. */
function append(
  changes: string,
  [schema, table, action, form]: readonly [string, string, string, string],
  isPartial = false,
): Promise<unknown[]> {
  return app.sql(
    `with left_over as materialized (select set_config('basalt.changed_rows', $1, true))
    select basalt.append_changes($2, $3, $4, $5, $6) from left_over where set_config is not null`,
    [changes, schema, table, action, form, isPartial],
  )
}

const logged = () =>
  app.sql(`
    select action, table_name as table, record_key as key, old_record_key as "oldKey", record, old_record as "oldRecord",
      is_partial as "isPartial"
    from basalt.outbox order by id`)

describe('basalt.append_changes', () => {
  test('appends the stashed changes under the names of the catalog', async () => {
    const pair = { a: 1, b: 'x', name: 'n' }
    await append(JSON.stringify(pair), ['public', 'pair', 'create', 'record'])
    await append(JSON.stringify([{ id: 2 }, { id: 3 }]), ['shop', 'item', 'delete', 'array'])
    const change = { record: { ...pair, a: 2 }, oldRecord: pair }
    await append(JSON.stringify([change, { record: pair, oldRecord: null }]), [
      'public',
      'pair',
      'update',
      'upsert',
    ])
    const none = { oldKey: null, oldRecord: null, isPartial: null }
    expect(await logged()).toEqual([
      { ...none, action: 'create', table: 'pair', key: '["x", 1]', record: pair },
      { ...none, action: 'delete', table: 'shop.item', key: '[2]', record: { id: 2 } },
      { ...none, action: 'delete', table: 'shop.item', key: '[3]', record: { id: 3 } },
      {
        ...{ action: 'update', table: 'pair', key: '["x", 2]', oldKey: '["x", 1]', isPartial: null },
        ...change,
      },
    ])
  })

  test('logs only the key of a record that is too large, and none of a record without a key', async () => {
    const name = 'x'.repeat(17 * 1024 * 1024)
    await append(JSON.stringify([{ id: 1, name }, { name: 'no key' }]), ['public', 'item', 'create', 'array'])
    const rest = { action: 'create', table: 'item', oldKey: null, oldRecord: null }
    expect(await logged()).toEqual([
      { ...rest, key: '[1]', record: { id: 1 }, isPartial: true },
      { ...rest, key: null, record: { name: 'no key' }, isPartial: null },
    ])
  })

  test.each([
    ['no table', ['public', 'nothing', 'create', 'record'], '42P01'],
    ['a view', ['public', 'seen', 'create', 'record'], '42P01'],
    ['a table of the system', ['basalt', 'users', 'create', 'record'], '42P01'],
    ['a catalogue', ['pg_catalog', 'pg_class', 'create', 'record'], '42P01'],
    ['an unknown action', ['public', 'item', 'truncate', 'record'], '22023'],
    ['an unknown form', ['public', 'item', 'create', 'rows'], '22023'],
  ] as const)('rejects %s', async (_what, change, code) => {
    await expect(append('{"id":1}', change)).rejects.toMatchObject({ code })
    expect(await logged()).toEqual([])
  })

  test('is executable by no caller, like every gateway function', async () => {
    for (const name of gatewayFunctions) {
      const [row] = await app.sql(
        `select p.prosecdef, p.proconfig, has_function_privilege('basalt_authenticated', p.oid, 'execute') as callers,
          has_function_privilege('basalt_anonymous', p.oid, 'execute') as anonymous
        from pg_proc p where p.oid = $1::regprocedure`,
        [name],
      )
      expect(row, name).toEqual({
        prosecdef: true,
        proconfig: ['search_path=pg_catalog, pg_temp'],
        callers: false,
        anonymous: false,
      })
    }
  })
})

test('outbox › partial record › sends a gap to every stream of its table and to no other', async () => {
  const token = userToken({ sub: alice })
  await using concerned = await openEventStream(app.url, 'tables=item,pair', { token })
  await using other = await openEventStream(app.url, 'tables=pair', { token })
  await append('{"id":1}', ['public', 'item', 'create', 'record'], true)
  await append('{"a":1,"b":"x"}', ['public', 'pair', 'create', 'record'])
  await concerned.next(1)
  await other.next(1)
  const event = { action: 'create', table: 'pair', record: { a: 1, b: 'x' } }
  expect([concerned.messages, other.messages]).toEqual([[event], [event]])
  expect(concerned.events.map(({ name }) => name)).toContain('gap')
  expect(other.events.map(({ name }) => name)).not.toContain('gap')
})
