import { type Static, type TSchema, Type } from 'typebox'

/**
 * Every configuration key, once: type, default, description, what is expected, whether it is secret.
 * The loader, the command line's flags, `basalt config` and docs/generated/configuration.md all read this.
 */
export const configSchema = Type.Object({
  server: Type.Object({
    host: text('127.0.0.1', 'Address to listen on.', { minLength: 1, expects: 'an address or host name' }),
    port: integer(8090, 'Port to listen on; 0 picks a free one.', 0, 65535),
    public_base_url: text('', 'Address clients reach the server at. Empty: made from host and port.', {
      pattern: '^(https?://[^/?#\\s]+/?)?$',
      expects: 'an http or https URL without path, such as https://api.example.com',
    }),
    data_dir: text('.basalt', 'Directory for the embedded database and generated secrets.', {
      minLength: 1,
      expects: 'a path',
    }),
    trusted_proxies: list([], 'Peers whose forwarding headers are believed.', {
      pattern: '^[0-9a-fA-F:.]+(/\\d{1,3})?$',
      expects: 'a list of IP addresses or CIDR ranges',
    }),
    cors_allowed_origins: list(['*'], 'Origins that browsers may call the API from; "*" means any.', {
      pattern: '^(\\*|https?://[^/\\s]+)$',
      expects: 'a list of origins such as https://app.example.com, or "*"',
    }),
    body_limit: integer(1_048_576, 'Largest request body, in bytes.', 1024, 268_435_456),
    header_timeout: integer(10, 'Seconds a client has to send the request headers.', 1, 600),
    request_timeout: integer(30, 'Seconds a client has to send the whole request.', 1, 3600),
    max_connections: integer(
      10_000,
      'Connections held open at once; further ones are refused.',
      10,
      1_000_000,
    ),
    shutdown_timeout: integer(30, 'Seconds that requests under way may take when the server stops.', 0, 3600),
    insecure_open: flag(false, 'Permits auth.enabled = false on an address other machines can reach.'),
  }),
  database: Type.Object({
    url: text('', 'PostgreSQL 15 or later to use. Empty: the embedded PostgreSQL in server.data_dir.', {
      secret: true,
      pattern: '^(postgres(ql)?://.+)?$',
      expects: 'a URL such as postgresql://user:password@host:5432/database',
    }),
    listen_url: text('', 'Direct connection for LISTEN when database.url leads to a transaction pooler.', {
      secret: true,
      pattern: '^(postgres(ql)?://.+)?$',
      expects: 'a URL such as postgresql://user:password@host:5432/database',
    }),
    max_conns: integer(20, 'Connections to the database, per node.', 4, 1000),
    acquire_timeout_ms: integer(5000, 'Milliseconds a request waits for a free connection.', 50, 600_000),
    statement_timeout_ms: integer(30_000, 'Milliseconds a statement may run.', 100, 3_600_000),
    schemas: list(['public'], 'Schemas whose tables become collections.', {
      minItems: 1,
      pattern: '^[^\\u0000]{1,63}$',
      expects: 'a list of schema names, at least one',
    }),
  }),
  auth: Type.Object({
    enabled: flag(
      true,
      'Whether callers need a token. False opens the data API to everyone, without policies.',
    ),
    jwt_secret: text('', 'Key of the access tokens (HS256). Embedded database: generated when empty.', {
      secret: true,
      pattern: '^(.{32,})?$',
      expects: 'at least 32 characters',
    }),
  }),
  admin: Type.Object({
    password: text(
      '',
      'Password of the administrator. Empty: generated at the first start and printed once.',
      {
        secret: true,
        pattern: '^(.{8,1024})?$',
        expects: 'at least 8 characters',
      },
    ),
  }),
  logging: Type.Object({
    level: choice('info', ['trace', 'debug', 'info', 'warn', 'error'], 'Least severe level that is written.'),
    format: choice('auto', ['auto', 'pretty', 'json'], 'auto: pretty on a terminal, JSON lines elsewhere.'),
    requests: choice(
      'failed',
      ['none', 'failed', 'all'],
      'Requests that are logged; failed: status 500 and up.',
    ),
  }),
  metrics: Type.Object({
    enabled: flag(true, 'Whether GET /metrics answers.'),
    token: text('', 'Bearer token that GET /metrics asks for. Empty: none.', {
      secret: true,
      pattern: '^(\\S{16,})?$',
      expects: 'at least 16 characters without spaces',
    }),
  }),
})

export type Config = Static<typeof configSchema>

/** One key of the schema. */
export interface Setting {
  /** Dotted name, `server.port`. */
  readonly key: string
  readonly section: string
  readonly name: string
  /** `BASALT_SERVER_PORT`. */
  readonly env: string
  /** `--server-port`. */
  readonly flag: string
  readonly type: 'string' | 'integer' | 'boolean' | 'list'
  readonly schema: TSchema
  readonly default: unknown
  readonly description: string
  /** What a value must be, for people: "an integer from 1 to 65535". */
  readonly expects: string
  readonly secret: boolean
}

interface Annotations {
  readonly default: unknown
  readonly description: string
  readonly expects: string
  readonly secret?: boolean
  readonly type: string
}

/** All keys in the order of the schema. */
export function listSettings(): readonly Setting[] {
  return Object.entries(configSchema.properties).flatMap(([section, group]) =>
    Object.entries(group.properties).map(([name, schema]) => {
      // Every leaf was made by one of the helpers below, which set these annotations.
      const annotations = schema as unknown as Annotations
      return {
        key: `${section}.${name}`,
        section,
        name,
        env: `BASALT_${section}_${name}`.toUpperCase(),
        flag: `--${section}-${name}`.replaceAll('_', '-'),
        type: annotations.type === 'array' ? 'list' : (annotations.type as Setting['type']),
        schema: schema as TSchema,
        default: annotations.default,
        description: annotations.description,
        expects: annotations.expects,
        secret: annotations.secret === true,
      }
    }),
  )
}

function text(
  fallback: string,
  description: string,
  options: { expects: string; pattern?: string; minLength?: number; secret?: boolean },
) {
  return Type.String({ default: fallback, description, ...options })
}

function integer(fallback: number, description: string, minimum: number, maximum: number) {
  const expects = `an integer from ${minimum} to ${maximum}`
  return Type.Integer({ default: fallback, description, minimum, maximum, expects })
}

function flag(fallback: boolean, description: string) {
  return Type.Boolean({ default: fallback, description, expects: 'true or false' })
}

function list(
  fallback: string[],
  description: string,
  options: { expects: string; pattern: string; minItems?: number },
) {
  const { pattern, ...rest } = options
  return Type.Array(Type.String({ pattern }), { default: fallback, description, ...rest })
}

function choice<const Options extends string>(
  fallback: NoInfer<Options>,
  options: readonly Options[],
  description: string,
) {
  const expects = `one of ${options.join(', ')}`
  return Type.Unsafe<Options>(
    Type.String({ default: fallback, description, pattern: `^(${options.join('|')})$`, expects }),
  )
}
