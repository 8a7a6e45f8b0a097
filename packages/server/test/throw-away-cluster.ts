import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import {
  type ClusterSettings,
  isClusterRunning,
  prepareCluster,
  startCluster,
  stopCluster,
} from '../src/database/embedded/cluster.ts'
import { postmasterPid } from '../src/database/embedded/lock-file.ts'
import { waitFor } from './wait-for.ts'

/** A Postgres on a port of its own, gone without a trace when disposed of. */
export interface ThrowAwayCluster extends AsyncDisposable {
  readonly port: number
  /** A superuser's URL, without a database. */
  readonly url: string
  start(): Promise<void>
  /** Fast: ends the sessions in order. Immediate: as in a crash. */
  stop(mode: 'fast' | 'immediate'): Promise<void>
  /** Runs SQL, as superuser unless given otherwise, and answers the rows. */
  sql<Row extends pg.QueryResultRow>(database: string, text: string, user?: string): Promise<Row[]>
}

/** Survives crashes of Postgres, though not of the machine. */
const withoutFsync = { fsync: 'off', full_page_writes: 'off', autovacuum: 'off' }

export async function startThrowAwayCluster(settings: ClusterSettings = {}): Promise<ThrowAwayCluster> {
  const directory = mkdtempSync(join(tmpdir(), 'basalt-test-'))
  // Postgres runs as an account of its own, which has to pass.
  chmodSync(directory, 0o755)
  const port = await findFreePort()
  const cluster = await prepareCluster(directory, {
    settings: { listen_addresses: '127.0.0.1', port: String(port), ...withoutFsync, ...settings },
  })
  await startCluster(cluster)
  const url = `postgresql://postgres@127.0.0.1:${port}`
  return {
    port,
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
