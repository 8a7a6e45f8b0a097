import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { pino } from 'pino'
import { createApp } from '../packages/server/src/app.ts'
import { loadConfig } from '../packages/server/src/configuration.ts'
import type { ApiDocument } from './print-operations.ts'

/**
 * Returns the API document of a server with all features enabled.
 *
 * @param tables SQL that creates the tables of the document
 */
export async function readApiDocument(tables?: string): Promise<ApiDocument> {
  const directory = mkdtempSync(join(tmpdir(), 'basalt-document-'))
  const flags = {
    'server.data_dir': directory,
    'server.public_base_url': 'http://127.0.0.1:8090',
    // Tables are in the document of every caller.
    ...(tables === undefined ? {} : { 'auth.enabled': 'false' }),
  }
  const { config } = loadConfig({ directory, env: {}, flags })
  const app = await createApp({ config, log: pino({ level: 'silent' }), embeddedSettings: { fsync: 'off' } })
  try {
    if (tables !== undefined) await run(tables, app.database.connectionString)
    const response = await app.http.inject('/api/openapi.json')
    if (response.statusCode !== 200) throw new Error(response.body)
    return response.json()
  } finally {
    await app.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

async function run(statements: string, connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  await client.query(statements)
  await client.end()
}
