import { createHash } from 'node:crypto'
import { deployErrors } from './errors.ts'

/** Maximum number of bytes in all files of a deploy. */
export const deploySizeLimit = 50_000_000
/** Maximum number of files in a deploy. */
export const fileCountLimit = 20_000
const longestPath = 500

/** File of a deploy. */
export interface DeployFile {
  /** Relative path with slashes. */
  readonly path: string
  /** Hash of the content, in hexadecimal. */
  readonly sha256: string
  readonly size: number
}

/**
 * Checks the files of a deploy. A node writes them to its disk, so no path may lead out of the folder.
 *
 * @param installs true if nodes install the packages
 * @throws AppError invalid_function_files, function_deploy_too_large
 */
export function requireManifest(files: readonly DeployFile[], installs = false): void {
  if (files.length === 0) throw deployErrors.invalidFunctionFiles('there are none')
  if (installs) requireLockfile(files)
  const paths = new Set<string>()
  for (const [index, { path, sha256, size }] of files.entries()) {
    const problem = findProblem(path, paths)
    if (problem !== undefined) throw deployErrors.invalidFunctionFiles(`files.${index}.path ${problem}`)
    if (!/^[0-9a-f]{64}$/.test(sha256))
      throw deployErrors.invalidFunctionFiles(`files.${index}.sha256 must be 64 hexadecimal digits`)
    if (size < 0) throw deployErrors.invalidFunctionFiles(`files.${index}.size must be at least 0`)
    paths.add(path)
  }
  for (const [index, { path }] of files.entries()) {
    if (parentsOf(path).some((parent) => paths.has(parent)))
      throw deployErrors.invalidFunctionFiles(`files.${index}.path is below another file`)
  }
  if (files.reduce((sum, { size }) => sum + size, 0) > deploySizeLimit)
    throw deployErrors.functionDeployTooLarge(deploySizeLimit)
}

function requireLockfile(files: readonly DeployFile[]): void {
  for (const name of ['package.json', 'package-lock.json']) {
    if (!files.some(({ path }) => path === name))
      throw deployErrors.invalidFunctionFiles(`there is no ${name}, which the installation needs`)
  }
  const index = files.findIndex(({ path }) => path.split('/').includes('node_modules'))
  if (index !== -1)
    throw deployErrors.invalidFunctionFiles(
      `files.${index}.path is one of a package, which the server installs`,
    )
  const settings = files.findIndex(({ path }) => /(^|\/)(\.npmrc|npm-shrinkwrap\.json)$/i.test(path))
  if (settings !== -1)
    throw deployErrors.invalidFunctionFiles(
      `files.${settings}.path must be no configuration of npm, which is that of the server`,
    )
}

function findProblem(path: string, known: ReadonlySet<string>): string | undefined {
  const segments = path.split('/')
  const isPlain = segments.every((segment) => segment !== '' && segment !== '.' && segment !== '..')
  if (!isPlain || path.length > longestPath || /[\\\p{Cc}]/u.test(path) || !path.isWellFormed())
    return 'must be a relative path without backslashes and control characters'
  return known.has(path) ? 'is not unique' : undefined
}

function parentsOf(path: string): string[] {
  const segments = path.split('/')
  return segments.slice(1).map((_, index) => segments.slice(0, index + 1).join('/'))
}

/** Returns the hash of a deploy: of its paths with their contents and sizes, in any order, and of its kind. */
export function hashManifest(files: readonly DeployFile[], installs = false): string {
  const lines = files.map(({ path, sha256, size }) => `${path}\0${sha256}\0${size}\n`).toSorted()
  return createHash('sha256')
    .update(`${installs ? 'install\n' : ''}${lines.join('')}`)
    .digest('hex')
}
