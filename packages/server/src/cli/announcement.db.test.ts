import { pino } from 'pino'
import { expect, test } from 'vitest'
import { notes } from '../../test/fixtures.ts'
import { createTerminal } from '../../test/terminal.ts'
import { createTestApp, type TestApp } from '../../test/test-app.ts'
import { testConfig } from '../../test/test-config.ts'
import { announce } from './announcement.ts'

/** What is shown after a start: to a person, or to whoever reads the log. */
async function announced(app: TestApp, isTTY: boolean, overrides: Record<string, string> = {}) {
  const terminal = createTerminal([], {}, isTTY)
  const lines: Record<string, unknown>[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const config = testConfig({ 'database.url': app.database.url, ...overrides })
  announce({ terminal, app: app.app, config, log, startupMs: 123.4 })
  await new Promise<void>((resolve) => terminal.stdout.end(() => resolve()))
  return { text: terminal.output.stdout, lines }
}

test('a person is told where everything is, and which tables nothing guards', async () => {
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

  const open = await announced(app, true, { 'auth.enabled': 'false' })
  expect(open.text).toContain('auth.enabled is false: everybody who reaches the port owns the data')
})

test('a log has the same on one line', async () => {
  await using app = await createTestApp({ setup: notes })
  const { text, lines } = await announced(app, false)
  expect(text).toBe('')
  expect(lines).toEqual([
    expect.objectContaining({
      msg: 'listening',
      url: app.url,
      tables: 1,
      tablesWithoutRls: [],
      startupMs: 123,
    }),
  ])
  expect((await announced(app, true, { 'logging.format': 'json' })).lines).toHaveLength(1)
})

test('an empty database is told how to begin', async () => {
  await using app = await createTestApp()
  expect((await announced(app, true)).text).toContain(
    'Tables      none yet: create some with `npx basalt sql`',
  )
})

test('the first password and its link are shown, in either way', async () => {
  await using app = await createTestApp({ config: { 'admin.password': '' } })
  const { password = '', code = '' } = app.app.firstSignIn ?? {}
  const link = `${app.url}/admin/sign-in#code=${code}`
  const { text } = await announced(app, true)
  expect(text).toContain(`password   ${password}\n    or open    ${link}\n`)
  const { lines } = await announced(app, false)
  expect(lines.at(-1)).toMatchObject({ adminPassword: password, signInLink: link })
})
