import { type Static, type TSchema, Type } from 'typebox'

/** Longest life of an access token: revocations of tokens that no session stands behind are kept so long. */
export const longestTokenSeconds = 86_400

const planLimit = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

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
    listen_url: text(
      '',
      'Direct connection for LISTEN when database.url leads to a transaction pooler. Empty: nodes poll there.',
      {
        secret: true,
        pattern: '^(postgres(ql)?://.+)?$',
        expects: 'a URL such as postgresql://user:password@host:5432/database',
      },
    ),
    max_conns: integer(20, 'Connections to the database, per node, beside the one that listens.', 4, 1000),
    acquire_timeout_ms: integer(5000, 'Milliseconds a request waits for a free connection.', 50, 600_000),
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
    require_rls: flag(
      false,
      'Whether tables and views without row-level security are kept from everybody but administrators.',
    ),
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
    encryption_key: text(
      '',
      'Key of secrets at rest (TOTP). Embedded database: generated when empty; else made from auth.jwt_secret.',
      {
        secret: true,
        pattern: '^([0-9a-fA-F]{64}|[A-Za-z0-9+/_-]{43}=?)?$',
        expects: '32 bytes in hexadecimal or base64',
      },
    ),
    previous_encryption_keys: text('', 'Earlier keys, separated by commas: still read, never written.', {
      secret: true,
      pattern: '^(([0-9a-fA-F]{64}|[A-Za-z0-9+/_-]{43}=?)(,([0-9a-fA-F]{64}|[A-Za-z0-9+/_-]{43}=?))*)?$',
      expects: 'keys as auth.encryption_key, separated by commas',
    }),
    token_duration: integer(900, 'Seconds an access token is valid.', 10, longestTokenSeconds),
    refresh_token_duration: integer(604_800, 'Seconds a session lives without being used.', 60, 31_536_000),
    min_password_length: integer(8, 'Fewest characters of a password.', 8, 64),
    refuse_common_passwords: flag(
      true,
      'Whether a common password is refused. In development it is accepted, with a warning in the log.',
    ),
    require_verified_email: flag(
      false,
      'Whether users with an email address have to verify it before they can sign in.',
    ),
    site_url: text('', 'Site whose pages mailed links lead to. Empty: the pages of this server.', {
      pattern: '^(https?://[^?#\\s]+)?$',
      expects: 'an http or https URL, such as https://app.example.com',
    }),
    magic_link_enabled: flag(false, 'Whether users may sign in by a mailed link.'),
    magic_link_duration: integer(600, 'Seconds a mailed sign-in link is valid.', 30, 86_400),
    anonymous_auth_enabled: flag(false, 'Whether users may sign in without telling who they are.'),
    totp_enabled: flag(false, 'Whether an authenticator app may be a second factor.'),
    email_mfa_enabled: flag(false, 'Whether a mailed code may be a second factor.'),
    webauthn_enabled: flag(false, 'Whether passkeys may be used.'),
    sms_enabled: flag(
      false,
      'Whether users may sign in by a code sent to their phone, and use it as second factor.',
    ),
    sms_provider: choice(
      'log',
      ['log', 'webhook', 'twilio', 'plivo', 'telnyx', 'msg91', 'sns', 'vonage'],
      'What sends text messages.',
    ),
    sms_code_length: integer(6, 'Digits of a code sent to a phone.', 4, 8),
    sms_code_expiry: integer(300, 'Seconds a code sent to a phone is valid.', 60, 600),
    sms_max_attempts: integer(3, 'Wrong codes after which a code sent to a phone is void.', 1, 10),
    sms_daily_limit: integer(1000, 'Text messages a day for signing in; 0 means no limit.', 0, 10_000_000),
    sms_allowed_countries: list(['US', 'CA'], 'Countries that codes are sent to; empty means all.', {
      pattern: '^[A-Z]{2}$',
      expects: 'a list of two-letter country codes (ISO 3166-1)',
    }),
    sms_test_phone_numbers: list([], 'Numbers with a fixed code, to which nothing is sent.', {
      pattern: '^\\+[0-9]{4,20}=[0-9]{4,8}$',
      expects: 'a list such as +15005550006=123456',
    }),
    sms_webhook_url: webAddress('Address that the webhook provider posts text messages to.'),
    sms_webhook_secret: secret('Key that signs what the webhook provider posts.'),
    twilio_sid: plain('Account SID of Twilio.'),
    twilio_token: secret('Auth token of Twilio.'),
    twilio_from: plain('Number that Twilio sends from.'),
    plivo_auth_id: plain('Auth ID of Plivo.'),
    plivo_auth_token: secret('Auth token of Plivo.'),
    plivo_from: plain('Number that Plivo sends from.'),
    telnyx_api_key: secret('API key of Telnyx.'),
    telnyx_from: plain('Number that Telnyx sends from.'),
    msg91_auth_key: secret('Auth key of MSG91.'),
    msg91_template_id: plain('Template of MSG91.'),
    aws_region: plain('AWS region of SNS.'),
    aws_access_key_id: plain('AWS access key of SNS.'),
    aws_secret_access_key: secret('AWS secret key of SNS.'),
    vonage_api_key: plain('API key of Vonage.'),
    vonage_api_secret: secret('API secret of Vonage.'),
    vonage_from: plain('Sender that Vonage shows.'),
    sms_api_base_url: webAddress(
      "Address of the SMS provider, when it is not the provider's own (a stand-in or a region).",
    ),
    clean_up: Type.Object({
      enabled: flag(false, 'Whether each node removes every hour what `basalt clean-up` removes.'),
      anonymous_days: integer(
        30,
        'Days after which an anonymous account that nobody linked is removed.',
        1,
        36_500,
      ),
      enrollment_minutes: integer(
        10,
        'Minutes after which an unconfirmed second factor is removed.',
        1,
        525_600,
      ),
    }),
    limits: Type.Object({
      login_failures: integer(10, 'Failed sign-ins per account and address within 15 minutes.', 1, 100_000),
      login_failures_per_account: integer(
        100,
        'Failed sign-ins per account and hour, from all addresses that it was not signed in to from before.',
        1,
        1_000_000,
      ),
      login_failures_per_address: integer(
        100,
        'Failed sign-ins per client address within 15 minutes; 100 times as many in development.',
        1,
        1_000_000,
      ),
      registrations_per_hour: integer(
        100,
        'Registrations per client address and hour; 100 times as many in development.',
        1,
        1_000_000,
      ),
      mails_per_hour: integer(10, 'Mails to one address that callers can cause per hour.', 1, 10_000),
      mail_requests_per_hour: integer(
        100,
        'Requests for mails per client address and hour; 100 times as many in development.',
        1,
        1_000_000,
      ),
      sms_per_hour: integer(5, 'Text messages to one number per hour.', 1, 1000),
      sms_requests_per_hour: integer(
        30,
        'Requests for text messages per client address and hour; 100 times as many in development.',
        1,
        1_000_000,
      ),
      anonymous_per_hour: integer(30, 'Anonymous sign-ins per client address and hour.', 1, 1_000_000),
    }),
  }),
  email: Type.Object({
    backend: choice('log', ['log', 'smtp', 'webhook'], 'What sends mail.'),
    from: text('Basalt <no-reply@localhost>', 'Sender of mail.', {
      pattern: '^[^\\r\\n]*[^\\s@]+@[^\\s@]+$',
      expects: 'an address such as Shop <no-reply@example.com>',
    }),
    app_name: text('Basalt', 'Name of the application in mail.', { minLength: 1, expects: 'a name' }),
    webhook: Type.Object({
      url: webAddress('Address that the webhook backend posts mail to.'),
      secret: secret('Key that signs what the webhook backend posts.'),
      timeout: integer(10, 'Seconds the webhook has to answer.', 1, 120),
    }),
    smtp: Type.Object({
      host: plain('Mail server.'),
      port: integer(587, 'Port of the mail server.', 1, 65_535),
      username: plain('User name at the mail server. Empty: no sign-in.'),
      password: secret('Password at the mail server.'),
      security: choice(
        'starttls',
        ['starttls', 'tls', 'none'],
        'starttls: refuse servers without it; tls: from the first byte (port 465); none: only for a server nearby.',
      ),
      max_connections: integer(5, 'Connections to the mail server, per node.', 1, 100),
    }),
  }),
  jobs: Type.Object({
    enabled: flag(true, 'Whether this node works on jobs. Mail is sent by jobs.'),
    concurrency: integer(10, 'Jobs of one type that this node works on at once.', 1, 1000),
    retention_days: integer(7, 'Days that finished jobs are kept.', 1, 3650),
  }),
  webhooks: Type.Object({
    allow_private_targets: automatic(
      'Whether webhooks may go to private and loopback addresses. auto: while server.public_base_url is a loopback address.',
    ),
    deliver: flag(
      true,
      'Whether this node delivers webhooks. Changes wait for a node that does, for events.retention_hours.',
    ),
    concurrency: integer(20, 'Deliveries to one receiver at once, over all nodes.', 1, 1000),
    retention_days: integer(7, 'Days the log of deliveries is kept.', 1, 3650),
    pause_after_hours: integer(
      72,
      'Hours without any success after which a webhook is paused; 0 means never.',
      0,
      87_600,
    ),
  }),
  events: Type.Object({
    retention_hours: integer(
      24,
      'Hours the log of changes is kept. What webhooks have yet to receive is kept for longer, unless no node has delivered for so long.',
      1,
      8760,
    ),
  }),
  realtime: Type.Object({
    max_connections_per_user: integer(
      100,
      'Streams that one user may have open, over all nodes.',
      1,
      100_000,
    ),
    heartbeat_interval_seconds: integer(
      20,
      'Seconds after which a quiet stream shows that it is alive.',
      1,
      300,
    ),
    resume_seconds: integer(
      300,
      'Seconds for which a table stays in the log of changes after its last stream, for clients that come back.',
      0,
      86_400,
    ),
    broadcast_rate_limit_per_second: integer(
      100,
      'Broadcasts that one connection may send in a second.',
      1,
      100_000,
    ),
    broadcast_max_message_bytes: integer(262_144, 'Largest payload of a broadcast.', 16, 4_194_304),
    presence_leave_timeout_seconds: integer(
      10,
      'Seconds after which a presence whose connection has gone is taken away.',
      0,
      300,
    ),
  }),
  matviews: Type.Object({
    refresh_timeout: integer(3600, 'Seconds that refreshing a materialized view may take.', 1, 86_400),
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
      'auto',
      ['auto', 'none', 'failed', 'all'],
      'Requests that are logged; failed: status 500 and up; auto: all in the pretty format, failed in JSON.',
    ),
    store: flag(true, 'Whether the log is also kept in the database, for GET /api/admin/logs.'),
    store_requests: flag(
      true,
      'Whether every answered request is kept in the database, for GET /api/admin/analytics/requests.',
    ),
    retention_days: integer(7, 'Days the log and the requests are kept in the database.', 1, 3650),
    drains: table(
      Type.Object(
        {
          type: Type.Union([Type.Literal('http'), Type.Literal('otlp')]),
          url: Type.String({ pattern: '^https?://[^\\s]+$' }),
          headers: Type.Optional(Type.Record(Type.String(), Type.String({ pattern: '^[^\\r\\n]*$' }))),
        },
        { additionalProperties: false },
      ),
      'Where the log is sent to as well: http posts a JSON array of entries, otlp an OTLP/HTTP logs request in JSON.',
      {
        expects: 'tables such as {central = {type = "http", url = "https://logs.example.com"}}',
        secret: true,
      },
    ),
  }),
  usage: Type.Object({
    plans: table(
      Type.Object(
        {
          api_requests: Type.Optional(planLimit),
          storage_bytes: Type.Optional(planLimit),
          bandwidth_bytes: Type.Optional(planLimit),
          function_invocations: Type.Optional(planLimit),
        },
        { additionalProperties: false },
      ),
      'What apps may use in a calendar month (UTC), by the name of their plan; 0 or absent: unlimited.',
      { expects: 'tables such as {free = {api_requests = 50000, bandwidth_bytes = 5368709120}}' },
    ),
    enforce: flag(
      false,
      "Whether requests of an app beyond its plan's limits are refused until the month ends.",
    ),
    retention_days: integer(400, 'Days for which usage is kept.', 32, 36_500),
  }),
  audit: Type.Object({
    tables: list([], 'Collections of which every change of a row is recorded; "*" means all.', {
      pattern: '^[^\\u0000]{1,127}$',
      expects: 'a list of collections such as note or shop.order, or "*"',
    }),
    retention_days: integer(
      90,
      'Days the record of acts and changes is kept, once its schedule audit_retention_daily is enabled.',
      1,
      36_500,
    ),
  }),
  telemetry: Type.Object({
    otlp_endpoint: webAddress(
      'Base address of an OTLP/HTTP collector, such as http://127.0.0.1:4318, which gets traces of requests and statements. Empty: none.',
    ),
    otlp_headers: text('', 'Headers of requests to the collector, separated by commas: name=value.', {
      secret: true,
      pattern: '^([^=,\\s]+=[^,\\r\\n]*(,[^=,\\s]+=[^,\\r\\n]*)*)?$',
      expects: 'a list such as authorization=Bearer abc',
    }),
    service_name: text('basalt', 'Name of the service in traces.', { minLength: 1, expects: 'a name' }),
    sample_percent: integer(
      100,
      'Percent of the requests without a trace of their own that are traced.',
      0,
      100,
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
  /** First part of the key. */
  readonly section: string
  /** `BASALT_SERVER_PORT`. */
  readonly env: string
  /** `--server-port`. */
  readonly flag: string
  readonly type: 'string' | 'integer' | 'boolean' | 'list' | 'table'
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
  readonly type: string | readonly string[]
}

/** All keys in the order of the schema. */
export function listSettings(): readonly Setting[] {
  return listLeaves([], configSchema)
}

/** The value of a key in force. */
export function settingOf(config: Config, key: string): unknown {
  return key.split('.').reduce<unknown>((group, name) => (group as Record<string, unknown>)[name], config)
}

function listLeaves(path: readonly string[], schema: TSchema): readonly Setting[] {
  if ('properties' in schema) {
    const properties = Object.entries(schema.properties as Record<string, TSchema>)
    return properties.flatMap(([name, property]) => listLeaves([...path, name], property))
  }
  // Every leaf was made by one of the helpers below, which set these annotations.
  const annotations = schema as unknown as Annotations
  const dashed = path.join('-').replaceAll('_', '-')
  return [
    {
      key: path.join('.'),
      section: path[0] ?? '',
      env: `BASALT_${path.join('_')}`.toUpperCase(),
      flag: `--${dashed}`,
      type: settingType(annotations.type),
      schema,
      default: annotations.default,
      description: annotations.description,
      expects: annotations.expects,
      secret: annotations.secret === true,
    },
  ]
}

function settingType(type: string | readonly string[]): Setting['type'] {
  if (type === 'array') return 'list'
  if (type === 'object') return 'table'
  // Of an automatic flag texts other than "auto" are booleans.
  return (typeof type === 'string' ? type : 'boolean') as Setting['type']
}

function text(
  fallback: string,
  description: string,
  options: { expects: string; pattern?: string; minLength?: number; secret?: boolean },
) {
  return Type.String({ default: fallback, description, ...options })
}

/** A text without further form, empty unless set. */
function plain(description: string) {
  return text('', description, { expects: 'a text' })
}

function secret(description: string) {
  return text('', description, { expects: 'a text', secret: true })
}

function webAddress(description: string) {
  return text('', description, {
    pattern: '^(https?://[^\\s]+)?$',
    expects: 'an http or https URL',
  })
}

function integer(fallback: number, description: string, minimum: number, maximum: number) {
  const expects = `an integer from ${minimum} to ${maximum}`
  return Type.Integer({ default: fallback, description, minimum, maximum, expects })
}

function flag(fallback: boolean, description: string) {
  return Type.Boolean({ default: fallback, description, expects: 'true or false' })
}

/** A flag that is decided by other keys unless it is set. */
function automatic(description: string) {
  return Type.Unsafe<boolean | 'auto'>({
    type: ['boolean', 'string'],
    enum: [true, false, 'auto'],
    default: 'auto',
    description,
    expects: 'true, false or auto',
  })
}

function list(
  fallback: string[],
  description: string,
  options: { expects: string; pattern: string; minItems?: number },
) {
  const { pattern, ...rest } = options
  return Type.Array(Type.String({ pattern }), { default: fallback, description, ...rest })
}

/** Values by a name of the operator's choice. In the environment and as a flag it is JSON. */
function table<Value extends TSchema>(
  value: Value,
  description: string,
  options: { expects: string; secret?: boolean },
) {
  const name = Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' })
  return Type.Record(name, value, { default: {}, description, additionalProperties: false, ...options })
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
