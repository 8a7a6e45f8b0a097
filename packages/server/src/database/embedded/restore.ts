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
  /** True if an existing database is moved aside. */
  readonly replaces: boolean
  /** Returns the server of the data directory, if one runs. */
  readonly findServer: () => string | undefined
  readonly signal: AbortSignal
}

export interface Restored {
  readonly description: BackupDescription
  /** Paths to which the previous files were moved. */
  readonly asides: readonly string[]
}

/** Paths where a backup is unpacked, and final paths of its parts. */
interface RestorePaths {
  readonly user: OsUser | undefined
  readonly postgres: string
  readonly secrets: string
  readonly unfinished: { readonly postgres: string; readonly secrets: string }
}

/**
 * Replaces a data directory by a backup, all or nothing. The backup is unpacked and verified in a sibling
 * directory, and then renamed by a journal. The next start executes the journal if this process is killed.
 */
export async function restoreBackup(options: RestoreOptions): Promise<Restored> {
  const { dataDirectory, replaces, findServer } = options
  try {
    mkdirSync(dataDirectory, { recursive: true })
    finishRestore(dataDirectory)
    const paths = findPaths(dataDirectory)
    requireStopped(paths, findServer)
    const occupied = [paths.postgres, paths.secrets].filter((path) => existsSync(path))
    if (occupied.length > 0 && !replaces) {
      throw new OperatorError(
        `${occupied[0]} exists: choose another --data-dir, or move it aside with --force`,
      )
    }
    for (const directory of [dataDirectory, join(paths.postgres, '..')]) removeUnfinished(directory)
    try {
      const description = await unpack(options, paths)
      return { description, asides: install(dataDirectory, paths, replaces, findServer) }
    } finally {
      // Installed parts no longer have files at these paths.
      for (const path of Object.values(paths.unfinished)) rmSync(path, { recursive: true, force: true })
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

function findPaths(dataDirectory: string): RestorePaths {
  const { user, home } = locateHome(dataDirectory)
  const [postgres, secrets] = [join(home, 'postgres'), join(dataDirectory, 'secrets')]
  // `removeUnfinished` knows these names.
  const unfinished = { postgres: `${postgres}.${process.pid}`, secrets: `${secrets}.${process.pid}` }
  return { user, postgres, secrets, unfinished }
}

function requireStopped({ postgres }: RestorePaths, findServer: () => string | undefined): void {
  const server = findServer()
  if (server !== undefined) throw new OperatorError(`${server}: stop it first`)
  if (isServed(postgres)) {
    throw new OperatorError(
      `${postgres} is in use by PostgreSQL (process ${postmasterPid(postgres)}), which a killed server has left ` +
        'behind or a command uses: a start and a stop of the server end it',
    )
  }
}

/**
 * Unpacks and verifies the backup.
 *
 * @throws OperatorError when this Basalt cannot use the backup or it is damaged
 */
async function unpack({ file, signal }: RestoreOptions, paths: RestorePaths): Promise<BackupDescription> {
  let description: BackupDescription | undefined
  let manifest: BackupManifest | undefined
  const hashes = new Map<string, string>()
  mkdirSync(paths.unfinished.postgres, { mode: 0o700 })
  giveTo(paths.user, paths.unfinished.postgres)
  mkdirSync(paths.unfinished.secrets, { mode: 0o700 })
  const directories = new Set<string>(Object.values(paths.unfinished))
  const source = createReadStream(file, { signal })
  const chunks = source.pipe(createGunzip())
  source.on('error', (error) => chunks.destroy(error))
  for await (const entry of readTar(chunks as AsyncIterable<Buffer>)) {
    if (description === undefined) {
      if (entry.path !== descriptionPath) throw new TarError(`${descriptionPath} is not its first entry`)
      const text = await readText(entry, hashes)
      description = parseDescription(text)
      requireUsable(description, paths)
    } else if (entry.path === manifestPath) {
      manifest = parseManifest(await readText(entry, new Map()))
    } else {
      const path = destinationOf(entry.path, paths)
      const owner = entry.path.startsWith('postgres') ? paths.user : undefined
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

function destinationOf(path: string, { unfinished }: RestorePaths): string {
  const [root = '', ...rest] = path.split('/')
  const isPlain = rest.every((name) => name !== '' && name !== '.' && name !== '..')
  if ((root !== 'postgres' && root !== 'secrets') || !isPlain)
    throw new TarError(`"${path}" does not belong in a backup`)
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
  { user }: RestorePaths,
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

/** Returns true for errors of gunzip and JSON about damaged bytes. */
function isDamaged(error: unknown): boolean {
  if (error instanceof SyntaxError) return true
  return error instanceof Error && 'code' in error && String(error.code).startsWith('Z_')
}

function install(
  dataDirectory: string,
  paths: RestorePaths,
  replaces: boolean,
  findServer: () => string | undefined,
): string[] {
  const { postgres, secrets, unfinished } = paths
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
    // A server that started before the journal existed is visible now. A later one executes the journal.
    requireStopped(paths, findServer)
  } catch (error) {
    removeJournal(dataDirectory)
    throw error
  }
  finishRestore(dataDirectory)
  return asides.map(({ to }) => to)
}
