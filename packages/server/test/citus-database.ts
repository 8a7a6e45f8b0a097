import { randomUUID } from 'node:crypto'
import pg from 'pg'
import type { TestDatabase } from './test-app.ts'

/** Superuser's URL of a database with Citus on a coordinator with workers; undefined where there is none. */
export const citusUrl = process.env.BASALT_TEST_CITUS_URL

/** Database of a test on a coordinator and its workers. */
export interface CitusDatabase extends TestDatabase {
  /** Addresses of the workers, each with the same database. */
  readonly workers: readonly string[]
  /** Runs SQL on one worker and returns the rows. */
  onWorker<Row extends pg.QueryResultRow = pg.QueryResultRow>(worker: string, text: string): Promise<Row[]>
}

/**
 * Creates a database on the coordinator of BASALT_TEST_CITUS_URL and on its workers, and connects them.
 *
 * @param isAlone true to connect no workers
 */
export async function createCitusDatabase({ isAlone = false } = {}): Promise<CitusDatabase> {
  if (citusUrl === undefined) throw new Error('BASALT_TEST_CITUS_URL is not set')
  const name = `test_${randomUUID().replaceAll('-', '')}`
  const at = (database: string, host?: string, port?: number) => {
    const url = new URL(citusUrl ?? '')
    url.pathname = `/${database}`
    if (host !== undefined) url.host = `${host}:${port}`
    return url.href
  }
  const given = new URL(citusUrl).pathname.slice(1)
  const nodes = await run<{ host: string; port: number; isCoordinator: boolean }>(
    citusUrl,
    `select nodename as host, nodeport as port, groupid = 0 as "isCoordinator" from pg_dist_node order by groupid`,
  )
  for (const { host, port } of nodes) {
    await run(
      at(given, host, port),
      `set citus.enable_create_database_propagation = off; create database ${name} template template0 locale_provider icu icu_locale 'und' locale 'C'`,
    )
    await run(at(name, host, port), 'create extension citus')
  }
  const coordinator = nodes.find(({ isCoordinator }) => isCoordinator)
  if (coordinator === undefined) throw new Error('the coordinator is not in pg_dist_node')
  const url = at(name, coordinator.host, coordinator.port)
  const added = isAlone ? [] : nodes.filter((node) => node !== coordinator)
  if (!isAlone)
    await run(url, `select citus_set_coordinator_host('${coordinator.host}', ${coordinator.port})`)
  for (const { host, port } of added) await run(url, `select citus_add_node('${host}', ${port})`)
  const pool = new pg.Pool({ connectionString: url, max: 3 })
  pool.on('error', () => undefined)
  return {
    url,
    workers: added.map(({ host, port }) => at(name, host, port)),
    onWorker: run,
    sql: async <Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) => {
      const result = await pool.query<Row>(text, [...values])
      return result.rows ?? []
    },
    async [Symbol.asyncDispose]() {
      await pool.end()
      for (const { host, port } of nodes)
        await run(at(given, host, port), `drop database ${name} with (force)`)
    },
  }
}

/** Runs statements one after the other; returns the rows of the last. */
async function run<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    let rows: Row[] = []
    // A database cannot be created in the transaction of several statements.
    for (const each of text.split('; ')) rows = (await client.query<Row>(each)).rows
    return rows
  } finally {
    await client.end()
  }
}
