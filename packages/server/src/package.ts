import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Folder of `package.json`, and of the files that are not code: migrations, documents, the dashboard. This file
 * is one level below it, like all files of a bundle.
 */
export const packageFolder = fileURLToPath(new URL('../', import.meta.url))

/** Reads the version of the package. */
export function readVersion(): string {
  const manifest = readFileSync(join(packageFolder, 'package.json'), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}
