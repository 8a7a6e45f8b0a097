import { accessSync, constants, mkdtempSync, readFileSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** File system in memory, which Linux has. */
const inMemory = '/dev/shm'
/** Free bytes that are needed: several times the peak of a whole run. */
const neededBytes = 4 * 1024 ** 3

/**
 * Makes a directory for a cluster or a server, in memory if there is plenty of it. Each test has a database of its own,
 * whose thousand files cost a tenth of the processor time of a whole run on ext4.
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

/** Returns false for a noexec mount, as in many containers: the commands of the guides' shell could not run there. */
function isExecutable(): boolean {
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n')
  const [, , , options = 'noexec'] = mounts.find((line) => line.includes(` ${inMemory} `))?.split(' ') ?? []
  return !options.split(',').includes('noexec')
}
