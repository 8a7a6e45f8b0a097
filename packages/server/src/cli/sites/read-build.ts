import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { codeOf, messageOf, OperatorError } from '../../lib/errors.ts'

/** A file of a build. */
export interface BuildFile {
  /** Within the site, with slashes. */
  readonly path: string
  readonly size: number
  /** In hexadecimal. */
  readonly sha256: string
}

/**
 * The files of a directory, by path. Names that begin with a dot are left out, which may hold secrets, except `.well-known`
 * (RFC 8615).
 *
 * @throws OperatorError for a symbolic link, whose target may be anything, and for a directory without `index.html`
 */
export async function readBuild(directory: string, signal: AbortSignal): Promise<BuildFile[]> {
  const paths = (await listPaths(directory, '')).toSorted()
  if (!paths.includes('index.html')) {
    throw new OperatorError(`${directory} has no index.html: is it what the build has made?`)
  }
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

async function readFile(directory: string, path: string): Promise<BuildFile> {
  const file = join(directory, path)
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  const { size } = await stat(file)
  return { path, size, sha256: hash.digest('hex') }
}
