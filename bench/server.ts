import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, mkdtempSync } from 'node:fs'
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
  /** Address of Postgres for the server: the directory of the socket, or a URL. */
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
      resolve({ process: child, url, location, socketDirectory, database: socketDirectory })
    })
  })
}

/** Starts a second server on the database of the first, through a proxy that adds delay. */
export async function startFarServer(
  directory: string,
  { socketDirectory }: Server,
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
  const url = `postgresql://postgres@127.0.0.1:${port.trim()}/basalt`
  const far = await startServer(directory, {
    ...env,
    BASALT_DATABASE_URL: url,
    // Its tables are those of the first server.
    BASALT_DATABASE_REQUIRE_RLS: 'false',
  })
  return {
    ...far,
    socketDirectory,
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
