import { resolve } from 'node:path'
import { type ConfigInput, type Loaded, loadConfig as load } from './config/load.ts'
import { loggingConfig } from './config/logging.ts'
import { describeSettings } from './config/reference.ts'
import type { ConfigRule } from './config/rule.ts'
import { listSettings, type Setting } from './config/settings.ts'
import { databaseConfig, databaseRules } from './database/config.ts'
import { apiConfig } from './features/data/collections/config.ts'
import { aiConfig } from './features/data/embedding-provider/config.ts'
import { graphqlConfig } from './features/data/graphql/config.ts'
import { matviewsConfig } from './features/data/matviews/config.ts'
import { searchConfig } from './features/data/search/config.ts'
import { embeddingsConfig } from './features/events/embeddings/config.ts'
import { jobsConfig } from './features/events/jobs/config.ts'
import { eventsConfig } from './features/events/outbox/config.ts'
import { realtimeConfig } from './features/events/realtime/config.ts'
import { webhooksConfig } from './features/events/webhooks/config.ts'
import { cdnConfig, cdnRules } from './features/files/cdn/config.ts'
import { sitesConfig } from './features/files/sites/config.ts'
import { storageKeys, storageRules } from './features/files/storage/config.ts'
import { functionsConfig } from './features/functions/runtime/config.ts'
import { accountKeys, accountRules } from './features/identity/accounts/config.ts'
import { limitsConfig } from './features/identity/apps/config.ts'
import { captchaKeys, captchaRules } from './features/identity/captcha/config.ts'
import { mfaKeys } from './features/identity/mfa/config.ts'
import { oauthServerKeys } from './features/identity/oauth-server/config.ts'
import { passkeyKeys } from './features/identity/passkeys/config.ts'
import { socialLoginKeys, socialLoginRules } from './features/identity/social-login/config.ts'
import { emailConfig, emailRules } from './features/messaging/mail/config.ts'
import { pushConfig } from './features/messaging/push/config.ts'
import { smsConfig, smsKeys, smsRules } from './features/messaging/sms/config.ts'
import { supportConfig } from './features/messaging/support/config.ts'
import { adminConfig, adminRules } from './features/operations/admin/config.ts'
import { auditConfig } from './features/operations/audit/config.ts'
import { billingConfig } from './features/operations/billing/config.ts'
import { docsConfig } from './features/operations/documentation/config.ts'
import { metricsConfig } from './features/operations/metrics/config.ts'
import { telemetryConfig } from './features/operations/telemetry/config.ts'
import { usageConfig } from './features/operations/usage/config.ts'
import { serverConfig, serverRules } from './http/config.ts'
import { type Static, Type } from './lib/type.ts'
import { projectConfig } from './project/config.ts'

/**
 * Schema of every configuration key: type, default, description, expected values, secrecy. Each part of the
 * server declares its own keys in its `config.ts`. The loader, the command line flags, `basalt config` and
 * docs/generated/configuration.md read this schema.
 */
const configSchema = Type.Object({
  server: serverConfig,
  database: databaseConfig,
  auth: Type.Object({
    ...accountKeys,
    ...captchaKeys,
    ...mfaKeys,
    ...passkeyKeys,
    ...oauthServerKeys,
    ...smsKeys,
    ...socialLoginKeys,
  }),
  limits: limitsConfig,
  api: apiConfig,
  graphql: graphqlConfig,
  email: emailConfig,
  sms: smsConfig,
  push: pushConfig,
  support: supportConfig,
  storage: Type.Object({ ...storageKeys, cdn: cdnConfig }),
  sites: sitesConfig,
  functions: functionsConfig,
  jobs: jobsConfig,
  webhooks: webhooksConfig,
  events: eventsConfig,
  realtime: realtimeConfig,
  search: searchConfig,
  matviews: matviewsConfig,
  ai: aiConfig,
  embeddings: embeddingsConfig,
  admin: adminConfig,
  docs: docsConfig,
  logging: loggingConfig,
  usage: usageConfig,
  billing: billingConfig,
  audit: auditConfig,
  telemetry: telemetryConfig,
  metrics: metricsConfig,
  project: projectConfig,
})

export type Config = Static<typeof configSchema>

/** Configuration with the source of each value. */
export type LoadedConfig = Loaded<Config>

/** Keys in the order of the schema. */
export const settings: readonly Setting[] = listSettings(configSchema)

const rules: readonly ConfigRule<Config>[] = [
  ...serverRules,
  ...adminRules,
  ...accountRules,
  ...captchaRules,
  ...databaseRules,
  ...smsRules,
  ...emailRules,
  ...storageRules,
  ...cdnRules,
  ...socialLoginRules,
]

/** Returns the configuration reference as Markdown. */
export function describeConfiguration(): string {
  return describeSettings(settings)
}

/**
 * Merges defaults, file, environment and flags, in rising precedence.
 *
 * @throws OperatorError that lists every fault as `key (source): problem`
 */
export function loadConfig(input: ConfigInput): LoadedConfig {
  return load({ settings, rules, normalize }, input)
}

/** Makes paths absolute, and removes a trailing slash from the public URL. */
function normalize({ server, project, functions }: Config, directory: string): void {
  server.data_dir = resolve(directory, server.data_dir)
  functions.folder = resolve(directory, functions.folder)
  for (const name of ['migrations', 'current', 'seed', 'policies'] as const) {
    project[name] = resolve(directory, project[name])
  }
  if (project.types !== '') project.types = resolve(directory, project.types)
  server.public_base_url = server.public_base_url.replace(/\/$/, '')
}
