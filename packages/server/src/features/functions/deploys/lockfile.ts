import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isOf } from '../../../lib/is-of.ts'
import { Type } from '../../../lib/type.ts'

const Project = Type.Object({ workspaces: Type.Optional(Type.Unknown()) })
/** Parts of `package-lock.json` that decide where npm reads and writes (npm, package-lock.json). */
const Lockfile = Type.Object({
  lockfileVersion: Type.Number({ minimum: 2 }),
  packages: Type.Record(
    Type.String(),
    Type.Object({ resolved: Type.Optional(Type.Unknown()), link: Type.Optional(Type.Unknown()) }),
  ),
})

/** Folder of a package, such as `node_modules/a/node_modules/@scope/b`. */
const location = /^node_modules\/(@[^/\\]+\/)?[^/\\]+(\/node_modules\/(@[^/\\]+\/)?[^/\\]+)*$/

/**
 * Returns the problem of a project before its installation: packages from folders, links or git repositories. Npm would read outside
 * of the folder for them, or run programs.
 */
export async function findLockProblem(folder: string): Promise<string | undefined> {
  const project = await readJson(join(folder, 'package.json'))
  if (!isOf(Project, project)) return 'package.json must be an object'
  if (project.workspaces !== undefined) return 'package.json must have no workspaces'
  const lock = await readJson(join(folder, 'package-lock.json'))
  if (!isOf(Lockfile, lock)) return 'package-lock.json must be one of npm 7 or later, with packages'
  for (const [path, { resolved, link }] of Object.entries(lock.packages)) {
    if (path === '') continue
    const segments = path.split('/')
    if (!location.test(path) || segments.includes('.') || segments.includes('..'))
      return `package-lock.json has ${JSON.stringify(path)}, which is no package below node_modules`
    if (link !== undefined && link !== false)
      return `package-lock.json has ${path} as a link to a folder, which the server does not have`
    if (resolved !== undefined && !(typeof resolved === 'string' && /^https?:/.test(resolved)))
      return `package-lock.json has ${path} from a source other than https`
  }
  return undefined
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
