import { databaseConfig } from '../database/config.ts'
import { apiConfig } from '../features/data/collections/config.ts'
import { aiConfig } from '../features/data/embedding-provider/config.ts'
import { matviewsConfig } from '../features/data/matviews/config.ts'
import { searchConfig } from '../features/data/search/config.ts'
import { embeddingsConfig } from '../features/events/embeddings/config.ts'
import { jobsConfig } from '../features/events/jobs/config.ts'
import { eventsConfig } from '../features/events/outbox/config.ts'
import { realtimeConfig } from '../features/events/realtime/config.ts'
import { webhooksConfig } from '../features/events/webhooks/config.ts'
import { cdnConfig } from '../features/files/cdn/config.ts'
import { sitesConfig } from '../features/files/sites/config.ts'
import { storageKeys } from '../features/files/storage/config.ts'
import { accountKeys } from '../features/identity/accounts/config.ts'
import { mfaKeys } from '../features/identity/mfa/config.ts'
import { oauthServerKeys } from '../features/identity/oauth-server/config.ts'
import { passkeyKeys } from '../features/identity/passkeys/config.ts'
import { socialLoginKeys } from '../features/identity/social-login/config.ts'
import { emailConfig } from '../features/messaging/mail/config.ts'
import { pushConfig } from '../features/messaging/push/config.ts'
import { smsConfig, smsKeys } from '../features/messaging/sms/config.ts'
import { supportConfig } from '../features/messaging/support/config.ts'
import { adminConfig } from '../features/operations/admin/config.ts'
import { auditConfig } from '../features/operations/audit/config.ts'
import { billingConfig } from '../features/operations/billing/config.ts'
import { metricsConfig } from '../features/operations/metrics/config.ts'
import { telemetryConfig } from '../features/operations/telemetry/config.ts'
import { usageConfig } from '../features/operations/usage/config.ts'
import { serverConfig } from '../http/config.ts'
import { type Static, type TSchema, Type } from '../lib/type.ts'
import { projectConfig } from '../project/config.ts'
import { loggingConfig } from './logging.ts'

/**
 * Every configuration key, once: type, default, description, what is expected, whether it is secret. Each part of the
 * server declares its own in its `config.ts`. The loader, the command line's flags, `basalt config` and
 * docs/generated/configuration.md all read this.
 */
const configSchema = Type.Object({
  server: serverConfig,
  database: databaseConfig,
  auth: Type.Object({
    ...accountKeys,
    ...mfaKeys,
    ...passkeyKeys,
    ...oauthServerKeys,
    ...smsKeys,
    ...socialLoginKeys,
  }),
  api: apiConfig,
  email: emailConfig,
  sms: smsConfig,
  push: pushConfig,
  support: supportConfig,
  storage: Type.Object({ ...storageKeys, cdn: cdnConfig }),
  sites: sitesConfig,
  jobs: jobsConfig,
  webhooks: webhooksConfig,
  events: eventsConfig,
  realtime: realtimeConfig,
  search: searchConfig,
  matviews: matviewsConfig,
  ai: aiConfig,
  embeddings: embeddingsConfig,
  admin: adminConfig,
  logging: loggingConfig,
  usage: usageConfig,
  billing: billingConfig,
  audit: auditConfig,
  telemetry: telemetryConfig,
  metrics: metricsConfig,
  project: projectConfig,
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
  // Every leaf was made by one of the helpers in keys.ts, which set these annotations.
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
