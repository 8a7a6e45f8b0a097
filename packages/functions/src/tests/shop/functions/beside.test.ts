import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testDatabase } from '@basaltdb/functions/testing'
import { checkout } from './shop.ts'

// It runs at the same time as shop.test.ts, with the same user and products.
test('has a database of its own, and rejects a call after its end', async () => {
  const database = await testDatabase()
  const ann = await database.createUser({
    id: '11111111-1111-4111-8111-111111111111',
    email: 'ann@example.com',
  })
  const { result } = await database.call(checkout, { as: ann.id, input: { product_id: 2, quantity: 1 } })
  assert.equal(result.total, 30)
  await database.close()
  await assert.rejects(database.call(checkout, { input: { product_id: 2, quantity: 1 } }), /closed/)
})
