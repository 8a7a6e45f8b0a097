import { expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../../../test/test-app.ts'

/** Returns the log of a script, after the catalog was refreshed. */
async function loggedOf(app: TestApp, script: string): Promise<Record<string, unknown>[]> {
  const before = app.log.length
  await app.sql(script)
  await app.app.catalog.refresh()
  return app.log.slice(before).map((line) => JSON.parse(line))
}

const forPeople = { 'logging.format': 'pretty' }

test('schema change log › lists for a terminal what was created, altered and dropped, and whether it is open', async () => {
  await using app = await createTestApp({ config: forPeople })
  const shown = async (script: string) => (await loggedOf(app, script)).map(({ level, msg }) => [level, msg])
  const open = 'open to every signed-in caller: enable row-level security on it'
  expect(await shown('create table invoice (id int primary key)')).toEqual([
    [40, `table invoice created, ${open}`],
  ])
  expect(await shown('alter table invoice enable row level security')).toEqual([
    [30, 'table invoice altered, with row-level security'],
  ])
  expect(await shown('create policy own on invoice using (true)')).toEqual([
    [30, 'table invoice altered, with row-level security'],
  ])
  expect(await shown('alter table invoice disable row level security, add column total numeric')).toEqual([
    [40, `table invoice altered, ${open}`],
  ])
  expect(await shown('revoke all on invoice from basalt_authenticated')).toEqual([
    [30, 'table invoice altered'],
  ])
  expect(await shown('create materialized view sums as select 1 as one; drop table invoice')).toEqual([
    [30, 'table invoice dropped'],
    [30, 'materialized view sums created'],
  ])
  expect(await shown('create function answer() returns int language sql as $$select 42$$')).toEqual([])
})

test('schema change log › has fields for programs', async () => {
  await using app = await createTestApp()
  const fields = { collection: 'invoice', kind: 'table', msg: 'schema changed' }
  expect(await loggedOf(app, 'create table invoice ()')).toMatchObject([
    { ...fields, level: 40, change: 'created', isUnguarded: true },
  ])
  expect(await loggedOf(app, 'drop table invoice')).toMatchObject([
    { ...fields, level: 30, change: 'dropped', isUnguarded: false },
  ])
})

test('schema change log › takes twenty-one lines for a migration of many tables', async () => {
  await using app = await createTestApp({ config: forPeople })
  const script = Array.from({ length: 30 }, (_, n) => `create table t${n} ();`).join('')
  const lines = await loggedOf(app, script)
  expect(lines).toHaveLength(21)
  expect(lines.at(-1)).toMatchObject({ msg: '10 more relations were created, altered or dropped' })
})

test('schema change log › calls nothing open while auth.enabled is false', async () => {
  await using app = await createTestApp({ config: { ...forPeople, 'auth.enabled': 'false' } })
  expect(await loggedOf(app, 'create table invoice ()')).toMatchObject([
    { level: 30, msg: 'table invoice created' },
  ])
})
