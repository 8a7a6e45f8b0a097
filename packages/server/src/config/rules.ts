import { isIP } from 'node:net'
import { parseIntoClientConfig } from 'pg-connection-string'
import { isLoopback } from '../lib/addresses.ts'
import type { Config } from './schema.ts'

export interface RuleViolation {
  readonly key: string
  readonly problem: string
}

/**
 * What a pattern cannot say of one key, and rules that span several keys. Each key by itself has already been
 * checked against its schema.
 */
export function configRules(config: Config): RuleViolation[] {
  return rules.flatMap((rule) => rule(config) ?? [])
}

const rules: readonly ((config: Config) => RuleViolation | undefined)[] = [
  proxiesAreAddresses,
  originsAreUrls,
  publicUrlIsUrl,
  (config) => databaseUrlIsUrl('url', config),
  (config) => databaseUrlIsUrl('listen_url', config),
  headersComeBeforeTheBody,
  openDataNeedsLoopback,
  externalDatabaseNeedsSecret,
  systemSchemasStayHidden,
]

function proxiesAreAddresses({ server }: Config): RuleViolation | undefined {
  const wrong = server.trusted_proxies.find((range) => !isRange(range))
  if (wrong === undefined) return undefined
  return { key: 'server.trusted_proxies', problem: `"${wrong}" is not an IP address or CIDR range` }
}

/** `10.0.0.0/8`, `2001:db8::1`. */
function isRange(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/')
  const version = isIP(address)
  if (version === 0 || more.length > 0) return false
  return bits === undefined || (bits !== '' && Number(bits) <= (version === 4 ? 32 : 128))
}

function originsAreUrls({ server }: Config): RuleViolation | undefined {
  const wrong = server.cors_allowed_origins.find((origin) => origin !== '*' && !isOrigin(origin))
  if (wrong === undefined) return undefined
  return {
    key: 'server.cors_allowed_origins',
    problem: `"${wrong}" is not an origin, such as https://app.example.com`,
  }
}

function publicUrlIsUrl({ server }: Config): RuleViolation | undefined {
  if (server.public_base_url === '' || isOrigin(server.public_base_url.replace(/\/$/, ''))) return undefined
  return { key: 'server.public_base_url', problem: `"${server.public_base_url}" is not a URL` }
}

/** Scheme, host and port, and nothing else. */
function isOrigin(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && url.username === '' && url.password === '' && `${url.origin}/` === url.href
}

function databaseUrlIsUrl(name: 'url' | 'listen_url', { database }: Config): RuleViolation | undefined {
  if (database[name] === '' || isConnectionUrl(database[name])) return undefined
  return {
    key: `database.${name}`,
    problem: 'the value is not a URL; in a password special characters are percent-encoded, # as %23',
  }
}

/** As the driver reads it, which knows more forms than the URL standard: `postgresql://user@/database`. */
function isConnectionUrl(text: string): boolean {
  try {
    parseIntoClientConfig(text)
    return true
  } catch {
    return false
  }
}

/** The time for the whole request counts from the same moment. */
function headersComeBeforeTheBody({ server }: Config): RuleViolation | undefined {
  if (server.header_timeout <= server.request_timeout) return undefined
  return {
    key: 'server.header_timeout',
    problem: `${server.header_timeout} is more than server.request_timeout, ${server.request_timeout}`,
  }
}

/** Without auth everyone who reaches the port owns the data (decisions, Configuration). */
function openDataNeedsLoopback({ auth, server }: Config): RuleViolation | undefined {
  if (auth.enabled || server.insecure_open || isLoopback(server.host)) return undefined
  return {
    key: 'auth.enabled',
    problem: `false opens the data to everyone who reaches ${server.host}; listen on 127.0.0.1 or set server.insecure_open = true`,
  }
}

/** Several nodes must share the secret, so it cannot be generated beside an external database. */
function externalDatabaseNeedsSecret({ auth, database }: Config): RuleViolation | undefined {
  if (!auth.enabled || database.url === '' || auth.jwt_secret !== '') return undefined
  return { key: 'auth.jwt_secret', problem: 'required with database.url: at least 32 random characters' }
}

function systemSchemasStayHidden({ database }: Config): RuleViolation | undefined {
  const hidden = database.schemas.find(
    (name) => name === 'basalt' || name === 'information_schema' || name.startsWith('pg_'),
  )
  if (hidden === undefined) return undefined
  return { key: 'database.schemas', problem: `"${hidden}" is a system schema and cannot be served` }
}
