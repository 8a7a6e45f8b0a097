import { createHash } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { deploySizeLimit, findFault } from '../../features/functions/deploys/index.ts'
import { codeOf, messageOf, OperatorError } from '../../lib/errors.ts'
import { isOf } from '../../lib/is-of.ts'
import { formatBytes } from '../table.ts'
import { installsServer, Lockfile, listProductionPackages, type ProductionPackage } from './packages.ts'

/** File that a deploy contains. */
export interface PackedFile {
  /** Path in the deploy, with slashes. */
  readonly path: string
  /** Path on this machine. */
  readonly source: string
  readonly sha256: string
  readonly size: number
}

/**
 * Lists the files of a project's functions: the folder `functions`, `package.json` and the packages that `dependencies` reach,
 * without the server. Tests and names that begin with a dot are left out of the folder. If nodes install the packages, it has the lockfile instead.
 *
 * @throws OperatorError without functions, with a missing package, or if the files are too large
 */
export async function packFunctions(project: string, { install = false } = {}): Promise<PackedFile[]> {
  const isFunction = (name: string) => !name.startsWith('.') && !/\.test\.\w+$/.test(name)
  const own = await listFiles(join(project, 'functions'), 'functions', isFunction)
  if (own === undefined || own.length === 0) {
    throw new OperatorError(`${join(project, 'functions')} has no functions: create one, such as hello.ts`)
  }
  const manifest = { path: 'package.json', source: join(project, 'package.json') }
  const packages = await listPackages(project)
  const installed = install
    ? [[await findLockfile(project)]]
    : await Promise.all(packages.map((each) => listPackageFiles(project, each)))
  const files: PackedFile[] = []
  let total = 0
  for (const { path, source } of [...own, manifest, ...installed.flat()]) {
    total += (await stat(source)).size
    if (total > deploySizeLimit) throw tooLarge()
    const bytes = await readFile(source)
    files.push({ path, source, sha256: createHash('sha256').update(bytes).digest('hex'), size: bytes.length })
  }
  return files
}

/** @throws OperatorError without a lockfile, or for one that a server refuses */
async function findLockfile(project: string): Promise<FoundFile> {
  const name = 'package-lock.json'
  const lock = await readJson(join(project, name))
  if (lock === undefined) throw new OperatorError(`${project} has no ${name}: run npm install`)
  const fault = await findFault(project, undefined)
  if (fault !== undefined) throw new OperatorError(`${fault}: deploy without --install`)
  if (isOf(Lockfile, lock) && installsServer(lock.packages)) {
    throw new OperatorError(
      `${name} has basaltdb, which functions do not need: move it to devDependencies (npm install --save-dev basaltdb)`,
    )
  }
  return { path: name, source: join(project, name) }
}

function tooLarge(): OperatorError {
  return new OperatorError(
    `functions and packages have more than ${formatBytes(deploySizeLimit)}: move packages that functions do not need to devDependencies`,
  )
}

/** Lists the packages of the project. @throws OperatorError for a missing or outdated lockfile */
async function listPackages(project: string): Promise<ProductionPackage[]> {
  const manifest = await readJson(join(project, 'package.json'))
  if (manifest === undefined) {
    throw new OperatorError(`${project} has no package.json: run npm init, with "type": "module"`)
  }
  const lock = await readJson(join(project, 'package-lock.json'))
  if (lock === undefined && !hasDependencies(manifest)) return []
  if (!isOf(Lockfile, lock)) {
    throw new OperatorError(`${project} has no package-lock.json of npm 7 or later: run npm install`)
  }
  try {
    return listProductionPackages(lock.packages)
  } catch (error) {
    throw new OperatorError(`package-lock.json lacks ${messageOf(error)}: run npm install`, { cause: error })
  }
}

function hasDependencies(manifest: unknown): boolean {
  const { dependencies } = Object(manifest)
  return typeof dependencies === 'object' && dependencies !== null && Object.keys(dependencies).length > 0
}

async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'))
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw new OperatorError(`${path} cannot be read: ${messageOf(error)}`, { cause: error })
  }
}

interface FoundFile {
  readonly path: string
  readonly source: string
}

/** Lists the files of a package without those of its nested packages, which have locations of their own. */
async function listPackageFiles(
  project: string,
  { location, source, isOptional }: ProductionPackage,
): Promise<FoundFile[]> {
  const found = await listFiles(join(project, source), location, (name) => name !== 'node_modules')
  if (found === undefined && !isOptional) {
    throw new OperatorError(`${join(project, source)} is not installed: run npm ci`)
  }
  return found ?? []
}

/** Lists the regular files of a folder. Returns undefined if there is no such folder. */
async function listFiles(
  folder: string,
  path: string,
  isIncluded: (name: string) => boolean,
): Promise<FoundFile[] | undefined> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) return undefined
    throw new OperatorError(`${folder} cannot be read: ${messageOf(error)}`, { cause: error })
  })
  if (entries === undefined) return undefined
  const found: FoundFile[] = []
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (!isIncluded(entry.name)) continue
    const next = { path: `${path}/${entry.name}`, source: join(folder, entry.name) }
    if (entry.isDirectory()) found.push(...((await listFiles(next.source, next.path, isIncluded)) ?? []))
    else if (entry.isFile()) found.push(next)
    else throw new OperatorError(`${next.source} is no regular file: put the file itself there, or remove it`)
  }
  return found
}
