import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Resource } from './clean-up-process.ts'
import { waitFor } from './wait-for.ts'

/**
 * Reads resources, one per line as JSON, until the writing process ends. Then it ends the processes and removes the
 * directories that remain.
 */
const left = new Map<string, Resource>()
for (const line of (await text(process.stdin)).split('\n').filter((line) => line.endsWith('}'))) {
  const { add, remove } = JSON.parse(line) as { add?: Resource; remove?: Resource }
  if (add !== undefined) left.set(JSON.stringify(add), add)
  else left.delete(JSON.stringify(remove))
}
const resources = [...left.values()]
// Servers end first, because they would restart their Postgres.
for (const resource of resources) {
  if ('pid' in resource) signal(resource.pid, 'SIGKILL')
  else for (const pid of serversOf(resource.directory)) signal(pid, 'SIGKILL')
}
for (const resource of resources) {
  if ('directory' in resource) await removeDirectory(resource.directory)
}

async function removeDirectory(directory: string): Promise<void> {
  for (const data of dataDirectoriesOf(directory)) {
    const pid = Number(readFile(join(data, 'postgres', 'postmaster.pid')).split('\n', 1)[0])
    if (!(pid > 0)) continue
    signal(pid, 'SIGQUIT')
    await waitFor('Postgres to end', () => !signal(pid, 0))
  }
  rmSync(directory, { recursive: true, force: true, maxRetries: 10 })
}

/** Finds servers by the note in their data directory, named by their process id. */
function serversOf(directory: string): number[] {
  return dataDirectoriesOf(directory)
    .map((data) => join(data, 'servers'))
    .filter((notes) => existsSync(notes))
    .flatMap((notes) => readdirSync(notes).map((name) => Number(/^(\d+)\.json$/.exec(name)?.[1])))
    .filter((pid) => pid > 0)
}

/** Lists the data directories of a test: the directory itself and those in it. */
function dataDirectoriesOf(directory: string): string[] {
  if (!existsSync(directory)) return []
  const below = readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  return [directory, ...below.map(({ name }) => join(directory, name))]
}

function readFile(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}

/** @returns whether the process exists */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name)
  } catch {
    return false
  }
}
