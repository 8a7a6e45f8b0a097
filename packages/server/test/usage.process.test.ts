import { expect, test } from 'vitest'
import { sendRequest } from './send-request.ts'
import { startServer } from './server-process.ts'
import { createTestDatabase } from './test-app.ts'
import { waitFor } from './wait-for.ts'

test('usage › a killed node loses only what it has counted since its last batch', async () => {
  await using database = await createTestDatabase()
  const start = () => startServer({ config: { 'database.url': database.url } })
  const request = async (url: string, times: number) => {
    for (let count = 0; count < times; count += 1) {
      expect((await sendRequest('GET', `${url}/api/schema`)).status).toBe(401)
    }
  }
  const stored = async () => {
    const [row] = await database.sql<{ count: number }>(`
      select coalesce(sum(requests), 0)::int as count from basalt.usage_endpoints
      where endpoint = 'GET /api/schema'`)
    return row?.count ?? 0
  }
  const killed = await start()
  await request(killed.url, 20)
  await waitFor('the first batch', async () => (await stored()) === 20)
  await request(killed.url, 3)
  expect(await killed.stop('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' })
  expect(await stored()).toBeGreaterThanOrEqual(20)
  await using survivor = await start()
  const before = await stored()
  await request(survivor.url, 5)
  await waitFor('the batch of the other node', async () => (await stored()) === before + 5)
  // A node that stops in order loses nothing.
  await request(survivor.url, 2)
  await survivor.stop()
  expect(await stored()).toBe(before + 7)
})
