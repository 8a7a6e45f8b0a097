import { pino } from 'pino'
import type { TestProject } from 'vitest/node'
import { createApp } from '../src/app.ts'
import { sql } from '../src/database/sql.ts'
import { testConfig } from './test-config.ts'
import { startThrowAwayCluster } from './throw-away-cluster.ts'

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
  const cluster =
    external === undefined
      ? await startThrowAwayCluster({ max_connections: '400', synchronous_commit: 'off' })
      : undefined
  const clusterUrl = cluster?.url ?? external ?? ''
  project.provide('clusterUrl', clusterUrl)
  await createTemplate(clusterUrl)
  return async () => cluster?.[Symbol.asyncDispose]()
}

async function createTemplate(clusterUrl: string): Promise<void> {
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: `${clusterUrl}/postgres` })
  await client.connect()
  await client.query(`drop database if exists ${templateDatabase}`)
  await client.query(`create database ${templateDatabase}`)
  await client.end()
  const url = `${clusterUrl}/${templateDatabase}`
  // A first start makes all there is, the queue's tables included; what it says of an administrator is taken back.
  const app = await createApp({ config: testConfig({ 'database.url': url }), log: pino({ level: 'silent' }) })
  await app.database.system.count(sql`truncate basalt.admin, basalt.audit, basalt.attempts`)
  await app.close()
}
