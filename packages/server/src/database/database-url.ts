import { parseIntoClientConfig } from 'pg-connection-string'

/** `host:port/database`, or the directory of a socket in place of the host. Never a password. */
export function describeUrl(url: string): string {
  const { host, port, database } = parseIntoClientConfig(url)
  return `${host || 'localhost'}:${port ?? 5432}/${database ?? ''}`
}

/** The database of a branch: beside that of the URL, and named after it. */
export function branchName(database: string, branch: string): string {
  return branch === '' ? database : `${database}_${branch}`
}

/** The URL of a branch. */
export function branchUrl(url: string, branch: string): string {
  if (branch === '') return url
  const { database, user } = parseIntoClientConfig(url)
  return withDatabaseName(url, branchName(database || user || '', branch))
}

/** The same server, another database. */
export function withDatabaseName(url: string, name: string): string {
  const [address = '', query] = url.split('?', 2)
  const [, start = ''] = /^(\w+:\/\/[^/]*)/.exec(address) ?? []
  return `${start}/${encodeURIComponent(name)}${query === undefined ? '' : `?${query}`}`
}
