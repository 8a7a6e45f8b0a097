import { choice, count, flag, integer, list, text } from '../config/keys.ts'
import type { ConfigRule, RuleViolation } from '../config/rule.ts'
import { isAddressRange } from '../lib/addresses.ts'
import { parseOrigin, parseOriginPattern } from '../lib/origin-pattern.ts'
import { type Static, Type } from '../lib/type.ts'

/** Configuration section `server`: its address and the limits for clients. */
export const serverConfig = Type.Object({
  host: text('127.0.0.1', 'Address to listen on.', { minLength: 1, expects: 'an address or host name' }),
  port: integer(8090, 'Port to listen on; 0 picks a free one.', 0, 65535),
  public_base_url: text('', 'URL at which clients reach the server. Empty: made from host and port.', {
    pattern: '^(https?://[^/?#\\s]+/?)?$',
    expects: 'an http or https URL without path, such as https://api.example.com',
  }),
  data_dir: text('.basalt', 'Directory for the embedded database and generated secrets.', {
    minLength: 1,
    expects: 'a path',
  }),
  trusted_proxies: list([], 'Proxies whose forwarding headers are trusted.', {
    pattern: '^[0-9a-fA-F:.]+(/\\d{1,3})?$',
    expects: 'a list of IP addresses or CIDR ranges',
  }),
  cors_allowed_origins: list(
    ['*'],
    'Origins from which browsers may call the API. "*" allows any, https://*.example.com every subdomain.',
    {
      pattern: '^(\\*|[a-z-]+://[^/\\s]+)$',
      expects:
        'a list of origins such as https://app.example.com, https://*.example.com or capacitor://localhost, or "*"',
    },
  ),
  body_limit: integer(1_048_576, 'Maximum size of a request body, in bytes.', 1024, 268_435_456),
  header_timeout: integer(10, 'Seconds within which a client must send the request headers.', 1, 600),
  request_timeout: integer(30, 'Seconds within which a client must send the whole request.', 1, 3600),
  compression: choice(
    'auto',
    ['auto', 'off'],
    'Compression of responses: auto compresses texts of 4 KiB and more by Accept-Encoding; off leaves it to a proxy.',
  ),
  max_connections: integer(
    10_000,
    'Maximum number of open connections. Further ones are refused.',
    10,
    1_000_000,
  ),
  shutdown_timeout: integer(30, 'Seconds that requests in flight may take when the server stops.', 0, 3600),
  workers: count(
    1,
    'Processes that serve requests on this machine. auto: one per processor, less one for the embedded PostgreSQL, while database.max_conns gives each 4 connections.',
    1,
    64,
  ),
  insecure_open: flag(false, 'Permits auth.enabled = false on an address that other machines can reach.'),
})

export type ServerConfig = Static<typeof serverConfig>

/** Rules of `server`. */
export const serverRules: readonly ConfigRule<Sections>[] = [
  proxiesAreAddresses,
  originsAreUrls,
  publicUrlIsUrl,
  headersComeBeforeTheBody,
]

interface Sections {
  readonly server: ServerConfig
}

function proxiesAreAddresses({ server }: Sections): RuleViolation | undefined {
  const wrong = server.trusted_proxies.find((range) => !isAddressRange(range))
  if (wrong === undefined) return undefined
  return { key: 'server.trusted_proxies', problem: `"${wrong}" is not an IP address or CIDR range` }
}

function originsAreUrls({ server }: Sections): RuleViolation | undefined {
  const wrong = server.cors_allowed_origins.find(
    (origin) => origin !== '*' && parseOriginPattern(origin) === undefined,
  )
  if (wrong === undefined) return undefined
  return {
    key: 'server.cors_allowed_origins',
    problem: `"${wrong}" is not an origin, such as https://app.example.com`,
  }
}

function publicUrlIsUrl({ server }: Sections): RuleViolation | undefined {
  const isOrigin = parseOrigin(server.public_base_url.replace(/\/$/, '')) !== undefined
  if (server.public_base_url === '' || isOrigin) return undefined
  return { key: 'server.public_base_url', problem: `"${server.public_base_url}" is not a URL` }
}

/** Rejects a longer time for the headers: the time for the whole request starts at the same moment. */
function headersComeBeforeTheBody({ server }: Sections): RuleViolation | undefined {
  if (server.header_timeout <= server.request_timeout) return undefined
  return {
    key: 'server.header_timeout',
    problem: `${server.header_timeout} is more than server.request_timeout, ${server.request_timeout}`,
  }
}
