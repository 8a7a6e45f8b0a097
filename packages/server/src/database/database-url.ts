import { parseIntoClientConfig } from 'pg-connection-string'
import { messageOf, OperatorError } from '../lib/errors.ts'

/**
 * Checks `database.url`; empty, the embedded database, is fine.
 *
 * @throws OperatorError that says what is wrong without showing the URL, which may hold a password
 */
export function requireUrl(url: string): void {
  if (url === '') return
  try {
    parseIntoClientConfig(url)
  } catch (error) {
    throw new OperatorError(
      `database.url is not a connection URL such as postgresql://user:password@host:5432/database: ${messageOf(error)}`,
      { exitCode: 2 },
    )
  }
}

/** `host:port/database`, or the directory of a socket in place of the host. Never a password. */
export function describeUrl(url: string): string {
  const { host, port, database } = parseIntoClientConfig(url)
  return `${host || 'localhost'}:${port ?? 5432}/${database ?? ''}`
}
