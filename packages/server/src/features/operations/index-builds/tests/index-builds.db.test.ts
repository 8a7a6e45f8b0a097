import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../../../test/test-app.ts'
import { buildPendingIndexes } from '../build.ts'

describe('index builds', () => {
  let app: TestApp

  beforeAll(async () => {
    app = await createTestApp({
      setup: `
        create table basalt.large (id int, name text);
        insert into basalt.large select n, 'name ' || n from generate_series(1, 100000) n;
        create table basalt.small (id int, name text);
        create index large_old on basalt.large (id)`,
    })
  })
  afterAll(() => app[Symbol.asyncDispose]())
  beforeEach(() =>
    app.sql(`delete from basalt.index_builds; drop index if exists basalt.large_new, basalt.small_new`),
  )

  const build = () =>
    buildPendingIndexes({
      ...app.app.database,
      log: pino({ level: 'silent' }),
      signal: new AbortController().signal,
    })
  const listIndexes = async () =>
    (
      await app.sql(`
        select c.relname as name, i.indisvalid as is_valid from pg_index i join pg_class c on c.oid = i.indexrelid
        where i.indrelid in ('basalt.large'::regclass, 'basalt.small'::regclass) order by 1`)
    ).map(({ name, is_valid }) => `${name}${is_valid === true ? '' : ' (invalid)'}`)
  const pending = async () => (await app.sql('select name from basalt.index_builds')).map(({ name }) => name)

  test('defer the index of a large table, not that of a small one', async () => {
    await app.sql(`
      select basalt.add_index('small', 'small_new', '(name)');
      select basalt.add_index('large', 'large_new', '(name)', replaces => 'large_old')`)
    expect(await listIndexes()).toEqual(['large_old', 'small_new'])
    expect(await pending()).toEqual(['large_new'])
  })

  test('create the deferred index on one node, and drop the one that it replaces', async () => {
    await app.sql(`
      select basalt.add_index('large', 'large_new', '(name)', replaces => 'large_old')`)
    expect(await build()).toBe(true)
    expect(await listIndexes()).toEqual(['large_new'])
    expect(await pending()).toEqual([])
    await app.sql('create index large_old on basalt.large (id)')
  })

  test('restart after an interruption', async () => {
    await app.sql(`
      select basalt.add_index('large', 'large_new', '(name)');
      create index large_new on basalt.large (name);
      update pg_index set indisvalid = false where indexrelid = 'basalt.large_new'::regclass`)
    expect(await listIndexes()).toEqual(['large_new (invalid)', 'large_old'])
    expect(await build()).toBe(true)
    expect(await listIndexes()).toEqual(['large_new', 'large_old'])
  })

  test('run on one node at a time', async () => {
    await app.sql(`select basalt.add_index('large', 'large_new', '(name)')`)
    const results = await Promise.all([build(), build(), build()])
    expect(results.toSorted()).toContain(true)
    expect(await listIndexes()).toEqual(['large_new', 'large_old'])
    expect(await pending()).toEqual([])
  })
})
