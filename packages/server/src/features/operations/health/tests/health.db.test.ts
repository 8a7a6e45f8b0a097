import { expect, test } from 'vitest'
import { createTestApp } from '../../../../../test/test-app.ts'

test('GET /health answers that the server runs and the database answers', async () => {
  await using app = await createTestApp()
  const response = await app.request('GET', '/health')
  expect(response.status).toBe(200)
  expect(response.json).toEqual({ status: 'ok', database: 'ok' })
})
