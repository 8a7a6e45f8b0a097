import type { ClientConfig } from 'pg'
import { parseIntoClientConfig } from 'pg-connection-string'

/** One server of a URL. */
export interface Host {
  /** Name, address or directory of a socket; undefined for the default of the driver. */
  readonly host: string | undefined
  readonly port: number | undefined
}

/** Session that a URL requires (PostgreSQL, target_session_attrs). */
export type SessionTarget = 'any' | 'primary' | 'read-write'

/** Parts of a URL of PostgreSQL, which may name several servers (PostgreSQL, Specifying Multiple Hosts). */
export interface DatabaseUrl {
  /** Servers in the order in which they are tried; at least one. */
  readonly hosts: readonly [Host, ...Host[]]
  readonly target: SessionTarget
  readonly database: string
  readonly user: string
  /** Configuration of the driver without host and port. */
  readonly config: ClientConfig
}

/** Fault of a URL. The message never contains a part of the URL, which may be a password. */
export class DatabaseUrlFault extends Error {}

const encodingHint = 'in a password special characters are percent-encoded, # as %23'
const defaultPort = '5432'
const listParameters = new Set(['host', 'port', 'target_session_attrs'])
const targets: ReadonlySet<string> = new Set(['any', 'primary', 'read-write'] satisfies SessionTarget[])
/** Sessions that libpq knows and Basalt cannot use. */
const refusedTargets: ReadonlySet<string> = new Set(['read-only', 'standby', 'prefer-standby'])

/**
 * Parses a URL in the syntax of libpq. One host is parsed as the driver does.
 *
 * @throws DatabaseUrlFault
 */
export function parseDatabaseUrl(url: string): DatabaseUrl {
  const { start, hosts: listed, path, parameters, others } = splitUrl(url)
  const target = targetOf(parameters.get('target_session_attrs'))
  const names = (parameters.get('host') ?? listed).split(',')
  if (names.length === 1 && !parameters.get('port')?.includes(',')) {
    const { host, port, ...config } = parseByDriver(url)
    return { ...partsOf(config), hosts: [{ host: host || undefined, port }], target }
  }
  const { host: _host, port: _port, ...config } = parseByDriver(`${start}localhost${path}${others}`)
  const named = parameters.has('host') ? names.map((name) => ({ name, port: '' })) : names.map(splitHost)
  const ports = parameters.get('port')?.split(',') ?? listed.split(',').map((each) => splitHost(each).port)
  if (ports.length !== 1 && ports.length !== named.length) {
    throw new DatabaseUrlFault(`the value names ${named.length} hosts and ${ports.length} ports`)
  }
  const hosts = named.map(({ name }, index) => ({
    host: decode(name) || 'localhost',
    port: portOf(ports[ports.length === 1 ? 0 : index] || defaultPort),
  }))
  const [first, ...rest] = hosts
  if (first === undefined) throw notUrl()
  return { ...partsOf(config), hosts: [first, ...rest], target }
}

interface SplitUrl {
  /** Scheme and user information, with the @. */
  readonly start: string
  readonly hosts: string
  readonly path: string
  readonly parameters: ReadonlyMap<string, string>
  /** Query without the parameters that concern the list of hosts. */
  readonly others: string
}

function splitUrl(url: string): SplitUrl {
  const [, scheme, authority = '', path = '', query = ''] =
    /^(\w+:\/\/)([^/?#]*)([^?#]*)(?:\?([^#]*))?/.exec(url) ?? []
  if (scheme === undefined) throw notUrl()
  const at = authority.lastIndexOf('@') + 1
  const pairs = query.split('&').filter(Boolean)
  const parameters = new Map(new URLSearchParams(query))
  const others = pairs.filter(
    (pair) => ![...new URLSearchParams(pair).keys()].some((key) => listParameters.has(key)),
  )
  return {
    start: scheme + authority.slice(0, at),
    hosts: authority.slice(at),
    path,
    parameters,
    others: others.length === 0 ? '' : `?${others.join('&')}`,
  }
}

function targetOf(text = 'any'): SessionTarget {
  if (targets.has(text)) return text as SessionTarget
  throw new DatabaseUrlFault(
    refusedTargets.has(text)
      ? `target_session_attrs=${text} leads to a standby, and Basalt needs the primary: use read-write`
      : 'target_session_attrs is not read-write, primary or any',
  )
}

function partsOf(config: ClientConfig): Pick<DatabaseUrl, 'database' | 'user' | 'config'> {
  return { database: config.database ?? '', user: config.user ?? '', config }
}

/** Separates the port of a host. An IPv6 address is in brackets. */
function splitHost(text: string): { name: string; port: string } {
  const found = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::(.*))?$/.exec(text)
  if (found === null) throw notUrl()
  const [, address, name = '', port = ''] = found
  return { name: address ?? name, port }
}

function portOf(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (port >= 1 && port <= 65_535) return port
  throw new DatabaseUrlFault(`a port is not a number from 1 to 65535; ${encodingHint}`)
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw notUrl()
  }
}

/** Parses as the driver does, which accepts more than the URL standard, such as `postgresql://user@/database`. */
function parseByDriver(url: string): ClientConfig {
  try {
    return parseIntoClientConfig(url)
  } catch (cause) {
    throw new DatabaseUrlFault(`the value is not a URL; ${encodingHint}`, { cause })
  }
}

function notUrl(): DatabaseUrlFault {
  return new DatabaseUrlFault(`the value is not a URL; ${encodingHint}`)
}

/** Formats a host for people, as `host:port`. */
export function describeHost({ host = 'localhost', port = 5432 }: Host): string {
  return host.includes(':') && !host.startsWith('/') ? `[${host}]:${port}` : `${host}:${port}`
}

/**
 * Formats the address as `host:port/database`, or with the directory of a socket in place of the host. It never
 * contains the password.
 */
export function describeUrl(url: string): string {
  const { hosts, database } = parseDatabaseUrl(url)
  return `${hosts.map(describeHost).join()}/${database}`
}

/** Returns the database name of a branch: that of the URL with a suffix. */
export function branchName(database: string, branch: string): string {
  return branch === '' ? database : `${database}_${branch}`
}

/** Returns the URL of a branch. */
export function branchUrl(url: string, branch: string): string {
  if (branch === '') return url
  const { database, user } = parseDatabaseUrl(url)
  return withDatabaseName(url, branchName(database || user, branch))
}

/** Returns the URL of another database on the same server. */
export function withDatabaseName(url: string, name: string): string {
  const [address = '', query] = url.split('?', 2)
  const [, start = ''] = /^(\w+:\/\/[^/]*)/.exec(address) ?? []
  return `${start}/${encodeURIComponent(name)}${query === undefined ? '' : `?${query}`}`
}

/** Login of a URL. */
export interface UrlLogin {
  readonly user: string
  readonly password: string
}

/** Returns the login of a URL. */
export function loginOf(url: string): UrlLogin {
  const { user, config } = parseDatabaseUrl(url)
  return { user, password: typeof config.password === 'string' ? config.password : '' }
}

/** Returns the URL with another login. */
export function withLogin(url: string, { user, password }: UrlLogin): string {
  const login = [user, password].map(encodeURIComponent).join(':')
  return url.replace(/^(\w+:\/\/)(?:[^/?#]*@)?/, (_, scheme: string) => `${scheme}${login}@`)
}
