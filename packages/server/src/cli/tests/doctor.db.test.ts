import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { basaltHere } from '../../../test/terminal.ts'
import { createTestApp, type TestApp } from '../../../test/test-app.ts'
import { testSecret } from '../../../test/test-config.ts'

let app: TestApp
let env: Record<string, string>

beforeAll(async () => {
  app = await createTestApp({ setup: 'create table open (id int primary key)' })
  env = {
    BASALT_DATABASE_URL: app.database.url,
    BASALT_DATABASE_REQUIRE_RLS: 'true',
    BASALT_AUTH_JWT_SECRET: testSecret,
    BASALT_AUTH_ENCRYPTION_KEY: 'ab'.repeat(32),
    BASALT_EMAIL_BACKEND: 'webhook',
    BASALT_EMAIL_WEBHOOK_URL: 'http://127.0.0.1:9/mail',
    BASALT_SERVER_PUBLIC_BASE_URL: app.url,
  }
})
afterAll(() => app[Symbol.asyncDispose]())

const run = (args: readonly string[], others: Record<string, string> = {}) =>
  basaltHere(['doctor', ...args], { env: { ...env, ...others } })

/** Returns a fingerprint of everything that a start would prepare. */
async function stateOf() {
  return await app.sql(`
    select (select json_agg(s order by key) from basalt.settings s) as settings,
      (select json_agg(m order by version) from basalt.migrations m) as migrations,
      (select json_agg(o) from basalt.opened_schemas o) as opened,
      (select count(*) from basalt.admin_sessions) as sessions,
      (select count(*) from basalt.audit) as audit,
      (select json_agg(row(rolname, rolsuper, rolbypassrls, rolcanlogin) order by rolname) from pg_roles) as roles`)
}

describe('basalt doctor', () => {
  test('prints every finding, exits with 0 after warnings and with 1 with --strict', async () => {
    const result = await run([])
    expect(result.stderr).toBe('')
    expect(result.stdout).toMatch(/^ok +database +connected to /m)
    expect(result.stdout).toMatch(/^ok +policies +the context of a caller is in force/m)
    expect(result.stdout).toMatch(
      /^ok +policies\.tables +\d+ relations without policies are closed to callers \(/m,
    )
    expect(result.stdout).toMatch(/^warning +roles\.login +\w+, the login of database\.url, is a superuser/m)
    expect(result.stdout).toMatch(/\n +→ alter role \w+ nosuperuser createrole;\n/)
    expect(result.stdout).toMatch(/\n\n\d+ warnings?, \d+ ok, \d+ skipped\n$/)
    expect(result.stdout).not.toContain('\x1b')
    expect(result.code).toBe(0)
    expect((await run(['--strict'])).code).toBe(1)
  })

  test('--json prints the findings, each once', async () => {
    const { code, stdout, stderr } = await run(['--json'])
    const report = JSON.parse(stdout)
    expect({ code, stderr, status: report.status }).toEqual({ code: 0, stderr: '', status: 'warning' })
    const ids = report.findings.map(({ id }: { id: string }) => id)
    expect(ids).toEqual([...new Set(ids)])
    expect(ids).toEqual(
      expect.arrayContaining([
        ...['server', 'database', 'engine.version', 'pooler', 'listen', 'roles.gateway', 'policies', 'keys'],
        ...['migrations', 'clock', 'connections', 'backup', 'disk.data', 'mail', 'public_url', 'tls'],
        ...['event_streams', 'websockets', 'body_limit', 'forwarded_headers'],
      ]),
    )
    for (const finding of report.findings) {
      expect(Object.keys(finding)).toEqual(['id', 'status', 'message', 'fix'])
      if (finding.status === 'warning') expect(finding.fix).toEqual(expect.any(String))
    }
    const { ok, warning, failure, skipped } = report.counts
    expect(ok + warning + failure + skipped).toBe(ids.length)
  })

  test('changes nothing in the database', async () => {
    const before = await stateOf()
    await run([])
    expect(await stateOf()).toEqual(before)
  })

  test('exits with 1 and prints no password if the database cannot be reached', async () => {
    const url = 'postgresql://app:hidden-word@127.0.0.1:9/shop'
    const { code, stdout, stderr } = await run([], { BASALT_DATABASE_URL: url })
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
    expect(stdout).toMatch(/^failure +database +cannot reach the database at 127\.0\.0\.1:9\/shop: /m)
    expect(stdout).toMatch(/^skipped +policies +the database cannot be reached$/m)
    expect(stdout).not.toContain('hidden-word')
  })

  test('exits with 2 on an invalid configuration', async () => {
    expect((await run([], { BASALT_SERVER_BODY_LIMIT: 'much' })).code).toBe(2)
  })

  test('ends a check that waits for a locked table, and finishes the others', async () => {
    const lock = app.sql(`
      begin; lock table basalt.settings, basalt.migrations, basalt.requests; select pg_sleep(8); rollback`)
    const { stdout } = await run(['--json'])
    await lock
    const { findings } = JSON.parse(stdout)
    const stuck = findings.find(({ id }: { id: string }) => id === 'migrations')
    expect(stuck).toMatchObject({
      status: 'failure',
      message: 'canceling statement due to statement timeout',
    })
  })
})
