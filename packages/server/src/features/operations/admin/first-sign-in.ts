import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../../../lib/errors.ts'

function pathIn(dataDirectory: string): string {
  return join(dataDirectory, 'first-sign-in')
}

/**
 * Writes the first password to a file that only the server's account can read. Without a terminal, the
 * alternative would be the log, which is collected, shipped and widely read.
 *
 * @returns the file's path
 * @throws Error when the data directory cannot be written
 */
export function writeFirstSignIn(
  dataDirectory: string,
  password: string | undefined,
  link: string | undefined,
): string {
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 })
  const path = pathIn(dataDirectory)
  // An existing file could have other permissions, or be a link to another location.
  rmSync(path, { force: true })
  const lines = [
    ...(password === undefined ? [] : [`password: ${password}`]),
    ...(link === undefined ? [] : [`${password === undefined ? 'open:    ' : 'or open: '} ${link}`]),
  ]
  const text = `${lines.join('\n')}\n\nThis file is removed at the first sign-in.\n`
  writeFileSync(path, text, { flag: 'wx', mode: 0o600, flush: true })
  return path
}

/** Removes the file, if there is one. A failure does not fail the sign-in. Its reason goes to `warn`. */
export function removeFirstSignIn(dataDirectory: string, warn: (message: string) => void): void {
  const path = pathIn(dataDirectory)
  try {
    rmSync(path, { force: true })
  } catch (error) {
    warn(`failed to remove ${path}, which holds a first password: ${messageOf(error)}`)
  }
}
