import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../../test/test-app.ts'
import { waitFor } from '../../../../test/wait-for.ts'
import type { ChangeAction } from '../../../database/change-log.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { Interests } from './index.ts'

let app: TestApp
let interests: Interests

beforeAll(async () => {
  app = await createTestApp()
})
beforeEach(async () => {
  await app.sql('delete from basalt.webhooks')
  interests = new Interests(app.app.database.system, silentLog)
})
afterAll(() => app[Symbol.asyncDispose]())

const silentLog = { warn: () => undefined } as unknown as ConstructorParameters<typeof Interests>[1]

function listen(events: readonly ChangeAction[], tables: readonly string[], enabled = true) {
  return app.sql(
    `insert into basalt.webhooks (id, url, events, tables, enabled)
      values (gen_random_uuid(), 'http://x/', $1, $2, $3)`,
    [events, tables, enabled],
  )
}

/** Of these tables and all actions, what has a listener. */
function heard(...tables: readonly string[]): string[] {
  const actions = ['create', 'update', 'delete'] as const
  return tables.flatMap((table) =>
    actions.filter((action) => interests.has(table, action)).map((action) => `${action} ${table}`),
  )
}

test('are those of every enabled listener, of all tables where it names none', async () => {
  await interests.refresh()
  expect(heard('item', 'place')).toEqual([])
  await listen(['create', 'update'], ['item', 'Odd "t"'])
  await listen(['update'], ['place'])
  await listen(['create', 'update', 'delete'], [], false)
  await interests.refresh()
  expect(heard('item', 'place', 'Odd "t"', 'other')).toEqual([
    'create item',
    'update item',
    'update place',
    'create Odd "t"',
    'update Odd "t"',
  ])
  await listen(['delete'], [])
  await interests.refresh()
  expect(heard('place', 'other')).toEqual(['update place', 'delete place', 'delete other'])
})

test('are everything without news', async () => {
  await interests.refresh()
  expect(heard('item')).toEqual([])
  await delay(460)
  expect(heard('item')).toEqual(['create item', 'update item', 'delete item'])
  expect(new Interests(app.app.database.system, silentLog).has('item', 'create')).toBe(true)
})

test('are read again and again, and in force everywhere when they have settled', async () => {
  await interests.start()
  try {
    await listen(['create'], ['item'])
    await waitFor('the listener to be known', () => heard('item').length > 0)
    await app.sql('delete from basalt.webhooks')
    const other = new Interests(app.app.database.system, silentLog)
    await other.settled()
    expect(heard('item')).toEqual([])
  } finally {
    interests.stop()
  }
})

test('stay those of the later of two reads, whichever ends first', async () => {
  const reads: ((rows: object[]) => void)[] = []
  const slow = { many: () => new Promise((resolve) => reads.push(resolve)) } as unknown as SystemDatabase
  interests = new Interests(slow, silentLog)
  const earlier = interests.refresh()
  await delay(2)
  const later = interests.refresh()
  reads[1]?.([{ actions: ['create'], tables: ['item'] }])
  await later
  reads[0]?.([])
  await earlier
  expect(heard('item')).toEqual(['create item'])
})
