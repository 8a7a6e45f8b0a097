import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isOf } from '../../../lib/is-of.ts'
import { type Static, Type } from '../../../lib/type.ts'

const Specs = Type.Optional(Type.Record(Type.String(), Type.String()))
const dependencies = {
  dependencies: Specs,
  devDependencies: Specs,
  optionalDependencies: Specs,
  peerDependencies: Specs,
}
const Project = Type.Object({
  ...dependencies,
  workspaces: Type.Optional(Type.Unknown()),
  overrides: Type.Optional(Type.Object({}, { additionalProperties: true })),
})
const LockedPackage = Type.Object({
  ...dependencies,
  name: Type.Optional(Type.String()),
  version: Type.Optional(Type.String()),
  resolved: Type.Optional(Type.Unknown()),
  integrity: Type.Optional(Type.String()),
  link: Type.Optional(Type.Unknown()),
  inBundle: Type.Optional(Type.Boolean()),
})
/** Parts of `package-lock.json` that decide where npm reads and writes (npm, package-lock.json). */
const Lockfile = Type.Object({
  lockfileVersion: Type.Number({ minimum: 2 }),
  packages: Type.Record(Type.String(), LockedPackage),
})

/** Folder of a package, such as `node_modules/a/node_modules/@scope/b`. */
const location = /^node_modules\/(@[^/\\]+\/)?[^/\\.][^/\\]*(\/node_modules\/(@[^/\\]+\/)?[^/\\.][^/\\]*)*$/
const packageName = /^(@[^/\\:]+\/)?[^/\\:@.][^/\\:@]*$/
/** Version, range or tag of a registry, also under another name (npm, package-spec). Other specs have a colon, a slash or a dot. */
const registrySpec = /^(npm:(@[^/\\:]+\/)?[^/\\:@.][^/\\:@]*(@|$))?(?!\.)[^/\\:]*$/
const noVersion = 'which is no version of a registry'
const registryVersion = /^\d[\w.+-]*$/
const archive = /\.(tgz|tar|tar\.gz)$/i
/** Registry that npm replaces by the configured one (npm, replace-registry-host). */
const publicRegistry = 'https://registry.npmjs.org/'

/**
 * Returns the fault of a project before its installation: packages that do not come from a registry, with a hash of their
 * archive. Npm would read outside of the folder for others, or run programs.
 *
 * @param registries of the npm configuration; undefined if they are unknown, and all addresses pass
 */
export async function findFault(
  folder: string,
  registries: readonly string[] | undefined,
): Promise<string | undefined> {
  const project = await readJson(join(folder, 'package.json'))
  if (!isOf(Project, project)) return 'package.json must be an object, with versions as texts'
  if (project.workspaces !== undefined) return 'package.json must have no workspaces'
  const spec = findForeignSpec(project) ?? findForeignOverride(project.overrides ?? {})
  if (spec !== undefined) return `package.json has ${JSON.stringify(spec)}, ${noVersion}`
  const lock = await readJson(join(folder, 'package-lock.json'))
  if (!isOf(Lockfile, lock)) return 'package-lock.json must be one of npm 7 or later, with packages'
  for (const [path, entry] of Object.entries(lock.packages)) {
    const fault = findEntryFault(path, entry, registries)
    if (fault !== undefined) return `package-lock.json has ${JSON.stringify(path)}, which ${fault}`
  }
  return undefined
}

function findEntryFault(
  path: string,
  entry: Static<typeof LockedPackage>,
  registries: readonly string[] | undefined,
): string | undefined {
  const spec = findForeignSpec(entry)
  if (spec !== undefined) return `needs ${JSON.stringify(spec)}, ${noVersion}`
  // The project itself.
  if (path === '') return undefined
  const { name, version = '', resolved, integrity, link = false, inBundle } = entry
  if (!location.test(path)) return 'is no package below node_modules'
  if (link !== false) return 'is a link to a folder, which the server does not have'
  if (!registryVersion.test(version) || (name !== undefined && !packageName.test(name)))
    return 'has no version of a registry'
  // It is in the archive of another package.
  if (inBundle === true && resolved === undefined && path.lastIndexOf('node_modules/') > 0) return undefined
  if (integrity === undefined) return 'has no integrity'
  // Without an address, npm gets the version from the registry.
  if (resolved !== undefined && !isFromRegistry(resolved, registries))
    return 'does not come from a registry in the npm configuration of the server'
  return undefined
}

function findForeignSpec(from: Static<typeof Project> | Static<typeof LockedPackage>): string | undefined {
  const { dependencies = {}, devDependencies = {}, optionalDependencies = {}, peerDependencies = {} } = from
  return [dependencies, devDependencies, optionalDependencies, peerDependencies]
    .flatMap((specs) => Object.values(specs))
    .find(isForeign)
}

/** Finds a spec in `overrides`, which may be nested. */
function findForeignOverride(overrides: object): string | undefined {
  for (const value of Object.values(overrides)) {
    const isObject = typeof value === 'object' && value !== null
    const found = isObject ? findForeignOverride(value) : isForeign(value) ? String(value) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

function isForeign(spec: unknown): boolean {
  return typeof spec !== 'string' || !registrySpec.test(spec) || archive.test(spec)
}

/** Compares as npm does: by the origin, and the beginning of the path. */
function isFromRegistry(resolved: unknown, registries: readonly string[] | undefined): boolean {
  const url = typeof resolved === 'string' ? URL.parse(resolved) : null
  if (url === null || !/^https?:$/.test(url.protocol)) return false
  if (registries === undefined) return true
  return [publicRegistry, ...registries].some((each) => {
    const registry = URL.parse(each)
    return url.origin === registry?.origin && url.pathname.startsWith(registry.pathname.replace(/\/?$/, '/'))
  })
}

/** Returns undefined for a text that is no JSON. */
async function readJson(path: string): Promise<unknown> {
  const text = await readFile(path, 'utf8')
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
