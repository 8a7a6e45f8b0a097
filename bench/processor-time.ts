import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Server } from './server.ts'

/** Microseconds of one clock tick of /proc (Linux, USER_HZ). */
const tickMicros = 10_000

/** Returns the processor time of a process alone so far; Linux only. */
export function ownMicros(pid: number): number {
  const fields = statFields(pid)
  return (Number(fields[11]) + Number(fields[12])) * tickMicros
}

/** Returns the processor time of a process and its descendants so far, including those that have ended; Linux only. */
export function treeMicros(pid: number): number {
  const parents = new Map<number, number>()
  for (const entry of readdirSync('/proc').map(Number)) {
    if (!Number.isInteger(entry)) continue
    try {
      parents.set(entry, Number(statFields(entry)[1]))
    } catch {
      // The process has just ended.
    }
  }
  const isDescendant = (each: number | undefined): boolean =>
    each !== undefined && (each === pid || isDescendant(parents.get(each)))
  let sum = 0
  for (const each of parents.keys()) {
    if (!isDescendant(each)) continue
    const fields = statFields(each)
    for (const index of [11, 12, 13, 14]) sum += Number(fields[index]) * tickMicros
  }
  return sum
}

/** Processor time so far, in microseconds. */
export interface ProcessorTimes {
  readonly server: number
  readonly database: number
}

/** Returns the processor time of a server with its workers, and of its embedded PostgreSQL, which is no child of it. */
export function processorTimes({ process: { pid = 0 }, location }: Server): ProcessorTimes {
  const postmaster = Number.parseInt(readFileSync(join(location, 'postmaster.pid'), 'latin1'), 10)
  return {
    server: treeMicros(pid),
    database: treeMicros(postmaster),
  }
}

/** Returns the fields of /proc/PID/stat after the name of the command, the state first. */
function statFields(pid: number): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
  return text.slice(text.lastIndexOf(')') + 2).split(' ')
}
