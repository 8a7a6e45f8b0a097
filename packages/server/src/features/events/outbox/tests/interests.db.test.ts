import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestNotifications } from '../../../../../test/notifications.ts'
import { createTestApp, type TestApp } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import type { ChangeAction } from '../../../../database/change-log.ts'
import type { Notifications } from '../../../../database/notifications/notifications.ts'
import { Interests } from '../index.ts'

let app: TestApp
let notifications: Notifications
let interests: Interests

beforeAll(async () => {
  app = await createTestApp()
})
beforeEach(async () => {
  await app.sql('delete from basalt.webhooks')
  notifications = createTestNotifications(app.app.database.system)
  interests = new Interests(notifications)
  await notifications.start()
})
afterEach(() => notifications.stop())
afterAll(() => app[Symbol.asyncDispose]())

function listen(events: readonly ChangeAction[], tables: readonly string[], enabled = true) {
  return app.sql(
    `insert into basalt.webhooks (id, url, events, tables, enabled)
      values (gen_random_uuid(), 'http://x/', $1, $2, $3)`,
    [events, tables, enabled],
  )
}

/** Of these tables and all actions, what has listeners. */
function listened(...tables: readonly string[]): string[] {
  const actions = ['create', 'update', 'delete'] as const
  return tables.flatMap((table) =>
    actions.filter((action) => interests.has(table, action)).map((action) => `${action} ${table}`),
  )
}

test('are those of every enabled listener, of all tables where it names none', async () => {
  await interests.refresh()
  expect(listened('item', 'place')).toEqual([])
  await listen(['create', 'update'], ['item', 'Odd "t"'])
  await listen(['update'], ['place'])
  await listen(['create', 'update', 'delete'], [], false)
  await interests.refresh()
  expect(listened('item', 'place', 'Odd "t"', 'other')).toEqual([
    'create item',
    'update item',
    'update place',
    'create Odd "t"',
    'update Odd "t"',
  ])
  await listen(['delete'], [])
  await interests.refresh()
  expect(listened('place', 'other')).toEqual(['update place', 'delete place', 'delete other'])
})

test('are everything without news', async () => {
  expect(listened('item')).toEqual([])
  await notifications.stop()
  await waitFor('the node to know that it does not know', () => listened('item').length === 3)
  expect(new Interests(createTestNotifications(app.app.database.system)).has('item', 'create')).toBe(true)
})

test('are read again and again, and in force on every node when they have settled', async () => {
  await listen(['create'], ['item'])
  await waitFor('the listener to be known', () => listened('item').length > 0)
  await using loop = createTestNotifications(app.app.database.system)
  const other = new Interests(loop)
  await loop.start()
  await app.sql('delete from basalt.webhooks')
  await other.settled()
  expect(listened('item')).toEqual([])
})

test('are those of a commit when the refresh after it resolves', async () => {
  for (let i = 0; i < 10; i += 1) {
    await listen(['create'], [`item ${i}`])
    await interests.refresh()
    expect(listened(`item ${i}`)).toEqual([`create item ${i}`])
  }
})
