import { automatic, flag, integer, list, text } from '../config/keys.ts'
import type { ConfigRule, RuleViolation } from '../config/rule.ts'
import { countWorkers, fewestConnections } from '../config/workers.ts'
import { type Static, Type } from '../lib/type.ts'
import { DatabaseUrlFault, parseDatabaseUrl } from './database-url.ts'

/** Configuration section `database`: the PostgreSQL server and its limits. */
export const databaseConfig = Type.Object({
  url: text(
    '',
    'PostgreSQL 15 or later to use. Several hosts, as in postgresql://user@a:5432,b:5432/database, are tried in order for the primary. Empty: the embedded PostgreSQL in server.data_dir.',
    {
      secret: true,
      pattern: '^(postgres(ql)?://.+)?$',
      expects: 'a URL such as postgresql://user:password@host:5432/database',
    },
  ),
  listen_url: text(
    '',
    'URL of a direct connection for LISTEN, when database.url leads to a transaction pooler. It may name several hosts. Empty: nodes poll there.',
    {
      secret: true,
      pattern: '^(postgres(ql)?://.+)?$',
      expects: 'a URL such as postgresql://user:password@host:5432/database',
    },
  ),
  gateway_url: text(
    '',
    'URL for requests of callers, which log in as basalt_gateway. Required if Basalt may not create that role, or a pooler is in front. It may name several hosts. Empty: database.url, with a password derived from auth.jwt_secret.',
    {
      secret: true,
      pattern: '^(postgres(ql)?://.+)?$',
      expects: 'a URL such as postgresql://basalt_gateway:password@host:5432/database',
    },
  ),
  replica_urls: list(
    [],
    'URLs of read replicas: hot standbys of the database, one host each, with the login of database.url. They serve reads within the limits of the guide on replicas. The limit database.max_conns applies to each replica by itself, besides one connection per worker that checks it.',
    {
      secret: true,
      pattern: '^postgres(ql)?://[^,]+$',
      expects: 'a list of URLs such as postgresql://user:password@host:5432/database',
    },
  ),
  replica_wait_ms: integer(
    20,
    'Longest time that a read waits for a replica to replay the position of its request, in milliseconds. Then the primary serves it. 0: reads do not wait.',
    0,
    1000,
  ),
  replica_max_lag_ms: integer(
    10_000,
    'Maximum age of the data that a replica may serve, in milliseconds. A replica with older data serves no reads.',
    1000,
    3_600_000,
  ),
  branch: text('', 'Name of a database copy, made by `basalt db branch`, to use instead.', {
    pattern: '^([a-z0-9][a-z0-9_-]{0,31})?$',
    expects: 'a name of up to 32 lower-case letters, digits, _ and -',
  }),
  max_conns: integer(
    20,
    'Maximum number of database connections of this machine, besides one for listening per worker. Workers share them: a busy one borrows those that others do not use.',
    4,
    1000,
  ),
  acquire_timeout_ms: integer(
    5000,
    'Milliseconds a request waits for a free connection. A request that is expected to wait longer is rejected at once.',
    50,
    600_000,
  ),
  statement_timeout_ms: integer(30_000, 'Maximum run time of a statement, in milliseconds.', 100, 3_600_000),
  schemas: list(['public'], 'Schemas whose tables become collections.', {
    minItems: 1,
    pattern: '^[^\\u0000]{1,63}$',
    expects: 'a list of schema names, at least one',
  }),
  embedded_port: integer(
    0,
    'Loopback port of the embedded PostgreSQL for psql and GUI clients, with a password. 0 opens none.',
    0,
    65535,
  ),
  expose_partitions: flag(
    false,
    'Serves partitions as collections of their own. Otherwise they are served only through their table.',
  ),
  require_rls: automatic(
    'Restricts tables and views without row-level security to administrators. auto: true for an external database, unless auth.enabled is false.',
  ),
})

export type DatabaseConfig = Static<typeof databaseConfig>

/** Rules of `database`. */
export const databaseRules: readonly ConfigRule<Sections>[] = [
  urlsArePrimaries,
  replicasHavePrimary,
  requiredPoliciesNeedAuth,
  systemSchemasStayHidden,
  portsDiffer,
  workersHaveConnections,
]

interface Sections {
  readonly auth: { readonly enabled: boolean }
  readonly database: DatabaseConfig
  readonly server: { readonly port: number; readonly workers: number | 'auto' }
}

function urlsArePrimaries({ database }: Sections): readonly RuleViolation[] {
  return (['url', 'listen_url', 'gateway_url'] as const).flatMap((name) => {
    const problem = database[name] === '' ? undefined : findUrlFault(database[name])
    return problem === undefined ? [] : [{ key: `database.${name}`, problem }]
  })
}

function findUrlFault(url: string): string | undefined {
  try {
    parseDatabaseUrl(url)
    return undefined
  } catch (error) {
    if (error instanceof DatabaseUrlFault) return error.message
    throw error
  }
}

function replicasHavePrimary({ database }: Sections): RuleViolation | undefined {
  const key = 'database.replica_urls'
  if (database.replica_urls.length === 0) return undefined
  if (database.url === '')
    return { key, problem: 'the embedded PostgreSQL has no replicas: set database.url' }
  const [problem] = database.replica_urls.flatMap((url) => findUrlFault(url) ?? [])
  return problem === undefined ? undefined : { key, problem }
}

/** Rejects required policies without auth: no request would be subject to any. */
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

function workersHaveConnections(config: Sections): RuleViolation | undefined {
  const workers = countWorkers(config)
  const needed = workers * fewestConnections
  if (workers === 1 || config.database.max_conns >= needed) return undefined
  return {
    key: 'database.max_conns',
    problem: `${config.database.max_conns} is too few for ${workers} workers: they need ${needed}, ${fewestConnections} each`,
  }
}
