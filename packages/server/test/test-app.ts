import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { type Logger, pino } from 'pino'
import { inject } from 'vitest'
import { type App, createApp } from '../src/app.ts'
import type { ChangeLog } from '../src/database/change-log.ts'
import type { ResolveTxt } from '../src/features/files/index.ts'
import { type AccessTokenClaims, signAccessToken } from '../src/features/identity/accounts/index.ts'
import { createPasswordHasher } from '../src/features/identity/passwords/index.ts'
import type { DashboardFiles } from '../src/features/operations/dashboard/index.ts'
import type { SiteFiles } from '../src/features/operations/documentation/index.ts'
import type { Resolve } from '../src/http/outbound.ts'
import { type Clock, systemClock } from '../src/lib/clock.ts'
import { createCitusDatabase } from './citus-database.ts'
import { distributeTables } from './distribute-tables.ts'
import { templateDatabase } from './global-setup.ts'
import { sendOverHttp } from './http-client.ts'
import { isOnCitus, skipWhenUnsupported } from './on-citus.ts'
import { countReplicaReads, haveReplica, LastWrite, replicaConfig, replicaLagMs } from './replica-reads.ts'
import { testAdminPassword, testConfig, testSecret } from './test-config.ts'
import { waitFor } from './wait-for.ts'
import { nodesAreWorkers, openWorkerNode } from './worker-nodes.ts'

/** Database of a test, copied from the migrated template. */
export interface TestDatabase extends AsyncDisposable {
  readonly url: string
  /** Runs SQL as superuser and returns the rows. */
  sql<Row extends pg.QueryResultRow = pg.QueryResultRow>(
    text: string,
    values?: readonly unknown[],
  ): Promise<Row[]>
  /** Last write by a test; only in the project `replica`. */
  readonly lastWrite?: LastWrite
}

export interface TestAppOptions {
  readonly config?: Readonly<Record<string, string>>
  readonly clock?: Clock
  readonly changes?: ChangeLog
  /** Resolver of the host names of webhooks. */
  readonly resolve?: Resolve
  /** Resolver of the TXT records of custom domains. */
  readonly resolveTxt?: ResolveTxt
  /** Replacement of the addresses of sign-in providers. */
  readonly reachProvider?: (url: string) => string
  /** Dashboard files that replace those of its build. */
  readonly dashboardFiles?: DashboardFiles
  readonly docsSite?: SiteFiles
  /** Address of the stand-in for sign-in providers without a client. */
  readonly providerStandIn?: string
  /** Database that replaces a new one, for several nodes on one. */
  readonly database?: TestDatabase
  /** True to hash passwords at the cost of production, a hundred times that of tests. */
  readonly hashesAtFullCost?: boolean
  /** SQL that runs before the app starts. */
  readonly setup?: string
}

export interface TestResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Parses the body as JSON; throws if it is none. */
  // biome-ignore lint/suspicious/noExplicitAny: assertions name what they expect of it
  readonly json: any
}

export interface RequestOptions {
  readonly token?: string | undefined
  /** Body: a text is sent as it is, anything else as JSON. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface TestApp extends AsyncDisposable {
  readonly app: App
  readonly url: string
  readonly database: TestDatabase
  readonly sql: TestDatabase['sql']
  /** Lines that the server logged. */
  readonly log: readonly string[]
  request(method: string, path: string, options?: RequestOptions): Promise<TestResponse>
  adminToken(): Promise<string>
}

/** Hasher with the least cost that Argon2 accepts, because most tests are not about the cost of a guess. */
const cheapHasher = createPasswordHasher({ memoryKib: 8, passes: 1, lanes: 1 })

/** True in the project `literals`, whose servers have the callers' context in literals. */
const isLiteral = process.env.BASALT_TEST_CONTEXT === 'literals'

/** Running server of a test. */
export interface TestNode extends Pick<TestApp, 'app' | 'url' | 'log'> {
  close(): Promise<void>
}

/** Starts a whole server within this process. */
async function openNode(database: TestDatabase, options: TestAppOptions): Promise<TestNode> {
  const log: string[] = []
  const replica = haveReplica() ? replicaConfig(database.url) : {}
  const app = await createApp({
    config: testConfig({ 'database.url': database.url, ...replica, ...options.config }),
    log: capturingLogger(log),
    ...(options.hashesAtFullCost === true ? {} : { passwords: cheapHasher }),
    ...(options.clock === undefined ? {} : { clock: options.clock }),
    ...(options.changes === undefined ? {} : { changes: options.changes }),
    ...(options.resolve === undefined ? {} : { resolve: options.resolve }),
    ...(options.resolveTxt === undefined ? {} : { resolveTxt: options.resolveTxt }),
    ...(options.dashboardFiles === undefined ? {} : { dashboardFiles: options.dashboardFiles }),
    ...(options.docsSite === undefined ? {} : { docsSite: options.docsSite }),
    ...(isLiteral ? { contextDialect: 'literals' as const } : {}),
    ...(options.providerStandIn === undefined ? {} : { providerStandIn: options.providerStandIn }),
    ...(options.reachProvider === undefined ? {} : { reachProvider: options.reachProvider }),
  })
  await app.listen()
  const { replicas } = app.database
  if (haveReplica()) {
    await waitFor('the replica', () => replicas?.list().every(({ refusal }) => refusal === undefined) ?? true)
  }
  return {
    app,
    url: app.http.listeningOrigin,
    log,
    async close() {
      for (const { reads } of replicas?.list() ?? []) countReplicaReads(reads)
      await app.close()
    },
  }
}

/** Starts a whole server on a free port with a database of its own. */
export async function createTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  const database = options.database ?? (await createTestDatabase())
  if (options.setup !== undefined) {
    await database.sql(options.setup)
    if (isOnCitus) await distributeTables(database.sql)
  }
  const node = await (nodesAreWorkers ? openWorkerNode : openNode)(database, options)
  const { url } = node
  let admin: string | undefined
  const { lastWrite } = database
  const request = async (method: string, path: string, requestOptions: RequestOptions = {}) => {
    if (lastWrite === undefined) return await send(url, method, path, requestOptions)
    const headers = { ...lastWrite.headers, ...requestOptions.headers }
    const response = await send(url, method, path, { ...requestOptions, headers })
    lastWrite.store(response.headers.get('x-basalt-position'))
    return response
  }
  return {
    get app() {
      return node.app
    },
    url,
    database,
    sql: database.sql,
    get log() {
      return node.log
    },
    request,
    async adminToken() {
      admin ??= (await request('POST', '/api/admin/auth', { body: { password: testAdminPassword } })).json
        .token
      if (admin === undefined) throw new Error('no admin token')
      return admin
    },
    async [Symbol.asyncDispose]() {
      await node.close()
      if (options.database === undefined) await database[Symbol.asyncDispose]()
    },
  }
}

export async function createTestDatabase(): Promise<TestDatabase> {
  if (isOnCitus) return await createMigratedCitusDatabase()
  const clusterUrl = inject('clusterUrl')
  const name = `test_${randomUUID().replaceAll('-', '')}`
  // Copying files costs half of writing them to the log and to the buffers (PostgreSQL, CREATE DATABASE).
  await withClient(`${clusterUrl}/postgres`, (client) =>
    client.query(`create database ${name} template ${templateDatabase} strategy file_copy`),
  )
  const url = `${clusterUrl}/${name}`
  const pool = new pg.Pool({ connectionString: url, max: 3 })
  // A test that restarts Postgres cuts idle connections.
  pool.on('error', () => undefined)
  const lastWrite = replicaLagMs === undefined ? undefined : new LastWrite()
  return {
    url,
    ...(lastWrite === undefined ? {} : { lastWrite }),
    sql: async <Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) => {
      const result = await pool.query<Row>(text, [...values])
      if (lastWrite !== undefined) {
        const { rows } = await pool.query('select pg_current_wal_insert_lsn()::text as position')
        lastWrite.store(rows[0]?.position)
      }
      return result.rows ?? []
    },
    async [Symbol.asyncDispose]() {
      await pool.end()
      await withClient(`${clusterUrl}/postgres`, (client) =>
        client.query(`drop database ${name} with (force)`),
      )
    },
  }
}

/** Creates a database on several servers, whose migrations a first start applies. */
async function createMigratedCitusDatabase(): Promise<TestDatabase> {
  const database = await createCitusDatabase()
  const first = await openNode(database, {})
  await first.close()
  return database
}

/** Signs an access token as the server itself would. */
export function userToken(
  claims: Partial<AccessTokenClaims> & { readonly sub: string },
  seconds = 900,
): string {
  const whole = {
    email: '',
    email_verified: false,
    aal: 'aal1',
    amr: ['password'],
    is_anonymous: false,
    ...claims,
  } as const
  return signAccessToken(whole, seconds, { secret: testSecret, clock: systemClock })
}

/** Returns the error envelope without the members that differ between runs. */
export function envelope(response: TestResponse): Record<string, unknown> {
  const { doc_url: docUrl, ...rest } = response.json
  if (typeof docUrl !== 'string' || !docUrl.endsWith(`/docs/errors/${rest.error}`)) {
    throw new Error(`doc_url does not point at the error: ${docUrl}`)
  }
  return rest
}

async function send(
  base: string,
  method: string,
  path: string,
  options: RequestOptions,
): Promise<TestResponse> {
  const { token, body, headers = {} } = options
  const answer = await sendOverHttp(
    base + path,
    method,
    {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
  )
  skipWhenUnsupported(answer.status, answer.text)
  return {
    status: answer.status,
    get headers() {
      return answer.headers
    },
    text: answer.text,
    get json() {
      return JSON.parse(answer.text)
    },
  }
}

async function withClient<Result>(
  url: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

function capturingLogger(lines: string[]): Logger {
  return pino({ level: 'info' }, { write: (line: string) => lines.push(line) })
}
