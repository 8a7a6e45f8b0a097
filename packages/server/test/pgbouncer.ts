import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { createDirectory, isRoot, unprivileged } from './server-process.ts'
import { findFreePort } from './throw-away-cluster.ts'
import { waitFor } from './wait-for.ts'

export interface Pooler extends AsyncDisposable {
  readonly port: number
}

/** Executable of PgBouncer as Debian installs it. Tests without it are skipped. */
export const pgbouncer = '/usr/sbin/pgbouncer'

/** Starts PgBouncer before a database whose user needs no password. */
export async function startPgBouncer(
  database: URL,
  {
    poolMode = 'transaction',
    sessions = 3,
    settings = {},
  }: {
    readonly poolMode?: string
    readonly sessions?: number
    /** Further settings of its file. */
    readonly settings?: Readonly<Record<string, string>>
  } = {},
): Promise<Pooler> {
  const account = isRoot ? unprivileged : undefined
  const directory = createDirectory(account)
  const port = await findFreePort()
  const file = join(directory.path, 'pgbouncer.ini')
  writeFileSync(
    file,
    `[databases]
* = host=127.0.0.1 port=${database.port} user=${database.username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${poolMode}
default_pool_size = ${sessions}
${Object.entries(settings)
  .map(([name, value]) => `${name} = ${value}\n`)
  .join('')}`,
  )
  const child = spawn(pgbouncer, ['--quiet', file], { stdio: 'ignore', ...account })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  await waitFor('PgBouncer', async () => {
    const client = new pg.Client({ connectionString: `postgresql://x@127.0.0.1:${port}${database.pathname}` })
    client.on('error', () => undefined)
    return await client.connect().then(
      () => client.end().then(() => true),
      () => false,
    )
  })
  return {
    port,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
      await directory[Symbol.asyncDispose]()
    },
  }
}
