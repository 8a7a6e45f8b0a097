import { spawn } from 'node:child_process'
import { OperatorError } from '../../lib/errors.ts'
import type { OsUser } from './os-user.ts'

export interface RunOptions {
  /** Signal that ends the command with its processes. */
  readonly signal?: AbortSignal | undefined
  /** Additional variables of its environment. */
  readonly variables?: Readonly<Record<string, string>>
  /** Text of its standard input. */
  readonly input?: string
}

/**
 * Runs a program of PostgreSQL as its account.
 *
 * @throws OperatorError when it cannot be run
 */
export function runAs(
  user: OsUser | undefined,
  command: string,
  args: string[],
  { signal, variables = {}, input }: RunOptions = {},
): Promise<{ code: number; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      ...(user === undefined ? {} : { uid: user.uid, gid: user.gid }),
      // It gets a process group of its own: initdb delegates its work to a Postgres, which has to end with it.
      detached: true,
      // Postgres sees no PG* variables, its messages are in English, and its account can enter the directory.
      env: { LC_ALL: 'C', TZ: 'UTC', ...variables },
      cwd: '/',
      // The server keeps pg_ctl's descriptors: a pipe would stay open for as long as it runs.
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    })
    const end = () => killGroup(child.pid, 'SIGTERM')
    if (signal?.aborted === true) end()
    signal?.addEventListener('abort', end, { once: true })
    let output = ''
    // A command that has ended reports its own reason.
    child.stdin?.on('error', () => undefined).end(input)
    child.stdout?.on('data', (chunk) => {
      output += chunk
    })
    child.stderr?.on('data', (chunk) => {
      output += chunk
    })
    child.on('error', (error) => reject(new OperatorError(`cannot run ${command}: ${error.message}`)))
    child.on('exit', (code) => {
      signal?.removeEventListener('abort', end)
      if (signal?.aborted === true) killGroup(child.pid, 'SIGKILL')
      child.stdout?.destroy()
      child.stderr?.destroy()
      resolve({ code: code ?? 1, output })
    })
  })
}

function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {
    // The process has ended.
  }
}
