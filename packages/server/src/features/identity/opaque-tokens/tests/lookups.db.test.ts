import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createApiKey } from '../../../../../test/api-keys.ts'
import { alice } from '../../../../../test/fixtures.ts'
import { createTestApp, type TestApp } from '../../../../../test/test-app.ts'
import { hashToken } from '../../../../lib/tokens.ts'
import { openApiKeys } from '../../api-keys/opened-key.ts'
import { TokenLookups } from '../lookups.ts'

let app: TestApp

beforeAll(async () => {
  app = await createTestApp()
  await app.sql('insert into basalt.users (id) values ($1)', [alice])
})
afterAll(() => app[Symbol.asyncDispose]())

const madeUp = () => randomBytes(32).toString('hex')

test('opaque tokens › lookups › send a few statements for 10,000 invented keys and a valid one', async () => {
  const { system } = app.app.database
  let statements = 0
  const lookups = new TokenLookups((hashes) => {
    statements += 1
    return openApiKeys(system, hashes)
  })
  const { key, apiKey } = await createApiKey(app, { userId: alice })
  const hashes = [...Array.from({ length: 10_000 }, madeUp), hashToken(key).toString('hex')]
  const found = await Promise.all(hashes.map((hash) => lookups.find(hash)))
  expect(found.flatMap((each) => (each === undefined ? [] : [each.id]))).toEqual([apiKey.id])
  expect(statements).toBeLessThanOrEqual(21)
})

test('opaque tokens › lookups › bound the waiting tokens, and reject them when the database fails', async () => {
  const failed = Promise.withResolvers<never[]>()
  const lookups = new TokenLookups(() => failed.promise)
  const waiting = Array.from({ length: 20_001 }, () => lookups.find(madeUp()))
  const settled = Promise.allSettled(waiting)
  await expect(waiting.at(-1)).rejects.toMatchObject({ kind: 'too_many_requests' })
  failed.reject(new Error('the database is unavailable'))
  const reasons = (await settled).map((each) => (each.status === 'rejected' ? each.reason.message : ''))
  expect(reasons.filter((reason) => reason === 'the database is unavailable')).toHaveLength(20_000)
})
