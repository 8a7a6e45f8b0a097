import { expect, test } from 'vitest'
import { loadConfig } from '../configuration.ts'
import { requireReloadable } from './fixed-keys.ts'

function configOf(flags: Readonly<Record<string, string>> = {}) {
  return loadConfig({ directory: '/nowhere', env: {}, flags: { 'server.workers': '2', ...flags } }).config
}

const url = 'postgresql://localhost/shop'

test.each([
  { 'server.workers': '3' },
  { 'database.max_conns': '30' },
  { 'logging.level': 'warn' },
  { 'server.body_limit': '2000' },
])('reloads › change %j', (flags) => {
  expect(() => requireReloadable(configOf(), configOf(flags))).not.toThrow()
})

test('reloads › change the address, password and branch of an external database', () => {
  const [before, after] = [url, 'postgresql://other:secret@localhost/shop'].map((each) =>
    configOf({
      'database.url': each,
      'database.branch': each === url ? '' : 'draft',
      'auth.jwt_secret': 'x'.repeat(32),
    }),
  )
  if (before === undefined || after === undefined) throw new Error('no configuration')
  expect(() => requireReloadable(before, after)).not.toThrow()
})

test.each([
  ['server.host', '127.0.0.2'],
  ['server.port', '9000'],
  ['server.data_dir', '/elsewhere'],
  ['server.workers', '1'],
  ['admin.listen', '127.0.0.1:9001'],
  ['database.embedded_port', '9002'],
  ['database.branch', 'draft'],
  ['logging.format', 'json'],
])('reloads › need a restart for %s, and name it', (key, value) => {
  expect(() => requireReloadable(configOf(), configOf({ [key]: value }))).toThrow(
    new RegExp(`^restart needed: ${key} has changed \\([^()]+\\)$`),
  )
})

test('reloads › need a restart from the embedded database to an external one', () => {
  const external = configOf({ 'database.url': url, 'auth.jwt_secret': 'x'.repeat(32) })
  expect(() => requireReloadable(configOf(), external)).toThrow(
    /^restart needed: database\.url has changed \(the embedded PostgreSQL belongs to the parent\)$/,
  )
})
