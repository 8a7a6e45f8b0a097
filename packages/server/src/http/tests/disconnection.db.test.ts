import { expect, test } from 'vitest'
import { alice } from '../../../test/fixtures.ts'
import { sendRequest } from '../../../test/send-request.ts'
import { createTestApp, userToken } from '../../../test/test-app.ts'
import { waitFor } from '../../../test/wait-for.ts'

test('disconnected client › has its request cancelled, without a failure in the log', async () => {
  await using app = await createTestApp({
    setup: `create view long_nap as select 'rested' as state from pg_sleep(60)`,
    config: { 'database.max_conns': '4' },
  })
  const napping = async () => {
    const [found] = await app.sql<{ count: number }>(
      `select count(*)::int from pg_stat_activity
       where datname = current_database() and state = 'active' and pid <> pg_backend_pid() and query ~ 'long_nap'`,
    )
    return found?.count ?? 0
  }
  const token = userToken({ sub: alice })
  const leaving = new AbortController()
  const list = `${app.url}/api/collections/long_nap?skipTotal=true`
  // There are more than connections: some requests wait for one when their clients disconnect.
  const left = Array.from({ length: 12 }, () =>
    sendRequest('GET', list, { token, signal: leaving.signal }).then(
      () => 'answered',
      () => 'left',
    ),
  )
  await waitFor('the statements', async () => (await napping()) === 2)
  leaving.abort()
  expect(new Set(await Promise.all(left))).toEqual(new Set(['left']))
  await waitFor('the statements to end', async () => (await napping()) === 0)
  await waitFor('an idle pool', () => {
    const { busy, waiting } = app.app.database.user.stats
    return busy === 0 && waiting === 0
  })
  expect((await app.request('GET', '/health')).status).toBe(200)
  expect(app.log.filter((line) => line.includes('request failed'))).toEqual([])
})
