import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** Path of the command for users; `BENCH_EXECUTABLE` names that of an installed package. */
export const basalt =
  process.env.BENCH_EXECUTABLE ?? fileURLToPath(new URL('../packages/server/bin/basalt.js', import.meta.url))

export interface Server {
  readonly process: ChildProcess
  readonly url: string
  /** Directory of its Postgres cluster, or a description of its database. */
  readonly location: string
  /** Directory of the socket of Postgres. */
  readonly socketDirectory: string
  /** Password of Postgres' superuser. */
  readonly password: string
  /** URL of Postgres for the server. */
  readonly database: string
}

/** Creates a directory that every account of Postgres can access. The caller removes it. */
export function createDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'basalt-bench-'))
  chmodSync(directory, 0o755)
  return directory
}

/** Starts a server like a user: a new directory, one command. */
export function startServer(directory: string, env: Readonly<Record<string, string>> = {}): Promise<Server> {
  const child = spawn(process.execPath, [basalt, 'start', '--port', '0'], {
    cwd: directory,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return new Promise((resolve, reject) => {
    child.once('exit', () => reject(new Error('the server did not start')))
    createInterface(child.stdout).on('line', (line) => {
      const { msg, url, location } = JSON.parse(line) as { msg: string; url: string; location: string }
      if (msg !== 'listening') return
      const socketDirectory = join(location, '..', 'run')
      const file = join(directory, '.basalt', 'secrets', 'postgres_password')
      const password = existsSync(file) ? readFileSync(file, 'utf8') : ''
      const database = `postgresql://postgres:${password}@/basalt?host=${encodeURIComponent(socketDirectory)}`
      resolve({ process: child, url, location, socketDirectory, password, database })
    })
  })
}

/** Returns the connection of Postgres' superuser, for node-postgres. */
export function superuserOf({ socketDirectory, password }: Server) {
  return { host: socketDirectory, user: 'postgres', password, database: 'basalt' }
}

/** Starts a second server on the database of the first, through a proxy that adds delay. */
export async function startFarServer(
  directory: string,
  { socketDirectory, password }: Server,
  delayMs: number,
  env: Readonly<Record<string, string>>,
): Promise<Server & { close(): void }> {
  const script = fileURLToPath(new URL('far-proxy.ts', import.meta.url))
  const proxy = spawn(process.execPath, [script, socketDirectory, String(delayMs)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const port = await new Promise<string>((resolve) =>
    proxy.stdout.once('data', (data) => resolve(String(data))),
  )
  const url = `postgresql://postgres:${password}@127.0.0.1:${port.trim()}/basalt`
  const far = await startServer(directory, {
    ...env,
    BASALT_DATABASE_URL: url,
    // Its tables are those of the first server.
    BASALT_DATABASE_REQUIRE_RLS: 'false',
  })
  return {
    ...far,
    socketDirectory,
    password,
    database: url,
    close() {
      far.process.kill('SIGTERM')
      far.process.once('exit', () => proxy.kill('SIGTERM'))
    },
  }
}

/** Runs a benchmark script as a process and returns its output. */
export function runScript(
  directory: string,
  script: string,
  args: string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const child = spawn(process.execPath, [script, ...args], {
    cwd: directory,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => (code === 0 ? resolve(output) : reject(new Error(`${script} failed`))))
  })
}
