import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startFakePostgres } from './fake-postgres.ts'
import { sendRequest } from './send-request.ts'
import { createDirectory, failToStart, isRoot, startServer, unprivileged } from './server-process.ts'
import { createTestDatabase, type TestDatabase } from './test-app.ts'
import { findFreePort } from './throw-away-cluster.ts'

const password = 'a-password-nobody-may-see'

/** Returns the only line that a failing start writes. */
async function refusal(options: Parameters<typeof failToStart>[0], code = 1): Promise<string> {
  const result = await failToStart(options)
  expect(result.stdout + result.stderr).not.toContain(password)
  expect({ ...result, stderr: result.stderr.split('\n').length }, result.stderr).toEqual({
    code,
    signal: null,
    stdout: '',
    stderr: 2,
  })
  return result.stderr.replace(/^basalt: /, '').trimEnd()
}

function withUrl(url: string) {
  return { config: { 'database.url': url } }
}

let database: TestDatabase
let address: URL

beforeAll(async () => {
  database = await createTestDatabase()
  address = new URL(database.url)
})
afterAll(() => database[Symbol.asyncDispose]())

describe('basalt start › refuses in one line and without a password', () => {
  test('when another program has the port', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as { port: number }
    expect(await refusal({ config: { 'database.url': database.url, 'server.port': String(port) } })).toBe(
      `127.0.0.1:${port} is taken by another program: stop it or set server.port`,
    )
    other.close()
  })

  test('when the address of the database refuses connections', async () => {
    const { port } = await startFakePostgres({}).then(async (server) => {
      await server[Symbol.asyncDispose]()
      return server
    })
    expect(await refusal(withUrl(`postgresql://app:${password}@127.0.0.1:${port}/shop`))).toBe(
      `cannot reach the database at 127.0.0.1:${port}/shop: connect ECONNREFUSED 127.0.0.1:${port}`,
    )
  })

  test('when the database never responds', async () => {
    await using server = await startFakePostgres({ isSilent: true })
    expect(await refusal(withUrl(`postgresql://app:${password}@127.0.0.1:${server.port}/shop`))).toBe(
      `cannot reach the database at 127.0.0.1:${server.port}/shop: timeout expired`,
    )
  })

  test('when the password is wrong', async () => {
    await using server = await startFakePostgres({ refusesPasswords: true })
    expect(await refusal(withUrl(`postgresql://app:${password}@127.0.0.1:${server.port}/shop`))).toBe(
      `cannot reach the database at 127.0.0.1:${server.port}/shop: password authentication failed for user "app"`,
    )
  })

  test('when the database is too old', async () => {
    const row = {
      version: '14.9 (Debian 14.9-1)',
      version_number: '140009',
      pid: '1',
      database: 'shop',
      login_role: 'app',
      bypasses_policies: 'f',
      is_read_only: 'f',
    }
    await using server = await startFakePostgres({ row })
    expect(await refusal(withUrl(`postgresql://app:${password}@127.0.0.1:${server.port}/shop`))).toBe(
      'the database is PostgreSQL 14.9 (Debian 14.9-1): Basalt needs PostgreSQL 15 or later',
    )
  })

  test('when the database does not exist', async () => {
    expect(await refusal(withUrl(`postgresql://postgres@${address.host}/nowhere`))).toBe(
      `cannot reach the database at ${address.host}/nowhere: database "nowhere" does not exist`,
    )
  })

  test('when the database is read-only', async () => {
    await using standby = await createTestDatabase()
    const name = new URL(standby.url).pathname.slice(1)
    await standby.sql(`alter database ${name} set default_transaction_read_only = on`)
    expect(await refusal(withUrl(standby.url))).toBe(
      'the database is read-only (a standby?): Basalt needs the primary',
    )
  })

  test('when the login role may not prepare the database', async () => {
    await using empty = await createTestDatabase()
    await empty.sql('drop schema basalt cascade')
    await empty.sql(`do $$ begin create role newcomer login; exception when duplicate_object then end $$`)
    const url = new URL(empty.url)
    url.username = 'newcomer'
    expect(await refusal(withUrl(url.href))).toBe(
      `cannot prepare the database at ${address.host}${url.pathname}: ` +
        `permission denied for database ${url.pathname.slice(1)}; have "postgres" or a superuser run: ` +
        `grant create on database ${url.pathname.slice(1)} to newcomer;`,
    )
  })

  test('when the login role may not act as the role of callers, with the statement that is missing', async () => {
    await using database = await createTestDatabase()
    await database.sql(`do $$ begin create role stranger login; exception when duplicate_object then end $$`)
    await database.sql(
      `do $$ begin execute format('alter database %I owner to stranger', current_database()); end $$`,
    )
    await database.sql('drop schema basalt cascade')
    const url = new URL(database.url)
    url.username = 'stranger'
    expect(await refusal(withUrl(url.href))).toBe(
      'the login role cannot act as basalt_authenticated; have an administrator run: ' +
        'grant basalt_authenticated to stranger;',
    )
  })

  test.each([
    `postgresql://app:${password}@host:port/shop`,
    `postgresql://app:${password}@one:5432,[two:5432/shop`,
    `postgresql://app:${password}@[::1/shop`,
  ])('when the URL is malformed: %s', async (url) => {
    expect(await refusal(withUrl(url), 2)).toMatch(/^invalid configuration: database\.url .* is not a URL/)
  })

  test('when no host of several is the primary, with the reason of each', async () => {
    const [one, two] = [await findFreePort(), await findFreePort()]
    const hosts = `127.0.0.1:${one},127.0.0.1:${two}`
    const refused = (port: number) => `127.0.0.1:${port} failed (connect ECONNREFUSED 127.0.0.1:${port})`
    expect(await refusal(withUrl(`postgresql://app:${password}@${hosts}/shop`))).toBe(
      `cannot reach the database at ${hosts}/shop: ${refused(one)}; ${refused(two)}`,
    )
  })

  test('when the URL requires a standby', async () => {
    const url = `postgresql://app:${password}@one,two/shop?target_session_attrs=prefer-standby`
    expect(await refusal(withUrl(url), 2)).toContain(
      'target_session_attrs=prefer-standby leads to a standby, and Basalt needs the primary: use read-write',
    )
  })

  test('when a file is in the way of the data directory', async () => {
    await using directory = createDirectory()
    const file = join(directory.path, 'file')
    writeFileSync(file, '')
    const data = join(file, 'data')
    expect(await refusal({ config: { 'server.data_dir': data } })).toBe(
      `cannot use ${data} as data directory: ENOTDIR: not a directory, mkdir '${data}'`,
    )
  })

  test('when a file has the path of the data directory', async () => {
    await using directory = createDirectory()
    mkdirSync(join(directory.path, 'postgres'))
    writeFileSync(join(directory.path, 'postgres', 'PG_VERSION'), '17\n')
    expect(await refusal({ config: { 'server.data_dir': directory.path } })).toBe(
      `${directory.path}/postgres was made by PostgreSQL 17, this Basalt brings PostgreSQL 18, which cannot ` +
        'read it: start it with the earlier Basalt, and move the data with pg_dump (docs/guides/backup.md)',
    )
  })

  test('when others may read the embedded database', async () => {
    await using directory = createDirectory(undefined, '.')
    const cluster = join(directory.path, 'postgres')
    chmodSync(cluster, 0o755)
    expect(await refusal({ config: { 'server.data_dir': directory.path } })).toBe(
      'cannot set the password of the embedded PostgreSQL: FATAL:  data directory ' +
        `"${cluster}" has invalid permissions: Permissions should be u=rwx (0700) or u=rwx,g=rx (0750).`,
    )
  })

  describe.runIf(isRoot)('on a file system', () => {
    test('without write permission', async () => {
      await using directory = createDirectory()
      const data = join(directory.path, 'data')
      expect(await refusal({ config: { 'server.data_dir': data }, account: unprivileged })).toBe(
        `cannot use ${data} as data directory: EACCES: permission denied, mkdir '${data}'`,
      )
    })

    test('without free space', async () => {
      await using directory = createDirectory()
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m,mode=755', 'tmpfs', directory.path])
      try {
        const line = await refusal({ config: { 'server.data_dir': directory.path } })
        expect(line).toMatch(/^cannot create the embedded database in .*No space left on device/)
      } finally {
        execFileSync('umount', [directory.path])
      }
    })
  })
})

describe('basalt start › configuration of the database', () => {
  test.each([
    [
      'a socket and a user',
      (directory: string, port: string, name: string) =>
        `postgresql://postgres@/${name}?host=${directory}&port=${port}`,
    ],
    [
      'a socket',
      (directory: string, port: string, name: string) =>
        `postgresql:///${name}?host=${directory}&port=${port}&user=postgres`,
    ],
    [
      'an encoded socket',
      (directory: string, port: string, name: string) =>
        `postgresql://postgres@${encodeURIComponent(directory)}:${port}/${name}`,
    ],
  ])('accepts %s', async (_, makeUrl) => {
    const [row] = await database.sql<{ directory: string }>(
      `select current_setting('unix_socket_directories') as directory`,
    )
    const directory = row?.directory ?? ''
    const name = address.pathname.slice(1)
    await using server = await startServer({
      config: { 'database.url': makeUrl(directory, address.port, name) },
    })
    expect(server.log().find(({ msg }) => msg === 'listening')).toMatchObject({
      location: `${directory}:${address.port}/${name}`,
    })
    expect((await sendRequest('GET', `${server.url}/health`)).status).toBe(200)
  })

  test('ignores libpq’s own variables for the embedded database', async () => {
    await using directory = createDirectory(undefined, '.')
    await using server = await startServer({
      config: { 'server.data_dir': directory.path },
      env: {
        PGPORT: '1',
        PGSSLMODE: 'require',
        PGOPTIONS: '-c nonsense=1',
        PGUSER: 'somebody',
        PGDATABASE: 'somewhere',
      },
    })
    expect((await sendRequest('GET', `${server.url}/health`)).status).toBe(200)
  })
})
