import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { extensionSetups, type PgliteExtension, startPgliteServer } from './pglite-server.ts'
import type { TestDatabase } from './test-app.ts'

/** Database that can have an extension, with the configuration for its use. */
export interface ExtensionDatabase extends TestDatabase {
  readonly config: Readonly<Record<string, string>>
}

/** PostgreSQL of the results, for the names of tests. */
export const extensionEngine =
  process.env.BASALT_TEST_EXTENSIONS_URL === undefined ? 'PGlite' : 'the server of BASALT_TEST_EXTENSIONS_URL'

/**
 * Time limit of hooks that create a database. PGlite computes in the process of the test, which takes minutes under
 * load.
 */
export const extensionSetupMs = 300_000

/**
 * Creates a database on the server of BASALT_TEST_EXTENSIONS_URL, a superuser's URL without a database, whose
 * PostgreSQL has the extension. Without it the database is one of PGlite, which needs no installation. PostGIS is
 * created in the schema "Ext 1"; the test creates vector.
 */
export async function createExtensionDatabase(extension: PgliteExtension): Promise<ExtensionDatabase> {
  const server = process.env.BASALT_TEST_EXTENSIONS_URL
  return server === undefined ? await createOnPglite(extension) : await createOn(server, extension)
}

async function createOnPglite(extension: PgliteExtension): Promise<ExtensionDatabase> {
  const server = await startPgliteServer(extension)
  const database = connectTo(server.url)
  return {
    ...database,
    config: {
      'database.max_conns': '4',
      // All connections share one session, whose statements also block this process.
      'database.acquire_timeout_ms': '60000',
      // Background work of the server would compete with the requests of the test.
      'jobs.enabled': 'false',
      'webhooks.deliver': 'false',
    },
    async [Symbol.asyncDispose]() {
      await database[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
    },
  }
}

async function createOn(server: string, extension: PgliteExtension): Promise<ExtensionDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await using maintenance = connectTo(`${server}/postgres`)
  await maintenance.sql(`create database ${name}`)
  const database = connectTo(`${server}/${name}`)
  await database.sql(extensionSetups[extension])
  return {
    ...database,
    config: {},
    async [Symbol.asyncDispose]() {
      await database[Symbol.asyncDispose]()
      await using again = connectTo(`${server}/postgres`)
      await again.sql(`drop database ${name} with (force)`)
    },
  }
}

function connectTo(url: string): TestDatabase {
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  pool.on('error', () => undefined)
  return {
    url,
    sql: async <Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) =>
      (await pool.query<Row>(text, [...values])).rows ?? [],
    [Symbol.asyncDispose]: () => pool.end(),
  }
}
