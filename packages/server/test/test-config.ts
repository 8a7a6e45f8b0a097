import { tmpdir } from 'node:os'
import type { Config } from '../src/configuration.ts'
import { loadConfig } from '../src/configuration.ts'

/** Key of the access tokens in tests. */
export const testSecret = 'test-secret-of-at-least-thirty-two-characters'
export const testAdminPassword = 'correct horse battery staple'

/** Makes a configuration for tests, with keys as in the file and values as in the environment. */
export function testConfig(overrides: Readonly<Record<string, string>>): Config {
  return loadConfig({ directory: tmpdir(), env: {}, flags: testFlags(overrides) }).config
}

/** Returns the values of {@link testConfig} by key. */
export function testFlags(overrides: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return {
    'server.port': '0',
    'auth.jwt_secret': testSecret,
    'admin.password': testAdminPassword,
    'logging.level': 'error',
    // A checkout may have a built site.
    'docs.site': 'false',
    // Test databases are external ones. Tests of row-level security that is required set the key.
    'database.require_rls': 'false',
    'database.max_conns': '10',
    // Delays of a loaded machine must not reject requests. Tests of these limits set their own.
    'database.acquire_timeout_ms': '60000',
    'database.statement_timeout_ms': '60000',
    ...overrides,
  }
}
