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

/** Lists the actions of these tables that have listeners. */
function listActions(...tables: readonly string[]): string[] {
  const actions = ['create', 'update', 'delete'] as const
  return tables.flatMap((table) =>
    actions.filter((action) => interests.has(table, action)).map((action) => `${action} ${table}`),
  )
}

test('interests › include those of every enabled listener, on all tables if it names none', async () => {
  await interests.refresh()
  expect(listActions('item', 'spot')).toEqual([])
  await listen(['create', 'update'], ['item', 'Odd "t"'])
  await listen(['update'], ['spot'])
  await listen(['create', 'update', 'delete'], [], false)
  await interests.refresh()
  expect(listActions('item', 'spot', 'Odd "t"', 'other')).toEqual([
    'create item',
    'update item',
    'update spot',
    'create Odd "t"',
    'update Odd "t"',
  ])
  await listen(['delete'], [])
  await interests.refresh()
  expect(listActions('spot', 'other')).toEqual(['update spot', 'delete spot', 'delete other'])
})

test('interests › cover everything once a node has no current knowledge', async () => {
  expect(listActions('item')).toEqual([])
  await notifications.stop()
  await waitFor('the knowledge to become stale', () => listActions('item').length === 3)
  expect(new Interests(createTestNotifications(app.app.database.system)).has('item', 'create')).toBe(true)
})

test('interests › are polled, and are in force on every node once they have settled', async () => {
  await listen(['create'], ['item'])
  await waitFor('the listener to be known', () => listActions('item').length > 0)
  await using loop = createTestNotifications(app.app.database.system)
  const other = new Interests(loop)
  await loop.start()
  await app.sql('delete from basalt.webhooks')
  await other.settled()
  expect(listActions('item')).toEqual([])
})

test('interests › include those of a commit once the refresh after it resolves', async () => {
  for (let i = 0; i < 10; i += 1) {
    await listen(['create'], [`item ${i}`])
    await interests.refresh()
    expect(listActions(`item ${i}`)).toEqual([`create item ${i}`])
  }
})
