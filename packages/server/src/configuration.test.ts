import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ConfigInput } from './config/load.ts'
import { type LoadedConfig, loadConfig, settings } from './configuration.ts'
import { OperatorError } from './lib/errors.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'basalt-config-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

interface Layers {
  /** Content of basalt.toml. */
  readonly file?: string
  readonly env?: Readonly<Record<string, string>>
  readonly flags?: Readonly<Record<string, string>>
}

function load({ file, env = {}, flags = {} }: Layers = {}, more: Partial<ConfigInput> = {}): LoadedConfig {
  if (file !== undefined) writeFileSync(join(directory, 'basalt.toml'), file)
  return loadConfig({ directory, env: { PATH: '/bin', ...env }, flags, ...more })
}

/** Returns the message of the rejection. */
function fault(layers: Layers, more: Partial<ConfigInput> = {}): string {
  try {
    load(layers, more)
  } catch (error) {
    expect(error).toBeInstanceOf(OperatorError)
    expect(error).toMatchObject({ exitCode: 2 })
    return (error as OperatorError).message
  }
  throw new Error('the configuration was accepted')
}

/** Sign-in provider that is not configured. */
const provider = { enabled: false, client_id: '', client_secret: '', store_provider_tokens: false }

describe('configuration without any source', () => {
  test('has the defaults, which are those of the documentation', () => {
    const { config, sources } = load()
    expect(config).toEqual({
      server: {
        host: '127.0.0.1',
        port: 8090,
        public_base_url: '',
        data_dir: join(directory, '.basalt'),
        trusted_proxies: [],
        cors_allowed_origins: ['*'],
        body_limit: 1_048_576,
        header_timeout: 10,
        request_timeout: 30,
        compression: 'auto',
        max_connections: 10_000,
        shutdown_timeout: 30,
        workers: 1,
        insecure_open: false,
      },
      database: {
        url: '',
        listen_url: '',
        branch: '',
        max_conns: 20,
        acquire_timeout_ms: 5000,
        statement_timeout_ms: 30_000,
        schemas: ['public'],
        embedded_port: 0,
        replica_urls: [],
        replica_wait_ms: 20,
        replica_max_lag_ms: 10_000,
        expose_partitions: false,
        gateway_url: '',
        require_rls: 'auto',
      },
      auth: {
        enabled: true,
        jwt_secret: '',
        encryption_key: '',
        previous_encryption_keys: '',
        token_duration: 900,
        refresh_token_duration: 604_800,
        min_password_length: 8,
        refuse_common_passwords: true,
        refuse_breached_passwords: false,
        breached_passwords_url: 'https://api.pwnedpasswords.com/range',
        captcha: {
          provider: 'off',
          routes: ['register', 'sms', 'magic_link', 'password_reset', 'anonymous'],
          difficulty: 50_000,
          site_key: '',
          secret: '',
          hostnames: [],
          on_failure: 'refuse',
          verify_url: '',
        },
        require_verified_email: false,
        site_url: '',
        magic_link_enabled: false,
        oauth_provider: {
          enabled: false,
          access_token_duration: 3600,
          refresh_token_duration: 2_592_000,
          grant_duration: 31_536_000,
          auth_code_duration: 600,
          client_metadata_documents: false,
          dynamic_registration: false,
          self_registered_scopes: ['readonly', 'readwrite'],
          registrations_per_hour: 20,
        },
        magic_link_duration: 600,
        anonymous_auth_enabled: false,
        totp_enabled: false,
        email_mfa_enabled: false,
        webauthn_enabled: false,
        sms_enabled: false,
        sms_provider: 'log',
        sms_code_length: 6,
        sms_code_expiry: 300,
        sms_max_attempts: 3,
        sms_daily_limit: 1000,
        sms_allowed_countries: ['US', 'CA'],
        sms_test_phone_numbers: [],
        sms_webhook_url: '',
        sms_webhook_secret: '',
        twilio_sid: '',
        twilio_token: '',
        twilio_from: '',
        plivo_auth_id: '',
        plivo_auth_token: '',
        plivo_from: '',
        telnyx_api_key: '',
        telnyx_from: '',
        msg91_auth_key: '',
        msg91_template_id: '',
        aws_region: '',
        aws_access_key_id: '',
        aws_secret_access_key: '',
        vonage_api_key: '',
        vonage_api_secret: '',
        vonage_from: '',
        sms_status_url: '',
        sms_retention_days: 30,
        telnyx_public_key: '',
        vonage_signature_secret: '',
        sms_api_base_url: '',
        clean_up: { enabled: false, anonymous_days: 30, enrollment_minutes: 10 },
        limits: {
          login_failures: 10,
          login_failures_per_account: 100,
          login_failures_per_address: 100,
          registrations_per_hour: 100,
          mails_per_hour: 10,
          mail_requests_per_hour: 100,
          sms_per_hour: 5,
          sms_messages_per_hour: 100,
          sms_requests_per_hour: 30,
          anonymous_per_hour: 30,
        },
        oauth_redirect_url: '',
        oauth_return_to_allowlist: [],
        oauth: {
          google: provider,
          github: provider,
          microsoft: { ...provider, tenant_id: 'common' },
          apple: { ...provider, team_id: '', key_id: '', private_key: '' },
          discord: provider,
          twitter: provider,
          facebook: { ...provider, facebook_api_version: 'v22.0' },
          linkedin: provider,
          spotify: provider,
          twitch: provider,
          gitlab: { ...provider, gitlab_base_url: 'https://gitlab.com' },
          bitbucket: provider,
          slack: provider,
          zoom: provider,
          notion: provider,
          figma: provider,
        },
        oidc: {},
      },
      api: {
        text_search_config: 'english',
        bulk_max_rows: 1000,
        max_facet_buckets: 1000,
        aggregate_enabled: true,
        max_groups: 10_000,
        export_max_rows: 1_000_000,
        export_timeout: 3600,
        max_exports: 4,
        import_max_size_mb: 50,
        import_max_rows: 100_000,
        import_max_refused: 10_000,
        import_timeout: 300,
      },
      email: {
        backend: 'log',
        from: 'Basalt <no-reply@localhost>',
        app_name: 'Basalt',
        webhook: { url: '', secret: '', timeout: 10 },
        smtp: {
          host: '',
          port: 587,
          username: '',
          password: '',
          security: 'starttls',
          max_connections: 5,
        },
        policy: {
          senders: 'users',
          allowed_from_addresses: [],
          max_recipients_per_request: 50,
          send_rate_limit_per_key: 100,
          send_rate_limit_window: 3600,
          retention_days: 30,
        },
      },
      sms: {
        policy: { senders: 'keys', messages_per_number_and_day: 10, messages_per_day: 1000 },
      },
      graphql: {
        enabled: true,
        introspection: 'caller',
        max_depth: 12,
        max_aliases: 50,
        max_root_fields: 20,
        max_cost: 50_000,
        persisted: 'off',
      },
      jobs: { enabled: true, concurrency: 10, retention_days: 7 },
      webhooks: {
        allow_private_targets: 'auto',
        deliver: true,
        concurrency: 20,
        retention_days: 7,
        pause_after_hours: 72,
      },
      events: { retention_hours: 24, capture: 'on' },
      realtime: {
        sent_retention_hours: 24,
        max_connections_per_user: 100,
        max_anonymous_connections_per_address: 50,
        heartbeat_interval_seconds: 20,
        resume_seconds: 300,
        broadcast_rate_limit_per_second: 100,
        broadcast_max_message_bytes: 262144,
        presence_leave_timeout_seconds: 10,
      },
      matviews: { refresh_timeout: 3600 },
      search: { rank_limit: 1000 },
      ai: {
        default_provider: 'openai',
        default_model: '',
        embedding_provider: '',
        embedding_model: '',
        embedding_dimensions: {},
        timeout: 30,
        max_retries: 2,
        queries_per_hour: 1000,
        breaker: { failure_threshold: 5, open_seconds: 30, half_open_probe_limit: 1 },
        providers: {},
      },
      embeddings: {},
      push: {
        enabled: false,
        retention_days: 30,
        policy: { sends_per_hour: 1000 },
        fcm: { credentials_file: '', base_url: '' },
        apns: {
          key_file: '',
          team_id: '',
          key_id: '',
          bundle_id: '',
          environment: 'production',
          base_url: '',
        },
        webpush: { subject: '', private_key: '' },
      },
      support: {
        enabled: false,
        inbound_email_domain: '',
        webhook_secret: '',
        messages_per_hour: 60,
        retention_days: 365,
      },
      storage: {
        enabled: 'auto',
        backend: 'local',
        local_path: '',
        max_file_size: 10_485_760,
        default_quota_mb: 100,
        upload_timeout: 300,
        s3_endpoint: '',
        s3_bucket: '',
        s3_region: 'us-east-1',
        s3_access_key: '',
        s3_secret_key: '',
        s3_use_ssl: true,
        image_cache_mb: 1024,
        cdn_url: '',
        cdn: {
          provider: 'nop',
          cloudflare: { zone_id: '', api_token: '', base_url: '' },
          cloudfront: { distribution_id: '', access_key_id: '', secret_access_key: '', base_url: '' },
          webhook: { endpoint: '', signing_secret: '' },
        },
      },
      sites: { base_domain: '', max_file_size: 26_214_400, kept_deploys: 10 },
      functions: {
        folder: expect.stringMatching(/\/functions$/),
        timeout: 10,
        memory_mb: 256,
        connections: 'auto',
        stream_idle_timeout: 60,
      },
      admin: {
        enabled: true,
        path: '/admin',
        listen: '',
        allowed_ips: [],
        build: true,
        password: '',
        password_sign_in: true,
        oidc: {
          issuer: '',
          client_id: '',
          client_secret: '',
          name: '',
          scopes: ['openid', 'profile', 'email'],
          groups_claim: 'groups',
          roles: {},
          default_role: '',
          trusted_factors: [],
        },
        require_second_factor: false,
      },
      docs: { site: true },
      limits: { requests_per_minute: { per_user: 0, per_address: 0 } },
      logging: {
        level: 'info',
        format: 'auto',
        requests: 'auto',
        store: true,
        store_requests: true,
        dashboard_reads: false,
        retention_days: 7,
        drains: {},
      },
      usage: { plans: {}, enforce: false, retention_days: 400 },
      billing: { provider: '', webhook_secret: '', plans: {}, free_plan: 'free', retention_days: 365 },
      audit: { tables: [], retention_days: 90 },
      telemetry: { otlp_endpoint: '', otlp_headers: '', service_name: 'basalt', sample_percent: 100 },
      metrics: { enabled: true, token: '' },
      project: {
        migrations: join(directory, 'migrations'),
        current: join(directory, 'schema/current.sql'),
        seed: join(directory, 'seed.sql'),
        types: '',
        policies: join(directory, 'tests/policies'),
        migrate_at_start: 'auto',
        lock_timeout_ms: 2000,
        lock_attempts: 8,
        statement_timeout_ms: 600_000,
        development: false,
      },
    })
    expect([...sources.keys()]).toEqual(settings.map(({ key }) => key))
    expect(new Set(sources.values())).toEqual(new Set(['default']))
  })

  test('cannot be changed afterwards', () => {
    const { config } = load()
    expect(Object.isFrozen(config.server)).toBe(true)
    expect(Object.isFrozen(config.database.schemas)).toBe(true)
  })
})

describe('configuration precedence', () => {
  const file = '[server]\nport = 1\nhost = "file"\nbody_limit = 2000\n'
  const env = { BASALT_SERVER_PORT: '2', BASALT_SERVER_HOST: 'env' }
  const flags = { 'server.port': '3' }

  test('rises from defaults over file and environment to flags, and each value knows its source', () => {
    const { config, sources } = load({ file, env, flags })
    expect(config.server).toMatchObject({ port: 3, host: 'env', body_limit: 2000, request_timeout: 30 })
    expect(Object.fromEntries(sources)).toMatchObject({
      'server.port': 'flag --server-port',
      'server.host': 'environment BASALT_SERVER_HOST',
      'server.body_limit': 'file basalt.toml',
      'server.request_timeout': 'default',
    })
  })

  test('hides an overruled value, valid or not', () => {
    expect(load({ file: '[server]\nport = "x"\n', env }).config.server.port).toBe(2)
  })
})

describe('every type of key', () => {
  test('is read from the file', () => {
    const { config } = load({
      file: `
        server.trusted_proxies = ["10.0.0.0/8", "::1"]
        [auth]
        enabled = true
        jwt_secret = "0123456789abcdef0123456789abcdef"
        [database]
        url = 'postgresql://u:p@db:5432/app'
        max_conns = 1_00
        schemas = ["public", "Größe \\"x\\""]
        [logging]
        level = "trace"`,
    })
    expect(config.server.trusted_proxies).toEqual(['10.0.0.0/8', '::1'])
    expect(config.auth).toMatchObject({ enabled: true, jwt_secret: '0123456789abcdef0123456789abcdef' })
    expect(config.database).toMatchObject({
      url: 'postgresql://u:p@db:5432/app',
      max_conns: 100,
      schemas: ['public', 'Größe "x"'],
    })
    expect(config.logging.level).toBe('trace')
  })

  test('is read from the environment', () => {
    const { config } = load({
      env: {
        BASALT_SERVER_PORT: ' 9000 ',
        BASALT_SERVER_TRUSTED_PROXIES: '10.0.0.0/8, ::1',
        BASALT_AUTH_ENABLED: 'FALSE',
        BASALT_METRICS_ENABLED: '1',
        BASALT_LOGGING_FORMAT: 'json',
        BASALT_ADMIN_PASSWORD: 'päss = wörd, "quoted"',
        BASALT_DATABASE_SCHEMAS: 'public,crm',
      },
    })
    expect(config.server).toMatchObject({ port: 9000, trusted_proxies: ['10.0.0.0/8', '::1'] })
    expect([config.auth.enabled, config.metrics.enabled]).toEqual([false, true])
    expect(config.logging.format).toBe('json')
    expect(config.admin.password).toBe('päss = wörd, "quoted"')
    expect(config.database.schemas).toEqual(['public', 'crm'])
  })

  test('is an empty list for an empty text', () => {
    const { config } = load({ env: { BASALT_SERVER_CORS_ALLOWED_ORIGINS: '' } })
    expect(config.server.cors_allowed_origins).toEqual([])
  })

  test('has a variable and a flag of its own', () => {
    for (const { key, env, flag } of settings) {
      expect(env).toBe(`BASALT_${key.toUpperCase().replaceAll('.', '_')}`)
      expect(flag).toBe(`--${key.replaceAll(/[._]/g, '-')}`)
    }
    for (const name of ['env', 'flag'] as const) {
      expect(new Set(settings.map((setting) => setting[name])).size).toBe(settings.length)
    }
  })

  test('accepts its own default, and has a description of valid values', () => {
    for (const { key, flag, type, default: fallback, description, expects, secret } of settings) {
      const text =
        type === 'list' ? (fallback as string[]).join(',') : type === 'table' ? '{}' : String(fallback)
      expect(load({ flags: { [key]: text } }).sources.get(key)).toBe(`flag ${flag}`)
      expect([key, description.endsWith('.'), expects.length > 5]).toEqual([key, true, true])
      if (type === 'string') continue
      expect(fault({ flags: { [key]: '\0' } })).toContain(
        `${key} (flag ${flag}): ${secret ? 'the value' : '"\\u0000"'} is not ${expects}`,
      )
    }
  })
})

describe('secret in a file of its own', () => {
  const secret = '0123456789abcdef0123456789abcdef'

  test('is read without the line end', () => {
    writeFileSync(join(directory, 'jwt'), `${secret}\n`)
    const { config, sources } = load({ env: { BASALT_AUTH_JWT_SECRET_FILE: 'jwt' } })
    expect(config.auth.jwt_secret).toBe(secret)
    expect(sources.get('auth.jwt_secret')).toBe('environment BASALT_AUTH_JWT_SECRET_FILE')
  })

  const examples: Readonly<Record<string, string>> = {
    'auth.encryption_key': 'a'.repeat(64),
    'auth.previous_encryption_keys': `${'a'.repeat(64)},${'b'.repeat(64)}`,
    'ai.providers': '{"openai": {"api_key": "sk-1"}}',
    'auth.oidc': '{"acme": {"issuer_url": "https://login.example.com", "client_id": "a"}}',
    'logging.drains': '{"central": {"type": "http", "url": "https://logs.example.com"}}',
    'telemetry.otlp_headers': 'authorization=Bearer abc,x-tenant=shop',
  }
  test.each(settings.filter((setting) => setting.secret))('is possible for $key', ({ key, env }) => {
    const value = examples[key] ?? (key.startsWith('database') ? 'postgresql://u@h/d' : secret)
    writeFileSync(join(directory, 'secret'), value)
    const required = key === 'database.replica_urls' ? { BASALT_DATABASE_URL: 'postgresql://u@h/d' } : {}
    const env2 = { [`${env}_FILE`]: join(directory, 'secret'), BASALT_AUTH_ENABLED: 'false', ...required }
    expect(load({ env: env2 }).sources.get(key)).toBe(`environment ${env}_FILE`)
  })

  test('is rejected when the file is missing or useless, or the variable is set, too', () => {
    expect(fault({ env: { BASALT_AUTH_JWT_SECRET_FILE: 'missing' } })).toContain(
      'auth.jwt_secret (environment BASALT_AUTH_JWT_SECRET_FILE): cannot read the file: ENOENT',
    )
    writeFileSync(join(directory, 'short'), 'short-secret')
    const short = fault({ env: { BASALT_AUTH_JWT_SECRET_FILE: 'short' } })
    expect(short).toContain(
      'auth.jwt_secret (environment BASALT_AUTH_JWT_SECRET_FILE): the value is not at least',
    )
    expect(short).not.toContain('short-secret')
    writeFileSync(join(directory, 'jwt'), secret)
    expect(fault({ env: { BASALT_AUTH_JWT_SECRET_FILE: 'jwt', BASALT_AUTH_JWT_SECRET: secret } })).toBe(
      'invalid configuration: auth.jwt_secret (environment BASALT_AUTH_JWT_SECRET_FILE): ' +
        'BASALT_AUTH_JWT_SECRET is set too; which one counts?',
    )
  })

  test('is ignored for keys that are not secret', () => {
    expect(fault({ env: { BASALT_SERVER_PORT_FILE: '/dev/null' } })).toContain(
      'BASALT_SERVER_PORT_FILE (environment): unknown variable; did you mean BASALT_SERVER_PORT?',
    )
  })
})

describe('unknown name', () => {
  test.each([
    ['[server]\nprot = 1', 'server.prot (file basalt.toml): unknown key; did you mean server.port?'],
    ['[server]\nPort = 1', 'server.Port (file basalt.toml): unknown key; did you mean server.port?'],
    ['[sever]\nport = 1', 'sever.port (file basalt.toml): unknown key; did you mean server.port?'],
    ['[databases]', 'databases (file basalt.toml): unknown key'],
    ['port = 1', 'port (file basalt.toml): unknown key'],
    [
      '[auth.jwt]\nsecret = "x"',
      'auth.jwt.secret (file basalt.toml): unknown key; did you mean auth.jwt_secret?',
    ],
    ['[[server]]\nport = 1', 'server (file basalt.toml): unknown key'],
    [
      '[server]\ncompletely_different_thing = 1',
      'server.completely_different_thing (file basalt.toml): unknown key',
    ],
    ['[__proto__]\nport = 1', '__proto__.port (file basalt.toml): unknown key'],
    ['[server]\n"__proto__" = 1', 'server.__proto__ (file basalt.toml): unknown key'],
    ['[server]\nconstructor = 1', 'server.constructor (file basalt.toml): unknown key'],
  ])('is rejected in the file: %s', (file, message) => {
    expect(fault({ file })).toContain(`invalid configuration: ${message}`)
  })

  test('is rejected in the environment, unless it belongs to another program', () => {
    expect(fault({ env: { BASALT_SERVER_PROT: '1' } })).toBe(
      'invalid configuration: BASALT_SERVER_PROT (environment): unknown variable; did you mean BASALT_SERVER_PORT?',
    )
    expect(fault({ env: { BASALT_PORTS: '1' } })).toContain('BASALT_PORTS (environment): unknown variable')
    const others = {
      SERVER_PORT: '1',
      BASALTSERVER_PORT: '1',
      basalt_server_port: '1',
      BASALT_TEST_DATABASE_URL: 'x',
      BASALT_SERVICE_HOST: '10.0.0.1',
      BASALT_SERVICE_PORT: '8090',
      BASALT_SERVICE_PORT_HTTP: '8090',
      BASALT_PORT: 'tcp://10.0.0.1:8090',
      BASALT_PORT_8090_TCP: 'tcp://10.0.0.1:8090',
      BASALT_PORT_8090_TCP_PROTO: 'tcp',
      BASALT_PORT_8090_TCP_PORT: '8090',
      BASALT_PORT_8090_TCP_ADDR: '10.0.0.1',
    }
    expect(load({ env: others }).config.server.port).toBe(8090)
  })

  test('does not include an empty table of a known section', () => {
    expect(load({ file: '[server]\n[auth]\n' }).config.server.port).toBe(8090)
  })
})

describe('unusable value', () => {
  test('includes a time in the place of a table', () => {
    const problem = '"1979-05-27T07:32:00.000Z" is not'
    expect(fault({ file: '[usage]\nplans = 1979-05-27T07:32:00Z' })).toContain(problem)
  })

  const integers = 'is not an integer from 0 to 65535'
  test.each([
    ['server.port', '65536', `"65536" ${integers}`],
    ['server.port', '-1', `"-1" ${integers}`],
    ['server.port', '80.5', `"80.5" ${integers}`],
    ['server.port', '0x50', `"0x50" ${integers}`],
    ['server.port', '1e3', `"1e3" ${integers}`],
    ['server.port', '', `"" ${integers}`],
    ['server.port', '99999999999999999999', `"99999999999999999999" ${integers}`],
    ['auth.enabled', 'yes', '"yes" is not true or false'],
    ['logging.level', 'verbose', '"verbose" is not one of trace, debug, info, warn, error'],
    ['logging.level', 'info\nx', '"info\\nx" is not one of trace, debug, info, warn, error'],
    ['server.host', '', '"" is not an address or host name'],
    [
      'server.public_base_url',
      'api.example.com',
      '"api.example.com" is not an http or https URL without path',
    ],
    [
      'server.public_base_url',
      'https://a.example/path',
      '"https://a.example/path" is not an http or https URL',
    ],
    ['server.public_base_url', 'javascript:alert(1)', 'is not an http or https URL'],
    ['server.public_base_url', 'http://a.example:99999', '"http://a.example:99999" is not a URL'],
    ['server.public_base_url', 'http://user:pass@a.example', 'is not a URL'],
    ['server.trusted_proxies', 'all', '"all" is not a list of IP addresses or CIDR ranges'],
    ['server.trusted_proxies', '10.0.0.0/33', '"10.0.0.0/33" is not an IP address or CIDR range'],
    ['server.trusted_proxies', '10.0.0.256', '"10.0.0.256" is not an IP address or CIDR range'],
    ['server.trusted_proxies', '::1/129', '"::1/129" is not an IP address or CIDR range'],
    ['server.trusted_proxies', '10.0.0.1,beef', '"beef" is not an IP address or CIDR range'],
    ['server.cors_allowed_origins', 'a.example', 'is not a list of origins'],
    ['server.cors_allowed_origins', 'https://a.example/', 'is not a list of origins'],
    ['server.cors_allowed_origins', 'https://a:b@a.example', '"https://a:b@a.example" is not an origin'],
    ['server.cors_allowed_origins', 'https://*.a.example:x', '"https://*.a.example:x" is not an origin'],
    ['database.schemas', '', '"" is not a list of schema names, at least one'],
    ['database.schemas', 'public,', '"public," is not a list of schema names, at least one'],
    ['database.schemas', 'public,basalt', '"basalt" is a system schema and cannot be served'],
    ['database.schemas', 'pg_catalog', '"pg_catalog" is a system schema and cannot be served'],
    [
      'database.schemas',
      'information_schema',
      '"information_schema" is a system schema and cannot be served',
    ],
    ['database.embedded_port', '8090', '8090 is server.port: choose another one'],
    [
      'database.replica_urls',
      'postgresql://u@h/d',
      'the embedded PostgreSQL has no replicas: set database.url',
    ],
    ['database.replica_urls', 'db2.internal', 'the value is not a list of URLs such as postgresql://'],
    ['database.replica_max_lag_ms', '999', '"999" is not an integer from 1000 to 3600000'],
    ['server.header_timeout', '31', '31 is more than server.request_timeout, 30'],
  ])('%s = "%s" is rejected with key, source and expectation', (key, value, problem) => {
    const flag = `--${key.replaceAll(/[._]/g, '-')}`
    const message = fault({ flags: { [key]: value } })
    expect(message).toContain(`invalid configuration: ${key} (flag ${flag}): `)
    expect(message).toContain(problem)
  })

  test.each([
    ['port = true', 'true is not an integer'],
    ['port = 80.5', '80.5 is not an integer'],
    ['port = [80]', '[80] is not an integer'],
    ['port = 1979-05-27', '"1979-05-27" is not an integer'],
    ['port = inf', 'null is not an integer'],
    ['host = 5', '5 is not an address'],
    ['host = ["a"]', '["a"] is not an address'],
    ['host = { name = "a" }', '{"name":"a"} is not an address'],
    ['insecure_open = 1', '1 is not true or false'],
    ['trusted_proxies = [1]', '[1] is not a list'],
    ['trusted_proxies = [["10.0.0.1"]]', '[["10.0.0.1"]] is not a list'],
  ])('is rejected in the file when it has another type: %s', (line, problem) => {
    expect(fault({ file: `[server]\n${line}\n` })).toContain(problem)
  })

  test.each([
    ['auth.jwt_secret', 'hunter2-is-not-32-characters'],
    ['admin.password', 'hunter2'],
    ['metrics.token', 'hunter2 hunter2 hunter2'],
    ['database.url', 'mysql://root:hunter2@db/app'],
    ['database.url', 'postgresql://root:hunter2@db:port/app'],
    ['database.url', 'postgresql://root:hunter2@a:port,b/app'],
    ['database.gateway_url', 'postgresql://root:hunter2@a,b/app?target_session_attrs=standby'],
    ['database.listen_url', 'hunter2'],
  ])('is not shown for the secret %s', (key, value) => {
    const message = fault({ flags: { [key]: value, 'auth.enabled': 'false' } })
    expect(message).toContain(`${key} (flag`)
    expect(message).not.toContain('hunter2')
  })
})

describe('rules over several keys', () => {
  test('require the client of an enabled sign-in provider', () => {
    const google = fault({ flags: { 'auth.oauth.google.enabled': 'true' } })
    expect(google).toContain(
      'auth.oauth.google.client_id (default): required with auth.oauth.google.enabled = true',
    )
    expect(google).toContain('auth.oauth.google.client_secret (default): required')
    const apple = fault({ flags: { 'auth.oauth.apple.enabled': 'true' } })
    for (const key of ['client_id', 'team_id', 'key_id', 'private_key']) {
      expect(apple).toContain(`auth.oauth.apple.${key} (default): required`)
    }
    expect(apple).not.toContain('client_secret')
  })

  test('require of an OpenID provider a name of its own, and an issuer that cannot be eavesdropped on', () => {
    const acme = (issuer: string, name = 'acme') =>
      ({
        flags: { 'auth.oidc': JSON.stringify({ [name]: { issuer_url: issuer, client_id: 'a' } }) },
      }) as const
    expect(load(acme('https://login.example.com/realms/a')).config.auth.oidc.acme?.client_id).toBe('a')
    expect(load(acme('http://localhost:8080')).config.auth.oidc.acme?.client_id).toBe('a')
    for (const issuer of ['http://login.example.com', 'http://localhost.example.com', 'login.example.com']) {
      expect(fault(acme(issuer))).toContain('auth.oidc')
    }
    expect(fault(acme('https://login.example.com', 'google'))).toContain('"google" is a built-in provider')
  })

  test('require a complete provider of administrators, and one way to sign in', () => {
    const issuer = 'https://login.example.com/realms/a'
    const flags = { 'admin.oidc.issuer': issuer, 'admin.oidc.client_id': 'basalt' }
    const roles = '{"platform team": "developer", "Chiefs": "owner"}'
    const loaded = load({ flags: { ...flags, 'admin.oidc.roles': roles, 'admin.password_sign_in': 'false' } })
    expect(loaded.config.admin.oidc.roles).toEqual({ 'platform team': 'developer', Chiefs: 'owner' })
    for (const [more, problem] of [
      [{ 'admin.oidc.issuer': '', 'admin.password_sign_in': 'false' }, 'false requires admin.oidc.issuer'],
      [{ 'admin.oidc.issuer': 'http://login.example.com' }, 'an https URL, or http on the same machine'],
      [{ 'admin.oidc.client_id': '' }, 'admin.oidc.client_id (flag --admin-oidc-client-id): required'],
      [{ 'admin.oidc.scopes': 'email' }, 'expected the scope openid among them'],
      [{ 'admin.oidc.roles': '{"x": "root"}' }, 'admin.oidc.roles'],
      [{ 'admin.oidc.default_role': 'root' }, 'admin.oidc.default_role'],
      [{ 'admin.enabled': 'false' }, 'requires admin.enabled = true'],
    ] as const) {
      expect(fault({ flags: { ...flags, ...more } })).toContain(problem)
    }
  })

  test('require a URL as the return address', () => {
    expect(fault({ flags: { 'auth.oauth_redirect_url': 'https://:80' } })).toContain(
      '"https://:80" is not a URL',
    )
  })

  test('require the token secret with an external database', () => {
    const flags = { 'database.url': 'postgresql://u@h/d' }
    expect(fault({ flags })).toBe(
      'invalid configuration: auth.jwt_secret (default): required with database.url: at least 32 random characters',
    )
    expect(load({ flags: { ...flags, 'auth.enabled': 'false' } }).config.auth.jwt_secret).toBe('')
    expect(load({ flags: { ...flags, 'auth.jwt_secret': 'x'.repeat(32) } }).config.database.url).not.toBe('')
  })

  test('ignore a key whose value is unusable in itself', () => {
    expect(fault({ flags: { 'database.url': 'postgresql://u@h/d', 'auth.jwt_secret': 'short' } })).toBe(
      'invalid configuration: auth.jwt_secret (flag --auth-jwt-secret): the value is not at least 32 characters',
    )
  })

  test.each([
    'postgresql://user:p%40ss@db.example.com:5432/app?sslmode=verify-full',
    'postgres://user@/app?host=/var/run/postgresql',
    'postgresql:///app',
    'postgresql://[::1]:5432/app',
    'postgresql://user:p%2Cs@a:5432,[::1],c/app?target_session_attrs=read-write',
  ])('accept %s as a database', (url) => {
    expect(load({ flags: { 'database.url': url, 'auth.enabled': 'false' } }).config.database.url).toBe(url)
  })

  test.each(['127.0.0.1', '127.9.9.9', 'localhost', 'LOCALHOST', '::1', '[::1]'])(
    'permit open data on %s',
    (host) => {
      expect(load({ flags: { 'auth.enabled': 'false', 'server.host': host } }).config.auth.enabled).toBe(
        false,
      )
    },
  )

  test.each([
    '0.0.0.0',
    '::',
    '192.168.1.5',
    'example.com',
    '127.0.0.1.example.com',
    '127.1',
    'localhost.example',
  ])('reject open data on %s without an explicit permission', (host) => {
    const flags = { 'auth.enabled': 'false', 'server.host': host }
    expect(fault({ flags })).toBe(
      'invalid configuration: auth.enabled (flag --auth-enabled): ' +
        `false opens the data to everyone who reaches ${host}; ` +
        'listen on 127.0.0.1 or set server.insecure_open = true',
    )
    expect(load({ flags: { ...flags, 'server.insecure_open': 'true' } }).config.server.host).toBe(host)
  })
})

test('configuration faults › are reported all at once, of every source and kind', () => {
  const message = fault({
    file: '[server]\nprot = 1\nbody_limit = "big"\nhost = "0.0.0.0"\n',
    env: { BASALT_LOGGING_LEVEL: 'loud', BASALT_TYPO: 'x', BASALT_DATABASE_SCHEMAS: 'basalt' },
    flags: { 'server.port': 'x', 'auth.enabled': 'false', 'auth.jwt_secret': 'short' },
  })
  expect(message.split('\n')).toEqual([
    'invalid configuration',
    '  server.prot (file basalt.toml): unknown key; did you mean server.port?',
    '  BASALT_TYPO (environment): unknown variable',
    '  server.port (flag --server-port): "x" is not an integer from 0 to 65535',
    '  server.body_limit (file basalt.toml): "big" is not an integer from 1024 to 268435456',
    '  auth.jwt_secret (flag --auth-jwt-secret): the value is not at least 32 characters',
    '  logging.level (environment BASALT_LOGGING_LEVEL): "loud" is not one of trace, debug, info, warn, error',
    expect.stringContaining('  auth.enabled (flag --auth-enabled): false opens the data'),
    '  database.schemas (environment BASALT_DATABASE_SCHEMAS): "basalt" is a system schema and cannot be served',
  ])
})

describe('configuration file', () => {
  test('may be another one, which then must exist', () => {
    writeFileSync(join(directory, 'other.toml'), '[server]\nport = 1234\n')
    expect(load({}, { file: 'other.toml' }).config.server.port).toBe(1234)
    expect(load({ env: { BASALT_CONFIG: 'other.toml' } }).sources.get('server.port')).toBe('file other.toml')
    expect(load({ env: { BASALT_CONFIG: '' } }).config.server.port).toBe(8090)
    expect(fault({}, { file: 'missing.toml' })).toMatch(
      /^cannot read the configuration file missing.toml: ENOENT/,
    )
    expect(fault({ env: { BASALT_CONFIG: 'missing.toml' } })).toMatch(/^cannot read the configuration file/)
    expect(load({ env: { BASALT_CONFIG: 'missing.toml' } }, { file: 'other.toml' }).config.server.port).toBe(
      1234,
    )
  })

  test('is rejected in one line when it is a directory', () => {
    mkdirSync(join(directory, 'basalt.toml'))
    expect(fault({})).toMatch(/^cannot read the configuration file basalt.toml: EISDIR[^\n]*$/)
  })

  test.each([
    ['[server', 1],
    ['[server]\nport =', 2],
    ['[server]\nport = 1\nport = 2', 3],
    ['[server]\n[server]', 2],
    ['port: 8090', 1],
    ['{"server": {"port": 1}}', 1],
    ['[auth]\njwt_secret = "hunter2', 2],
    ['[auth]\njwt_secret = hunter2', 2],
    ['a = "\\q"', 1],
    ['\0', 1],
  ])(
    'is rejected when it is not TOML, in one line with the number of its line and without its content: %j',
    (file, line) => {
      const message = fault({ file })
      expect(message).toMatch(new RegExp(`^basalt\\.toml, line ${line}: [^\n]+$`))
      expect(message).not.toContain('hunter2')
    },
  )

  test('may be empty, contain comments and begin with a byte order mark', () => {
    for (const file of ['', '# nothing\n', '\ufeff[server]\nport = 8090\n']) {
      expect(load({ file }).config.server.port).toBe(8090)
    }
  })
})

test('configuration › resolves paths from the directory, and removes the trailing slash of a URL', () => {
  const { config } = load({
    flags: { 'server.data_dir': 'data/here', 'server.public_base_url': 'https://a.example/' },
  })
  expect(config.server.data_dir).toBe(join(directory, 'data', 'here'))
  expect(config.server.public_base_url).toBe('https://a.example')
  expect(load({ flags: { 'server.data_dir': '/var/lib/basalt' } }).config.server.data_dir).toBe(
    '/var/lib/basalt',
  )
})

test('configuration › rejects a provider of a content delivery network without its keys', () => {
  const flags = (provider: string) => ({ 'storage.cdn.provider': provider })
  expect(fault({ flags: flags('cloudflare') })).toContain('storage.cdn.cloudflare.api_token')
  for (const key of ['distribution_id', 'access_key_id', 'secret_access_key']) {
    expect(fault({ flags: flags('cloudfront') })).toContain(`storage.cdn.cloudfront.${key}`)
  }
  expect(fault({ flags: flags('webhook') })).toContain('required with storage.cdn.provider = "webhook"')
})

test('configuration › rejects S3 without its keys, and an endpoint with a path', () => {
  const s3 = { 'storage.backend': 's3' }
  for (const key of ['s3_bucket', 's3_access_key', 's3_secret_key']) {
    expect(fault({ flags: s3 })).toContain(`storage.${key}`)
  }
  for (const endpoint of ['https://s3.example/bucket', 'user:pass@s3.example', 's3.example?x=1']) {
    expect(fault({ flags: { ...s3, 'storage.s3_endpoint': endpoint } })).toContain('storage.s3_endpoint')
  }
})

test('deploy/nginx.conf › permits the largest body that each limit permits by default', () => {
  const { config } = load()
  const path = join(import.meta.dirname, '../../../deploy/nginx.conf')
  const [, mebibytes] = /client_max_body_size (\d+)m;/.exec(readFileSync(path, 'utf8')) ?? []
  const { server, api, storage, sites } = config
  const largest = Math.max(
    server.body_limit,
    api.import_max_size_mb * 2 ** 20,
    storage.max_file_size,
    sites.max_file_size,
  )
  // A form around a file adds a little.
  expect(Number(mebibytes) * 2 ** 20).toBeGreaterThan(largest)
})
