import { afterAll, beforeAll, expect, test } from 'vitest'
import { alice } from '../../../test/fixtures.ts'
import { basaltHere } from '../../../test/terminal.ts'
import { createTestApp, type TestApp } from '../../../test/test-app.ts'
import { testSecret } from '../../../test/test-config.ts'

let app: TestApp
let env: Record<string, string>

beforeAll(async () => {
  app = await createTestApp({ setup: 'create table item (id int primary key)' })
  await app.sql('insert into basalt.users (id) values ($1)', [alice])
  env = { BASALT_DATABASE_URL: app.database.url, BASALT_AUTH_JWT_SECRET: testSecret }
})
afterAll(() => app[Symbol.asyncDispose]())

const run = (...args: string[]) => basaltHere(args, { env })
const statusOf = async (token: string) =>
  (await app.request('GET', '/api/collections/item', { token })).status

test('basalt apps and basalt keys › create objects that the server accepts, list them and revoke them', async () => {
  const made = await run('apps', 'create', 'nightly', '--owner', alice, '--limit', '100', '--json')
  expect([made.code, made.stderr]).toEqual([0, ''])
  const { id: appId } = JSON.parse(made.stdout)
  const apps = await run('apps', 'list')
  expect(apps.stdout).toMatch(new RegExp(`^${appId}  nightly  100 in 60 s  [-\\dT:.]+Z$`, 'm'))
  const created = await run(
    'keys',
    'create',
    'export',
    '--user',
    alice,
    '--app',
    appId,
    '--tables',
    'item, other',
    '--actions',
    'sms:send, email:send',
  )
  const key = created.stdout.trim()
  expect(await statusOf(key)).toBe(200)
  const [listed] = JSON.parse((await run('keys', 'list', '--json')).stdout)
  expect(listed).toMatchObject({
    name: 'export',
    appId,
    allowedTables: ['item', 'other'],
    actions: ['email:send', 'sms:send'],
  })
  expect((await run('keys', 'list')).stdout).toContain(key.slice(0, 19))
  const rotated = await run('keys', 'rotate', listed.id, '--grace', '600')
  expect(await statusOf(rotated.stdout.trim())).toBe(200)
  expect(await run('keys', 'revoke', listed.id)).toEqual({ code: 0, stdout: '', stderr: '' })
  expect(await run('apps', 'delete', appId)).toEqual({ code: 0, stdout: '', stderr: '' })
  const actors = await app.sql(`select distinct actor from basalt.audit where action ~ '^(apps|api_keys)\\.'`)
  expect(actors).toEqual([{ actor: 'command line' }])
})

test.each([
  [['keys', 'revoke', alice], 1, 'api key not found'],
  [['keys', 'create', 'k', '--user', 'x'], 1, 'invalid userId format'],
  [
    ['keys', 'create', 'k', '--user', alice, '--actions', 'mail:send'],
    1,
    'actions: "mail:send" is not one of email:send, sms:send, push:send, function:<name>',
  ],
  [['apps', 'delete', 'x'], 1, 'invalid app id format'],
  [['keys', 'rotate', alice, '--grace', '1h'], 2, '--grace: expected a non-negative integer'],
])('basalt %j › fails in one line', async (args, code, message) => {
  expect(await run(...args)).toEqual({ code, stdout: '', stderr: `basalt: ${message}\n` })
})
