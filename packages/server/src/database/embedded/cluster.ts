import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { OperatorError } from '../../lib/errors.ts'
import { type Binaries, locateBinaries, sharedDirectory } from './binaries.ts'
import { disownLockFile, isProcessAlive, isServed } from './lock-file.ts'
import { canReach, findUnprivilegedUser, type OsUser } from './os-user.ts'

/** The database and its superuser; the socket's directory keeps everybody else out. */
export const embeddedDatabase = 'basalt'
export const embeddedUser = 'postgres'

/** A PostgreSQL cluster on disk and the program that serves it. */
export interface Cluster {
  readonly binaries: Binaries
  /** PGDATA. */
  readonly directory: string
  readonly socketDirectory: string
  readonly logFile: string
  readonly user: OsUser | undefined
}

/** Settings tests change: a throw-away cluster needs no durability. */
export type ClusterSettings = Readonly<Record<string, string>>

/**
 * Finds the cluster of a data directory, creating it when there is none. Interrupted or concurrent creations
 * leave either no cluster or a whole one.
 */
export async function prepareCluster(
  dataDirectory: string,
  settings: ClusterSettings = {},
): Promise<Cluster> {
  try {
    return await findOrCreate(dataDirectory, settings)
  } catch (error) {
    // Whatever the system says no to: permissions, a full disk, a file in the way.
    if (!isSystemError(error)) throw error
    throw new OperatorError(`cannot use ${dataDirectory} as data directory: ${error.message}`, {
      cause: error,
    })
  }
}

async function findOrCreate(dataDirectory: string, settings: ClusterSettings): Promise<Cluster> {
  mkdirSync(dataDirectory, { recursive: true })
  const user = findUnprivilegedUser(dataDirectory)
  const home = chooseHome(realpathSync(dataDirectory), user)
  const cluster: Cluster = {
    binaries: locateBinaries(user),
    directory: join(home, 'postgres'),
    socketDirectory: prepareSocketDirectory(home, user),
    logFile: join(home, 'postgres.log'),
    user,
  }
  if (!existsSync(join(cluster.directory, 'PG_VERSION'))) await initialize(cluster, home)
  requireMatchingVersion(cluster)
  writeSettings(cluster, settings)
  return cluster
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error
}

/** Starts the server and waits until it accepts connections. @throws OperatorError with Postgres' own reason. */
export async function startCluster(cluster: Cluster): Promise<void> {
  disownLockFile(cluster.directory)
  rotateLog(cluster)
  const logged = existsSync(cluster.logFile) ? statSync(cluster.logFile).size : 0
  const { code, output } = await runAs(cluster.user, cluster.binaries.pgCtl, [
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
  if (code === 0) return
  const log = existsSync(cluster.logFile)
    ? readFileSync(cluster.logFile).subarray(logged).toString('utf8')
    : ''
  const reasons = log.match(/(?:FATAL|PANIC): .*/g) ?? output.match(/\S.*/g) ?? []
  throw new OperatorError(
    `the embedded PostgreSQL did not start: ${reasons[0]?.trim() ?? `see ${cluster.logFile}`}`,
  )
}

/** Stops the server; sessions are ended, what is committed is safe. */
export async function stopCluster(cluster: Cluster): Promise<void> {
  await runAs(cluster.user, cluster.binaries.pgCtl, [
    ...['stop', '--silent', '--wait', '--mode=fast', '--timeout=60', '--pgdata', cluster.directory],
  ])
}

/** Whether Postgres runs. */
export function isClusterRunning(cluster: Cluster): boolean {
  return isServed(cluster.directory)
}

/** The data directory itself, or, where Postgres' account cannot pass, a directory of its own elsewhere. */
function chooseHome(dataDirectory: string, user: OsUser | undefined): string {
  if (user === undefined || canReach(user, join(dataDirectory, 'postgres'))) return dataDirectory
  const home = join(sharedDirectory, `data-${shortHash(dataDirectory)}`)
  mkdirSync(home, { recursive: true, mode: 0o755 })
  return home
}

/** Only Postgres' account and root pass the directory, which makes the socket as private as the data. */
function prepareSocketDirectory(home: string, user: OsUser | undefined): string {
  const wanted = join(home, 'run')
  // A socket's path has room for 103 bytes on the narrowest system.
  const fits = Buffer.byteLength(join(wanted, '.s.PGSQL.5432')) <= 103
  const directory = fits ? wanted : join(tmpdir(), `basalt-${shortHash(home)}`)
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const owner = user?.uid ?? process.getuid?.() ?? 0
  const found = lstatSync(directory)
  if (!found.isDirectory() || (found.uid !== owner && found.uid !== process.getuid?.())) {
    throw new OperatorError(
      `${directory} belongs to somebody else: remove it or choose another server.data_dir`,
    )
  }
  giveTo(user, directory)
  chmodSync(directory, 0o700)
  return directory
}

async function initialize(cluster: Cluster, home: string): Promise<void> {
  removeUnfinished(home)
  const unfinished = join(home, `postgres.${process.pid}`)
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished, { mode: 0o700 })
  giveTo(cluster.user, unfinished)
  const { code, output } = await runAs(cluster.user, cluster.binaries.initdb, [
    ...['--pgdata', unfinished, '--username', embeddedUser, '--auth', 'trust', '--encoding', 'UTF8'],
    // The built-in provider sorts by code point, the same on every system and release.
    ...['--locale-provider', 'builtin', '--builtin-locale', 'C.UTF-8', '--locale', 'C', '--no-instructions'],
  ])
  if (code !== 0) {
    rmSync(unfinished, { recursive: true, force: true })
    const reason = output.match(/(?:error|FATAL|PANIC): .*/)?.[0] ?? output.trim().split('\n').at(-1)
    throw new OperatorError(
      `cannot create the embedded database in ${home}: ${reason ?? `exit code ${code}`}`,
    )
  }
  appendFileSync(join(unfinished, 'postgresql.conf'), "\ninclude_if_exists = 'basalt.conf'\n")
  try {
    renameSync(unfinished, cluster.directory)
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true })
    if (!existsSync(join(cluster.directory, 'PG_VERSION'))) throw error
  }
}

/** What creations that were killed left behind; an initdb may still be at it, then the next one removes it. */
function removeUnfinished(home: string): void {
  for (const name of readdirSync(home)) {
    const [, pid] = /^postgres\.(\d+)$/.exec(name) ?? []
    if (pid === undefined || isProcessAlive(Number(pid))) continue
    try {
      rmSync(join(home, name), { recursive: true, force: true })
    } catch {
      // Nothing depends on it.
    }
  }
}

function requireMatchingVersion(cluster: Cluster): void {
  const found = readFileSync(join(cluster.directory, 'PG_VERSION'), 'utf8').trim()
  const [ours = ''] = cluster.binaries.version.split('.')
  if (found !== ours) {
    throw new OperatorError(
      `${cluster.directory} was made by PostgreSQL ${found}, this Basalt brings PostgreSQL ${ours}: ` +
        'dump it with the earlier Basalt and load it here',
    )
  }
}

function writeSettings(cluster: Cluster, overrides: ClusterSettings): void {
  const settings: Record<string, string> = {
    listen_addresses: '',
    unix_socket_directories: cluster.socketDirectory,
    max_connections: '200',
    shared_buffers: '128MB',
    // Compiling a short query takes longer than running it.
    jit: 'off',
    // What a client did wrong is answered to the client; its values have no place in a file.
    log_min_messages: 'log',
    log_min_error_statement: 'panic',
    log_checkpoints: 'off',
    ...overrides,
  }
  const lines = Object.entries(settings).map(
    ([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`,
  )
  const path = join(cluster.directory, 'basalt.conf')
  writeFileSync(path, `# Written by Basalt at every start.\n${lines.join('')}`, { mode: 0o600 })
  giveTo(cluster.user, path)
}

const logLimitBytes = 10_000_000

function rotateLog(cluster: Cluster): void {
  if (existsSync(cluster.logFile) && statSync(cluster.logFile).size > logLimitBytes) {
    renameSync(cluster.logFile, `${cluster.logFile}.1`)
  }
  // pg_ctl opens it as Postgres' account, which may not create files in our directory.
  appendFileSync(cluster.logFile, '', { mode: 0o600 })
  giveTo(cluster.user, cluster.logFile)
}

function giveTo(user: OsUser | undefined, path: string): void {
  if (user !== undefined) chownSync(path, user.uid, user.gid)
}

function runAs(
  user: OsUser | undefined,
  command: string,
  args: string[],
): Promise<{ code: number; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      ...(user === undefined ? {} : { uid: user.uid, gid: user.gid }),
      // Nothing of PG* reaches Postgres, its messages come in English, and its account can enter the directory.
      env: { LC_ALL: 'C', TZ: 'UTC' },
      cwd: '/',
      // The server keeps pg_ctl's descriptors: a pipe would stay open for as long as it runs.
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    child.stdout.on('data', (chunk) => {
      output += chunk
    })
    child.stderr.on('data', (chunk) => {
      output += chunk
    })
    child.on('error', (error) => reject(new OperatorError(`cannot run ${command}: ${error.message}`)))
    child.on('exit', (code) => {
      child.stdout.destroy()
      child.stderr.destroy()
      resolve({ code: code ?? 1, output })
    })
  })
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}
