import { Type } from '../../lib/type.ts'

/** Parts of a package in `package-lock.json` that decide what it needs (npm, package-lock.json, lockfileVersion 2 and 3). */
const LockedPackage = Type.Object({
  version: Type.Optional(Type.String()),
  /** Folder of the project that the package is, if it is a link. */
  resolved: Type.Optional(Type.String()),
  link: Type.Optional(Type.Boolean()),
  /** True if only development packages need it. */
  dev: Type.Optional(Type.Boolean()),
  dependencies: Type.Optional(Type.Record(Type.String(), Type.String())),
  optionalDependencies: Type.Optional(Type.Record(Type.String(), Type.String())),
  peerDependencies: Type.Optional(Type.Record(Type.String(), Type.String())),
})

/** Schema of `package-lock.json`, whose packages are named by their location. The project has the empty location. */
export const Lockfile = Type.Object({ packages: Type.Record(Type.String(), LockedPackage) })

export type LockedPackages = Readonly<
  Record<
    string,
    {
      readonly resolved?: string | undefined
      readonly link?: boolean | undefined
      readonly dev?: boolean | undefined
      readonly dependencies?: Readonly<Record<string, string>> | undefined
      readonly optionalDependencies?: Readonly<Record<string, string>> | undefined
      readonly peerDependencies?: Readonly<Record<string, string>> | undefined
    }
  >
>

/** Package of the server, in which functions run. A deploy contains neither it nor packages that only it needs. */
const serverPackage = 'basaltdb'

/** Package that a deploy contains. */
export interface ProductionPackage {
  /** Folder in the deploy, such as `node_modules/a/node_modules/b`. */
  readonly location: string
  /** Folder in the project with its files: the same, except for a link. */
  readonly source: string
  readonly isOptional: boolean
}

/**
 * Lists the packages that `dependencies` of the project reach without the server, by the locations in its lockfile. An
 * optional package may be missing on this platform.
 *
 * @throws Error that names a dependency without a package in the lockfile
 */
export function listProductionPackages(packages: LockedPackages): ProductionPackage[] {
  const found = new Map<string, ProductionPackage>()
  const links = Object.entries(packages).flatMap(([location, { link, resolved }]) =>
    link === true && resolved !== undefined ? [{ location, folder: `${resolved}/node_modules/` }] : [],
  )
  /** Returns the location in the deploy. Packages within a linked folder are within its copy. */
  const locate = (path: string) => {
    const link = links.find(({ folder }) => path.startsWith(folder))
    return link === undefined ? path : `${link.location}/node_modules/${path.slice(link.folder.length)}`
  }
  const visit = (path: string, isOptional: boolean) => {
    const entry = packages[path] ?? {}
    const source = entry.link === true && entry.resolved !== undefined ? entry.resolved : path
    const location = locate(path)
    const { dependencies = {}, optionalDependencies = {}, peerDependencies = {} } = packages[source] ?? {}
    const known = found.get(location)
    if (location !== '') {
      if (known !== undefined && (!known.isOptional || isOptional)) return
      found.set(location, { location, source, isOptional })
    }
    for (const name of namesOf(dependencies)) {
      const next = resolve(packages, source, name)
      if (next !== undefined) visit(next, isOptional || name in optionalDependencies)
      else if (!isOptional && !(name in optionalDependencies))
        throw new Error(`${name}, which ${source || 'package.json'} needs`)
    }
    for (const name of [...namesOf(optionalDependencies), ...namesOf(peerDependencies)]) {
      const next = resolve(packages, source, name)
      if (next !== undefined) visit(next, isOptional || name in optionalDependencies)
    }
  }
  visit('', false)
  return [...found.values()].toSorted((a, b) => (a.location < b.location ? -1 : 1))
}

/** Returns true if an installation without development packages has the package of the server. */
export function installsServer(packages: LockedPackages): boolean {
  return Object.entries(packages).some(
    ([location, { dev = false }]) => !dev && `/${location}`.endsWith(`/node_modules/${serverPackage}`),
  )
}

function namesOf(dependencies: Readonly<Record<string, string>>): string[] {
  return Object.keys(dependencies).filter((name) => name !== serverPackage)
}

/** Finds the package that a folder imports by a name, as Node does: in the folder, then in those above (Node.js, Modules). */
function resolve(packages: LockedPackages, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/')))) {
    const location = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`
    if (!folder.endsWith('node_modules') && packages[location] !== undefined) return location
    if (folder === '') return undefined
  }
}
