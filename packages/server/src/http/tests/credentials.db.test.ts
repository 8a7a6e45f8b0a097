import { afterAll, beforeAll, expect, test } from 'vitest'
import { createApiKey } from '../../../test/api-keys.ts'
import { alice, notes } from '../../../test/fixtures.ts'
import { forgeJwt } from '../../../test/jwt.ts'
import { createClient, createOAuthApp, obtainTokens, requestToken } from '../../../test/oauth.ts'
import { examplePath, listRoutes, type ServedRoute } from '../../../test/routes.ts'
import { type TestApp, userToken } from '../../../test/test-app.ts'

/**
 * Routes by the access that they require. A new route is missing here, and adding its row decides its access.
 */
const rows = {
  public: {
    '/': 'GET',
    '/.well-known/oauth-authorization-server': 'GET',
    '/.well-known/oauth-protected-resource': 'GET',
    '/_sites': 'GET',
    '/admin': 'GET',
    '/admin/*': 'GET',
    '/api/admin/auth': 'POST',
    '/api/admin/auth/forgot': 'POST',
    '/api/admin/auth/methods': 'GET',
    '/api/admin/auth/oidc': 'POST',
    '/api/admin/auth/oidc/callback': 'GET',
    '/api/admin/auth/passkey': 'POST',
    '/api/admin/auth/password': 'POST',
    '/api/admin/session': 'POST',
    '/api/admin/status': 'GET',
    '/api/auth/anonymous': 'POST',
    '/api/auth/captcha': 'GET',
    '/api/auth/clients': 'POST',
    '/api/auth/introspect': 'POST',
    '/api/auth/login': 'POST',
    '/api/auth/logout': 'POST',
    '/api/auth/magic-link': 'POST',
    '/api/auth/oauth/:provider': 'GET',
    '/api/auth/oauth/:provider/callback': 'GET POST',
    '/api/auth/password-reset': 'POST',
    '/api/auth/password-reset/confirm': 'POST',
    '/api/auth/refresh': 'POST',
    '/api/auth/register': 'POST',
    '/api/auth/revoke': 'POST',
    '/api/auth/sms': 'POST',
    '/api/auth/sms/confirm': 'POST',
    '/api/auth/token': 'POST',
    '/api/auth/verify': 'POST',
    '/api/auth/webauthn/login/begin': 'POST',
    '/api/auth/webauthn/login/discover/begin': 'POST',
    '/api/auth/webauthn/login/discover/finish': 'POST',
    '/api/auth/webauthn/login/finish': 'POST',
    '/api/docs': 'GET',
    '/api/docs/assets/api-page.css': 'GET',
    '/api/docs/assets/swagger-ui-bundle.js': 'GET',
    '/api/docs/assets/swagger-ui.css': 'GET',
    '/api/docs/errors': 'GET',
    '/api/docs/graphql': 'GET',
    '/api/docs/graphql/assets/:name': 'GET',
    '/api/docs/guides': 'GET',
    '/api/docs/guides/:name': 'GET',
    '/api/docs/guides/images/:name': 'GET',
    '/api/realtime/ws': 'GET',
    '/api/sites/tls-check': 'GET',
    '/api/functions/inbound/:name': 'POST',
    '/api/webhooks/billing': 'POST',
    '/api/webhooks/sms/status': 'POST',
    '/api/webhooks/support/email': 'POST',
    '/auth/magic-link': 'GET POST',
    '/auth/reset-password': 'GET POST',
    '/auth/verify': 'GET POST',
    '/docs': 'GET',
    '/docs/*': 'GET',
    '/favicon.ico': 'GET',
    '/favicon.svg': 'GET',
    '/health': 'GET',
    '/metrics': 'GET',
    '/oauth/authorize': 'GET POST',
    '/oauth/authorize/:provider': 'GET',
  },
  document: {
    '/api/openapi.json': 'GET',
    '/api/openapi.yaml': 'GET',
  },
  link: {
    '/api/auth/magic-link/confirm': 'POST',
  },
  read: {
    '/api/collections/:table': 'GET',
    '/api/collections/:table/:id': 'GET',
    '/api/collections/:table/export.csv': 'GET',
    '/api/collections/:table/export.json': 'GET',
    '/api/collections/:table/export.ndjson': 'GET',
    '/api/collections/:table/facets/:column/search': 'GET',
    '/api/collections/:table/aggregate': 'POST',
    '/api/collections/:table/query': 'POST',
    '/api/collections/:table/imports/:id': 'GET',
    '/api/graphql': 'GET POST',
    '/api/schema': 'GET',
    '/api/usage': 'GET',
    '/api/usage/limits': 'GET',
  },
  write: {
    '/api/batch': 'POST',
    '/api/collections/:table': 'POST PATCH DELETE',
    '/api/collections/:table/:id': 'PATCH DELETE',
    '/api/collections/:table/batch': 'POST',
    '/api/collections/:table/import': 'POST',
    '/api/collections/:table/imports/:id': 'DELETE',
    '/api/storage/upload/resumable': 'POST',
    '/api/storage/upload/resumable/:id': 'PATCH DELETE POST',
  },
  procedure: {
    '/api/rpc/:procedure': 'POST',
  },
  'procedure that reads': {
    '/api/rpc/:procedure': 'GET',
  },
  function: {
    '/api/functions/*': 'GET POST PUT PATCH DELETE',
    '/functions/v1/:name': 'GET POST PUT PATCH DELETE',
  },
  'action of a program': {
    '/api/email/send': 'POST',
    '/api/messaging/sms/send': 'POST',
    '/api/push/send': 'POST',
  },
  stream: {
    '/api/realtime': 'GET',
  },
  'storage that reads': {
    '/api/storage/:bucket': 'GET',
    '/api/storage/:bucket/*': 'GET',
  },
  storage: {
    '/api/storage/:bucket': 'POST',
    '/api/storage/:bucket/*': 'POST PUT DELETE',
  },
  account: {
    '/api/auth/api-keys': 'GET POST',
    '/api/auth/api-keys/:id': 'PATCH DELETE',
    '/api/auth/api-keys/:id/rotate': 'POST',
    '/api/auth/authorize': 'GET',
    '/api/auth/authorize/consent': 'POST',
    '/api/auth/change-password': 'POST',
    '/api/auth/grants': 'GET',
    '/api/auth/grants/:id': 'DELETE',
    '/api/auth/identities': 'GET',
    '/api/auth/link/email': 'POST',
    '/api/auth/link/oauth': 'POST DELETE',
    '/api/auth/link/oauth/begin': 'POST',
    '/api/auth/me': 'GET DELETE',
    '/api/auth/mfa/backup/count': 'GET',
    '/api/auth/mfa/email/enroll': 'POST',
    '/api/auth/mfa/email/enroll/confirm': 'POST',
    '/api/auth/mfa/sms/enroll': 'POST',
    '/api/auth/mfa/sms/enroll/confirm': 'POST',
    '/api/auth/mfa/totp/enroll': 'POST',
    '/api/auth/mfa/totp/enroll/confirm': 'POST',
    '/api/auth/mfa/webauthn': 'DELETE',
    '/api/auth/mfa/webauthn/credentials': 'GET',
    '/api/auth/mfa/webauthn/credentials/:credential_id': 'PATCH DELETE',
    '/api/auth/mfa/webauthn/enroll': 'POST',
    '/api/auth/mfa/webauthn/enroll/confirm': 'POST',
    '/api/auth/sessions': 'GET DELETE',
    '/api/auth/sessions/:id': 'DELETE',
    '/api/auth/verify/resend': 'POST',
    '/api/messaging/sms/messages': 'GET',
    '/api/messaging/sms/messages/:id': 'GET',
    '/api/push/devices': 'GET POST',
    '/api/push/devices/:id': 'DELETE',
    '/api/push/web-push-key': 'GET',
    '/api/support/tickets': 'GET POST',
    '/api/support/tickets/:id': 'GET',
    '/api/support/tickets/:id/messages': 'POST',
  },
  aal2: {
    '/api/auth/mfa/factors/:id': 'GET DELETE',
    '/api/auth/mfa/backup/generate': 'POST',
    '/api/auth/mfa/backup/regenerate': 'POST',
  },
  'second factor': {
    '/api/auth/mfa/backup/verify': 'POST',
    '/api/auth/mfa/email/challenge': 'POST',
    '/api/auth/mfa/email/verify': 'POST',
    '/api/auth/mfa/sms/challenge': 'POST',
    '/api/auth/mfa/sms/verify': 'POST',
    '/api/auth/mfa/totp/challenge': 'POST',
    '/api/auth/mfa/totp/verify': 'POST',
    '/api/auth/mfa/webauthn/challenge': 'POST',
    '/api/auth/mfa/webauthn/verify': 'POST',
  },
  either: {
    '/api/auth/mfa/factors': 'GET',
  },
  admin: {
    '/api/collections/:table/search-settings': 'GET PUT',
    '/api/collections/:table/synonyms': 'GET PUT',
    '/api/admin/analytics/latency': 'GET',
    '/api/admin/access/cases': 'POST',
    '/api/admin/access/compare': 'POST',
    '/api/admin/access/explain': 'POST',
    '/api/admin/access/parts': 'POST',
    '/api/admin/analytics/queries': 'GET',
    '/api/admin/analytics/requests': 'GET',
    '/api/admin/analytics/requests/histogram': 'GET',
    '/api/admin/api-keys': 'GET POST',
    '/api/admin/api-keys/:id': 'PATCH DELETE',
    '/api/admin/api-keys/:id/rotate': 'POST',
    '/api/admin/apps': 'GET POST',
    '/api/admin/apps/:id': 'GET PUT DELETE',
    '/api/admin/apps/:id/billing': 'GET',
    '/api/admin/audit': 'GET',
    '/api/admin/advisors': 'GET',
    '/api/admin/advisors/:id/dismissal': 'PUT DELETE',
    '/api/admin/advisors/performance': 'GET',
    '/api/admin/advisors/security': 'GET',
    '/api/admin/events': 'GET',
    '/api/admin/events/:id': 'GET',
    '/api/admin/auth-settings': 'GET PATCH PUT',
    '/api/admin/auth/providers': 'GET',
    '/api/admin/auth/providers/:provider': 'PUT DELETE',
    '/api/admin/auth/providers/:provider/test': 'POST',
    '/api/admin/account/password': 'PUT',
    '/api/admin/account/factors': 'GET',
    '/api/admin/account/factors/backup-codes': 'POST',
    '/api/admin/account/factors/totp': 'POST DELETE',
    '/api/admin/account/factors/totp/confirm': 'POST',
    '/api/admin/account/passkeys': 'POST',
    '/api/admin/account/passkeys/:id': 'DELETE',
    '/api/admin/account/passkeys/challenge': 'POST',
    '/api/admin/account/passkeys/confirm': 'POST',
    '/api/admin/account/step-up': 'POST',
    '/api/admin/account/step-up/oidc': 'POST',
    '/api/admin/administrators/:id/factors': 'DELETE',
    '/api/admin/account/tokens': 'POST',
    '/api/admin/administrators': 'GET POST',
    '/api/admin/administrators/:id': 'PATCH DELETE',
    '/api/admin/administrators/:id/identity': 'DELETE',
    '/api/admin/administrators/:id/invitation': 'POST',
    '/api/admin/administrators/:id/sessions': 'GET',
    '/api/admin/administrators/:id/sessions/:sessionId': 'DELETE',
    '/api/admin/auth/logout': 'POST',
    '/api/admin/session': 'GET DELETE',
    '/api/admin/report': 'GET',
    '/api/admin/preferences': 'GET PATCH',
    '/api/admin/email/send': 'POST',
    '/api/admin/email/templates': 'GET',
    '/api/admin/email/templates/:key': 'GET PUT PATCH DELETE',
    '/api/admin/email/templates/:key/preview': 'POST',
    '/api/admin/embeddings': 'GET',
    '/api/admin/embeddings/:name': 'GET',
    '/api/admin/embeddings/:name/backfill': 'POST',
    '/api/admin/jobs': 'GET POST',
    '/api/admin/jobs/:id': 'GET',
    '/api/admin/jobs/:id/cancel': 'POST',
    '/api/admin/jobs/:id/retry': 'POST',
    '/api/admin/jobs/:id/runs': 'GET',
    '/api/admin/jobs/stats': 'GET',
    '/api/admin/dashboard-reads': 'GET PUT',
    '/api/admin/logs': 'GET',
    '/api/admin/logs/histogram': 'GET',
    '/api/admin/logs/tail': 'GET',
    '/api/admin/sql': 'POST',
    '/api/admin/sql/explain': 'POST',
    '/api/admin/sql/runs': 'GET',
    '/api/admin/sql/runs/:id': 'GET',
    '/api/admin/sql/runs/:id/cancel': 'POST',
    '/api/admin/sql/saved': 'GET POST',
    '/api/admin/sql/saved/:id': 'GET PUT DELETE',
    '/api/admin/sql/tabs': 'GET',
    '/api/admin/sql/tabs/:id': 'PUT DELETE',
    '/api/admin/sql/schemas': 'GET',
    '/api/admin/sql/schemas/:schema': 'GET',
    '/api/admin/tables/:table': 'GET',
    '/api/admin/tables/:table/cell': 'GET',
    '/api/admin/tables/:table/changes': 'POST',
    '/api/admin/tables/:table/count': 'GET',
    '/api/admin/tables/:table/rows': 'GET',
    '/api/admin/vector/indexes': 'GET POST',
    '/api/admin/vector/indexes/:name': 'DELETE',
    '/api/admin/graphql/documents': 'GET POST',
    '/api/admin/graphql/documents/:hash': 'DELETE',
    '/api/admin/matviews': 'GET POST',
    '/api/admin/matviews/:id': 'GET PUT DELETE',
    '/api/admin/matviews/:id/refresh': 'POST',
    '/api/admin/search': 'GET',
    '/api/admin/search/:table': 'GET',
    '/api/admin/search/:table/disable': 'POST',
    '/api/admin/search/:table/enable': 'POST',
    '/api/admin/oauth/clients': 'GET POST',
    '/api/admin/oauth/clients/:clientId': 'GET PUT DELETE',
    '/api/admin/oauth/clients/:clientId/rotate-secret': 'POST',
    '/api/admin/push/deliveries': 'GET',
    '/api/admin/push/deliveries/:id': 'GET',
    '/api/admin/push/devices': 'GET POST',
    '/api/admin/push/devices/:id': 'DELETE',
    '/api/admin/push/providers': 'GET',
    '/api/admin/push/providers/:provider': 'PUT DELETE',
    '/api/admin/push/send': 'POST',
    '/api/admin/push/send-to-token': 'POST',
    '/api/admin/push/sends/:id': 'GET',
    '/api/admin/realtime/connections': 'GET',
    '/api/admin/realtime/connections/:id/disconnect': 'POST',
    '/api/admin/realtime/preview': 'GET',
    '/api/admin/realtime/stats': 'GET',
    '/api/admin/realtime/stream': 'GET',
    '/api/admin/realtime/subscriptions': 'GET',
    '/api/admin/schedules': 'GET POST',
    '/api/admin/schedules/:id': 'PUT DELETE',
    '/api/admin/schedules/:id/disable': 'POST',
    '/api/admin/schedules/:id/enable': 'POST',
    '/api/admin/domains': 'GET POST',
    '/api/admin/domains/:id': 'GET DELETE',
    '/api/admin/domains/:id/verify': 'POST',
    '/api/admin/functions': 'GET',
    '/api/admin/functions/activity': 'GET',
    '/api/admin/functions/errors': 'GET',
    '/api/admin/functions/source': 'GET',
    '/api/admin/functions/deploys': 'GET POST',
    '/api/admin/functions/deploys/:hash/promote': 'POST',
    '/api/admin/functions/deploys/rollback': 'POST',
    '/api/admin/functions/files': 'POST',
    '/api/admin/functions/invoke': 'POST',
    '/api/admin/secrets': 'GET',
    '/api/admin/secrets/:name': 'PUT DELETE',
    '/api/admin/sites': 'GET POST',
    '/api/admin/sites/:siteId': 'GET PUT DELETE',
    '/api/admin/sites/:siteId/deploys': 'GET POST',
    '/api/admin/sites/:siteId/deploys/:deployId': 'GET',
    '/api/admin/sites/:siteId/deploys/:deployId/fail': 'POST',
    '/api/admin/sites/:siteId/deploys/:deployId/files': 'POST',
    '/api/admin/sites/:siteId/deploys/:deployId/manifest': 'POST',
    '/api/admin/sites/:siteId/deploys/:deployId/promote': 'POST',
    '/api/admin/sites/:siteId/deploys/rollback': 'POST',
    '/api/admin/sms/health': 'GET',
    '/api/admin/sms/messages': 'GET',
    '/api/admin/sms/send': 'POST',
    '/api/admin/support/tickets': 'GET',
    '/api/admin/support/tickets/:id': 'GET PUT',
    '/api/admin/support/tickets/:id/messages': 'POST',
    '/api/admin/support/tickets/:id/messages/:messageId/attachments/:place': 'GET',
    '/api/admin/email/sent': 'GET',
    '/api/admin/billing/events': 'GET',
    '/api/admin/stats': 'GET',
    '/api/admin/storage/cdn/purge': 'POST',
    '/api/admin/structure/apply': 'POST',
    '/api/admin/structure/diagram': 'GET',
    '/api/admin/structure/migrations': 'GET',
    '/api/admin/structure/migrations/:name': 'GET',
    '/api/admin/structure/objects': 'GET',
    '/api/admin/structure/plan': 'POST',
    '/api/admin/structure/relations': 'GET',
    '/api/admin/structure/relations/:schema/:name': 'GET',
    '/api/admin/tables': 'GET',
    '/api/admin/server': 'GET',
    '/api/admin/configuration': 'GET',
    '/api/admin/rls/templates/storage-objects/:template': 'POST',
    '/api/admin/users/:id/storage-quota': 'GET PUT',
    '/api/storage/buckets': 'GET POST',
    '/api/storage/buckets/:bucket': 'PUT DELETE',
    '/api/admin/usage': 'GET',
    '/api/admin/usage/:tenantId': 'GET',
    '/api/admin/usage/:tenantId/limits': 'GET',
    '/api/admin/usage/:tenantId/plan': 'PUT',
    '/api/admin/usage/breakdown': 'GET',
    '/api/admin/usage/trends': 'GET',
    '/api/admin/apps/:id/rate-limit': 'GET',
    '/api/admin/impersonations': 'GET',
    '/api/admin/impersonations/:id': 'DELETE',
    '/api/admin/oauth/clients/:clientId/grants': 'GET',
    '/api/admin/users': 'GET POST',
    '/api/admin/users/:id': 'GET PATCH DELETE',
    '/api/admin/users/:id/deletion': 'GET',
    '/api/admin/users/:id/disable': 'POST',
    '/api/admin/users/:id/enable': 'POST',
    '/api/admin/users/:id/factors': 'GET DELETE',
    '/api/admin/users/:id/factors/:factorId': 'DELETE',
    '/api/admin/users/:id/grants': 'GET',
    '/api/admin/users/:id/grants/:grantId': 'DELETE',
    '/api/admin/users/:id/identities': 'GET',
    '/api/admin/users/:id/identities/:provider': 'DELETE',
    '/api/admin/users/:id/impersonate': 'POST',
    '/api/admin/users/:id/mail': 'POST',
    '/api/admin/users/names': 'GET',
    '/api/admin/users/:id/passkeys': 'GET',
    '/api/admin/users/:id/passkeys/:credential_id': 'DELETE',
    '/api/admin/users/:id/provider-tokens': 'GET',
    '/api/admin/users/:id/provider-tokens/:provider': 'DELETE',
    '/api/admin/users/:id/sessions': 'GET DELETE',
    '/api/admin/users/:id/sessions/:sessionId': 'DELETE',
    '/api/webhooks': 'GET POST',
    '/api/webhooks/:id': 'GET PATCH DELETE',
    '/api/webhooks/:id/deliveries': 'GET',
    '/api/webhooks/:id/deliveries/:deliveryId': 'GET',
    '/api/webhooks/:id/deliveries/:deliveryId/replay': 'POST',
    '/api/webhooks/:id/deliveries/:deliveryId/try': 'POST',
    '/api/webhooks/:id/replays': 'POST',
    '/api/webhooks/:id/test': 'POST',
  },
} as const

type Access = keyof typeof rows
type Answer = 'in' | Refusal
type Refusal =
  | 'missing_authorization'
  | 'authentication_required'
  | 'invalid_token'
  | 'mfa_required'
  | 'no_pending_mfa'
  | 'insufficient_aal'
  | 'insufficient_scope'
  | 'impersonation_refused'
  | 'admin_required'

const refusals: ReadonlySet<string> = new Set<Refusal>([
  'missing_authorization',
  'authentication_required',
  'invalid_token',
  'mfa_required',
  'no_pending_mfa',
  'insufficient_aal',
  'insufficient_scope',
  'impersonation_refused',
  'admin_required',
])

/** Returns the same result for every route of an access, except for the given ones. */
function everywhere(answer: Answer, except: Partial<Record<Access, Answer>>): Record<Access, Answer> {
  const accesses = Object.keys(rows) as Access[]
  const all = Object.fromEntries(accesses.map((access) => [access, answer])) as Record<Access, Answer>
  return { ...all, public: 'in', ...except }
}

const forAdmins = { admin: 'admin_required', 'second factor': 'no_pending_mfa' } as const
const forPrograms = {
  document: 'in',
  read: 'in',
  'procedure that reads': 'in',
  'storage that reads': 'in',
  stream: 'in',
} as const
const forWritingPrograms = {
  ...forPrograms,
  write: 'in',
  procedure: 'in',
  storage: 'in',
} as const
const forActingPrograms = { ...forPrograms, 'action of a program': 'in' } as const
const forPeople = everywhere('in', { ...forAdmins, aal2: 'insufficient_aal' })

/** Result of each credential by access. */
const expected = {
  none: everywhere('missing_authorization', {
    ...forAdmins,
    document: 'in',
    'storage that reads': 'in',
    link: 'in',
    stream: 'authentication_required',
  }),
  malformed: everywhere('invalid_token', forAdmins),
  expired: everywhere('invalid_token', forAdmins),
  pending: everywhere('mfa_required', { admin: 'admin_required', 'second factor': 'in', either: 'in' }),
  user: forPeople,
  anonymous: forPeople,
  'user of two factors': everywhere('in', forAdmins),
  'administrator who acts as a user': everywhere('impersonation_refused', {
    ...forWritingPrograms,
    'action of a program': 'in',
  }),
  'mistyped key': everywhere('invalid_token', forAdmins),
  'revoked key': everywhere('invalid_token', forAdmins),
  'readonly key': everywhere('insufficient_scope', forPrograms),
  'readwrite key': everywhere('insufficient_scope', forWritingPrograms),
  'key with tables': everywhere('insufficient_scope', {
    ...forPrograms,
    write: 'in',
    'procedure that reads': 'insufficient_scope',
    'storage that reads': 'insufficient_scope',
  }),
  '* key': everywhere('insufficient_scope', forWritingPrograms),
  'readonly key with actions': everywhere('insufficient_scope', forActingPrograms),
  'readonly token of a client': everywhere('insufficient_scope', forPrograms),
  'token of a client': everywhere('insufficient_scope', forWritingPrograms),
  'token of a client for itself': everywhere('insufficient_scope', forWritingPrograms),
  'readonly token of a client with actions': everywhere('insufficient_scope', forActingPrograms),
  'revoked token of a client': everywhere('invalid_token', forAdmins),
  administrator: everywhere('invalid_token', {
    document: 'in',
    link: 'in',
    read: 'in',
    write: 'in',
    procedure: 'in',
    'procedure that reads': 'in',
    function: 'in',
    'storage that reads': 'in',
    storage: 'in',
    admin: 'in',
    'second factor': 'no_pending_mfa',
  }),
} as const

type Credential = keyof typeof expected

let app: TestApp
let pending: string
const keys = new Map<Credential, string>()

beforeAll(async () => {
  app = await createOAuthApp({ setup: notes, config: { 'storage.enabled': 'true' } })
  const [row] = await app.sql(
    `insert into basalt.pending_sign_ins (user_id, method, expires_at)
    values ($1, 'password', now() + interval '1 hour') returning id`,
    [alice],
  )
  const claims = { sub: alice, email: '', aal: 'aal1', amr: ['password'], mfa_pending: true, jti: row?.id }
  pending = forgeJwt({ payload: { ...claims, exp: Math.floor(Date.now() / 1000) + 900 } })
  const make = async (credential: Credential, body: object) => {
    const { key, apiKey } = await createApiKey(app, { userId: alice, ...body })
    keys.set(credential, key)
    return apiKey.id
  }
  await make('readonly key', { scope: 'readonly' })
  await make('readwrite key', { scope: 'readwrite' })
  await make('key with tables', { allowedTables: ['note'] })
  await make('* key', {})
  await make('readonly key with actions', {
    scope: 'readonly',
    actions: ['email:send', 'sms:send', 'push:send'],
  })
  await app.sql('update basalt.api_keys set revoked_at = now() where id = $1', [
    await make('revoked key', {}),
  ])
  const scopes = ['*', 'email:send', 'sms:send', 'push:send']
  const client = await createClient(app, { scopes })
  const obtain = async (credential: Credential, scope: string) => {
    // Each has a client of its own: a narrower consent narrows the earlier one.
    const own = await createClient(app, { scopes })
    const { access_token } = await obtainTokens(app, userToken({ sub: alice }), own, { scope })
    keys.set(credential, access_token)
  }
  await obtain('readonly token of a client', 'readonly')
  await obtain('token of a client', '*')
  await obtain('readonly token of a client with actions', 'readonly email:send sms:send push:send')
  await obtain('revoked token of a client', '*')
  const body = `token=${keys.get('revoked token of a client')}`
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  await app.request('POST', '/api/auth/revoke', { body, headers })
  const form = { grant_type: 'client_credentials', scope: '*', client_id: client.clientId }
  const { access_token } = (await requestToken(app, { ...form, client_secret: client.clientSecret })).json
  keys.set('token of a client for itself', access_token)
  const impersonation = await app.request('POST', `/api/admin/users/${alice}/impersonate`, {
    token: await app.adminToken(),
    body: { reason: 'a complaint' },
  })
  keys.set('administrator who acts as a user', impersonation.json.token)
  keys.set('mistyped key', `basalt_key_${'0'.repeat(49)}`)
})
afterAll(() => app[Symbol.asyncDispose]())

/** Creates a user for each request, because some requests end their accounts. */
async function newUser(): Promise<string> {
  const [user] = await app.sql<{ id: string }>('insert into basalt.users default values returning id')
  if (user === undefined) throw new Error('no user was made')
  return user.id
}

async function tokenOf(credential: Credential, { method, url }: ServedRoute): Promise<string | undefined> {
  switch (credential) {
    case 'none':
      return undefined
    case 'malformed':
      return 'x'
    case 'expired':
      return userToken({ sub: alice }, -1)
    case 'pending':
      return pending
    case 'user':
      return userToken({ sub: await newUser() })
    case 'anonymous':
      return userToken({ sub: await newUser(), amr: ['anonymous'], is_anonymous: true })
    case 'user of two factors':
      return userToken({ sub: await newUser(), aal: 'aal2', amr: ['password', 'totp'] })
    case 'administrator': {
      const isEnd = url.endsWith('/auth/logout') || (method === 'DELETE' && url === '/api/admin/session')
      if (!isEnd) return await app.adminToken()
      const body = { password: 'correct horse battery staple' }
      return (await app.request('POST', '/api/admin/auth', { body })).json.token
    }
    default:
      return keys.get(credential)
  }
}

async function answerTo(route: ServedRoute, credential: Credential): Promise<Answer> {
  const token = await tokenOf(credential, route)
  if (route.url === endlessRoute && (await isStreamed(route.url, token))) return 'in'
  const response = await app.request(route.method, examplePath(route.url), {
    token,
    ...(['GET', 'DELETE'].includes(route.method) ? {} : { body: {} }),
  })
  if (response.status >= 500 && response.status !== 503) throw new Error(`${route.url}: ${response.text}`)
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
  const slug = isJson && response.status >= 400 ? response.json.error : ''
  // Every slug that a guard returns is a rejection.
  return refusals.has(slug) ? (slug as Refusal) : 'in'
}

/** Route whose response never ends. */
const endlessRoute = '/api/admin/logs/tail'

async function isStreamed(url: string, token: string | undefined): Promise<boolean> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const { ok, body } = await fetch(`${app.url}${url}`, { headers })
  await body?.cancel()
  return ok
}

const table = Object.entries(rows).flatMap(([access, urls]) =>
  Object.entries(urls).flatMap(([url, methods]) =>
    // They are keys of a constant table.
    methods.split(' ').map((method) => ({ method, url, access: access as Access })),
  ),
)

test('credentials › have a row for every route', () => {
  const served = listRoutes(app).filter(({ method }) => method !== 'HEAD')
  const describe = ({ method, url }: ServedRoute) => `${method} ${url}`
  expect(table.map(describe).toSorted()).toEqual(served.map(describe).toSorted())
})

test.each(Object.keys(expected) as Credential[])(
  'credentials › %s: is admitted or rejected by every route',
  async (credential) => {
    const answers: string[] = []
    for (const route of table) {
      answers.push(`${route.method} ${route.url}: ${await answerTo(route, credential)}`)
    }
    expect(answers).toEqual(
      table.map(({ method, url, access }) => `${method} ${url}: ${expected[credential][access]}`),
    )
  },
)
