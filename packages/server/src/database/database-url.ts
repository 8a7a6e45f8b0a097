import { parseIntoClientConfig } from 'pg-connection-string'

/** `host:port/database`, or the directory of a socket in place of the host. Never a password. */
export function describeUrl(url: string): string {
  const { host, port, database } = parseIntoClientConfig(url)
  return `${host || 'localhost'}:${port ?? 5432}/${database ?? ''}`
}
