import { availableParallelism } from 'node:os'
import pg from 'pg'
import { untilAborted } from '../lib/abort.ts'
import { isLoopback } from '../lib/addresses.ts'
import { codeOf, messageOf, OperatorError } from '../lib/errors.ts'
import { CallerContexts, type ContextDialect } from './caller/caller-context.ts'
import type { CallerScope } from './caller/caller-scope.ts'
import { findMissingGrants, type MissingGrants } from './caller/missing-grants.ts'
import { reportMissingGrants } from './caller/report-grants.ts'
import type { DatabaseConfig } from './config.ts'
import { Connection, type ConnectionTarget } from './connection/connection.ts'
import { findDead } from './connection/half-open.ts'
import { type EngineProbe, probeEngine } from './connection/probe.ts'
import { branchName, branchUrl, describeUrl, parseDatabaseUrl, withDatabaseName } from './database-url.ts'
import { countWorkers } from './distributed/probe-table.ts'
import { proveContexts } from './distributed/prove-context.ts'
import { embeddedDatabase } from './embedded/cluster.ts'
import type { ClusterSettings } from './embedded/cluster-settings.ts'
import { EmbeddedPostgres } from './embedded/embedded-postgres.ts'
import { ensureStatementStatistics } from './embedded/statement-statistics.ts'
import { findRemedyBy } from './errors/denials.ts'
import { ConnectionLost } from './errors/failures.ts'
import { letAdministratorBecomeCallers } from './logins/ensure-logins.ts'
import { grantToAdministrator } from './logins/grants.ts'
import { Login, loginPassword } from './logins/login.ts'
import {
  type LoginOptions,
  openRequestLogins,
  type RequestLogin,
  type RequestLogins,
} from './logins/request-logins.ts'
import { openRequestPool } from './logins/request-pool.ts'
import { RoleSessions } from './logins/role-sessions.ts'
import { administratorRole, developerRole, gatewayRole, readerRole } from './logins/roles.ts'
import { isOnlyProgram } from './other-programs.ts'
import { ConnectionBudget, divideConnections } from './pool/connection-budget.ts'
import { Pool } from './pool/pool.ts'
import { SharedConnections } from './pool/shared-connections.ts'
import { prepareAccess, prepareAccessIn } from './preparation/access.ts'
import { reportCollations } from './preparation/collations.ts'
import { migrate, migrateIn } from './preparation/migrate.ts'
import { inPreparation } from './preparation/preparation.ts'
import { Primary } from './primary/primary.ts'
import { PrimaryWatch } from './primary/primary-watch.ts'
import { openReplicas } from './replicas/open-replicas.ts'
import type { ReadReplicas } from './replicas/read-replicas.ts'
import { SessionGuard } from './session/guard.ts'
import { SharedTransaction } from './shared-transaction.ts'
import { sql } from './sql.ts'
import { SqlLogin } from './sql-login.ts'
import { inTransaction, type Queryable, SystemDatabase } from './system-database.ts'
import { type Rehearsal, UserDatabase, type UserDatabaseOptions } from './user-database.ts'

export interface OpenOptions {
  /** Purpose of this process for `pg_stat_activity`, such as `basalt start`. */
  readonly purpose: string
  /** True for the one server of the embedded data directory; false for commands beside it. */
  readonly asServer?: boolean
  /** True if another process owns the embedded database, which this one only uses. */
  readonly joinsEmbedded?: boolean
  readonly log: (message: string, detail?: object) => void
  /** Settings of the embedded cluster; for tests, whose clusters need no durability. */
  readonly embeddedSettings?: ClusterSettings
  /** Database of the server, other than the configured one. */
  readonly databaseName?: string
  /** Rehearsal in which no request of a caller changes anything; for tests of policies. */
  readonly rehearsal?: Rehearsal | undefined
  /** Dialect of the callers' context, other than the one that the probe chooses; for tests. */
  readonly contextDialect?: ContextDialect | undefined
  /** Number of processes that share the processors of this machine; 1 by default. */
  readonly processes?: number | undefined
  /**
   * Signal that stops the opening. It then rejects with the signal's reason and leaves no Postgres running that
   * it has started.
   */
  readonly signal?: AbortSignal | undefined
}

/** Database of a running server. */
export interface Database {
  readonly mode: 'embedded' | 'external'
  /** Location of the data, for people. It never contains a password. */
  readonly location: string
  /** URL for PostgreSQL's own programs, with the password if there is one. */
  readonly connectionString: string
  /** Command lines that reach an embedded database. */
  readonly psql: readonly string[]
  readonly engine: EngineProbe
  /** Names of the migrations that this start has applied. */
  readonly migrated: readonly string[]
  readonly system: SystemDatabase
  readonly user: UserDatabase
  /** Read replicas of `database.replica_urls`; undefined without any. */
  readonly replicas: ReadReplicas | undefined
  /** Limit of the pools' connections. */
  readonly connections: ConnectionBudget
  /** Resets of the pools' sessions. */
  readonly sessions: Pick<SessionGuard, 'trust'>
  /**
   * Returns true if this node is known to be the only one on the database. Behind a pooler it returns false.
   */
  readonly isOnlyNode: () => Promise<boolean>
  /** Opens a connection to listen on; undefined behind a pooler without `database.listen_url`. */
  readonly openListener: (() => Promise<Connection>) | undefined
  /** Connections beside the pools, for work that outlasts a request. The caller that opens one closes it. */
  readonly aside: {
    /**
     * Opens one of the login role, for work of the server itself.
     *
     * @throws ConnectionLost when the database is unavailable
     */
    open(): Promise<Connection>
    /** Opens one for statements of a request. @throws ConnectionLost when the database is unavailable */
    openFor(scope: CallerScope): Promise<Connection>
    /**
     * Opens one of the read-only role.
     *
     * @throws SqlLoginUnavailable where there can be none; ConnectionLost when the database is unavailable
     */
    openReader(): Promise<Connection>
    /** Opens a session in which a developer writes, with the same errors. */
    openDeveloper(): Promise<Connection>
    /**
     * Runs the work on one in a transaction as the login role, and leaves no state in the session of a pooler.
     */
    transaction<Result>(
      connection: Connection,
      work: (transaction: Queryable) => Promise<Result>,
    ): Promise<Result>
    /** Cancels the statement that runs on one; never rejects. */
    cancel(connection: Connection): Promise<void>
  }
  /** Begins a transaction of several callers on a connection beside the pools. It is never committed. */
  share(): Promise<{ readonly transaction: SharedTransaction; cancel(): Promise<void> }>
  /** Sessions that log in as roles of the operator. `aside` cancels their statements. */
  readonly operatorRoles: Pick<RoleSessions, 'findFault' | 'open'>
  /**
   * Fails all work of the pools at once, and all later work. It is for a stop while the database does not
   * respond.
   */
  disconnect(): void
  /** Closes the pools. @param isImmediate does not wait for running statements; for a start that was aborted */
  close(isImmediate?: boolean): Promise<void>
}

/** Settings on which values depend. JSON must not depend on the configuration of a server or of its workers. */
const valueSettings = {
  timezone: 'UTC',
  datestyle: 'ISO, MDY',
  intervalstyle: 'iso_8601',
  bytea_output: 'hex',
  // Our own texts are parsed, and names and types printed, in one way, whatever settings the database has.
  standard_conforming_strings: 'on',
  transform_null_equals: 'off',
  quote_all_identifiers: 'off',
  array_nulls: 'on',
  extra_float_digits: '1',
} as const

/** Returns the settings of every session. */
function sessionSettings(config: DatabaseConfig): Record<string, string> {
  return {
    ...valueSettings,
    // Compiling a short query takes longer than running it.
    jit: 'off',
    statement_timeout: `${config.statement_timeout_ms}ms`,
    idle_in_transaction_session_timeout: `${config.statement_timeout_ms + transactionSlackMs}ms`,
  }
}

/** Time that a transaction of several statements has beyond the longest single statement. */
const transactionSlackMs = 5000
const connectTimeoutMs = 3000

/** Configuration sections that opening the database reads. */
export interface DatabaseSections {
  readonly database: DatabaseConfig
  readonly auth: { readonly jwt_secret: string }
  readonly server: { readonly data_dir: string }
}

/**
 * Opens the configured database for a server. It starts the embedded Postgres if that is configured, migrates,
 * exposes the configured schemas to callers, and creates the pools.
 *
 * @throws OperatorError in one line when the database is unreachable, too old or cannot be prepared
 */
export async function openDatabase(config: DatabaseSections, options: OpenOptions): Promise<Database> {
  const embedded =
    config.database.url === ''
      ? await openEmbedded(config, options, (options.asServer ?? true) && options.joinsEmbedded !== true)
      : undefined
  try {
    const ownSessions = new Set<number>()
    const primary = embedded === undefined ? new Primary(options.log) : undefined
    const bare: ConnectionTarget = {
      ...reach(config, embedded, options),
      settings: {},
      prepare: false,
      sessions: ownSessions,
      ...(primary === undefined ? {} : { primary }),
    }
    const first = await untilAborted(options.signal, openFirst(bare, config))
    const { engine, migrated, missing, roleSettings, workers } = await untilAborted(
      options.signal,
      prepare(first, config, options),
    )
    if (missing !== undefined) reportMissingGrants(missing, options.log)
    const settings = sessionSettings(config.database)
    const dialect = options.contextDialect ?? (engine.isDistributed ? 'literals' : 'parameters')
    const target: ConnectionTarget = engine.isPooled ? bare : { ...bare, settings, prepare: true }
    const openOwner = () => Connection.open(target)
    // All processes on an embedded database share its password, so that they derive the same passwords of roles.
    const configuredSecret = options.rehearsal?.loginSecret ?? config.auth.jwt_secret
    const loginSecret = configuredSecret || (embedded?.socket.password ?? '')
    const createLogin = remembering(
      (role: string) => new Login(role, bare, { password: loginPassword(loginSecret, role), openOwner }),
    )
    const loginOptions = loginOptionsOf(
      config,
      { bare, engine, dialect, settings, roleSettings, createLogin },
      options,
    )
    const logins = await untilAborted(options.signal, openLogins(config, loginOptions))
    if (engine.isDistributed) {
      await untilAborted(options.signal, proveContexts(loginContexts(logins, dialect), workers))
    }
    const cores = knownCores(config.database.url, engine, options.processes)
    const pools = createPools(logins, target, config.database, { engine, dialect, cores })
    const watch = watchPrimary(bare, options)
    const { sessions } = pools
    const system = new SystemDatabase(pools.system, sessions)
    const direct = directTarget(config.database, target, engine)
    const loginOf = (role: typeof readerRole | typeof developerRole) =>
      new SqlLogin(system, role, createLogin(role), direct && { ...direct, settings })
    const [reader, developer] = [loginOf(readerRole), loginOf(developerRole)]
    const roleSessions = new RoleSessions(system, createLogin, direct && { ...direct, settings })
    const repairGrants = () => system.transaction(grantToAdministrator)
    const grantCallerRoles = () => system.transaction(letAdministratorBecomeCallers)
    const user = new UserDatabase({ ...pools, repairGrants, grantCallerRoles }, options.rehearsal)
    const replicas =
      options.rehearsal === undefined
        ? openReplicas(config.database, {
            logins: loginOptions,
            primary: logins,
            context: { dialect, workerSettings: valueSettings },
            pool: {
              ...poolLimits(config.database),
              size: divideConnections(config.database.max_conns).requests,
            },
            coresOf: (url) => knownCores(url, engine, options.processes),
            system,
          })
        : undefined
    if (replicas !== undefined) user.routeReads(replicas)
    /** Connections whose process ids are known. A pooler invents those of the others. */
    const knownBackends = new WeakSet<Connection>()
    const open = async (login: RequestLogin | undefined) => {
      const connection = await (login ?? { open: openOwner }).open()
      if (!(login?.isPooled ?? engine.isPooled)) knownBackends.add(connection)
      return connection
    }
    return {
      mode: embedded === undefined ? 'external' : 'embedded',
      location: embedded?.directory ?? describeUrl(branchUrl(config.database.url, config.database.branch)),
      psql: embedded?.psql ?? [],
      connectionString: connectionStringOf(config, embedded),
      engine,
      migrated,
      system,
      user,
      replicas,
      connections: pools.budget,
      sessions: {
        trust(code) {
          for (const guard of pools.guards) guard.trust(code)
          replicas?.trust(code)
        },
      },
      async isOnlyNode() {
        const isPooled = engine.isPooled || logins.callers.isPooled || logins.administrators.isPooled
        return !isPooled && (await isOnlyProgram(system, ownSessions))
      },
      openListener: direct && (() => Connection.open({ ...direct, prepare: false })),
      aside: {
        open: () => open(undefined),
        async openFor(scope) {
          if (scope.kind !== 'unrestricted') return await open(logins.callers)
          if (!logins.administrators.isOwner) await repairGrants()
          return await open(logins.administrators)
        },
        async openReader() {
          const connection = await reader.open()
          knownBackends.add(connection)
          return connection
        },
        async openDeveloper() {
          const connection = await developer.open()
          knownBackends.add(connection)
          return connection
        },
        transaction: (connection, work) => inTransaction(connection, work, sessions, () => true),
        async cancel(connection) {
          if (knownBackends.has(connection)) await cancelStatement(system, connection)
          else connection.destroy()
        },
      },
      async share() {
        if (!logins.administrators.isOwner) await repairGrants()
        const connection = await open(undefined)
        const transactionSettings = engine.isPooled ? settings : {}
        const transaction = await SharedTransaction.begin(connection, {
          contexts: new CallerContexts({ dialect, transactionSettings, workerSettings: valueSettings }),
          loginOf({ kind }) {
            const { isOwner } = kind === 'unrestricted' ? logins.administrators : logins.callers
            if (isOwner) return undefined
            return kind === 'unrestricted' ? administratorRole : gatewayRole
          },
        })
        return { transaction, cancel: () => cancelStatement(system, connection) }
      },
      operatorRoles: {
        findFault: (role) => roleSessions.findFault(role),
        async open(role) {
          const connection = await roleSessions.open(role)
          knownBackends.add(connection)
          return connection
        },
      },
      disconnect() {
        replicas?.disconnect()
        for (const pool of pools.all) pool.disconnect()
      },
      async close(isImmediate = false) {
        // The order matters: statements of callers that have disconnected are cancelled through the other pool.
        const requests = pools.all.filter((pool) => pool !== pools.system).map((pool) => pool.close())
        const closing = Promise.all([replicas?.close(), ...requests]).then(() => pools.system.close())
        await watch?.stop()
        if (!isImmediate) await closing
        await embedded?.close()
      },
    }
  } catch (error) {
    await embedded?.close()
    throw error
  }
}

/** Starts the search for a new primary, in a server and in each of its workers. */
function watchPrimary(
  target: ConnectionTarget,
  { asServer = true, joinsEmbedded = false }: Pick<OpenOptions, 'asServer' | 'joinsEmbedded'>,
): PrimaryWatch | undefined {
  const servers = Connection.serversOf(target)
  if (servers === undefined || target.primary === undefined) return undefined
  if (!asServer && !joinsEmbedded) return undefined
  return new PrimaryWatch(target.primary, servers)
}

/**
 * Returns a target that reaches PostgreSQL without a pooler, if one is known. A URL of its own may lead to a
 * pooler, too, which would reject settings.
 */
function directTarget(
  config: DatabaseConfig,
  target: ConnectionTarget,
  { isPooled }: EngineProbe,
): ConnectionTarget | undefined {
  const { applicationName, sessions, primary } = target
  if (config.listen_url !== '') {
    const url = branchUrl(config.listen_url, config.branch)
    return {
      ...{ url, applicationName, settings: {}, prepare: false, connectTimeoutMs },
      ...(sessions === undefined ? {} : { sessions }),
      ...(primary === undefined ? {} : { primary }),
    }
  }
  return isPooled ? undefined : target
}

/** Returns a function that creates one value for each key. Replicas have the passwords of the primary. */
function remembering<Value>(create: (key: string) => Value): (key: string) => Value {
  const values = new Map<string, Value>()
  return (key) => {
    const value = values.get(key) ?? create(key)
    values.set(key, value)
    return value
  }
}

function loginOptionsOf(
  config: DatabaseSections,
  {
    settings,
    ...known
  }: Pick<LoginOptions, 'bare' | 'engine' | 'dialect' | 'roleSettings' | 'createLogin'> & {
    readonly settings: Readonly<Record<string, string>>
  },
  { asServer = true, log }: Pick<OpenOptions, 'asServer' | 'log'>,
): LoginOptions {
  const { gateway_url, branch } = config.database
  return {
    ...known,
    sessionSettings: settings,
    gatewayUrl: gateway_url === '' ? '' : branchUrl(gateway_url, branch),
    warn: (message, detail) => {
      if (asServer) log(message, detail)
    },
  }
}

/**
 * Opens the logins of requests.
 *
 * @throws OperatorError when the database is unavailable, or `database.gateway_url` does not work
 */
async function openLogins(config: DatabaseSections, options: LoginOptions): Promise<RequestLogins> {
  try {
    return await openRequestLogins(options)
  } catch (error) {
    if (!(error instanceof ConnectionLost)) throw error
    throw new OperatorError(
      `cannot reach the database at ${locateDatabase(config)}: ${reasonOf(error.cause)}`,
      {
        cause: error,
      },
    )
  }
}

/** Prepares the database for serving, and closes the connection. */
async function prepare(
  connection: Connection,
  config: DatabaseSections,
  { asServer = true, log }: OpenOptions,
): Promise<{
  engine: EngineProbe
  migrated: readonly string[]
  missing: MissingGrants | undefined
  roleSettings: Readonly<Record<string, string>>
  /** Number of workers of a distributed database. */
  workers: number
}> {
  try {
    const engine = await probeEngine(connection)
    const migrated = await migrate(connection, log)
    await prepareAccess(connection, config.database.schemas, engine)
    if (config.database.url === '') await inPreparation(connection, ensureStatementStatistics)
    const missing = asServer ? await findMissingGrants(connection, config.database.schemas) : undefined
    if (asServer && config.database.url !== '') await reportCollations(connection, log)
    const workers = engine.isDistributed ? await countWorkers(connection) : 0
    return { engine, migrated, missing, roleSettings: await readRoleSettings(connection), workers }
  } catch (error) {
    throw await explainPreparation(connection, config, error)
  } finally {
    await connection.close()
  }
}

/** Returns the error for an operator, who has to fix the cause, such as missing privileges or disk space. */
async function explainPreparation(
  connection: Connection,
  config: DatabaseSections,
  error: unknown,
): Promise<unknown> {
  const refusal = error instanceof ConnectionLost ? error.cause : error
  if (!(error instanceof ConnectionLost || error instanceof pg.DatabaseError)) return error
  const remedy = await findRemedyBy(connection, error)
  const problem = [messageOf(refusal), remedy].filter((text) => text !== undefined).join('; ')
  return new OperatorError(`cannot prepare the database at ${locateDatabase(config)}: ${problem}`, {
    cause: error,
  })
}

/**
 * Reads the settings that `alter role … set` gives to the login role's sessions. Functions may rely on its
 * `search_path`.
 */
async function readRoleSettings(connection: Connection): Promise<Record<string, string>> {
  const { rows } = await connection.query<{ name: string; setting: string }>(sql`
    select name, setting from pg_settings where source in ('user', 'database user') and context = 'user'`)
  return Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))
}

/** Opens one connection to the configured database, for commands that run with or without a server. */
export async function openConnection(
  config: DatabaseSections,
  options: OpenOptions,
): Promise<{ connection: Connection; close(): Promise<void> }> {
  return await openAlone(config, options, (target) => openFirst(target, config))
}

/** Connection to a database that no start may have prepared. */
export interface Preparation {
  readonly connection: Connection
  readonly engine: EngineProbe
  /** URL for PostgreSQL's own programs, with the password if there is one. */
  readonly connectionString: string
  /** Prepares the database as a start does, in a transaction of {@link inPreparation} on the connection. */
  prepare(transaction: Queryable): Promise<void>
  /** Returns the error for an operator after a preparation that failed, once its transaction has ended. */
  explain(error: unknown): Promise<unknown>
  close(): Promise<void>
}

/** Opens one connection with the settings of a start, for work that belongs into one transaction with the preparation. */
export async function openForPreparation(
  config: DatabaseSections,
  options: OpenOptions,
): Promise<Preparation> {
  let engine: EngineProbe | undefined
  const opened = await openAlone(config, options, async (target) => {
    const first = await openFirst(target, config)
    engine = await probeEngine(first)
    if (engine.isPooled) return first
    await first.close()
    return await openFirst({ ...target, settings: sessionSettings(config.database) }, config)
  })
  if (engine === undefined) throw new Error('the engine was not probed')
  const { connection } = opened
  const known = engine
  return {
    ...opened,
    engine: known,
    async prepare(transaction) {
      await migrateIn(connection, transaction)
      await prepareAccessIn(transaction, config.database.schemas, known)
    },
    explain: (error) => explainPreparation(connection, config, error),
  }
}

async function openAlone(
  config: DatabaseSections,
  options: OpenOptions,
  open: (target: ConnectionTarget) => Promise<Connection>,
): Promise<Pick<Preparation, 'connection' | 'connectionString' | 'close'>> {
  const embedded = config.database.url === '' ? await openEmbedded(config, options, false) : undefined
  try {
    const connection = await open({ ...reach(config, embedded, options), settings: {}, prepare: false })
    return {
      connection,
      connectionString: connectionStringOf(config, embedded),
      async close() {
        await connection.close()
        await embedded?.close()
      },
    }
  } catch (error) {
    await embedded?.close()
    throw error
  }
}

/** Opens the embedded database alone. */
export function openEmbedded(
  config: DatabaseSections,
  options: OpenOptions,
  asServer: boolean,
): Promise<EmbeddedPostgres> {
  return EmbeddedPostgres.open({
    dataDirectory: config.server.data_dir,
    database: branchName(embeddedDatabase, config.database.branch),
    purpose: options.purpose,
    asServer,
    log: options.log,
    tcpPort: config.database.embedded_port,
    signal: options.signal,
    ...(options.embeddedSettings === undefined ? {} : { settings: options.embeddedSettings }),
  })
}

function connectionStringOf({ database }: DatabaseSections, embedded: EmbeddedPostgres | undefined): string {
  if (embedded === undefined) return branchUrl(database.url, database.branch)
  const { directory, port, user, password, database: name } = embedded.socket
  return `postgresql://${user}:${encodeURIComponent(password)}@/${name}?host=${encodeURIComponent(directory)}&port=${port}`
}

function reach(
  config: DatabaseSections,
  embedded: EmbeddedPostgres | undefined,
  { purpose, databaseName }: Pick<OpenOptions, 'purpose' | 'databaseName'>,
) {
  const { url, branch } = config.database
  const where =
    embedded === undefined
      ? { url: databaseName === undefined ? branchUrl(url, branch) : withDatabaseName(url, databaseName) }
      : { socket: { ...embedded.socket, ...(databaseName === undefined ? {} : { database: databaseName }) } }
  return { ...where, applicationName: purpose, connectTimeoutMs }
}

async function openFirst(target: ConnectionTarget, config: DatabaseSections): Promise<Connection> {
  try {
    return await Connection.open(target)
  } catch (error) {
    if (!(error instanceof ConnectionLost)) throw error
    throw new OperatorError(
      `cannot reach the database at ${locateDatabase(config)}: ${reasonOf(error.cause)}`,
      {
        cause: error,
      },
    )
  }
}

/**
 * Returns the reason of a failure. Node reports several attempts (IPv6, IPv4) as one error without a message.
 */
function reasonOf(cause: unknown): string {
  if (cause instanceof AggregateError) return messageOf(cause.errors[0])
  return messageOf(cause)
}

/** Returns the location of the database for people, without a password. */
export function locateDatabase({ database }: Pick<DatabaseSections, 'database'>): string {
  return database.url === ''
    ? 'the embedded PostgreSQL'
    : describeUrl(branchUrl(database.url, database.branch))
}

/**
 * Settings of the system pool. Our statements are conditional by themselves; a stricter default of the database
 * would only make them fail.
 */
const systemSettings = { default_transaction_isolation: 'read committed' }

/** Returns the part of a process in the processors of the database's machine if that is this one. A pooler may front another machine. */
function knownCores(url: string, { isPooled }: EngineProbe, processes = 1): number | undefined {
  if (isPooled) return undefined
  const hosts = url === '' ? [{ host: '/' }] : parseDatabaseUrl(url).hosts
  const isLocal = hosts.every(({ host = '' }) => host.startsWith('/') || isLoopback(host))
  return isLocal ? availableParallelism() / processes : undefined
}

/** Returns the logins with the contexts that their pools use. */
function loginContexts({ callers, administrators }: RequestLogins, dialect: ContextDialect) {
  const contextOf = ({ open, transactionSettings }: RequestLogin) => ({
    open,
    contexts: new CallerContexts({ dialect, transactionSettings, workerSettings: valueSettings }),
  })
  return { callers: contextOf(callers), administrators: contextOf(administrators) }
}

/** Returns the limits of waiting and work in every pool. */
function poolLimits(config: DatabaseConfig) {
  return {
    acquireTimeoutMs: config.acquire_timeout_ms,
    workTimeoutMs: config.statement_timeout_ms + transactionSlackMs,
    waitingLimit: 10_000,
  }
}

interface Pools extends Omit<UserDatabaseOptions, 'repairGrants' | 'grantCallerRoles'> {
  readonly system: Pool
  /** Guard of the system pool. */
  readonly sessions: SessionGuard
  readonly guards: readonly SessionGuard[]
  readonly all: readonly Pool[]
  readonly budget: ConnectionBudget
}

function createPools(
  logins: RequestLogins,
  target: ConnectionTarget,
  config: DatabaseConfig,
  {
    engine,
    dialect,
    cores,
  }: {
    readonly engine: EngineProbe
    readonly dialect: ContextDialect
    readonly cores: number | undefined
  },
): Pools {
  const { isPooled } = engine
  const sessions = new SessionGuard(engine)
  const budget = new ConnectionBudget(config.max_conns)
  const sizes = divideConnections(budget.limit)
  const common = { cores, observer: budget, ...poolLimits(config) }
  const openSystem = async () => {
    const settings = isPooled ? {} : { ...target.settings, ...systemSettings }
    return await sessions.admit(await Connection.open({ ...target, settings }), target.primary)
  }
  const system = new Pool({
    ...common,
    open: openSystem,
    findDead: (silent) => findDead(silent, openSystem, !isPooled),
    size: sizes.system,
    cancel: async () => undefined,
  })
  const systemDatabase = new SystemDatabase(system)
  const shared = new SharedConnections(sizes.requests)
  const createPool = (login: RequestLogin) => ({
    ...openRequestPool(login, {
      ...common,
      size: sizes.requests,
      shared,
      primary: target.primary,
      cancel: (connection) => cancelStatement(systemDatabase, connection),
    }),
    dialect,
    workerSettings: valueSettings,
  })
  const callers = createPool(logins.callers)
  const administrators =
    logins.administrators === logins.callers ? callers : createPool(logins.administrators)
  const guards = [...new Set([callers.sessions, administrators.sessions, sessions])]
  const requests = [...new Set([callers.pool, administrators.pool])]
  budget.assign({ system, requests, shared })
  return { callers, administrators, system, sessions, guards, all: [...requests, system], budget }
}

/**
 * Cancels the statement by PostgreSQL. A login role that may not cancel statements of others does so as the
 * session's own role. A commit that waits for its synchronous standby continues: canceled, it would be visible to
 * others, and a failover could lose it. Never rejects.
 */
async function cancelStatement(database: SystemDatabase, connection: Connection): Promise<void> {
  const cancel = sql`
    select pg_cancel_backend(pid) from pg_stat_activity
    where pid = ${connection.backendPid}::int and wait_event is distinct from 'SyncRep'`
  try {
    await database.count(cancel).catch(async (error) => {
      if (codeOf(error) !== '42501') throw error
      const twin = await connection.openTwin()
      await twin.query(cancel).finally(() => twin.close())
    })
  } catch {
    // The statement ends by its timeout.
  }
}
