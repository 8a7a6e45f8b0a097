import { setTimeout as delay } from 'node:timers/promises'
import { untilAborted } from '../../lib/abort.ts'
import { messageOf, OperatorError } from '../../lib/errors.ts'
import { Connection, type ConnectionTarget } from '../connection/connection.ts'
import { ConnectionLost } from '../errors/failures.ts'
import { sql } from '../sql.ts'
import {
  type Cluster,
  embeddedDatabase,
  isClusterRunning,
  listensAsConfigured,
  prepareCluster,
  startCluster,
  stopCluster,
} from './cluster.ts'
import { accessFile, type ClusterSettings } from './cluster-settings.ts'
import { refreshCollations } from './collation-versions.ts'
import { embeddedUser } from './initdb.ts'
import { isProcessAlive, listeningOf, postmasterPid } from './lock-file.ts'
import { forgetPassword, type SuperuserPassword, superuserPassword } from './superuser-password.ts'
import { describeAccess } from './tcp-access.ts'

export interface EmbeddedOptions {
  readonly dataDirectory: string
  /** Purpose of this process, such as `basalt start`, for a process that finds the directory in use. */
  readonly purpose: string
  /** True for the only server of this directory, which also restarts Postgres after a crash. */
  readonly asServer: boolean
  readonly log: (message: string, detail?: object) => void
  readonly settings?: ClusterSettings
  /** Name of the database to connect to: a branch, or else {@link embeddedDatabase}. */
  readonly database?: string
  /** Loopback port beside the socket; 0 when there is none. */
  readonly tcpPort: number
  /** Signal that stops the opening. It then rejects, and leaves no Postgres running that it has started. */
  readonly signal?: AbortSignal | undefined
}

/** Keys of the session advisory locks by which processes on one data directory coordinate. */
const lockSpace = 0x6261_736c // "basl"
const serverLock = 1
const userLock = 2
/** Lock of the process that rebuilds indexes after a change of collations. */
const collationLock = 3

/**
 * Database in which processes hold their locks. A session in the data's own database would prevent copies of it
 * (PostgreSQL, CREATE DATABASE, template).
 */
const keeperDatabase = 'postgres'

/** Cluster whose superuser has a password. */
type EmbeddedCluster = Cluster & { readonly password: SuperuserPassword }

/** SQLSTATE of a wrong password. */
const wrongPassword = '28P01'

/** PostgreSQL's default port, which names the socket file. */
const defaultPort = 5432

/** Time for a crashed Postgres to recover, or for a predecessor to stop. */
const openTimeoutMs = 120_000
const watchIntervalMs = 500

/**
 * Embedded Postgres as one process uses it. It outlives a killed process: the next one finds it running and
 * takes it over. The last process to close stops it. Processes determine that by session locks: these end with
 * their process.
 */
export class EmbeddedPostgres {
  readonly #cluster: EmbeddedCluster
  readonly #options: EmbeddedOptions
  #keeper: Connection
  #watcher: NodeJS.Timeout | undefined
  #recovery: Promise<void> | undefined
  /** Reason of the last failed restart, which is logged once. */
  #obstacle: string | undefined
  #isClosing = false

  private constructor(cluster: EmbeddedCluster, options: EmbeddedOptions, keeper: Connection) {
    this.#cluster = cluster
    this.#options = options
    this.#keeper = keeper
    if (options.asServer) this.#watcher = setInterval(() => this.#watch(), watchIntervalMs).unref()
  }

  /**
   * Opens the embedded Postgres.
   *
   * @throws OperatorError when another server holds the directory or Postgres cannot start
   */
  static async open(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
    const { settings, tcpPort, signal } = options
    const password = superuserPassword(options.dataDirectory)
    const prepared = await prepareCluster(options.dataDirectory, { settings, tcpPort, password, signal })
    const cluster = { ...prepared, password }
    const isStart = !isClusterRunning(cluster)
    const embedded = new EmbeddedPostgres(cluster, options, await join(cluster, options))
    try {
      await untilAborted(signal, embedded.#refreshCollations(isStart))
      await ensureDatabase(embedded.#keeper)
      return embedded
    } catch (error) {
      await embedded.close()
      throw error
    }
  }

  /**
   * Rebuilds indexes whose order a new version of ICU has changed. One process does it, and others wait for it.
   *
   * @param isStart true if Postgres did not run before. Otherwise the version is that of its start, and a session in the
   * database would wait for a copy of it, or prevent one.
   */
  async #refreshCollations(isStart: boolean): Promise<void> {
    const { database = embeddedDatabase, log, signal } = this.#options
    while (!(await lock(this.#keeper, 'pg_try_advisory_lock', collationLock))) {
      await delay(100, undefined, signal === undefined ? {} : { signal })
    }
    try {
      await refreshCollations(this.#keeper, {
        connect: (name) => connect(this.#cluster, this.#options, name),
        database: isStart ? database : undefined,
        log,
      })
    } finally {
      if (this.#keeper.isOpen) await lock(this.#keeper, 'pg_advisory_unlock', collationLock)
    }
  }

  /** Directory of Postgres' files. */
  get directory(): string {
    return this.#cluster.directory
  }

  /** Version of PostgreSQL, such as `18.4.0`. */
  get version(): string {
    return this.#cluster.binaries.version.replace(/-.*/, '')
  }

  get socket(): NonNullable<ConnectionTarget['socket']> {
    return socketOf(this.#cluster, this.#options.database ?? embeddedDatabase)
  }

  /** Command lines that reach the database. */
  get psql(): string[] {
    const { directory, ...server } = this.socket
    const { file } = this.#cluster.password
    const { tcpPort } = this.#options
    const hosts = [directory, ...(tcpPort === 0 ? [] : ['127.0.0.1'])]
    return hosts.map((host) => describeAccess(file, { ...server, host }))
  }

  /** Closes it, and stops Postgres unless another process still uses it. */
  async close(): Promise<void> {
    this.#isClosing = true
    clearInterval(this.#watcher)
    await this.#recovery
    if (await this.#isLast()) await stopCluster(this.#cluster)
    await this.#keeper.close()
  }

  /** Returns true if no other process uses Postgres. While it is down or recovering none can. */
  async #isLast(): Promise<boolean> {
    if (!this.#keeper.isOpen) {
      if (!isClusterRunning(this.#cluster)) return false
      const keeper = await connect(this.#cluster, this.#options, keeperDatabase).catch(() => undefined)
      if (keeper === undefined) return true
      this.#keeper = keeper
    } else {
      await lock(this.#keeper, 'pg_advisory_unlock_shared', userLock).catch(() => false)
    }
    return await lock(this.#keeper, 'pg_try_advisory_lock', userLock).catch(() => false)
  }

  #watch(): void {
    if (this.#recovery !== undefined) return
    if (isClusterRunning(this.#cluster) && this.#keeper.isOpen) return
    this.#recovery = this.#recover().finally(() => {
      this.#recovery = undefined
    })
  }

  async #recover(): Promise<void> {
    if (this.#obstacle === undefined)
      this.#options.log('the embedded PostgreSQL has stopped; starting it again')
    try {
      this.#keeper = await join(this.#cluster, this.#options, () => !this.#isClosing)
      this.#obstacle = undefined
      this.#options.log('the embedded PostgreSQL runs again')
    } catch (error) {
      const reason = messageOf(error)
      if (reason !== this.#obstacle)
        this.#options.log('the embedded PostgreSQL cannot be started; trying again', { reason })
      this.#obstacle = reason
    }
  }
}

/** Connects, starts Postgres if necessary, and takes this process's locks. */
async function join(
  cluster: EmbeddedCluster,
  options: EmbeddedOptions,
  isWanted: () => boolean = () => true,
): Promise<Connection> {
  const deadline = performance.now() + openTimeoutMs
  let hasStarted = false
  let hasReset = false
  for (;;) {
    // A Postgres that this process started is used even after an abort, so that its last user stops it.
    if (!hasStarted) options.signal?.throwIfAborted()
    try {
      const keeper = await connectOrStart(cluster, options)
      if (keeper === 'started') hasStarted = true
      else if (keeper === 'refused') {
        if (!hasStarted || hasReset) throw new OperatorError(describeRefusal(cluster))
        hasReset = true
        await stopCluster(cluster)
        forgetPassword(cluster.directory)
      } else if (keeper !== undefined) return keeper
      if (performance.now() > deadline)
        throw new DirectoryInUse(`${options.dataDirectory} is held by a process that does not end`)
    } catch (error) {
      // Other failures are temporary: another process stops Postgres, or it recovers from a crash.
      if (isFinal(error) || !isWanted() || performance.now() > deadline) throw error
      const { signal } = options
      if (signal?.aborted === true && (!hasStarted || error === signal.reason)) throw error
    }
    await delay(100)
  }
}

/** Makes one attempt; without a connection it is to be repeated. */
async function connectOrStart(
  cluster: EmbeddedCluster,
  options: EmbeddedOptions,
): Promise<Connection | 'started' | 'refused' | undefined> {
  let keeper: Connection
  try {
    keeper = await connect(cluster, options, keeperDatabase)
  } catch (error) {
    const code = causeCode(error)
    if (code === wrongPassword) return 'refused'
    if (code !== 'ECONNREFUSED' && code !== 'ENOENT') throw error
    await startCluster(cluster, options.signal)
    return 'started'
  }
  if (!(await lock(keeper, 'pg_try_advisory_lock_shared', userLock))) {
    // Its last user is about to stop it.
    await keeper.close()
    return undefined
  }
  if (options.asServer && !(await lock(keeper, 'pg_try_advisory_lock', serverLock))) {
    const [holder] = await holdersOf(keeper, serverLock)
    await keeper.close()
    // Postgres has not noticed yet that a killed process has ended.
    if (holder === undefined || !isAlive(holder)) return undefined
    throw new DirectoryInUse(`${options.dataDirectory} is already served by ${holder}`)
  }
  if (options.asServer && !(listensAsConfigured(cluster) && (await requiresPassword(cluster, keeper)))) {
    try {
      await stopToReconfigure(cluster, keeper, options)
    } finally {
      await keeper.close()
    }
    return undefined
  }
  return keeper
}

/**
 * Stops a Postgres that a killed server or a command has started with another port, unless other processes use
 * it.
 *
 * @throws OperatorError that names them
 */
async function stopToReconfigure(
  cluster: EmbeddedCluster,
  keeper: Connection,
  { tcpPort }: EmbeddedOptions,
): Promise<void> {
  await lock(keeper, 'pg_advisory_unlock_shared', userLock)
  // The holder of this lock is the only user until Postgres has stopped.
  if (await lock(keeper, 'pg_try_advisory_lock', userLock)) return await stopCluster(cluster)
  const others = (await holdersOf(keeper, userLock)).filter(isAlive)
  // Postgres has not noticed yet that killed processes have ended.
  if (others.length === 0) return
  throw new OperatorError(
    `the embedded PostgreSQL was started with another database.embedded_port than ${tcpPort}, and is in use by ` +
      `${others.join(', ')}: start again when that has ended`,
  )
}

/** Returns true if the running Postgres has the present access rules. A killed server of an earlier version had others. */
async function requiresPassword({ directory }: Cluster, connection: Connection): Promise<boolean> {
  const { rows } = await connection.query<{ file: string }>(sql`select current_setting('hba_file') as file`)
  return rows[0]?.file === accessFile(directory)
}

function describeRefusal({ directory, password }: EmbeddedCluster): string {
  return (
    `the embedded PostgreSQL (process ${postmasterPid(directory)}) does not accept the password in ${password.file}: ` +
    'stop the programs that use it, then that process, and start again'
  )
}

/** Returns true if the process in the name of its connection is alive. */
function isAlive(holder: string): boolean {
  const [, pid] = /\(process (\d+)\)$/.exec(holder) ?? []
  return pid === undefined || isProcessAlive(Number(pid))
}

/** Thrown when another server holds the data directory, so that waiting would not help. */
class DirectoryInUse extends OperatorError {}

/**
 * Returns true if the failure to start is final. It is not while another process starts or stops Postgres,
 * backends of a killed one still run, or recovery takes time.
 */
function isFinal(error: unknown): boolean {
  if (error instanceof DirectoryInUse) return true
  return error instanceof OperatorError && !passingReasons.test(error.message)
}

const passingReasons =
  /lock file "[^"]*" (already exists|is empty)|pre-existing shared memory|another server|did not start in time|administrator command|shutting down/

async function ensureDatabase(connection: Connection): Promise<void> {
  const found = await connection.query(sql`select from pg_database where datname = ${embeddedDatabase}`)
  if (found.rowCount === 1) return
  try {
    await connection.query(sql`create database ${sql.id(embeddedDatabase)}`)
  } catch (error) {
    // 42P04, 23505: another process was quicker.
    if (!['42P04', '23505'].includes((error as { code?: string }).code ?? '')) throw error
  }
}

function socketOf({ directory, socketDirectory, password }: EmbeddedCluster, database: string) {
  const port = listeningOf(directory)?.port ?? defaultPort
  return { directory: socketDirectory, port, user: embeddedUser, password: password.read(), database }
}

function connect(cluster: EmbeddedCluster, options: EmbeddedOptions, database: string): Promise<Connection> {
  return Connection.open({
    socket: socketOf(cluster, database),
    applicationName: `${options.purpose} (process ${process.pid})`,
    settings: {},
    prepare: false,
    connectTimeoutMs: 5000,
  })
}

async function lock(connection: Connection, operation: LockOperation, key: number): Promise<boolean> {
  const { rows } = await connection.query<{ done: boolean }>(
    sql`select ${sql.id(operation)}(${lockSpace}::int, ${key}::int) as done`,
  )
  return rows[0]?.done === true
}

type LockOperation =
  | 'pg_try_advisory_lock'
  | 'pg_try_advisory_lock_shared'
  | 'pg_advisory_unlock'
  | 'pg_advisory_unlock_shared'

async function holdersOf(connection: Connection, key: number): Promise<string[]> {
  const { rows } = await connection.query<{ application_name: string }>(sql`
    select a.application_name
    from pg_locks l
    join pg_stat_activity a using (pid)
    where l.locktype = 'advisory' and l.classid = ${lockSpace} and l.objid = ${key} and l.granted
      and l.pid <> pg_backend_pid()`)
  return rows.map(({ application_name }) => application_name)
}

function causeCode(error: unknown): string | undefined {
  const cause = error instanceof ConnectionLost ? error.cause : error
  return (cause as { code?: string } | undefined)?.code
}
