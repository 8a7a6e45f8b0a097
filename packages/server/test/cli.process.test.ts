import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { basalt, type CommandResult, command } from './command.ts'
import { alice } from './fixtures.ts'
import { createDirectory, launchServer, readFirstSignIn, startServer } from './server-process.ts'
import { basaltHere } from './terminal.ts'
import { createTestDatabase, type TestDatabase } from './test-app.ts'
import { testSecret } from './test-config.ts'

let database: TestDatabase
let directory: string
let env: Record<string, string>

beforeAll(async () => {
  database = await createTestDatabase()
  directory = mkdtempSync(join(tmpdir(), 'basalt-cli-'))
  env = { BASALT_DATABASE_URL: database.url, BASALT_AUTH_JWT_SECRET: testSecret }
})
afterAll(async () => {
  rmSync(directory, { recursive: true })
  await database[Symbol.asyncDispose]()
})

function done(stdout: string): CommandResult {
  return { code: 0, stdout, stderr: '' }
}

/** Returns the expected result of a failure: one line on standard error. */
function failed(code: 1 | 2, message: string): CommandResult {
  return { code, stdout: '', stderr: `basalt: ${message}\n` }
}

describe('basalt as a process', () => {
  test('prints results to standard output and failures to standard error, and exits with 0, 1 or 2', async () => {
    const run = (args: string[], input = '') => basalt(args, { directory, env, input })
    writeFileSync(join(directory, 'two.sql'), 'select 1 as one;\nselect 2 as two;\n')
    const results = await Promise.all([
      run(['version']),
      run(['sql', "select 'Größe' as name"]),
      run(['sql', '--json', '--file', 'two.sql']),
      run(['sql'], 'select 3 as three;'),
      run(['sql', 'select 1/0']),
      run(['sql']),
      run(['admin', 'bogus']),
    ])
    expect(results).toEqual([
      done(expect.stringMatching(/^\d+\.\d+\.\d+\n$/)),
      done('name\n-----\nGröße\n(1 row)\n'),
      done('[\n  {\n    "two": 2\n  }\n]\n'),
      done('three\n-----\n3\n(1 row)\n'),
      failed(1, 'division by zero'),
      failed(2, 'sql needs a statement, --file or standard input'),
      failed(2, "unknown command 'bogus'"),
    ])
  })

  const rows = "select repeat('x', 100) from generate_series(1, 50000)"
  test.each([
    [['sql', rows]],
    [['help', 'sql']],
    [['--help']],
    [['sql', '--help']],
    [['config']],
    [['version']],
  ])('exits quietly with 0 when its output is closed: basalt %j', async (args) => {
    const child = spawn(process.execPath, [command, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    let stderr = ''
    child.stderr.on('data', (chunk) => (stderr += chunk))
    child.stdout.destroy()
    const code = await new Promise((resolve) => child.on('close', resolve))
    expect([code, stderr]).toEqual([0, ''])
  })
})

describe('basalt beside an external database', () => {
  test('runs commands with and without a running server', async () => {
    await using own = await createTestDatabase()
    const data = join(directory, 'data')
    const config = {
      'database.url': own.url,
      'admin.password': '',
      'logging.level': 'error',
      'server.data_dir': data,
    }
    const ownEnv = { ...env, BASALT_DATABASE_URL: own.url, BASALT_SERVER_DATA_DIR: data }
    let adminToken = ''
    {
      await using server = await startServer({ config: { ...config, 'logging.level': 'info' } })
      const { port } = new URL(server.url)
      const folder = ['--data-dir', data]
      expect(await basaltHere(['status', ...folder], { env: ownEnv })).toEqual(
        done(`running: ${server.url} (process ${server.pid}, version 0.1.0): ok, database ok\n`),
      )
      const json = await basaltHere(['status', ...folder, '--json'], { env: ownEnv })
      expect(JSON.parse(json.stdout)).toMatchObject({
        state: 'running',
        servers: [{ pid: server.pid, url: server.url, health: { status: 'ok', database: 'ok' } }],
      })
      // The server of another folder does not matter, whatever listens on the port.
      expect(
        await basaltHere(['status', '--port', port, '--data-dir', `${data}-other`], { env: ownEnv }),
      ).toEqual({
        code: 1,
        stdout: `stopped: no server of ${data}-other runs\n`,
        stderr: '',
      })

      await expect.poll(() => server.log().some(({ path }) => path !== undefined)).toBe(true)
      const first = readFirstSignIn(data)
      expect(first.link).toMatch(new RegExp(`^${server.url}/admin/sign-in#code=basalt_signin_\\w{49}$`))
      const signIn = (password: unknown) =>
        fetch(`${server.url}/api/admin/auth`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ password }),
        })
      const statusWith = async (token: string) => {
        const headers = { authorization: `Bearer ${token}` }
        return (await fetch(`${server.url}/api/schema`, { headers })).status
      }
      expect((await signIn(first.password)).status).toBe(200)

      const token = await basaltHere(['admin', 'token'], { env: ownEnv })
      expect(token).toEqual(done(expect.stringMatching(/^basalt_admin_\w{49}\n$/)))
      adminToken = token.stdout.trim()
      expect(await statusWith(adminToken)).toBe(200)

      const user = await basaltHere(['admin', 'token', '--user', alice, '--aal', 'aal2', '--seconds', '60'], {
        env: ownEnv,
      })
      expect(await statusWith(user.stdout.trim())).toBe(200)
      const claims = JSON.parse(Buffer.from(user.stdout.split('.')[1] ?? '', 'base64url').toString())
      expect(claims).toMatchObject({ sub: alice, aal: 'aal2', exp: claims.iat + 60 })

      const reset = await basaltHere(['admin', 'reset-password'], { env: ownEnv })
      expect(reset).toEqual(done(expect.stringMatching(/^([0-9a-f]{5}-){5}[0-9a-f]{5}\n$/)))
      await expect.poll(() => statusWith(adminToken)).toBe(401)
      expect((await signIn(first.password)).status).toBe(401)
      expect((await signIn(reset.stdout.trim())).status).toBe(200)
      expect(
        await own.sql(
          `select actor, action, detail from basalt.audit where actor = 'command line' order by id`,
        ),
      ).toEqual([
        { actor: 'command line', action: 'admin.create_token', detail: {} },
        { actor: 'command line', action: 'admin.reset_password', detail: { endedSessions: 2 } },
      ])
    }
    await using again = await startServer({ config: { ...config, 'logging.level': 'info' } })
    expect(again.log().map(({ msg }) => msg)).toEqual(['listening'])
    const refused = await basaltHere(['admin', 'reset-password'], {
      env: { ...ownEnv, BASALT_ADMIN_PASSWORD: 'configured password' },
    })
    expect(refused).toEqual(
      failed(1, 'admin.password is set (environment BASALT_ADMIN_PASSWORD): change it there'),
    )
  })

  test('logs the path of the first password at every log level', async () => {
    await using own = await createTestDatabase()
    await using data = createDirectory()
    const config = {
      'database.url': own.url,
      'admin.password': '',
      'logging.level': 'error',
      'server.data_dir': data.path,
    }
    await using server = launchServer({ config })
    await expect.poll(() => server.log().length).toBe(1)
    expect(server.log()).toEqual([
      expect.objectContaining({ level: 'info', path: join(data.path, 'first-sign-in') }),
    ])
  })
})

describe('server log', () => {
  test('contains no token, password or secret at any log level', async () => {
    await using own = await createTestDatabase()
    await own.sql('create table note (id int primary key, body text)')
    const config = { 'database.url': own.url, 'logging.level': 'trace', 'logging.requests': 'all' }
    await using server = await startServer({ config })
    const user = (await basaltHere(['admin', 'token', '--user', alice], { env })).stdout.trim()
    const admin = (await basaltHere(['admin', 'token'], { env: { ...env, BASALT_DATABASE_URL: own.url } }))
      .stdout
    const secret = 'hunter2-secret'
    const send = async (
      path: string,
      token: string,
      body?: unknown,
      headers: Record<string, string> = {},
    ) => {
      const response = await fetch(server.url + path, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      await response.arrayBuffer()
      return response.status
    }
    for (const token of [user, admin.trim(), secret]) {
      await send(`/api/collections/note?token=${secret}&filter=body='${secret}'`, token)
      await send(`/api/collections/note?access_token=${secret}&filter=${secret}`, token)
      await send('/api/collections/note', token, { id: 1, body: secret, password: secret })
      await send('/api/collections/note', token, { id: 1, body: secret })
      await send('/api/collections/note', token, { id: secret, body: secret })
      await send('/api/admin/auth', token, { password: secret, code: secret }, { cookie: `a=${secret}` })
      await send('/api/admin/auth', token, { code: secret }, { 'x-api-key': secret })
    }
    // An internal error is logged with its cause.
    await own.sql('alter table basalt.administrators rename to gone')
    expect(await send('/api/admin/auth', user, { password: secret })).toBe(500)
    await own.sql('alter table basalt.gone rename to administrators')
    await server.stop()
    expect(server.log().filter(({ msg }) => msg === 'request').length).toBeGreaterThan(20)
    expect(server.output()).toContain('request failed')
    for (const word of [secret, user, user.split('.')[2] ?? '', admin.trim(), testSecret, 'correct horse']) {
      expect(server.output()).not.toContain(word)
    }
  })
})

describe('embedded database', () => {
  test('serves commands with and without a running server', async () => {
    await using own = createDirectory(undefined, '.basalt')
    const { path } = own
    const sql = (statement: string) => basalt(['sql', statement], { directory: path })
    // Callers' role does not exist before the first start, which grants it access to the table.
    expect(await sql('create table kept (a int); insert into kept values (1)')).toEqual({
      ...done('CREATE\nINSERT 1\n'),
      stderr:
        'warning: kept is open to every signed-in caller: alter table kept enable row level security;\n',
    })
    expect(await sql('select a from kept')).toEqual(done('a\n-\n1\n(1 row)\n'))
    {
      await using server = await startServer({
        config: { 'server.data_dir': join(path, '.basalt'), 'auth.jwt_secret': '' },
      })
      expect(await sql('insert into kept values (2)')).toEqual(done('INSERT 1\n'))
      // The first process that needs the secret generates it; all others use the same one.
      const { stdout: token } = await basalt(['admin', 'token', '--user', alice], { directory: path })
      const headers = { authorization: `Bearer ${token.trim()}` }
      const response = await fetch(`${server.url}/api/collections/kept`, { headers })
      expect([response.status, await response.json()]).toMatchObject([200, { totalItems: 2 }])
      expect((await basalt(['schema', 'kept'], { directory: path })).stdout).toContain('a       integer')
    }
    expect(await sql('select count(*) as kept from kept')).toEqual(done('kept\n----\n2\n(1 row)\n'))
  })
})
