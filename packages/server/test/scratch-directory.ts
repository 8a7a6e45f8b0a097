import { accessSync, constants, mkdtempSync, readFileSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A file system in memory, where Linux has one. */
const inMemory = '/dev/shm'
/** Several times what a whole run of the suite has in it at once. */
const neededBytes = 4 * 1024 ** 3

/**
 * Makes a directory for a cluster or a server: in memory where there is plenty of it. Each test has a database of its
 * own, a thousand files that are created and removed again: on ext4 a tenth of the processor time of a whole run.
 */
export function makeScratchDirectory(prefix: string): string {
  return mkdtempSync(join(isMemoryUsable() ? inMemory : tmpdir(), prefix))
}

function isMemoryUsable(): boolean {
  try {
    accessSync(inMemory, constants.W_OK)
    const { bavail, bsize } = statfsSync(inMemory)
    return Math.min(bavail * bsize, process.availableMemory()) >= neededBytes && isExecutable()
  } catch {
    return false
  }
}

/** Containers often have it mounted noexec, where the commands of the guides' shell could not run. */
function isExecutable(): boolean {
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n')
  const [, , , options = 'noexec'] = mounts.find((line) => line.includes(` ${inMemory} `))?.split(' ') ?? []
  return !options.split(',').includes('noexec')
}
