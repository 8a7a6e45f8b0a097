import { tmpdir } from 'node:os'
import type { Config } from '../src/configuration.ts'
import { loadConfig } from '../src/configuration.ts'

/** Key of the access tokens in tests. */
export const testSecret = 'test-secret-of-at-least-thirty-two-characters'
export const testAdminPassword = 'correct horse battery staple'

/** A configuration for tests; keys as in the file, values as in the environment. */
export function testConfig(overrides: Readonly<Record<string, string>>): Config {
  const flags = {
    'server.port': '0',
    'auth.jwt_secret': testSecret,
    'admin.password': testAdminPassword,
    'logging.level': 'error',
    // Test databases are external ones; tests of what that closes set it.
    'database.require_rls': 'false',
    'database.max_conns': '10',
    // What a busy machine makes late is not refused; tests of these limits set their own.
    'database.acquire_timeout_ms': '60000',
    'database.statement_timeout_ms': '60000',
    ...overrides,
  }
  return loadConfig({ directory: tmpdir(), env: {}, flags }).config
}
