import { existsSync, lstatSync, readdirSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * Returns the paths that the code in a folder may read: the folder, the packages above it, the targets of links to packages, and the
 * program itself. Files beside the folder, such as the configuration, are not among them.
 */
export function readablePaths(folder: string, program: string): string[] {
  const paths = new Set([dirname(realpathSync(program))])
  addCode(realpathSync(folder), paths)
  return [...paths]
}

function addCode(folder: string, paths: Set<string>): void {
  if (paths.has(folder)) return
  paths.add(folder)
  for (let parent = folder; ; parent = dirname(parent)) {
    // Node reads the type of a module from the nearest one.
    paths.add(join(parent, 'package.json'))
    const packages = join(parent, 'node_modules')
    if (existsSync(packages)) addPackages(packages, paths)
    if (dirname(parent) === parent) break
  }
}

/** Adds the packages of a folder, and those that links lead to, as in a workspace. */
function addPackages(packages: string, paths: Set<string>): void {
  if (paths.has(packages)) return
  paths.add(packages)
  for (const name of readdirSync(packages)) {
    const path = join(packages, name)
    const isScope = name.startsWith('@')
    for (const each of isScope ? readdirSync(path).map((inner) => join(path, inner)) : [path]) {
      if (lstatSync(each).isSymbolicLink() && existsSync(each)) addCode(realpathSync(each), paths)
    }
  }
}
