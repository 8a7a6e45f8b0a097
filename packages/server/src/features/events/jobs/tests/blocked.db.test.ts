import { expect, test } from 'vitest'
import { openTransaction, waitForJobs } from '../../../../../test/account-nodes.ts'
import { createTestApp } from '../../../../../test/test-app.ts'

test('jobs › leave connections to sign-in and health while they wait for a lock', async () => {
  await using app = await createTestApp({ config: { 'database.max_conns': '20' } })
  const token = await app.adminToken()
  await using holder = await openTransaction(app.database)
  await holder.sql('lock table basalt.idempotency_keys')
  for (let count = 0; count < 6; count += 1) {
    const body = { type: 'idempotency_key_cleanup' }
    expect((await app.request('POST', '/api/admin/jobs', { token, body })).status).toBe(201)
  }
  // Waits until the jobs hold all but one of the connections reserved for the system, a fifth of the pool.
  await holder.waitForBlocked(3)
  const signUp = { email: 'new@example.com', password: 'a long password 123' }
  expect((await app.request('POST', '/api/auth/register', { body: signUp })).status).toBe(201)
  expect((await app.request('GET', '/health')).json).toEqual({ status: 'ok', database: 'ok' })
  await holder.commit()
  await waitForJobs(app)
})
