import { readFileSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { alice } from './fixtures.ts'
import { sendRequest } from './send-request.ts'
import {
  type Account,
  createDirectory,
  failToStart,
  isRoot,
  launchCommand,
  postmasterOf,
  runCommand,
  startServer,
  unprivileged,
} from './server-process.ts'
import { userToken } from './test-app.ts'
import { findFreePort } from './throw-away-cluster.ts'
import { waitFor } from './wait-for.ts'

const clean = { code: 0, signal: null }
const accounts: [string, Account | undefined][] = [
  ['the account of the tests', undefined],
  ...(isRoot ? [['an ordinary account', unprivileged] as [string, Account]] : []),
]

function optionsOf(data: string, port: number, account?: Account) {
  return { account, config: { 'server.data_dir': data, 'database.embedded_port': String(port) } }
}

function passwordFile(data: string): string {
  return join(data, 'secrets', 'postgres_password')
}

/** Connects over TCP as a GUI client does. Returns the rows, or the SQLSTATE or the driver's reason of a refusal. */
async function connect(
  port: number,
  options: { password?: string; host?: string; user?: string; replication?: boolean; query?: string } = {},
): Promise<unknown> {
  const { password, host = '127.0.0.1', user = 'postgres', replication, query = 'select 1 as one' } = options
  const client = new pg.Client({
    ...{ host, port, user, database: 'basalt' },
    // Otherwise the driver would read a password from the environment.
    password: password ?? '',
    // The driver passes it on, although its types do not list it.
    ...(replication === true ? { replication: 'true' } : {}),
  })
  try {
    await client.connect()
    const result = await client.query(query)
    return result.rows
  } catch (error) {
    const { code, message } = error as Error & { code?: string }
    return code ?? message
  } finally {
    await client.end()
  }
}

describe.each(accounts)('database.embedded_port, as %s', (_, account) => {
  test('opens TCP on loopback for the generated password only', async () => {
    await using directory = createDirectory(account, 'data')
    const data = join(directory.path, 'data')
    const port = await findFreePort()
    const options = optionsOf(data, port, account)
    await using server = await startServer(options)
    const password = readFileSync(passwordFile(data), 'utf8')
    expect(password).toMatch(/^[\w-]{64}$/)
    expect(statSync(passwordFile(data)).mode & 0o777).toBe(0o600)

    expect(await connect(port, { password })).toEqual([{ one: 1 }])
    expect(await connect(port, { password: 'wrong' })).toBe('28P01')
    expect(await connect(port)).toMatch(/^SASL: .* client password must be a string$/)
    expect(await connect(port, { password, user: 'basalt_authenticated' })).toBe('28P01')
    expect(await connect(port, { password, replication: true, query: 'IDENTIFY_SYSTEM' })).toBe('28000')
    const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? [])
    for (const { address, internal } of addresses) {
      if (!internal) expect(await connect(port, { password, host: address })).toBe('ECONNREFUSED')
      if (address === '::1') expect(await connect(port, { password, host: '::1' })).toEqual([{ one: 1 }])
    }

    // Tables have the same owner as those of `basalt sql`, so each session may change the other's.
    expect((await runCommand(['sql', 'create table visit (id int primary key)'], options)).code).toBe(0)
    await connect(port, { password, query: 'alter table visit add place text' })
    await connect(port, { password, query: `insert into visit values (1, 'Rome')` })
    await connect(port, { password, query: 'create table trip (id int primary key)' })
    const token = userToken({ sub: alice })
    const visits = async () =>
      (await sendRequest('GET', `${server.url}/api/collections/visit`, { token })).json
    // The next read of the catalog finds the new column.
    await expect.poll(visits).toMatchObject({ items: [{ id: 1, place: 'Rome' }] })
    expect((await sendRequest('GET', `${server.url}/api/collections/trip`, { token })).status).toBe(200)

    const { stdout } = await runCommand(['status'], options)
    expect(stdout.split('\n').slice(1, 3)).toEqual([
      expect.stringMatching(
        new RegExp(
          `^  PGPASSWORD="\\$\\(cat '.*'\\)" psql "host=/.* port=${port} user=postgres dbname=basalt"$`,
        ),
      ),
      `  PGPASSWORD="$(cat '${passwordFile(data)}')" psql "host=127.0.0.1 port=${port} user=postgres dbname=basalt"`,
    ])
    const backup = join(directory.path, 'backup.tar.gz')
    expect(await runCommand(['backup', backup], options)).toMatchObject(clean)
    expect(await server.stop()).toEqual(clean)
    expect(await connect(port, { password })).toBe('ECONNREFUSED')
    for (const log of [server.output(), stdout, readFileSync(join(data, 'postgres.log'), 'utf8')]) {
      expect(log).not.toContain(password)
    }
  })
})

describe.each(accounts.slice(-1))('database.embedded_port, as %s', (_, account) => {
  test('keeps its password over restarts and sets a new one when the file was removed', async () => {
    await using directory = createDirectory(account, 'data')
    const data = join(directory.path, 'data')
    const port = await findFreePort()
    const passwords: string[] = []
    for (const isKept of [true, true, false]) {
      if (!isKept) rmSync(passwordFile(data))
      await using server = await startServer(optionsOf(data, port, account))
      passwords.push(readFileSync(passwordFile(data), 'utf8'))
      const [password = ''] = passwords.slice(-1)
      expect(await connect(port, { password })).toEqual([{ one: 1 }])
      expect(await server.stop()).toEqual(clean)
    }
    expect(passwords[1]).toBe(passwords[0])
    expect(passwords[2]).not.toBe(passwords[0])
  })

  const hasIPv6 = Object.values(networkInterfaces()).some((all) =>
    all?.some(({ address }) => address === '::1'),
  )

  test.each(['127.0.0.1', ...(hasIPv6 ? ['::1'] : [])])(
    'refuses to start when another program has it on %s, and leaves no Postgres',
    async (host) => {
      await using directory = createDirectory(account, 'data')
      const other = createServer()
      await new Promise<void>((resolve) => other.listen({ host, port: 0, ipv6Only: true }, resolve))
      const { port } = other.address() as { port: number }
      expect(await failToStart(optionsOf(directory.path, port, account))).toEqual({
        code: 1,
        signal: null,
        stdout: '',
        stderr: `basalt: ${host}:${port} is taken by another program: stop it or set database.embedded_port\n`,
      })
      expect(postmasterOf(directory.path)).toBeUndefined()
      await new Promise((resolve) => other.close(resolve))
    },
  )

  test('opens and closes on a Postgres that a killed server left running', async () => {
    await using directory = createDirectory(account, 'data')
    const data = join(directory.path, 'data')
    const port = await findFreePort()
    const without = await startServer(optionsOf(data, 0, account))
    expect(await without.stop('SIGKILL')).toMatchObject({ signal: 'SIGKILL' })
    expect(postmasterOf(data)).toBeDefined()

    const opened = await startServer(optionsOf(data, port, account))
    const password = readFileSync(passwordFile(data), 'utf8')
    expect(await connect(port, { password })).toEqual([{ one: 1 }])
    expect(await opened.stop('SIGKILL')).toMatchObject({ signal: 'SIGKILL' })
    expect(await connect(port, { password })).toEqual([{ one: 1 }])

    await using closed = await startServer(optionsOf(data, 0, account))
    expect(await connect(port, { password })).toBe('ECONNREFUSED')
    expect(await closed.stop()).toEqual(clean)
  })

  test('refuses to start while a command uses a Postgres without it, and names the command', async () => {
    await using directory = createDirectory(account, 'data')
    const data = join(directory.path, 'data')
    const before = optionsOf(data, 0, account)
    const port = await findFreePort()
    await using command = launchCommand(['sql', 'select pg_sleep(60)'], before)
    await waitFor('Postgres to run', () => postmasterOf(data) !== undefined)
    await waitFor('the command to use it', async () => {
      const query = `select 1 from pg_stat_activity where query like '%pg_sleep%' and pid <> pg_backend_pid()`
      return (await runCommand(['sql', '--json', query], before)).stdout.includes('1')
    })
    expect(await failToStart(optionsOf(data, port, account))).toEqual({
      code: 1,
      signal: null,
      stdout: '',
      stderr:
        `basalt: the embedded PostgreSQL was started with another database.embedded_port than ${port}, and is in use ` +
        `by basalt sql (process ${command.pid}): start again when that has ended\n`,
    })
  })
})
