import { databaseErrorTable } from './database/errors/errors.ts'
import { advisorErrorTable } from './features/data/advisors/index.ts'
import { collectionErrorTable, importErrorTable } from './features/data/collections/index.ts'
import { embeddingErrorTable } from './features/data/embedding-provider/index.ts'
import { graphqlErrorTable } from './features/data/graphql/index.ts'
import { idempotencyErrorTable } from './features/data/idempotency/index.ts'
import { matviewErrorTable } from './features/data/matviews/index.ts'
import { accessErrorTable } from './features/data/policies/index.ts'
import { procedureErrorTable } from './features/data/procedures/index.ts'
import { searchErrorTable } from './features/data/search/index.ts'
import { sqlRunnerErrorTable } from './features/data/sql-runner/index.ts'
import { vectorIndexErrorTable } from './features/data/vector-indexes/index.ts'
import { automaticEmbeddingErrorTable } from './features/events/embeddings/index.ts'
import { jobErrorTable } from './features/events/jobs/index.ts'
import { realtimeErrorTable } from './features/events/realtime/index.ts'
import { scheduleErrorTable } from './features/events/schedules/index.ts'
import { timelineErrorTable } from './features/events/timeline/index.ts'
import { webhookErrorTable } from './features/events/webhooks/index.ts'
import { cdnErrorTable } from './features/files/cdn/index.ts'
import { siteErrorTable } from './features/files/sites/index.ts'
import { storageErrorTable } from './features/files/storage/index.ts'
import { deployErrorTable } from './features/functions/deploys/index.ts'
import { inspectionErrorTable } from './features/functions/inspection/index.ts'
import { runtimeErrorTable } from './features/functions/runtime/index.ts'
import { secretErrorTable } from './features/functions/secrets/index.ts'
import { accountErrorTable } from './features/identity/accounts/index.ts'
import { apiKeyErrorTable } from './features/identity/api-keys/index.ts'
import { appErrorTable } from './features/identity/apps/index.ts'
import { authSettingsErrorTable } from './features/identity/auth-settings/index.ts'
import { captchaErrorTable } from './features/identity/captcha/index.ts'
import { companySignInErrorTable } from './features/identity/company-sign-in/index.ts'
import { mfaErrorTable } from './features/identity/mfa/index.ts'
import { oauthServerErrorTable } from './features/identity/oauth-server/index.ts'
import { passkeyErrorTable } from './features/identity/passkeys/index.ts'
import { passwordErrorTable } from './features/identity/passwords/index.ts'
import { socialLoginErrorTable } from './features/identity/social-login/index.ts'
import { mailErrorTable } from './features/messaging/mail/index.ts'
import { pushErrorTable } from './features/messaging/push/index.ts'
import { smsErrorTable } from './features/messaging/sms/index.ts'
import { supportErrorTable } from './features/messaging/support/index.ts'
import { adminErrorTable } from './features/operations/admin/index.ts'
import { billingErrorTable } from './features/operations/billing/index.ts'
import { logErrorTable } from './features/operations/logs/index.ts'
import type { ReferencedError } from './features/operations/reference/index.ts'
import { usageErrorTable } from './features/operations/usage/index.ts'
import { httpErrorTable } from './http/errors/errors.ts'
import { type ErrorSpec, type ErrorTable, errorKind } from './lib/errors.ts'
import { structureErrorTable } from './project/structure/errors.ts'

const tables: Readonly<Record<string, ErrorTable>> = {
  HTTP: httpErrorTable,
  Database: databaseErrorTable,
  Advisors: advisorErrorTable,
  Collections: collectionErrorTable,
  Import: importErrorTable,
  'Idempotency keys': idempotencyErrorTable,
  Embeddings: embeddingErrorTable,
  GraphQL: graphqlErrorTable,
  Procedures: procedureErrorTable,
  Structure: structureErrorTable,
  SQL: sqlRunnerErrorTable,
  Administration: adminErrorTable,
  'Sign-in of administrators': companySignInErrorTable,
  Usage: usageErrorTable,
  Billing: billingErrorTable,
  Log: logErrorTable,
  Access: accessErrorTable,
  Accounts: accountErrorTable,
  'Second factors': mfaErrorTable,
  Passkeys: passkeyErrorTable,
  Passwords: passwordErrorTable,
  'Sign-in providers': socialLoginErrorTable,
  'Auth settings': authSettingsErrorTable,
  Captchas: captchaErrorTable,
  Apps: appErrorTable,
  'API keys': apiKeyErrorTable,
  'OAuth server': oauthServerErrorTable,
  Mail: mailErrorTable,
  Push: pushErrorTable,
  'Text messages': smsErrorTable,
  Support: supportErrorTable,
  Realtime: realtimeErrorTable,
  Events: timelineErrorTable,
  Webhooks: webhookErrorTable,
  Jobs: jobErrorTable,
  Schedules: scheduleErrorTable,
  'Materialized views': matviewErrorTable,
  'Vector indexes': vectorIndexErrorTable,
  'Automatic embeddings': automaticEmbeddingErrorTable,
  Search: searchErrorTable,
  'CDN purge': cdnErrorTable,
  Sites: siteErrorTable,
  'Deploys of functions': deployErrorTable,
  'Secrets of functions': secretErrorTable,
  Functions: runtimeErrorTable,
  'Inspection of functions': inspectionErrorTable,
  Storage: storageErrorTable,
}

/** Lists every error of the API, by area. */
export function listErrors(): readonly ReferencedError[] {
  return Object.entries(tables).flatMap(([area, table]) =>
    Object.entries(table).map(([key, spec]) => ({
      area,
      kind: errorKind(key),
      status: spec.status,
      message: describeMessage(spec),
      help: spec.help,
    })),
  )
}

function describeMessage({ message }: ErrorSpec): string {
  if (typeof message === 'string') return message
  const placeholders = Array.from({ length: message.length }, () => '…')
  // A message prints its parameters, which are texts and numbers, and uses them for nothing else.
  return (message as (...values: string[]) => string)(...placeholders)
}
