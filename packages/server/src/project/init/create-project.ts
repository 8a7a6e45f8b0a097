import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { codeOf, messageOf, OperatorError } from '../../lib/errors.ts'
import { createMigrationFile } from '../migrations/files.ts'
import { firstMigration, projectFiles } from './templates.ts'

export interface CreatedProject {
  readonly directory: string
  /** Paths of the created files, relative to the directory. */
  readonly created: readonly string[]
  /** Paths of existing files, which were not changed. */
  readonly kept: readonly string[]
}

/**
 * Writes the missing files of a project, and never changes an existing one.
 *
 * @param appName name of the application for its users
 * @throws OperatorError when the directory cannot be written
 */
export function createProject(
  directory: string,
  version: string,
  now: Date,
  appName = suggestAppName(directory),
): CreatedProject {
  const created: string[] = []
  const kept: string[] = []
  const write = (path: string, content: string) => {
    const isNew = writeNew(join(directory, path), content)
    ;(isNew ? created : kept).push(path)
  }
  for (const [path, content] of Object.entries(projectFiles(packageName(directory), version, appName)))
    write(path, content)
  const migrations = join(directory, 'migrations')
  const found = listScripts(migrations)
  kept.push(...found.map((name) => join('migrations', name)))
  if (found.length === 0) {
    const path = createMigrationFile(migrations, firstMigration.title, now, firstMigration.content)
    created.push(join('migrations', basename(path)))
    write('tests/policies/todo.toml', firstMigration.policies)
  }
  return { directory, created, kept }
}

/** Writes a file unless it exists. Returns true if it wrote the file. */
function writeNew(path: string, content: string): boolean {
  try {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content, { flag: 'wx' })
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw new OperatorError(`cannot write ${path}: ${messageOf(error)}`)
  }
}

function listScripts(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.sql'))
  } catch {
    return []
  }
}

/** Returns a name for the users of the application, from the name of the folder: `my-app` → `My app`. */
export function suggestAppName(directory: string): string {
  const words = basename(resolve(directory))
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
  return words === '' ? 'App' : `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`
}

/** Returns a name that npm accepts (docs.npmjs.com, package.json, name). */
function packageName(directory: string): string {
  const name = basename(resolve(directory))
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-+|-+$/g, '')
  return name === '' ? 'app' : name
}
