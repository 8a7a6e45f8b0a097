import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inheritedEnvironment } from './command.ts'
import { createDirectory, launchCommand, readFirstSignIn, runCommand, startServer } from './server-process.ts'
import { createTestDatabase, type TestDatabase } from './test-app.ts'
import { waitFor } from './wait-for.ts'

describe('basalt dev', () => {
  test('applies changes and tests policies again in a folder that create-basaltdb makes', async () => {
    await using directory = createDirectory(undefined, 'data')
    const project = join(directory.path, 'app')
    const create = fileURLToPath(new URL('../../create-basaltdb/bin/create-basaltdb.js', import.meta.url))
    const options = { cwd: directory.path, encoding: 'utf8', env: inheritedEnvironment() } as const
    const made = spawnSync(process.execPath, [create, 'app'], options)
    expect([made.status, made.stderr]).toEqual([0, ''])
    expect(readdirSync(project).toSorted()).toEqual([
      '.gitignore',
      'AGENTS.md',
      'basalt.toml',
      'migrations',
      'package.json',
      'schema',
      'seed.sql',
      'tests',
    ])
    const [migration = ''] = readdirSync(join(project, 'migrations'))
    // A second run changes nothing, not even edited files.
    appendFileSync(
      join(project, 'seed.sql'),
      "insert into basalt.users (email) values ('seed@example.com') on conflict do nothing;",
    )
    const again = spawnSync(process.execPath, [create, 'app'], options)
    expect(again.stdout).not.toContain('created')
    expect(again.stdout).toContain(`kept app/migrations/${migration}`)
    expect(readFileSync(join(project, 'seed.sql'), 'utf8')).toContain('seed@example.com')

    const config = {
      'server.data_dir': directory.path,
      'admin.password': '',
      'project.migrations': join(project, 'migrations'),
      'project.current': join(project, 'schema/current.sql'),
      'project.seed': join(project, 'seed.sql'),
      'project.policies': join(project, 'tests/policies'),
      'project.types': join(project, 'types/database.ts'),
      'logging.format': 'json',
    }
    const file = join(project, 'basalt.toml')
    await using server = launchCommand(['dev'], { config, env: { BASALT_CONFIG: file } })
    let seen = 0
    /** Waits for the next line of the log with this message. */
    const next = async (msg: string) => {
      const find = () => server.log().findIndex((line, at) => at >= seen && line.msg === msg)
      await waitFor(msg, () => find() !== -1).catch((error) => {
        throw new Error(`${error.message}; it wrote:\n${server.output()}`)
      })
      seen = find() + 1
      return server.log()[seen - 1]
    }
    expect(await next('migration applied')).toMatchObject({ name: migration })
    expect(await next('policy tests passed')).toMatchObject({ passed: 4 })
    await next('the project is up to date')
    // The server of the cases has an administrator of its own.
    expect(readFirstSignIn(directory.path).password).not.toBe('')

    const current = join(project, 'schema/current.sql')
    appendFileSync(current, 'alter table todo add column if not exists note text;\n\nselect nope;\n')
    await next('schema/current.sql:6: column "nope" does not exist')
    writeFileSync(
      current,
      readFileSync(current, 'utf8').replace('select nope;', 'drop policy if exists own on todo;'),
    )
    await next('schema/current.sql applied')
    await next('types written')
    expect(readFileSync(join(project, 'types/database.ts'), 'utf8')).toContain('note: string | null')
    // The cases now see the effect of the change.
    expect(await next('policy test failed: users see what is theirs')).toMatchObject({
      request: 'list todo as alice',
      actual: 'missing [{"title":"water the plants"}], unexpected []',
    })
    await next('the project is up to date')
    const policy = 'create policy own on todo using (owner_id = basalt.user_id());\n'
    appendFileSync(current, policy)
    expect(await next('policy tests passed')).toMatchObject({ passed: 4 })

    const committed = await runCommand(['migrate', 'commit', 'add note'], { config })
    expect([committed.code, committed.stderr]).toEqual([0, ''])
    const path = committed.stdout.trim()
    expect(readFileSync(path, 'utf8')).toContain(policy)
    expect(readFileSync(current, 'utf8')).not.toContain(policy)
    expect(await next('migration applied')).toMatchObject({ name: path.split('/').at(-1) })
    await next('the project is up to date')
    const rows = await runCommand(['sql', '--json', 'select email from basalt.users'], { config })
    expect(JSON.parse(rows.stdout)).toEqual([{ email: 'seed@example.com' }])

    expect(server.log().find(({ msg }) => msg === 'listening')).toMatchObject({ command: 'basalt dev' })
    appendFileSync(file, '\n[realtime]\nmax_connections_per_user = 7\n')
    const restart = `restart needed: ${file} has changed (realtime.max_connections_per_user)`
    expect(await next(restart)).toMatchObject({ level: 'warn' })
    expect(await runCommand(['reload'], { config })).toMatchObject({
      code: 1,
      stderr: 'basalt: restart needed: basalt dev runs one process, which cannot be replaced\n',
    })
    appendFileSync(file, 'nope = 1\n')
    await waitFor('the fault', () => server.output().includes('unknown key'))

    // A sign-in at the stand-in, up to its page.
    const start = await fetch(`${server.url}/api/auth/oauth/google`, { redirect: 'manual' })
    expect(start.status).toBe(307)
    const page = await fetch(start.headers.get('location') ?? '')
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('Development only.')])

    expect(await server.stop()).toEqual({ code: 0, signal: null })
    const left = await runCommand(['sql', '--json', "select from pg_database where datname ~ 'basalt_tmp'"], {
      config,
    })
    expect(JSON.parse(left.stdout)).toEqual([])
  })

  test('refuses a database that is not for development', async () => {
    const config = { 'database.url': 'postgresql://app@127.0.0.1:1/shop' }
    const { code, stderr } = await runCommand(['dev'], { config })
    expect(code).toBe(1)
    expect(stderr).toMatch(/^basalt: basalt dev is for development: /)
  })
})

describe('migrations of a project', () => {
  let database: TestDatabase
  const directory = createDirectory()
  const folder = join(directory.path, 'migrations')
  const config = () => ({ 'database.url': database.url, 'project.migrations': folder })

  beforeAll(async () => {
    database = await createTestDatabase()
    mkdirSync(folder)
  })
  afterAll(async () => {
    await database[Symbol.asyncDispose]()
    await directory[Symbol.asyncDispose]()
  })

  /** Kills a `migrate up` while it runs the statement. */
  async function killDuring(statement: string): Promise<void> {
    await using command = launchCommand(['migrate', 'up'], { config: config() })
    const pid = await waitFor('the statement', async () => {
      const rows = await database.sql<{ pid: number }>(
        `select pid from pg_stat_activity where datname = current_database() and state = 'active' and starts_with(query, $1)`,
        [statement],
      )
      return rows[0]?.pid
    })
    command.signal('SIGKILL')
    await command.ended
    // PostgreSQL notices when the statement ends.
    await database.sql('select pg_cancel_backend($1)', [pid])
    await waitFor('the end of its session', async () => {
      const rows = await database.sql('select from pg_stat_activity where pid = $1', [pid])
      return rows.length === 0
    })
  }

  test('killed halfway leave nothing and are applied by the next up', async () => {
    const file = join(folder, '20260101000001_a.sql')
    writeFileSync(file, 'create table a (id int);\nselect pg_sleep(600);')
    await killDuring('select pg_sleep')
    expect(
      await database.sql("select to_regclass('a') as a, count(*)::int from basalt.project_migrations"),
    ).toEqual([{ a: null, count: 0 }])
    writeFileSync(file, 'create table a (id int);')
    expect(await runCommand(['migrate', 'up'], { config: config() })).toMatchObject({ code: 0, stderr: '' })
  })

  test('without a transaction, killed halfway, are reported with the line until they are resolved', async () => {
    const name = '20260101000002_b.sql'
    writeFileSync(
      join(folder, name),
      '-- basalt: no transaction\ncreate table b (id int);\nselect pg_sleep(600);',
    )
    await killDuring('select pg_sleep')
    const { code, stderr } = await runCommand(['migrate', 'up'], { config: config() })
    expect(code).toBe(1)
    expect(stderr).toBe(
      `basalt: ${name} stopped after 1 of 2 statements before or in line 3, "select pg_sleep(600)": finish it or undo it by ` +
        `hand, then run basalt migrate resolve ${name} --applied or --pending\n`,
    )
    const resolved = await runCommand(['migrate', 'resolve', name, '--applied'], { config: config() })
    expect(resolved).toMatchObject({ code: 0, stdout: `${name} counts as applied\n` })
  })

  test('are applied once by two nodes that start concurrently, and listed by a node without permission to apply them', async () => {
    for (const number of [3, 4, 5, 6]) {
      writeFileSync(join(folder, `2026010100000${number}_t.sql`), `create table t${number} (id int);`)
    }
    const only = { ...config(), 'logging.level': 'info' }
    await using waiting = await startServer({ config: only })
    const pending = waiting.log().find(({ msg }) => msg === 'migrations are pending: run basalt migrate up')
    expect(pending?.pending).toHaveLength(4)
    const both = { ...config(), 'project.migrate_at_start': 'true' }
    const starts = await Promise.all([startServer({ config: both }), startServer({ config: both })])
    for (const server of starts) await server[Symbol.asyncDispose]()
    const applied = await database.sql(
      'select count(*)::int from basalt.project_migrations where applied_at is not null',
    )
    expect(applied).toEqual([{ count: 6 }])
  })
})
