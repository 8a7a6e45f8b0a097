import { parseIntoClientConfig } from 'pg-connection-string'
import { automatic, flag, integer, list, text } from '../config/keys.ts'
import type { ConfigRule, RuleViolation } from '../config/rule.ts'
import { type Static, Type } from '../lib/type.ts'

/** `database`: which PostgreSQL, and how it is used. */
export const databaseConfig = Type.Object({
  url: text('', 'PostgreSQL 15 or later to use. Empty: the embedded PostgreSQL in server.data_dir.', {
    secret: true,
    pattern: '^(postgres(ql)?://.+)?$',
    expects: 'a URL such as postgresql://user:password@host:5432/database',
  }),
  listen_url: text(
    '',
    'Direct connection for LISTEN when database.url leads to a transaction pooler. Empty: nodes poll there.',
    {
      secret: true,
      pattern: '^(postgres(ql)?://.+)?$',
      expects: 'a URL such as postgresql://user:password@host:5432/database',
    },
  ),
  gateway_url: text(
    '',
    'How requests of callers log in, as basalt_gateway, where the server may not make that role or a pooler stands before it. Empty: as database.url, with a password made of auth.jwt_secret.',
    {
      secret: true,
      pattern: '^(postgres(ql)?://.+)?$',
      expects: 'a URL such as postgresql://basalt_gateway:password@host:5432/database',
    },
  ),
  branch: text(
    '',
    'Name of a copy of the database that `basalt db branch` has made, to work on that instead.',
    {
      pattern: '^([a-z0-9][a-z0-9_-]{0,31})?$',
      expects: 'a name of up to 32 lower-case letters, digits, _ and -',
    },
  ),
  max_conns: integer(20, 'Connections to the database, per node, beside the one that listens.', 4, 1000),
  acquire_timeout_ms: integer(
    5000,
    'Milliseconds a request waits for a free connection. One that is expected to wait longer is refused at once.',
    50,
    600_000,
  ),
  statement_timeout_ms: integer(30_000, 'Milliseconds a statement may run.', 100, 3_600_000),
  schemas: list(['public'], 'Schemas whose tables become collections.', {
    minItems: 1,
    pattern: '^[^\\u0000]{1,63}$',
    expects: 'a list of schema names, at least one',
  }),
  embedded_port: integer(
    0,
    'Port on loopback where psql and GUI clients reach the embedded PostgreSQL, with a password; 0 opens none.',
    0,
    65535,
  ),
  expose_partitions: flag(
    false,
    'Whether partitions are collections of their own. Otherwise they are served through their table alone.',
  ),
  require_rls: automatic(
    'Whether tables and views without row-level security are kept from everybody but administrators. auto: beside an external database, unless auth.enabled is false.',
  ),
})

export type DatabaseConfig = Static<typeof databaseConfig>

/** Rules of `database`. */
export const databaseRules: readonly ConfigRule<Sections>[] = [
  (config) => databaseUrlIsUrl('url', config),
  (config) => databaseUrlIsUrl('listen_url', config),
  requiredPoliciesNeedAuth,
  systemSchemasStayHidden,
  portsDiffer,
]

interface Sections {
  readonly auth: { readonly enabled: boolean }
  readonly database: DatabaseConfig
  readonly server: { readonly port: number }
}

function databaseUrlIsUrl(name: 'url' | 'listen_url', { database }: Sections): RuleViolation | undefined {
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

/** Without auth no request is subject to policies: an installation that requires them would have none. */
function requiredPoliciesNeedAuth({ auth, database }: Sections): RuleViolation | undefined {
  if (auth.enabled || database.require_rls !== true) return undefined
  return {
    key: 'database.require_rls',
    problem: 'true contradicts auth.enabled = false, which serves every request without policies',
  }
}

function systemSchemasStayHidden({ database }: Sections): RuleViolation | undefined {
  const hidden = database.schemas.find(
    (name) => name === 'basalt' || name === 'information_schema' || name.startsWith('pg_'),
  )
  if (hidden === undefined) return undefined
  return { key: 'database.schemas', problem: `"${hidden}" is a system schema and cannot be served` }
}

function portsDiffer({ database, server }: Sections): RuleViolation | undefined {
  if (database.url !== '' || database.embedded_port === 0) return undefined
  if (database.embedded_port !== server.port) return undefined
  return { key: 'database.embedded_port', problem: `${server.port} is server.port: choose another one` }
}
