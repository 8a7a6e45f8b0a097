import { existsSync } from 'node:fs'
import pg from 'pg'
import { citusUrl } from './citus-database.ts'
import { type InstalledPostgres, startInstalledPostgres } from './installed-postgres.ts'

/** Coordinator with two workers of its own, so that a test may kill them. */
export interface CitusServers extends AsyncDisposable {
  readonly workers: readonly InstalledPostgres[]
  /** Superuser's URL of the database on the coordinator. */
  readonly url: string
  /** Runs SQL in the database of a server, the coordinator by default, and returns the rows. */
  sql<Row extends pg.QueryResultRow>(text: string, server?: InstalledPostgres): Promise<Row[]>
}

/** Database with Citus on each of the servers. */
const name = 'shop'

const settings = {
  shared_preload_libraries: 'citus',
  wal_level: 'logical',
  max_prepared_transactions: '200',
  max_connections: '200',
  'citus.recover_2pc_interval': '1s',
  'citus.shard_count': '8',
}

/** Returns the folder of the programs of the server of BASALT_TEST_CITUS_URL; undefined if it is on another machine. */
export async function findCitusPrograms(): Promise<string | undefined> {
  if (citusUrl === undefined) return undefined
  const [found] = await query<{ setting: string }>(
    citusUrl,
    `select setting from pg_config where name = 'BINDIR'`,
  )
  return found !== undefined && existsSync(found.setting) ? found.setting : undefined
}

/** Starts the servers and connects them. @param folder folder of the programs of PostgreSQL with Citus */
export async function startCitusServers(folder: string): Promise<CitusServers> {
  const servers: InstalledPostgres[] = []
  const end = async () => {
    for (const server of servers) await server[Symbol.asyncDispose]()
  }
  try {
    for (let count = 0; count < 3; count += 1) {
      const server = await startInstalledPostgres(folder, settings)
      servers.push(server)
      await query(`${server.url}/postgres`, `create database ${name}`)
      await query(`${server.url}/${name}`, 'create extension citus')
    }
    const [coordinator, ...workers] = servers
    if (coordinator === undefined) throw new Error('no coordinator')
    const sql = <Row extends pg.QueryResultRow>(text: string, server = coordinator) =>
      query<Row>(`${server.url}/${name}`, text)
    await sql(`select citus_set_coordinator_host('127.0.0.1', ${coordinator.port})`)
    for (const { port } of workers) await sql(`select citus_add_node('127.0.0.1', ${port})`)
    return { workers, url: `${coordinator.url}/${name}`, sql, [Symbol.asyncDispose]: end }
  } catch (error) {
    await end()
    throw error
  }
}

async function query<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Row>(text)).rows
  } finally {
    await client.end()
  }
}
