import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { notes } from '../../../test/fixtures.ts'
import { basaltHere, createTerminal } from '../../../test/terminal.ts'
import { createTestApp, type TestApp } from '../../../test/test-app.ts'
import { testConfig, testSecret } from '../../../test/test-config.ts'
import { waitFor } from '../../../test/wait-for.ts'
import { reportStart } from '../../start-report.ts'
import { announce } from '../announcement.ts'

/** Returns the output after a start: to a person, or to a reader of the log. */
async function announced(app: TestApp, isTTY: boolean, overrides: Record<string, string> = {}) {
  const terminal = createTerminal([], {}, isTTY)
  const lines: Record<string, unknown>[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const config = testConfig({ 'database.url': app.database.url, ...overrides })
  const { storedLog } = app.app
  const command = 'basalt start'
  announce({ terminal, command, ...reportStart(app.app, config), config, log, storedLog, startupMs: 123.4 })
  await new Promise<void>((resolve) => terminal.stdout.end(() => resolve()))
  return { text: terminal.output.stdout, lines }
}

test('start › shows a person where everything is, and the tables without policies', async () => {
  await using app = await createTestApp({
    setup: `${notes} create table open_door (id int); create table locked (id int);
      revoke all on locked from basalt_authenticated;
      create view peephole as select 1 as one`,
  })
  const { text, lines } = await announced(app, true)
  expect(lines).toEqual([])
  expect(text).toContain(`Basalt listens on ${app.url}  (ready in 123 ms)`)
  expect(text).toContain(`Reference   ${app.url}/api/docs\n`)
  expect(text).toContain('Tables      4\n')
  expect(text).toMatch(/Database +external, PostgreSQL \d+/)
  expect(text).toContain('without row-level security, open to every signed-in caller: open_door\n')
  expect(text).not.toMatch(/password|postgres@|horse/)
  await waitFor('the same in the stored log', async () => {
    const [entry] = await app.sql("select attrs from basalt.logs where message = 'listening'")
    return entry?.attrs.url === app.url
  })

  const open = await announced(app, true, { 'auth.enabled': 'false' })
  expect(open.text).toContain('auth.enabled is false: everybody who reaches the port owns the data')
})

test('start › logs the same on one line', async () => {
  await using app = await createTestApp({ setup: notes })
  const { text, lines } = await announced(app, false)
  expect(text).toBe('')
  expect(lines).toEqual([
    expect.objectContaining({
      msg: 'listening',
      command: 'basalt start',
      url: app.url,
      tables: 1,
      tablesWithoutRls: [],
      publicTablesWithoutRls: [],
      definersWithoutSearchPath: [],
      functionsOfPublic: [],
      startupMs: 123,
    }),
  ])
  expect((await announced(app, true, { 'logging.format': 'json' })).lines).toHaveLength(1)
})

test("start › names relations without a guard against requests without a token, and functions that are open or use the caller's search path", async () => {
  await using app = await createTestApp({
    setup: `${notes} create table brochure (id int); create table guarded (id int);
      alter table guarded enable row level security;
      grant select on brochure, guarded to basalt_anonymous;
      create function hello(a int) returns int language sql as 'select 1';
      create function hello(a text) returns int language sql as 'select 1';
      create function kept() returns int language sql as 'select 1';
      revoke execute on function kept from public;
      grant execute on function kept to basalt_authenticated;
      create function careful() returns int language sql security definer set search_path = '' as 'select 1';
      create function careless() returns int language sql security definer as 'select 1';
      revoke execute on function careful, careless from public`,
  })
  const { text } = await announced(app, true)
  expect(text).toContain('Warning     without row-level security, open without a token: brochure\n')
  expect(text).toContain('Warning     security definer without a search_path of its own: careless\n')
  expect(text).toContain('Warning     functions that PUBLIC, so every signed-in caller, may call: hello\n')
})

test('start › shows the first steps for an empty database', async () => {
  await using app = await createTestApp()
  expect((await announced(app, true)).text).toContain(
    'Tables      none yet: create some with `npx basalt sql`',
  )
})

test('start › shows the first password on a terminal, and elsewhere logs the path of a file with it', async () => {
  using directory = temporaryDirectory()
  const dataDirectory = join(directory.path, 'data')
  await using app = await createTestApp({
    config: { 'admin.password': '', 'server.data_dir': dataDirectory },
  })
  const { password = '', code = '' } = app.app.firstSignIn ?? {}
  const link = `${app.url}/admin/sign-in#code=${code}`
  const { text } = await announced(app, true)
  expect(text).toContain(`password   ${password}\n    or open    ${link}\n`)
  const path = join(dataDirectory, 'first-sign-in')
  expect(existsSync(path)).toBe(false)

  const { lines } = await announced(app, false, { 'server.data_dir': dataDirectory })
  expect(lines.at(-1)).toMatchObject({ level: 30, path })
  expect(JSON.stringify(lines)).not.toMatch(new RegExp(`${password}|${code}`))
  expect(readFileSync(path, 'utf8')).toContain(`password: ${password}\nor open:  ${link}\n`)
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test('start › replaces an existing file by that of the first password', async () => {
  using directory = temporaryDirectory()
  const elsewhere = join(directory.path, 'elsewhere')
  writeFileSync(elsewhere, 'as it was', { mode: 0o666 })
  symlinkSync(elsewhere, join(directory.path, 'first-sign-in'))
  await using app = await createTestApp({ config: { 'admin.password': '' } })
  await announced(app, false, { 'server.data_dir': directory.path })
  expect(readFileSync(elsewhere, 'utf8')).toBe('as it was')
  expect(statSync(join(directory.path, 'first-sign-in')).mode & 0o777).toBe(0o600)
})

test('start › names a data directory that cannot be written, and does not show the password', async () => {
  using directory = temporaryDirectory()
  writeFileSync(join(directory.path, 'file'), '')
  await using app = await createTestApp({ config: { 'admin.password': '' } })
  const { lines } = await announced(app, false, { 'server.data_dir': join(directory.path, 'file') })
  expect(lines.at(-1)).toMatchObject({
    level: 50,
    reason: expect.stringContaining('EEXIST'),
    msg: expect.stringContaining('basalt admin reset-password'),
  })
  expect(JSON.stringify(lines)).not.toContain(app.app.firstSignIn?.password ?? '?')
})

describe('file of the first password', () => {
  async function firstStart(dataDirectory: string) {
    const config = { 'admin.password': '', 'server.data_dir': dataDirectory }
    const app = await createTestApp({ config })
    await announced(app, false, { 'server.data_dir': dataDirectory })
    return { app, config, path: join(dataDirectory, 'first-sign-in') }
  }

  test.each(['password', 'code'] as const)(
    'is removed at the first sign-in by %s, and not by one that fails',
    async (way) => {
      using directory = temporaryDirectory()
      const { app, path } = await firstStart(directory.path)
      await using _ = app
      const signIn = (secret: string) => app.request('POST', '/api/admin/auth', { body: { [way]: secret } })
      expect((await signIn('wrong')).status).toBe(401)
      expect(existsSync(path)).toBe(true)
      expect((await signIn(app.app.firstSignIn?.[way] ?? '')).status).toBe(200)
      expect(existsSync(path)).toBe(false)
    },
  )

  test('is removed at the next start, when the sign-in was made on another node', async () => {
    using directory = temporaryDirectory()
    const { app, config, path } = await firstStart(directory.path)
    await using _ = app
    {
      await using early = await createTestApp({ config, database: app.database })
      expect(early.app.firstSignIn).toBe(undefined)
      expect(existsSync(path)).toBe(true)
    }
    {
      await using other = await createTestApp({ config: { 'admin.password': '' }, database: app.database })
      const body = { password: app.app.firstSignIn?.password }
      expect((await other.request('POST', '/api/admin/auth', { body })).status).toBe(200)
    }
    expect(existsSync(path)).toBe(true)
    await using again = await createTestApp({ config, database: app.database })
    expect([again.app.firstSignIn, existsSync(path)]).toEqual([undefined, false])
  })

  test('is removed when the password is replaced', async () => {
    using directory = temporaryDirectory()
    const { app, config, path } = await firstStart(directory.path)
    await using _ = app
    const env = {
      BASALT_DATABASE_URL: app.database.url,
      BASALT_SERVER_DATA_DIR: config['server.data_dir'],
      BASALT_AUTH_JWT_SECRET: testSecret,
    }
    expect((await basaltHere(['admin', 'reset-password'], { env })).code).toBe(0)
    expect(existsSync(path)).toBe(false)
  })
})

function temporaryDirectory(): { readonly path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), 'basalt-announcement-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) }
}
