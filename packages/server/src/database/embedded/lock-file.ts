import { readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../../lib/errors.ts'

/**
 * `postmaster.pid`: the file by which Postgres notes who serves a data directory. Its first line is the process
 * id; a killed Postgres leaves it behind.
 */
function lockFile(directory: string): string {
  return join(directory, 'postmaster.pid')
}

/** Whether a Postgres runs on the data directory. */
export function isServed(directory: string): boolean {
  const pid = postmasterPid(directory)
  return pid !== undefined && isProcessAlive(pid) && mayBePostmaster(pid, directory)
}

/** The process id in the lock file, whether that process is alive or not. */
export function postmasterPid(directory: string): number | undefined {
  try {
    const [pid] = readFileSync(lockFile(directory), 'utf8').split('\n', 1)
    return Number(pid) || undefined
  } catch {
    return undefined
  }
}

/** Where the Postgres of the lock file listens: its socket is named by the port (PostgreSQL, postmaster.pid). */
export function listeningOf(directory: string): { port: number; address: string } | undefined {
  try {
    const [, , , port, , address = ''] = readFileSync(lockFile(directory), 'utf8').split('\n')
    return Number(port) > 0 ? { port: Number(port), address: address.trim() } : undefined
  } catch {
    return undefined
  }
}

export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

/**
 * In a container that starts again, the process id of a killed Postgres soon belongs to another process, and the
 * next Postgres would refuse to start. It takes a lock file that names the parent of pg_ctl, which this process
 * is, as left over, and still makes sure that no backend of the killed one runs; so the file gets this process id.
 */
export function releaseStaleLockFile(directory: string): void {
  const pid = postmasterPid(directory)
  if (pid === undefined || !isProcessAlive(pid) || mayBePostmaster(pid, directory)) return
  const [, ...rest] = readFileSync(lockFile(directory), 'utf8').split('\n')
  writeFileSync(lockFile(directory), [process.pid, ...rest].join('\n'))
}

/** A postmaster works in its data directory; where the system does not show that, any process may be one. */
function mayBePostmaster(pid: number, directory: string): boolean {
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === directory
  } catch {
    return true
  }
}
