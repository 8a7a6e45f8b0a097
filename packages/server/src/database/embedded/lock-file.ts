import { readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../../lib/errors.ts'

/**
 * Returns the path of `postmaster.pid`. Postgres records in it the process that serves a data directory. Its
 * first line is the process id. A killed Postgres does not remove the file.
 */
function lockFile(directory: string): string {
  return join(directory, 'postmaster.pid')
}

/** Returns true if a Postgres runs on the data directory. */
export function isServed(directory: string): boolean {
  const pid = postmasterPid(directory)
  return pid !== undefined && isProcessAlive(pid) && mayBePostmaster(pid, directory)
}

/** Returns the process id in the lock file, whether that process is alive or not. */
export function postmasterPid(directory: string): number | undefined {
  try {
    const [pid] = readFileSync(lockFile(directory), 'utf8').split('\n', 1)
    // Without a postmaster it is negative (PostgreSQL, Single-User Mode).
    return Math.abs(Number(pid)) || undefined
  } catch {
    return undefined
  }
}

/**
 * Returns the address of the Postgres in the lock file; the port is part of the socket's name (PostgreSQL,
 * postmaster.pid).
 */
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
 * Takes over a stale lock file. In a restarted container the process id of a killed Postgres soon belongs to
 * another process, and the next Postgres would refuse to start. It treats a lock file with the parent of
 * pg_ctl, which is this process, as stale. It still verifies that no backend of the killed one runs. So this
 * function writes its own process id into the file.
 */
export function releaseStaleLockFile(directory: string): void {
  const pid = postmasterPid(directory)
  if (pid === undefined || !isProcessAlive(pid) || mayBePostmaster(pid, directory)) return
  const [, ...rest] = readFileSync(lockFile(directory), 'utf8').split('\n')
  writeFileSync(lockFile(directory), [process.pid, ...rest].join('\n'))
}

/**
 * Returns true if the process may be a postmaster, which works in its data directory. Where the system does not
 * show that, any process may be one.
 */
function mayBePostmaster(pid: number, directory: string): boolean {
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === directory
  } catch {
    return true
  }
}
