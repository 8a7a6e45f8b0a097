import { chmodSync, rmSync } from 'node:fs'
import module from 'node:module'
import { join } from 'node:path'
import { pino } from 'pino'
import type { TestProject } from 'vitest/node'
import { cleanUpAfterKill } from './clean-up-process.ts'
import { createClusterTemplate } from './cluster-template.ts'
import { installPackage } from './installed-package.ts'
import { makeScratchDirectory } from './scratch-directory.ts'
import { testConfig } from './test-config.ts'
import { startThrowAwayCluster, type ThrowAwayCluster } from './throw-away-cluster.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Superuser's URL of the test cluster, without a database. */
    clusterUrl: string
    /** Files of an initialized cluster, to be copied. */
    clusterTemplate: string
    /** Directory for the files of the first PGlite of the run. */
    pgliteTemplate: string
  }
}

/** Name of the migrated database, of which every test file gets a copy. */
export const templateDatabase = 'basalt_template'

interface Provided {
  readonly clusterUrl: string
  readonly clusterTemplate: string
  readonly pgliteTemplate: string
  /** Test cluster; undefined for an external server. */
  readonly cluster: ThrowAwayCluster | undefined
  close(): Promise<void>
}

declare global {
  // Each project has its own instance of this module; they share one cluster.
  var basaltTestCluster: Promise<Provided> | undefined
}

export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  globalThis.basaltTestCluster ??= open()
  const { clusterUrl, clusterTemplate, pgliteTemplate } = await globalThis.basaltTestCluster
  project.provide('clusterUrl', clusterUrl)
  project.provide('clusterTemplate', clusterTemplate)
  project.provide('pgliteTemplate', pgliteTemplate)
  return async () => {
    const opened = globalThis.basaltTestCluster
    globalThis.basaltTestCluster = undefined
    await (await opened)?.close()
  }
}

/**
 * Starts a temporary Postgres without durability, or uses the server of BASALT_TEST_DATABASE_URL, and migrates one
 * template.
 */
async function open(): Promise<Provided> {
  const external = process.env.BASALT_TEST_DATABASE_URL
  const compiled = createCompileCache()
  const [template, installed] = await Promise.all([
    createClusterTemplate(),
    process.env.BASALT_TEST_EXECUTABLE === undefined ? installPackage() : undefined,
  ])
  const cluster =
    external === undefined
      ? await startThrowAwayCluster({ max_connections: '400', synchronous_commit: 'off' }, template.directory)
      : undefined
  const clusterUrl = cluster?.url ?? external ?? ''
  await createTemplate(clusterUrl)
  // Workers begin with the code that this start has compiled.
  module.flushCompileCache()
  return {
    clusterUrl,
    clusterTemplate: template.directory,
    cluster,
    pgliteTemplate: join(compiled.directory, 'pglite.tar'),
    async close() {
      await cluster?.[Symbol.asyncDispose]()
      template[Symbol.dispose]()
      compiled[Symbol.dispose]()
      installed?.[Symbol.dispose]()
    },
  }
}

/**
 * Creates a folder of compiled code for all processes of the run under any account. It saves half of the processor time of a start. Node's own folder in the temporary directory is open only to the first account that needs
 * it.
 */
function createCompileCache(): { readonly directory: string } & Disposable {
  const directory = makeScratchDirectory('basalt-compiled-')
  const release = cleanUpAfterKill({ directory })
  chmodSync(directory, 0o1777)
  process.env.NODE_COMPILE_CACHE = directory
  module.enableCompileCache(directory)
  return {
    directory,
    [Symbol.dispose]() {
      rmSync(directory, { recursive: true, force: true })
      release()
    },
  }
}

async function createTemplate(clusterUrl: string): Promise<void> {
  // Imported late, so that it enters the cache.
  const { createApp } = await import('../src/app.ts')
  const { sql } = await import('../src/database/sql.ts')
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: `${clusterUrl}/postgres` })
  await client.connect()
  await client.query(`drop database if exists ${templateDatabase}`)
  await client.query(`create database ${templateDatabase}`)
  await client.end()
  const url = `${clusterUrl}/${templateDatabase}`
  // A first start creates everything, including the tables of the queue. Each test creates its own administrator.
  const app = await createApp({ config: testConfig({ 'database.url': url }), log: pino({ level: 'silent' }) })
  await app.database.system.count(sql`delete from basalt.administrators`)
  await app.database.system.count(sql`truncate basalt.audit, basalt.attempts`)
  // A schedule that becomes due while a test runs would disturb the test.
  await app.database.system.count(
    sql`update basalt.schedules set next_run_at = next_run_at + interval '1 year'`,
  )
  await app.close()
}
