import pg from 'pg'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

test('GET /health › reports that the server runs and the database responds', async () => {
  await using app = await createTestApp()
  const response = await app.request('GET', '/health')
  expect(response.status).toBe(200)
  expect(response.json).toEqual({ status: 'ok', database: 'ok' })
})

test('GET /health › responds correctly while requests use every connection of the pools', async () => {
  await using app = await createTestApp({ config: { 'database.max_conns': '4' } })
  const client = new pg.Client(app.database.url)
  await client.connect()
  await client.query('begin; lock table basalt.users in access exclusive mode')
  const signIns = Array.from({ length: 40 }, (_, index) =>
    app.request('POST', '/api/auth/login', { body: { email: `${index}@example.com`, password: 'x' } }),
  )
  const lockWaits = async () => {
    const [row] = await app.sql<{ waiting: number }>(
      `select count(*) filter (where wait_event_type = 'Lock')::int as waiting
       from pg_stat_activity where datname = current_database()`,
    )
    return row
  }
  await waitFor('the pool to be in use', async () => ((await lockWaits())?.waiting ?? 0) >= 2)
  const answers = await Promise.all(Array.from({ length: 20 }, () => app.request('GET', '/health')))
  expect(answers.map(({ json }) => json)).toEqual(Array(20).fill({ status: 'ok', database: 'ok' }))
  await client.end()
  await Promise.all(signIns)
})
