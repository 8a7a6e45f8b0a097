import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../configuration.ts'
import { isProcessAlive } from '../database/embedded/lock-file.ts'
import { codeOf, OperatorError } from '../lib/errors.ts'
import { isOf } from '../lib/is-of.ts'
import { type Static, Type } from '../lib/type.ts'
import { reloadSchema } from '../workers/reloads.ts'

const processSchema = Type.Object({
  pid: Type.Integer(),
  /** Start time of the process in the system's ticks. Another process with the same id has another one. */
  startTicks: Type.Optional(Type.String()),
})

/** Process in a note. */
export type NotedProcess = Static<typeof processSchema>

/** Note that a server writes into its data directory, so that commands find it at any address. */
const noteSchema = Type.Object({
  ...processSchema.properties,
  version: Type.String(),
  startedAt: Type.String(),
  /** URL on this machine; absent until the server listens. */
  url: Type.Optional(Type.String()),
  /** Kind of database that the server uses. */
  database: Type.Optional(Type.Union([Type.Literal('embedded'), Type.Literal('external')])),
  /** Command lines that reach the embedded database. */
  psql: Type.Array(Type.String()),
  /** Workers of the server, or of one that was killed. */
  workers: Type.Optional(Type.Array(processSchema)),
  /** True if `basalt reload` can replace the processes of the server. */
  hasWorkers: Type.Optional(Type.Boolean()),
  /** Command that runs the server, such as `basalt dev`. */
  command: Type.Optional(Type.String()),
  reload: Type.Optional(reloadSchema),
})

type Note = Static<typeof noteSchema>

/** Server with a note. */
export interface NotedServer extends Note {
  /** True if its process runs. Otherwise it ended without a proper stop. */
  readonly isAlive: boolean
}

/** Note of this process. */
export interface ServerNote {
  /** Workers that still run although their server was killed. */
  readonly leftOver: readonly NotedProcess[]
  update(change: Partial<Note>): void
  /** Notes the workers, so that the next start finds them if this server is killed. */
  updateWorkers(pids: readonly number[]): void
  remove(): void
}

/**
 * Writes the note of a server. Where nothing can be written, as in a container with a read-only file system,
 * there is no note, and `basalt status` finds no server.
 */
export function noteServer(
  dataDirectory: string,
  { pid, ...given }: Pick<Note, 'pid' | 'version' | 'database' | 'hasWorkers' | 'command'>,
): ServerNote {
  const directory = directoryOf(dataDirectory)
  const path = join(directory, `${pid}.json`)
  const ended = findServers(dataDirectory).filter(({ isAlive }) => !isAlive)
  const leftOver = ended.flatMap(({ workers = [] }) => workers).filter(isRunning)
  let note: Note = {
    ...processOf(pid),
    ...given,
    startedAt: new Date().toISOString(),
    psql: [],
    ...(leftOver.length === 0 ? {} : { workers: leftOver }),
  }
  const update = (change: Partial<Note>) => {
    note = { ...note, ...change }
    try {
      mkdirSync(directory, { recursive: true })
      writeFileSync(`${path}.new`, `${JSON.stringify(note)}\n`)
      renameSync(`${path}.new`, path)
    } catch {
      // Only commands beside the server need it.
    }
  }
  update({})
  for (const { pid: other } of ended) if (other !== pid) removeNote(join(directory, `${other}.json`))
  return {
    leftOver,
    update,
    updateWorkers: (pids) => update({ workers: pids.map(processOf) }),
    remove: () => removeNote(path),
  }
}

function removeNote(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // The note could not be written, or belongs to another account. `basalt status` sees that its process has
    // ended.
  }
}

/** Finds the servers of a data directory. With an external database there can be several. */
export function findServers(dataDirectory: string): NotedServer[] {
  const directory = directoryOf(dataDirectory)
  return listNames(directory).flatMap((name) => {
    const note = /^\d+\.json$/.test(name) ? readNote(join(directory, name)) : undefined
    return note === undefined ? [] : [{ ...note, isAlive: isAlive(note) }]
  })
}

/**
 * Rejects a command that lacks the environment of its server. It would start an embedded database beside it,
 * and work there.
 *
 * @throws OperatorError where the servers of the data directory use an external database and this configuration
 * has none
 */
export function refuseOtherDatabase({ server, database }: Config): void {
  if (database.url !== '') return
  const running = findServers(server.data_dir).filter(({ isAlive }) => isAlive)
  const external = running.find((note) => note.database === 'external')
  if (external === undefined || running.some((note) => note.database === 'embedded')) return
  throw new OperatorError(
    `the server of ${server.data_dir} (process ${external.pid}) uses an external database, and database.url is not set here: ` +
      'give this command the configuration of the server, such as BASALT_DATABASE_URL',
    { exitCode: 2 },
  )
}

/** Describes a server: `http://127.0.0.1:8090 is served by process 123`. */
export function describeServer({ pid, url }: NotedServer): string {
  return url === undefined
    ? `a server is starting (process ${pid})`
    : `a server runs at ${url} (process ${pid})`
}

function directoryOf(dataDirectory: string): string {
  return join(dataDirectory, 'servers')
}

function listNames(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}

function readNote(path: string): Note | undefined {
  try {
    const note: unknown = JSON.parse(readFileSync(path, 'utf8'))
    return isOf(noteSchema, note) ? note : undefined
  } catch (error) {
    // The note was removed meanwhile, or written by hand.
    if (codeOf(error) === 'ENOENT' || error instanceof SyntaxError) return undefined
    throw error
  }
}

function isAlive({ pid, startTicks }: NotedProcess): boolean {
  return isProcessAlive(pid) && (startTicks === undefined || startTicksOf(pid) === startTicks)
}

/** Returns true if exactly this process runs. On systems that show no start time it returns false. */
export function isRunning({ pid, startTicks }: NotedProcess): boolean {
  return startTicks !== undefined && statusOf(pid)?.state !== 'Z' && startTicksOf(pid) === startTicks
}

function processOf(pid: number): NotedProcess {
  const startTicks = startTicksOf(pid)
  return { pid, ...(startTicks === undefined ? {} : { startTicks }) }
}

function startTicksOf(pid: number): string | undefined {
  return statusOf(pid)?.startTicks
}

/** Returns fields 3 and 22 of `/proc/<pid>/stat` (proc_pid_stat(5)); undefined on systems without it. */
function statusOf(pid: number): { state: string | undefined; startTicks: string | undefined } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { state: fields[0], startTicks: fields[19] }
  } catch {
    return undefined
  }
}
