import { parseIntoClientConfig } from 'pg-connection-string'

/**
 * Formats the address as `host:port/database`, or with the directory of a socket in place of the host. It never
 * contains the password.
 */
export function describeUrl(url: string): string {
  const { host, port, database } = parseIntoClientConfig(url)
  return `${host || 'localhost'}:${port ?? 5432}/${database ?? ''}`
}

/** Returns the database name of a branch: that of the URL with a suffix. */
export function branchName(database: string, branch: string): string {
  return branch === '' ? database : `${database}_${branch}`
}

/** Returns the URL of a branch. */
export function branchUrl(url: string, branch: string): string {
  if (branch === '') return url
  const { database, user } = parseIntoClientConfig(url)
  return withDatabaseName(url, branchName(database || user || '', branch))
}

/** Returns the URL of another database on the same server. */
export function withDatabaseName(url: string, name: string): string {
  const [address = '', query] = url.split('?', 2)
  const [, start = ''] = /^(\w+:\/\/[^/]*)/.exec(address) ?? []
  return `${start}/${encodeURIComponent(name)}${query === undefined ? '' : `?${query}`}`
}
