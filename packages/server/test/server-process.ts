import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, chownSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cleanUpAfterKill } from './clean-up-process.ts'
import { copyClusterTemplate } from './cluster-template.ts'
import { command, inheritedEnvironment } from './command.ts'
import { makeScratchDirectory } from './scratch-directory.ts'
import { testAdminPassword, testSecret } from './test-config.ts'
import { waitFor } from './wait-for.ts'

export const isRoot = process.getuid?.() === 0

/** Account without privileges, for tests that run as root. */
export const unprivileged = { uid: 65_534, gid: 65_534 }

export interface Account {
  readonly uid: number
  readonly gid: number
}

export interface ProcessOptions {
  /** Configuration by key, as in the file: `server.port`. */
  readonly config?: Readonly<Record<string, string>>
  /** Further environment variables. */
  readonly env?: Readonly<Record<string, string>>
  readonly account?: Account | undefined
  /** Executable, by default that of the run. */
  readonly executable?: string
  /** File descriptor of standard output. By default, tests can read it. */
  readonly stdout?: number
}

/** Exit code and signal of a process. */
export interface Ending {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** Process of `basalt start`. */
export interface ServerProcess extends AsyncDisposable {
  /** Address of the server, empty until it listens. */
  readonly url: string
  readonly pid: number
  /** Returns the output so far. */
  output(): string
  /** Returns the lines of the log so far. */
  log(): readonly Readonly<Record<string, unknown>>[]
  signal(signal: NodeJS.Signals): void
  /** Sends the signal and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<Ending>
  readonly ended: Promise<Ending>
}

/** Output of a command that has ended by itself. */
export interface FinishedCommand extends Ending {
  readonly stdout: string
  readonly stderr: string
}

/** Reads the first password and its link, which a server without a terminal writes to its data directory. */
export function readFirstSignIn(dataDirectory: string): { readonly password: string; readonly link: string } {
  const text = readFileSync(join(dataDirectory, 'first-sign-in'), 'utf8')
  const [, password = '', link = ''] = /^password: (\S+)\nor open: +(\S+)$/m.exec(text) ?? []
  return { password, link }
}

/**
 * Creates a directory for a test, owned by the given account.
 *
 * @param dataDirectory relative path of a data directory, which gets an initialized cluster, so that its first start
 * does not create one
 */
export function createDirectory(
  account?: Account,
  dataDirectory?: string,
): { readonly path: string } & AsyncDisposable {
  const path = makeScratchDirectory('basalt-process-')
  if (account === undefined) chmodSync(path, 0o755)
  else chownSync(path, account.uid, account.gid)
  const release = cleanUpAfterKill({ directory: path })
  if (dataDirectory !== undefined) copyClusterTemplate(join(path, dataDirectory), { account })
  return {
    path,
    async [Symbol.asyncDispose]() {
      await stopPostgres(path)
      rmSync(path, { recursive: true, force: true })
      release()
    },
  }
}

/** Returns the process id of the embedded Postgres of a data directory, if it runs. */
export function postmasterOf(dataDirectory: string): number | undefined {
  try {
    const [line] = readFileSync(join(dataDirectory, 'postgres', 'postmaster.pid'), 'utf8').split('\n')
    const pid = Number(line)
    process.kill(pid, 0)
    return pid
  } catch {
    return undefined
  }
}

/** Stops the Postgres of a killed server. */
async function stopPostgres(dataDirectory: string): Promise<void> {
  const pid = postmasterOf(dataDirectory)
  if (pid === undefined) return
  process.kill(pid, 'SIGQUIT')
  await waitFor('Postgres to end', () => postmasterOf(dataDirectory) === undefined)
}

/** Starts a server and waits until it listens. By default, its port is a free one. */
export async function startServer(options: ProcessOptions = {}): Promise<ServerProcess> {
  const server = launchServer(options)
  await Promise.race([
    waitFor('the server to listen', () => server.url !== '').catch((error) => {
      throw new Error(`${error.message}; it wrote:\n${server.output()}`)
    }),
    server.ended.then(({ code, signal }) => {
      throw new Error(`the server ended (${signal ?? code}) before it listened:\n${server.output()}`)
    }),
  ])
  return server
}

/** Starts a server without waiting for it. */
export function launchServer(options: ProcessOptions = {}): ServerProcess {
  return launchCommand(['start'], options)
}

/** Starts any command without waiting for it. */
export function launchCommand(args: readonly string[], options: ProcessOptions = {}): ServerProcess {
  const child = spawnServer(options, args)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk))
  const ended = endOf(child)
  const log = () => parseLog(output)
  return {
    get url() {
      return String(log().find(({ msg }) => msg === 'listening')?.url ?? '')
    },
    pid: child.pid ?? 0,
    output: () => output,
    log,
    ended,
    signal: (signal) => child.kill(signal),
    async stop(signal = 'SIGTERM') {
      child.kill(signal)
      return await ended
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), 60_000)
      await ended
      clearTimeout(timer)
    },
  }
}

/** Runs a start that is expected to end by itself. */
export function failToStart(options: ProcessOptions = {}): Promise<FinishedCommand> {
  return runCommand(['start'], options)
}

/** Runs a command to its end: `basalt sql …`. */
export async function runCommand(
  args: readonly string[],
  options: ProcessOptions = {},
): Promise<FinishedCommand> {
  const child = spawnServer(options, args)
  let stdout = ''
  let stderr = ''
  child.stdout?.on('data', (chunk) => (stdout += chunk))
  child.stderr?.on('data', (chunk) => (stderr += chunk))
  const timer = setTimeout(() => child.kill('SIGKILL'), 90_000)
  const ending = await endOf(child)
  clearTimeout(timer)
  return { ...ending, stdout, stderr }
}

/** Returns the configuration as environment variables, with those of every process of the tests. */
export function configVariables(config: Readonly<Record<string, string>> = {}): Record<string, string> {
  const settings = {
    'server.port': '0',
    'auth.jwt_secret': testSecret,
    'admin.password': testAdminPassword,
    // Otherwise each start would check if the dashboard's sources have changed.
    'admin.build': 'false',
    // An external database requires row-level security by default. Tests of that set the key to auto.
    ...(config['database.url'] ? { 'database.require_rls': 'false' } : {}),
    ...config,
  }
  return Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [
      `BASALT_${key.replaceAll('.', '_').toUpperCase()}`,
      value,
    ]),
  )
}

/** Starts a command whose output is not read yet. */
export function spawnServer(
  { config, env = {}, account, executable = command, stdout }: ProcessOptions,
  args: readonly string[] = ['start'],
): ChildProcess {
  const child = spawn(process.execPath, [executable, ...args], {
    cwd: tmpdir(),
    env: { ...inheritedEnvironment(), ...configVariables(config), ...env },
    stdio: ['ignore', stdout ?? 'pipe', 'pipe'],
    ...(account ?? {}),
  })
  if (child.pid !== undefined) child.once('exit', cleanUpAfterKill({ pid: child.pid }))
  return child
}

/** Resolves when a process has ended and all of its output has arrived. */
export function endOf(child: ChildProcess): Promise<Ending> {
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    // "close" comes after all output has arrived.
    child.on('close', (code, signal) => resolve({ code, signal }))
  })
}

function parseLog(output: string): Record<string, unknown>[] {
  return output.split('\n').flatMap((line) => {
    if (!line.startsWith('{') || !line.endsWith('}')) return []
    return [JSON.parse(line) as Record<string, unknown>]
  })
}
