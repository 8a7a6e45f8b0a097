import { createHash } from 'node:crypto'
import { createReadStream, existsSync, mkdirSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { createGunzip } from 'node:zlib'
import { messageOf, OperatorError } from '../../lib/errors.ts'
import { isOf } from '../../lib/is-of.ts'
import { readTar, TarError, type TarReading } from '../../lib/tar.ts'
import { Type } from '../../lib/type.ts'
import {
  type BackupDescription,
  type BackupManifest,
  descriptionPath,
  descriptionSchema,
  manifestPath,
  manifestSchema,
} from './backup.ts'
import { locateBinaries } from './binaries.ts'
import { isSystemError, locateHome } from './cluster.ts'
import { removeUnfinished } from './initdb.ts'
import { isServed, postmasterPid } from './lock-file.ts'
import type { OsUser } from './os-user.ts'
import { giveTo } from './os-user.ts'
import { finishRestore, removeJournal, syncDirectory, writeJournal } from './restore-journal.ts'

export interface RestoreOptions {
  readonly file: string
  readonly dataDirectory: string
  /** Whether a database that is there is moved aside. */
  readonly replaces: boolean
  /** What serves the data directory, if something does. */
  readonly findServer: () => string | undefined
  readonly signal: AbortSignal
}

export interface Restored {
  readonly description: BackupDescription
  /** Where what was there before is now. */
  readonly asides: readonly string[]
}

/** Where a backup is unpacked, and where its parts come to be. */
interface Places {
  readonly user: OsUser | undefined
  readonly postgres: string
  readonly secrets: string
  readonly unfinished: { readonly postgres: string; readonly secrets: string }
}

/**
 * Puts a backup in the place of a data directory, all or nothing: it is unpacked and verified beside the place, and
 * then renamed by a journal that the next start finishes, should this process be killed.
 */
export async function restoreBackup(options: RestoreOptions): Promise<Restored> {
  const { dataDirectory, replaces, findServer } = options
  try {
    mkdirSync(dataDirectory, { recursive: true })
    finishRestore(dataDirectory)
    const places = findPlaces(dataDirectory)
    requireStopped(places, findServer)
    const occupied = [places.postgres, places.secrets].filter((path) => existsSync(path))
    if (occupied.length > 0 && !replaces) {
      throw new OperatorError(
        `${occupied[0]} exists: choose another --data-dir, or move it aside with --force`,
      )
    }
    for (const directory of [dataDirectory, join(places.postgres, '..')]) removeUnfinished(directory)
    try {
      const description = await unpack(options, places)
      return { description, asides: place(dataDirectory, places, replaces, findServer) }
    } finally {
      // Of what is in place now nothing is left there.
      for (const path of Object.values(places.unfinished)) rmSync(path, { recursive: true, force: true })
    }
  } catch (error) {
    if (options.signal.aborted) throw new OperatorError('the restore was interrupted, nothing has changed')
    if (error instanceof OperatorError) throw error
    if (error instanceof TarError || isDamaged(error)) {
      throw new OperatorError(`${options.file} is not a whole backup: ${messageOf(error)}`, { cause: error })
    }
    if (!isSystemError(error)) throw error
    throw new OperatorError(`cannot restore ${options.file}: ${error.message}`, { cause: error })
  }
}

function findPlaces(dataDirectory: string): Places {
  const { user, home } = locateHome(dataDirectory)
  const [postgres, secrets] = [join(home, 'postgres'), join(dataDirectory, 'secrets')]
  // Names that `removeUnfinished` knows.
  const unfinished = { postgres: `${postgres}.${process.pid}`, secrets: `${secrets}.${process.pid}` }
  return { user, postgres, secrets, unfinished }
}

function requireStopped({ postgres }: Places, findServer: () => string | undefined): void {
  const server = findServer()
  if (server !== undefined) throw new OperatorError(`${server}: stop it first`)
  if (isServed(postgres)) {
    throw new OperatorError(
      `${postgres} is in use by PostgreSQL (process ${postmasterPid(postgres)}), which a killed server has left ` +
        'behind or a command uses: a start and a stop of the server end it',
    )
  }
}

/** Unpacks and verifies. @throws OperatorError when this Basalt cannot use the backup or it is damaged */
async function unpack({ file, signal }: RestoreOptions, places: Places): Promise<BackupDescription> {
  let description: BackupDescription | undefined
  let manifest: BackupManifest | undefined
  const hashes = new Map<string, string>()
  mkdirSync(places.unfinished.postgres, { mode: 0o700 })
  giveTo(places.user, places.unfinished.postgres)
  mkdirSync(places.unfinished.secrets, { mode: 0o700 })
  const directories = new Set<string>(Object.values(places.unfinished))
  const source = createReadStream(file, { signal })
  const chunks = source.pipe(createGunzip())
  source.on('error', (error) => chunks.destroy(error))
  for await (const entry of readTar(chunks as AsyncIterable<Buffer>)) {
    if (description === undefined) {
      if (entry.path !== descriptionPath) throw new TarError(`${descriptionPath} is not its first entry`)
      const text = await readText(entry, hashes)
      description = parseDescription(text)
      requireUsable(description, places)
    } else if (entry.path === manifestPath) {
      manifest = parseManifest(await readText(entry, new Map()))
    } else {
      const path = destinationOf(entry.path, places)
      const owner = entry.path.startsWith('postgres') ? places.user : undefined
      if (entry.kind === 'directory') {
        if (!directories.has(path)) mkdirSync(path, { mode: 0o700 })
        directories.add(path)
      } else {
        await writeOut(entry, path, hashes)
      }
      giveTo(owner, path)
    }
  }
  if (description === undefined || manifest === undefined) throw new TarError(`${manifestPath} is missing`)
  requireSame(manifest, hashes)
  for (const directory of directories) syncDirectory(directory)
  return description
}

function destinationOf(path: string, { unfinished }: Places): string {
  const [root = '', ...rest] = path.split('/')
  const isPlain = rest.every((name) => name !== '' && name !== '.' && name !== '..')
  if ((root !== 'postgres' && root !== 'secrets') || !isPlain)
    throw new TarError(`"${path}" has no place here`)
  return join(unfinished[root], ...rest)
}

async function readText(entry: TarReading, hashes: Map<string, string>): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of entry.body) parts.push(part)
  const content = Buffer.concat(parts)
  hashes.set(entry.path, createHash('sha256').update(content).digest('hex'))
  return content.toString('utf8')
}

async function writeOut(entry: TarReading, path: string, hashes: Map<string, string>): Promise<void> {
  const hash = createHash('sha256')
  const output = await open(path, 'wx', 0o600)
  try {
    for await (const part of entry.body) {
      hash.update(part)
      await output.writeFile(part)
    }
    await output.sync()
  } finally {
    await output.close()
  }
  hashes.set(entry.path, hash.digest('hex'))
}

function parseDescription(text: string): BackupDescription {
  const description: unknown = JSON.parse(text)
  if (isOf(descriptionSchema, description)) return description
  if (isOf(Type.Object({ format: Type.Number() }), description) && description.format !== 1) {
    throw new OperatorError('the backup was made by a newer Basalt: restore it with that one')
  }
  throw new TarError(`${descriptionPath} is damaged`)
}

function parseManifest(text: string): BackupManifest {
  const manifest: unknown = JSON.parse(text)
  if (isOf(manifestSchema, manifest)) return manifest
  throw new TarError(`${manifestPath} is damaged`)
}

function requireUsable(
  { postgresVersion, architecture, basaltVersion }: BackupDescription,
  { user }: Places,
): void {
  const [theirs] = postgresVersion.split('.')
  const [ours] = locateBinaries(user).version.split('.')
  if (theirs !== ours) {
    throw new OperatorError(
      `the backup is of PostgreSQL ${theirs}, this Basalt brings PostgreSQL ${ours}, which cannot read it: ` +
        `restore it with Basalt ${basaltVersion}, and move the data with pg_dump (docs/guides/backup.md)`,
    )
  }
  if (architecture !== process.arch) {
    throw new OperatorError(
      `the backup was made on ${architecture}, this is ${process.arch}: data files are those of one architecture`,
    )
  }
}

function requireSame({ files }: BackupManifest, found: ReadonlyMap<string, string>): void {
  for (const [path, hash] of Object.entries(files)) {
    if (found.get(path) !== hash) throw new TarError(`${path} is ${found.has(path) ? 'damaged' : 'missing'}`)
  }
  if (found.size !== Object.keys(files).length)
    throw new TarError('it has files that its manifest does not list')
}

/** What gunzip and JSON say of bytes that are not theirs. */
function isDamaged(error: unknown): boolean {
  if (error instanceof SyntaxError) return true
  return error instanceof Error && 'code' in error && String(error.code).startsWith('Z_')
}

function place(
  dataDirectory: string,
  places: Places,
  replaces: boolean,
  findServer: () => string | undefined,
): string[] {
  const { postgres, secrets, unfinished } = places
  const stamp = new Date().toISOString().replace(/\D/g, '').slice(0, 14)
  const asides = [postgres, secrets]
    .filter((path) => replaces && existsSync(path))
    .map((path) => ({ from: path, to: `${path}.before-${stamp}` }))
  const placements = [
    { from: unfinished.postgres, to: postgres },
    { from: unfinished.secrets, to: secrets },
  ]
  if (!replaces && existsSync(postgres)) {
    throw new OperatorError(`a database was made in ${postgres} meanwhile: nothing has changed`)
  }
  writeJournal(dataDirectory, { asides, placements })
  try {
    // A server that began before the journal was there shows itself now; one that begins later finishes it.
    requireStopped(places, findServer)
  } catch (error) {
    removeJournal(dataDirectory)
    throw error
  }
  finishRestore(dataDirectory)
  return asides.map(({ to }) => to)
}
