import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { postmasterPid } from '../src/database/embedded/lock-file.ts'
import { findUnprivilegedUser, giveTo } from '../src/database/embedded/os-user.ts'
import { runAs } from '../src/database/embedded/run-as.ts'
import { cleanUpAfterKill } from './clean-up-process.ts'
import { makeScratchDirectory } from './scratch-directory.ts'
import { findFreePort } from './throw-away-cluster.ts'
import { waitFor } from './wait-for.ts'

/** Server and client programs of one version, which the embedded PostgreSQL does not include. */
export interface InstalledPostgres extends AsyncDisposable {
  /** Superuser's URL, without a database. */
  readonly url: string
  readonly port: number
  /** Runs a client program such as `pg_dump` and returns its output. */
  run(program: string, args: readonly string[]): Promise<string>
  /** Kills the postmaster. Its sessions end once they notice. */
  kill(): void
  /** Starts a killed server. */
  start(): Promise<void>
}

/** Debian's and Ubuntu's folder of versions. */
const versions = '/usr/lib/postgresql'

/** Finds the folder of a server of PostgreSQL 15 or later with its pg_dump; undefined if none is installed. */
export function findInstalledPostgres(): string | undefined {
  if (!existsSync(versions)) return undefined
  return readdirSync(versions)
    .filter((version) => Number(version) >= 15)
    .sort((one, other) => Number(other) - Number(one))
    .map((version) => join(versions, version, 'bin'))
    .find((folder) =>
      ['postgres', 'initdb', 'pg_dump', 'psql'].every((name) => existsSync(join(folder, name))),
    )
}

/**
 * Starts a server on new files.
 *
 * @param settings further settings by their names
 */
export async function startInstalledPostgres(
  folder: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<InstalledPostgres> {
  const directory = makeScratchDirectory('basalt-installed-')
  const release = cleanUpAfterKill({ directory })
  // Postgres runs under an account of its own, which needs access.
  chmodSync(directory, 0o755)
  const data = join(directory, 'data')
  const user = findUnprivilegedUser(directory)
  mkdirSync(data, { mode: 0o700 })
  giveTo(user, data)
  const run = async (program: string, args: readonly string[]) => {
    const { code, output } = await runAs(user, join(folder, program), [...args])
    if (code !== 0) throw new Error(`${program}: ${output}`)
    return output
  }
  await run('initdb', ['--pgdata', data, '--username', 'postgres', '--auth', 'trust', '--no-sync'])
  const port = await findFreePort()
  const further = Object.entries(settings).map(([name, value]) => ` -c ${name}=${value}`)
  const options = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off${further.join('')}`
  const start = () =>
    run('pg_ctl', ['start', '--wait', '--pgdata', data, '--log', join(data, 'log'), '-o', options])
  await start()
  return {
    url: `postgresql://postgres@127.0.0.1:${port}`,
    port,
    run,
    kill() {
      process.kill(postmasterPid(data) ?? 0, 'SIGKILL')
    },
    async start() {
      // Sessions that have not noticed the end of the postmaster use its memory.
      await waitFor('the sessions to end', async () => {
        try {
          return await start()
        } catch {
          return undefined
        }
      })
    },
    async [Symbol.asyncDispose]() {
      await run('pg_ctl', ['stop', '--mode', 'immediate', '--pgdata', data])
      rmSync(directory, { recursive: true, force: true })
      release()
    },
  }
}
