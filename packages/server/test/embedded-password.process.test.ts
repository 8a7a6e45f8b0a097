import { readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { prepareCluster, startCluster } from '../src/database/embedded/cluster.ts'
import { createDirectory, postmasterOf, runCommand, startServer } from './server-process.ts'

const clean = { code: 0, signal: null }
/** Creates a cluster as of an earlier version. The template has no password, and its rules trust every connection. */
const earlier = () => createDirectory(undefined, 'data')

function optionsOf(data: string) {
  return { config: { 'server.data_dir': data } }
}

function passwordOf(data: string): string {
  return readFileSync(join(data, 'secrets', 'postgres_password'), 'utf8')
}

/** Connects over the socket. Returns the user, or the SQLSTATE or the driver's reason of a refusal. */
async function connect(data: string, password: string, user = 'postgres'): Promise<unknown> {
  const client = new pg.Client({ host: join(data, 'run'), port: 5432, user, database: 'basalt', password })
  try {
    await client.connect()
    return (await client.query('select session_user::text as user')).rows[0].user
  } catch (error) {
    const { code, message } = error as Error & { code?: string }
    return code ?? message
  } finally {
    await client.end()
  }
}

describe('socket of the embedded PostgreSQL', () => {
  test('admits only the generated password, also in a cluster of an earlier version', async () => {
    await using directory = earlier()
    const data = join(directory.path, 'data')
    await using server = await startServer(optionsOf(data))
    const password = passwordOf(data)
    expect(statSync(join(data, 'secrets', 'postgres_password')).mode & 0o777).toBe(0o600)
    expect(await connect(data, password)).toBe('postgres')
    expect(await connect(data, '')).toMatch(/^SASL: .* client password must be a string$/)
    expect(await connect(data, 'wrong')).toBe('28P01')
    for (const role of ['basalt_gateway', 'basalt_administrator', 'basalt_reader'])
      expect(await connect(data, password, role)).toBe('28P01')

    const { stdout } = await runCommand(['status'], optionsOf(data))
    expect(stdout).toContain(
      `PGPASSWORD="$(cat '${join(data, 'secrets', 'postgres_password')}')" psql "host=`,
    )
    expect(await server.stop()).toEqual(clean)
    for (const log of [server.output(), stdout, readFileSync(join(data, 'postgres.log'), 'utf8')])
      expect(log).not.toContain(password)
  })

  test('has one password after several first commands at once', async () => {
    await using directory = earlier()
    const data = join(directory.path, 'data')
    const commands = await Promise.all(
      [1, 2, 3].map((n) => runCommand(['sql', '--json', `select ${n} as n`], optionsOf(data))),
    )
    expect(commands.map(({ code }) => code)).toEqual([0, 0, 0])
  })

  test('has the password of the file after its removal, a change of the role, and a lost mark', async () => {
    await using directory = earlier()
    const data = join(directory.path, 'data')
    const select = () => runCommand(['sql', '--json', 'select 1 as one'], optionsOf(data))
    const change = await runCommand(['sql', `alter role postgres password 'another one'`], optionsOf(data))
    expect(change).toMatchObject(clean)
    expect(await select()).toMatchObject(clean)
    const first = passwordOf(data)
    rmSync(join(data, 'secrets', 'postgres_password'))
    expect(await select()).toMatchObject(clean)
    expect(passwordOf(data)).not.toBe(first)
    // As after a crash between the change of the role and the mark.
    rmSync(join(data, 'postgres', 'basalt_password'))
    expect(await select()).toMatchObject(clean)
  })

  test('requires it once a server has replaced a Postgres that an earlier version left running', async () => {
    await using directory = earlier()
    const data = join(directory.path, 'data')
    await startCluster(await prepareCluster(data))
    expect(await connect(data, '')).toBe('3D000')
    const before = postmasterOf(data)
    await using server = await startServer(optionsOf(data))
    expect(postmasterOf(data)).not.toBe(before)
    expect(await connect(data, 'wrong')).toBe('28P01')
    expect(await connect(data, passwordOf(data))).toBe('postgres')
    expect(await server.stop()).toEqual(clean)
  })

  test('refuses a command with another password than that of the running server', async () => {
    await using directory = earlier()
    const data = join(directory.path, 'data')
    await using server = await startServer(optionsOf(data))
    const password = passwordOf(data)
    rmSync(join(data, 'secrets', 'postgres_password'))
    const refused = await runCommand(['sql', 'select 1'], optionsOf(data))
    expect(refused).toMatchObject({
      code: 1,
      stderr: `basalt: the embedded PostgreSQL (process ${postmasterOf(data)}) does not accept the password in ${join(data, 'secrets', 'postgres_password')}: stop the programs that use it, then that process, and start again\n`,
    })
    expect(await connect(data, password)).toBe('postgres')
    expect(await server.stop()).toEqual(clean)
    expect(await runCommand(['sql', 'select 1'], optionsOf(data))).toMatchObject(clean)
  })
})
