import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { codeOf, messageOf, OperatorError } from '../../lib/errors.ts'
import { showControls } from '../table.ts'

/** File of a build. */
export interface BuildFile {
  /** Path within the site, with slashes. */
  readonly path: string
  readonly size: number
  /** Hash in hexadecimal. */
  readonly sha256: string
}

/**
 * Reads the files of a directory, by path. Names that begin with a dot are skipped, because they may be
 * secrets, except `.well-known` (RFC 8615).
 *
 * @throws OperatorError for a symbolic link, an unreadable name or file, and a directory without `index.html`
 */
export async function readBuild(directory: string, signal: AbortSignal): Promise<BuildFile[]> {
  const paths = (await listPaths(directory, '')).toSorted()
  if (!paths.includes('index.html')) {
    throw new OperatorError(`${directory} has no index.html: is it what the build has made?`)
  }
  refuseNames(directory, paths)
  const files: BuildFile[] = []
  for (const path of paths) {
    signal.throwIfAborted()
    files.push(await readFile(directory, path))
  }
  return files
}

async function listPaths(directory: string, parent: string): Promise<string[]> {
  const entries = await readdir(join(directory, parent), { withFileTypes: true }).catch((error) => {
    const isMissing = ['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')
    throw new OperatorError(isMissing ? `${directory} is no directory` : messageOf(error), { cause: error })
  })
  const paths: string[] = []
  for (const entry of entries) {
    const path = parent === '' ? entry.name : `${parent}/${entry.name}`
    if (entry.name.startsWith('.') && entry.name !== '.well-known') continue
    if (entry.isDirectory()) paths.push(...(await listPaths(directory, path)))
    else if (entry.isFile()) paths.push(path)
    else {
      const kind = entry.isSymbolicLink() ? 'a symbolic link' : 'no regular file'
      throw new OperatorError(`${join(directory, path)} is ${kind}: put the file itself there, or remove it`)
    }
  }
  return paths
}

/**
 * Rejects names that a site cannot contain, or contains once. Its names are in Unicode's composed form, which
 * browsers use in requests.
 */
function refuseNames(directory: string, paths: readonly string[]): void {
  const composed = new Map<string, string>()
  for (const path of paths) {
    const shown = showControls(join(directory, path))
    if (/[\\\p{Cc}]/u.test(path)) {
      throw new OperatorError(`${shown}: expected a name without backslashes and control characters`)
    }
    const other = composed.get(path.normalize('NFC'))
    if (other !== undefined) {
      throw new OperatorError(
        `${shown} and ${other} have the same name to browsers: rename one, or remove it`,
      )
    }
    composed.set(path.normalize('NFC'), shown)
  }
}

async function readFile(directory: string, path: string): Promise<BuildFile> {
  const file = join(directory, path)
  const hash = createHash('sha256')
  try {
    await pipeline(createReadStream(file), hash)
    const { size } = await stat(file)
    return { path, size, sha256: hash.digest('hex') }
  } catch (error) {
    throw new OperatorError(`cannot read ${file}: ${messageOf(error)}`, { cause: error })
  }
}
