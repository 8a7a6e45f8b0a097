import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { prepareCluster, startCluster, stopCluster } from '../src/database/embedded/cluster.ts'
import { openDatabase } from '../src/database/open.ts'
import { testConfig } from './test-config.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A superuser's URL of the test cluster, without a database. */
    clusterUrl: string
  }
}

/** Name of the migrated database that every test file gets a copy of. */
export const templateDatabase = 'basalt_template'

/**
 * Starts a throw-away Postgres without durability, or takes the server of BASALT_TEST_DATABASE_URL, and migrates
 * one template.
 */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const external = process.env.BASALT_TEST_DATABASE_URL
  const cluster = external === undefined ? await startThrowAwayCluster() : undefined
  const clusterUrl = cluster?.url ?? external ?? ''
  project.provide('clusterUrl', clusterUrl)
  await createTemplate(clusterUrl)
  return async () => cluster?.stop()
}

async function startThrowAwayCluster(): Promise<{ url: string; stop: () => Promise<void> }> {
  const directory = mkdtempSync(join(tmpdir(), 'basalt-test-'))
  // Postgres runs as an account of its own, which has to pass.
  chmodSync(directory, 0o755)
  const port = await findFreePort()
  const cluster = await prepareCluster(directory, {
    listen_addresses: '127.0.0.1',
    port: String(port),
    max_connections: '400',
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    autovacuum: 'off',
  })
  await startCluster(cluster)
  return {
    url: `postgresql://postgres@127.0.0.1:${port}`,
    async stop() {
      await stopCluster(cluster)
      rmSync(cluster.directory, { recursive: true, force: true })
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

async function createTemplate(clusterUrl: string): Promise<void> {
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: `${clusterUrl}/postgres` })
  await client.connect()
  await client.query(`drop database if exists ${templateDatabase}`)
  await client.query(`create database ${templateDatabase}`)
  await client.end()
  const config = testConfig({ 'database.url': `${clusterUrl}/${templateDatabase}` })
  const database = await openDatabase(config, { purpose: 'test template', log: () => undefined })
  await database.close()
}

function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.on('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => (typeof address === 'object' && address !== null ? resolve(address.port) : reject()))
    })
  })
}
