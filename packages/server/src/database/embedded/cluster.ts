import { createHash } from 'node:crypto'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { OperatorError } from '../../lib/errors.ts'
import { type Binaries, locateBinaries, sharedDirectory } from './binaries.ts'
import { type ClusterSettings, writeSettings } from './cluster-settings.ts'
import { initializeCluster } from './initdb.ts'
import { isServed, listeningOf, releaseStaleLockFile } from './lock-file.ts'
import { canReach, findUnprivilegedUser, giveTo, type OsUser } from './os-user.ts'
import { finishRestore } from './restore-journal.ts'
import { runAs } from './run-as.ts'
import { startFailure } from './start-failure.ts'
import { ensurePassword, type SuperuserPassword } from './superuser-password.ts'
import { loopbackAddresses } from './tcp-access.ts'

export const embeddedDatabase = 'basalt'

/** PostgreSQL cluster on disk and the program that serves it. */
export interface Cluster {
  readonly binaries: Binaries
  /** PGDATA. */
  readonly directory: string
  readonly socketDirectory: string
  readonly logFile: string
  readonly user: OsUser | undefined
  readonly settings: ClusterSettings
  /** Loopback port; 0 when only the socket is open. */
  readonly tcpPort: number
  /** Password of the superuser; undefined for a throw-away cluster that accepts every connection. */
  readonly password: SuperuserPassword | undefined
}

export interface ClusterOptions {
  readonly settings?: ClusterSettings | undefined
  readonly tcpPort?: number | undefined
  readonly password?: SuperuserPassword | undefined
  /** Signal that stops the creation. It then rejects and leaves nothing. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Finds the cluster of a data directory, or creates it. Interrupted or concurrent creations leave either no
 * cluster or a complete one.
 */
export async function prepareCluster(dataDirectory: string, options: ClusterOptions = {}): Promise<Cluster> {
  try {
    return await findOrCreate(dataDirectory, options)
  } catch (error) {
    // The system has denied something: permissions, a full disk, a conflicting file.
    if (!isSystemError(error)) throw error
    throw new OperatorError(`cannot use ${dataDirectory} as data directory: ${error.message}`, {
      cause: error,
    })
  }
}

async function findOrCreate(
  dataDirectory: string,
  { settings = {}, tcpPort = 0, password, signal }: ClusterOptions,
): Promise<Cluster> {
  mkdirSync(dataDirectory, { recursive: true })
  finishRestore(dataDirectory)
  const { user, home } = locateHome(dataDirectory)
  const cluster: Cluster = {
    binaries: locateBinaries(user),
    directory: join(home, 'postgres'),
    socketDirectory: prepareSocketDirectory(home, user),
    logFile: join(home, 'postgres.log'),
    user,
    settings,
    tcpPort,
    password,
  }
  if (!existsSync(join(cluster.directory, 'PG_VERSION'))) await initializeCluster(cluster, home, signal)
  requireMatchingVersion(cluster)
  return cluster
}

/** Returns the account that Postgres runs as, and the directory of the cluster. */
export function locateHome(dataDirectory: string): { user: OsUser | undefined; home: string } {
  const user = findUnprivilegedUser(dataDirectory)
  return { user, home: chooseHome(realpathSync(dataDirectory), user) }
}

export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error
}

/**
 * Starts the server and waits until it accepts connections.
 *
 * @param signal stops it again at any time; the call then rejects when the server has ended
 * @throws OperatorError with Postgres' own reason
 */
export async function startCluster(cluster: Cluster, signal?: AbortSignal): Promise<void> {
  releaseStaleLockFile(cluster.directory)
  const { password } = cluster
  writeSettings({ ...cluster, hasPassword: password !== undefined })
  if (password !== undefined) await ensurePassword(cluster, password.read())
  rotateLog(cluster)
  const logged = existsSync(cluster.logFile) ? statSync(cluster.logFile).size : 0
  const starting = runAs(cluster.user, cluster.binaries.pgCtl, [
    ...[
      'start',
      '--silent',
      '--wait',
      '--timeout=60',
      '--pgdata',
      cluster.directory,
      '--log',
      cluster.logFile,
    ],
  ])
  // Ending pg_ctl would not end the server that it has started.
  const stopWatching = whenAborted(signal, () => stopWhile(cluster, starting))
  const { code, output } = await starting
  await stopWatching()
  signal?.throwIfAborted()
  const log = existsSync(cluster.logFile)
    ? readFileSync(cluster.logFile).subarray(logged).toString('utf8')
    : ''
  const [, address, reason = ''] = /could not bind \S+ address "([^"]+)": (.*)/.exec(log) ?? []
  if (address !== undefined) {
    // Postgres would start with one of two addresses.
    if (code === 0) await stopCluster(cluster)
    throw new OperatorError(describePortFailure(`${address}:${cluster.tcpPort}`, reason))
  }
  if (code === 0) return
  const failure = startFailure(log, output)
  throw new OperatorError(`the embedded PostgreSQL did not start (its log is ${cluster.logFile}): ${failure}`)
}

function describePortFailure(where: string, reason: string): string {
  return reason === 'Address already in use'
    ? `${where} is taken by another program: stop it or set database.embedded_port`
    : `the embedded PostgreSQL cannot listen on ${where} (database.embedded_port): ${reason}`
}

/** Stops a starting server as soon as that is possible. */
async function stopWhile(cluster: Cluster, starting: Promise<unknown>): Promise<void> {
  let isStarting = true
  const ended = starting.finally(() => {
    isStarting = false
  })
  while (isStarting) {
    if (isClusterRunning(cluster)) await stopCluster(cluster)
    await Promise.race([ended, delay(50)])
  }
  if (isClusterRunning(cluster)) await stopCluster(cluster)
}

/**
 * Runs the work when the signal aborts. Returns a function that stops waiting for the signal, and awaits the
 * work if it has begun.
 */
function whenAborted(signal: AbortSignal | undefined, work: () => Promise<void>): () => Promise<void> {
  let begun: Promise<void> | undefined
  const begin = () => {
    begun = work()
  }
  if (signal?.aborted === true) begin()
  signal?.addEventListener('abort', begin, { once: true })
  return async () => {
    signal?.removeEventListener('abort', begin)
    await begun
  }
}

/** Stops the server. Sessions are ended; committed data is safe. */
export async function stopCluster(cluster: Cluster): Promise<void> {
  await runAs(cluster.user, cluster.binaries.pgCtl, [
    ...['stop', '--silent', '--wait', '--mode=fast', '--timeout=60', '--pgdata', cluster.directory],
  ])
}

/** Returns true if Postgres runs. */
export function isClusterRunning(cluster: Cluster): boolean {
  return isServed(cluster.directory)
}

/**
 * Returns true if the running Postgres listens where this cluster is configured to. Only a restart can change
 * that.
 */
export function listensAsConfigured({ directory, tcpPort, settings }: Cluster): boolean {
  if (settings.listen_addresses !== undefined) return true
  const { port, address } = listeningOf(directory) ?? {}
  const [first] = loopbackAddresses()
  return tcpPort === 0 ? address === '' : port === tcpPort && address === first
}

/** Returns true if a data directory has a cluster. It first completes an interrupted restore. */
export function hasCluster(dataDirectory: string): boolean {
  if (!existsSync(dataDirectory)) return false
  finishRestore(dataDirectory)
  return existsSync(join(locateHome(dataDirectory).home, 'postgres', 'PG_VERSION'))
}

/** Returns the directory of a data directory's cluster, if Postgres runs on it. */
export function findRunningCluster(dataDirectory: string): string | undefined {
  if (!existsSync(dataDirectory)) return undefined
  const { home } = locateHome(dataDirectory)
  const directory = join(home, 'postgres')
  return isServed(directory) ? directory : undefined
}

/**
 * Returns the data directory itself, or a separate directory elsewhere if Postgres' account cannot enter it.
 */
function chooseHome(dataDirectory: string, user: OsUser | undefined): string {
  if (user === undefined || canReach(user, join(dataDirectory, 'postgres'))) return dataDirectory
  const home = join(sharedDirectory, `data-${shortHash(dataDirectory)}`)
  mkdirSync(home, { recursive: true, mode: 0o755 })
  return home
}

/**
 * Prepares a directory that only Postgres' account and root can enter, so that the socket is as private as the
 * data.
 */
function prepareSocketDirectory(home: string, user: OsUser | undefined): string {
  const wanted = join(home, 'run')
  // The path of a socket may have 103 bytes on the most limited system.
  const fits = Buffer.byteLength(join(wanted, '.s.PGSQL.5432')) <= 103
  const directory = fits ? wanted : join(tmpdir(), `basalt-${shortHash(home)}`)
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const owner = user?.uid ?? process.getuid?.() ?? 0
  const found = lstatSync(directory)
  if (!found.isDirectory() || (found.uid !== owner && found.uid !== process.getuid?.())) {
    throw new OperatorError(
      `${directory} belongs to another account: remove it or choose another server.data_dir`,
    )
  }
  giveTo(user, directory)
  chmodSync(directory, 0o700)
  return directory
}

function requireMatchingVersion(cluster: Cluster): void {
  const found = readFileSync(join(cluster.directory, 'PG_VERSION'), 'utf8').trim()
  const [ours = ''] = cluster.binaries.version.split('.')
  if (found !== ours) {
    throw new OperatorError(
      `${cluster.directory} was made by PostgreSQL ${found}, this Basalt brings PostgreSQL ${ours}, which cannot ` +
        'read it: start it with the earlier Basalt, and move the data with pg_dump (docs/guides/backup.md)',
    )
  }
}

const logLimitBytes = 10_000_000

function rotateLog(cluster: Cluster): void {
  if (existsSync(cluster.logFile) && statSync(cluster.logFile).size > logLimitBytes) {
    renameSync(cluster.logFile, `${cluster.logFile}.1`)
  }
  // pg_ctl opens the file as Postgres' account, which may not create files in our directory.
  appendFileSync(cluster.logFile, '', { mode: 0o600 })
  giveTo(cluster.user, cluster.logFile)
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}
