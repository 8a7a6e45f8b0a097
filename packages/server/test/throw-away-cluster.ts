import { chmodSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import pg from 'pg'
import {
  isClusterRunning,
  prepareCluster,
  startCluster,
  stopCluster,
} from '../src/database/embedded/cluster.ts'
import type { ClusterSettings } from '../src/database/embedded/cluster-settings.ts'
import { postmasterPid } from '../src/database/embedded/lock-file.ts'
import { cleanUpAfterKill } from './clean-up-process.ts'
import { copyClusterTemplate } from './cluster-template.ts'
import { makeScratchDirectory } from './scratch-directory.ts'
import { waitFor } from './wait-for.ts'

/** Postgres on a port of its own, stopped and removed when it is disposed or when this process is killed. */
export interface ThrowAwayCluster extends AsyncDisposable {
  readonly port: number
  readonly directory: string
  /** Process id of its postmaster. */
  readonly pid: number | undefined
  /** Superuser's URL, without a database. */
  readonly url: string
  start(): Promise<void>
  /** Stops Postgres. Fast ends the sessions in order, immediate is like a crash. */
  stop(mode: 'fast' | 'immediate'): Promise<void>
  /** Runs SQL, as superuser by default, and returns the rows. */
  sql<Row extends pg.QueryResultRow>(database: string, text: string, user?: string): Promise<Row[]>
}

/** Settings that survive crashes of Postgres, but not of the machine. */
const withoutFsync = { fsync: 'off', full_page_writes: 'off', autovacuum: 'off' }

export async function startThrowAwayCluster(
  settings: ClusterSettings = {},
  template?: string,
): Promise<ThrowAwayCluster> {
  return await serveThrowAwayCluster(settings, async (directory) =>
    copyClusterTemplate(directory, { template }),
  )
}

/** Starts Postgres on the files that the function puts into a data directory. */
export async function serveThrowAwayCluster(
  settings: ClusterSettings,
  fill: (directory: string) => Promise<void>,
): Promise<ThrowAwayCluster> {
  const directory = makeScratchDirectory('basalt-test-')
  const release = cleanUpAfterKill({ directory })
  // Postgres runs under an account of its own, which needs access.
  chmodSync(directory, 0o755)
  await fill(directory)
  const port = await findFreePort()
  const cluster = await prepareCluster(directory, {
    settings: { listen_addresses: '127.0.0.1', port: String(port), ...withoutFsync, ...settings },
  })
  await startCluster(cluster)
  const url = `postgresql://postgres@127.0.0.1:${port}`
  return {
    port,
    directory,
    get pid() {
      return postmasterPid(cluster.directory)
    },
    url,
    start: () => startCluster(cluster),
    async stop(mode) {
      if (mode === 'fast') return await stopCluster(cluster)
      process.kill(postmasterPid(cluster.directory) ?? 0, 'SIGQUIT')
      await waitFor('Postgres to end', () => !isClusterRunning(cluster))
    },
    async sql(database, text, user = 'postgres') {
      const client = new pg.Client({ host: '127.0.0.1', port, user, database })
      await client.connect()
      try {
        return (await client.query(text)).rows
      } finally {
        await client.end()
      }
    },
    async [Symbol.asyncDispose]() {
      await stopCluster(cluster)
      rmSync(cluster.directory, { recursive: true, force: true })
      rmSync(directory, { recursive: true, force: true })
      release()
    },
  }
}

export function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.on('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => (typeof address === 'object' && address !== null ? resolve(address.port) : reject()))
    })
  })
}
