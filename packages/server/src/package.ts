import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The folder with `package.json`, and with the files that are no code: migrations, documents, the dashboard. This file
 * is one level below it, as all files of a bundle are.
 */
export const packageFolder = fileURLToPath(new URL('../', import.meta.url))

/** Version of the package. */
export function readVersion(): string {
  const manifest = readFileSync(join(packageFolder, 'package.json'), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}
