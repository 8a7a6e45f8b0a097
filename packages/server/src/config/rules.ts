import ipaddr from 'ipaddr.js'
import { parseIntoClientConfig } from 'pg-connection-string'
import { isLoopback } from '../lib/addresses.ts'
import { isEmailAddress } from '../lib/email-address.ts'
import { parseSender } from '../lib/mail-sender.ts'
import { parseOrigin, parseOriginPattern } from '../lib/origin-pattern.ts'
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

const rules: readonly ((config: Config) => RuleViolation | readonly RuleViolation[] | undefined)[] = [
  proxiesAreAddresses,
  administratorsAreAddresses,
  administrationIsApart,
  originsAreUrls,
  publicUrlIsUrl,
  (config) => databaseUrlIsUrl('url', config),
  (config) => databaseUrlIsUrl('listen_url', config),
  headersComeBeforeTheBody,
  openDataNeedsLoopback,
  requiredPoliciesNeedAuth,
  externalDatabaseNeedsSecret,
  systemSchemasStayHidden,
  portsDiffer,
  smsProviderNeedsItsKeys,
  emailBackendNeedsItsKeys,
  emailNeedsSender,
  s3NeedsItsKeys,
  cdnProviderNeedsItsKeys,
  oauthRedirectIsUrl,
  signInProvidersNeedTheirKeys,
  openIdNamesAreFree,
]

function proxiesAreAddresses({ server }: Config): RuleViolation | undefined {
  const wrong = server.trusted_proxies.find((range) => !isRange(range))
  if (wrong === undefined) return undefined
  return { key: 'server.trusted_proxies', problem: `"${wrong}" is not an IP address or CIDR range` }
}

function administratorsAreAddresses({ admin }: Config): RuleViolation | undefined {
  const wrong = admin.allowed_ips.find((range) => !isRange(range))
  if (wrong === undefined) return undefined
  return { key: 'admin.allowed_ips', problem: `"${wrong}" is not an IP address or CIDR range` }
}

/** The paths of the API stay its own, and a port is one that can be. */
function administrationIsApart({ admin }: Config): RuleViolation[] {
  const [, first = ''] = admin.path.split('/')
  const port = Number(/\d+$/.exec(admin.listen)?.[0] ?? 0)
  return [
    ...(ownPaths.has(first)
      ? [{ key: 'admin.path', problem: `"${admin.path}" is a path of the API: choose another one` }]
      : []),
    ...(port > 65535 ? [{ key: 'admin.listen', problem: `${port} is not a port` }] : []),
  ]
}

const ownPaths: ReadonlySet<string> = new Set([
  'api',
  'auth',
  'oauth',
  'health',
  'metrics',
  '_sites',
  '.well-known',
  'favicon.ico',
  'favicon.svg',
])

/** `10.0.0.0/8`, `2001:db8::1`. */
function isRange(text: string): boolean {
  const { IPv4, IPv6 } = ipaddr
  if (text.includes(':')) return IPv6.isValid(text) || IPv6.isValidCIDR(text)
  return IPv4.isValidFourPartDecimal(text) || IPv4.isValidCIDRFourPartDecimal(text)
}

function originsAreUrls({ server }: Config): RuleViolation | undefined {
  const wrong = server.cors_allowed_origins.find(
    (origin) => origin !== '*' && parseOriginPattern(origin) === undefined,
  )
  if (wrong === undefined) return undefined
  return {
    key: 'server.cors_allowed_origins',
    problem: `"${wrong}" is not an origin, such as https://app.example.com`,
  }
}

function publicUrlIsUrl({ server }: Config): RuleViolation | undefined {
  const isOrigin = parseOrigin(server.public_base_url.replace(/\/$/, '')) !== undefined
  if (server.public_base_url === '' || isOrigin) return undefined
  return { key: 'server.public_base_url', problem: `"${server.public_base_url}" is not a URL` }
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

/** Without auth everyone who reaches the port owns the data. */
function openDataNeedsLoopback({ auth, server }: Config): RuleViolation | undefined {
  if (auth.enabled || server.insecure_open || isLoopback(server.host)) return undefined
  return {
    key: 'auth.enabled',
    problem: `false opens the data to everyone who reaches ${server.host}; listen on 127.0.0.1 or set server.insecure_open = true`,
  }
}

/** Without auth no request is subject to policies: an installation that requires them would have none. */
function requiredPoliciesNeedAuth({ auth, database }: Config): RuleViolation | undefined {
  if (auth.enabled || database.require_rls !== true) return undefined
  return {
    key: 'database.require_rls',
    problem: 'true contradicts auth.enabled = false, which serves every request without policies',
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

function portsDiffer({ database, server }: Config): RuleViolation | undefined {
  if (database.url !== '' || database.embedded_port === 0) return undefined
  if (database.embedded_port !== server.port) return undefined
  return { key: 'database.embedded_port', problem: `${server.port} is server.port: choose another one` }
}

/** What each provider of text messages cannot do without. */
const smsProviderKeys = {
  log: [],
  webhook: ['sms_webhook_url', 'sms_webhook_secret'],
  twilio: ['twilio_sid', 'twilio_token', 'twilio_from'],
  plivo: ['plivo_auth_id', 'plivo_auth_token', 'plivo_from'],
  telnyx: ['telnyx_api_key', 'telnyx_from'],
  msg91: ['msg91_auth_key', 'msg91_template_id'],
  sns: ['aws_region', 'aws_access_key_id', 'aws_secret_access_key'],
  vonage: ['vonage_api_key', 'vonage_api_secret', 'vonage_from'],
} as const satisfies Record<Config['auth']['sms_provider'], readonly (keyof Config['auth'])[]>

/** Also while auth.sms_enabled is false: it can be switched on while the server runs. */
function smsProviderNeedsItsKeys({ auth }: Config): RuleViolation[] {
  return smsProviderKeys[auth.sms_provider]
    .filter((key) => auth[key].trim() === '')
    .map((key) => ({
      key: `auth.${key}`,
      problem: `required with auth.sms_provider = "${auth.sms_provider}"`,
    }))
}

function emailBackendNeedsItsKeys({ email }: Config): RuleViolation[] {
  const because = `email.backend = "${email.backend}"`
  if (email.backend === 'webhook' && email.webhook.url === '') {
    return [{ key: 'email.webhook.url', problem: `required with ${because}` }]
  }
  if (email.backend !== 'smtp') return []
  const { host, username, password } = email.smtp
  return [
    ...(host.trim() === '' ? [{ key: 'email.smtp.host', problem: `required with ${because}` }] : []),
    ...(username !== '' && password === ''
      ? [{ key: 'email.smtp.password', problem: 'required with email.smtp.username' }]
      : []),
  ]
}

/** Mail from nowhere is refused or taken for spam; a server on this machine is there to try things out. */
function emailNeedsSender({ email }: Config): RuleViolation | undefined {
  const { address } = parseSender(email.from)
  if (email.backend !== 'smtp' || isLoopback(email.smtp.host) || isEmailAddress(address)) return undefined
  return {
    key: 'email.from',
    problem: `"${address}" is no address mail can come from; with email.backend = "smtp" it must be one, such as Shop <no-reply@example.com>`,
  }
}

/** What S3 cannot do without. */
function s3NeedsItsKeys({ storage }: Config): RuleViolation[] {
  if (storage.backend !== 's3') return []
  return (['s3_bucket', 's3_access_key', 's3_secret_key'] as const)
    .filter((name) => storage[name].trim() === '')
    .map((name) => ({ key: `storage.${name}`, problem: 'required with storage.backend = "s3"' }))
}

/** What each provider of a content delivery network cannot do without. */
function cdnProviderNeedsItsKeys({ storage: { cdn } }: Config): RuleViolation[] {
  const { provider, cloudflare, cloudfront, webhook } = cdn
  const needed = {
    nop: {},
    cloudflare: { zone_id: cloudflare.zone_id, api_token: cloudflare.api_token },
    cloudfront: {
      distribution_id: cloudfront.distribution_id,
      access_key_id: cloudfront.access_key_id,
      secret_access_key: cloudfront.secret_access_key,
    },
    webhook: { endpoint: webhook.endpoint, signing_secret: webhook.signing_secret },
  }
  return Object.entries<string>(needed[provider])
    .filter(([, value]) => value.trim() === '')
    .map(([name]) => ({
      key: `storage.cdn.${provider}.${name}`,
      problem: `required with storage.cdn.provider = "${provider}"`,
    }))
}

function oauthRedirectIsUrl({ auth }: Config): RuleViolation | undefined {
  if (auth.oauth_redirect_url === '' || URL.canParse(auth.oauth_redirect_url)) return undefined
  return { key: 'auth.oauth_redirect_url', problem: `"${auth.oauth_redirect_url}" is not a URL` }
}

/** Apple's secret is made from the key. */
const appleKeys = ['client_id', 'team_id', 'key_id', 'private_key']

function signInProvidersNeedTheirKeys({ auth }: Config): RuleViolation[] {
  return Object.entries(auth.oauth).flatMap(([name, provider]) => {
    const values: Readonly<Record<string, unknown>> = provider
    const needed = name === 'apple' ? appleKeys : ['client_id', 'client_secret']
    return needed
      .filter((key) => provider.enabled && values[key] === '')
      .map((key) => ({
        key: `auth.oauth.${name}.${key}`,
        problem: `required with auth.oauth.${name}.enabled = true`,
      }))
  })
}

function openIdNamesAreFree({ auth }: Config): RuleViolation[] {
  return Object.keys(auth.oidc)
    .filter((name) => name in auth.oauth)
    .map((name) => ({ key: 'auth.oidc', problem: `"${name}" is a built-in provider: choose another name` }))
}
