import { afterAll, beforeAll, expect, test } from 'vitest'
import { basaltHere } from '../../../test/terminal.ts'
import { createTestApp, type TestApp } from '../../../test/test-app.ts'
import { testSecret } from '../../../test/test-config.ts'

let app: TestApp
let env: Record<string, string>

beforeAll(async () => {
  app = await createTestApp({ setup: 'create table item (id int primary key, title text)' })
  env = { BASALT_DATABASE_URL: app.database.url, BASALT_AUTH_JWT_SECRET: testSecret }
})
afterAll(() => app[Symbol.asyncDispose]())

test.each([
  ['search', 'enable', { built: [expect.any(String)], dropped: [], durationMs: expect.any(Number) }],
  ['search', 'disable', { built: [], dropped: [expect.any(String)], durationMs: expect.any(Number) }],
])('basalt %s %s › is in the audit', async (group, name, detail) => {
  const { code, stderr } = await basaltHere([group, name, 'item'], { env })
  expect([code, stderr]).toEqual([0, ''])
  const rows = await app.sql('select actor, action, target, detail from basalt.audit where action = $1', [
    `${group}.${name}`,
  ])
  expect(rows).toEqual([{ actor: 'command line', action: `${group}.${name}`, target: 'item', detail }])
})
