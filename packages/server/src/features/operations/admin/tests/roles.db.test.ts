import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inviteAdministrator } from '../../../../../test/administrators.ts'
import { alice, notes } from '../../../../../test/fixtures.ts'
import { createOAuthApp } from '../../../../../test/oauth.ts'
import { examplePath, listRoutes, type ServedRoute } from '../../../../../test/routes.ts'
import { envelope, type RequestOptions, type TestApp } from '../../../../../test/test-app.ts'

/**
 * Routes for administrators, by the least role that may call them. A new route is missing here, and adding its row
 * decides who may call it.
 */
const rows = {
  owners: {
    '/api/admin/users/:id': 'PATCH',
    '/api/admin/users/:id/passkeys/:credential_id': 'DELETE',
    '/api/admin/users/:id/factors/:factorId': 'DELETE',
    '/api/admin/users/:id/factors': 'DELETE',
    '/api/admin/functions/deploys': 'POST',
    '/api/admin/functions/deploys/:hash/promote': 'POST',
    '/api/admin/functions/deploys/rollback': 'POST',
    '/api/admin/functions/files': 'POST',
    '/api/admin/functions/invoke': 'POST',
    '/api/admin/functions/source': 'GET',
    '/api/admin/secrets': 'GET',
    '/api/admin/secrets/:name': 'PUT DELETE',
    '/api/admin/administrators': 'GET POST',
    '/api/admin/administrators/:id': 'PATCH DELETE',
    '/api/admin/administrators/:id/identity': 'DELETE',
    '/api/admin/administrators/:id/invitation': 'POST',
    '/api/admin/administrators/:id/factors': 'DELETE',
    '/api/admin/auth-settings': 'PUT PATCH',
    '/api/admin/dashboard-reads': 'PUT',
    '/api/admin/auth/providers': 'GET',
    '/api/admin/auth/providers/:provider': 'PUT DELETE',
    '/api/admin/auth/providers/:provider/test': 'POST',
    '/api/admin/oauth/clients': 'POST',
    '/api/admin/oauth/clients/:clientId': 'PUT DELETE',
    '/api/admin/oauth/clients/:clientId/rotate-secret': 'POST',
    '/api/admin/users/:id/impersonate': 'POST',
    '/api/webhooks': 'GET POST',
    '/api/webhooks/:id': 'GET PATCH DELETE',
    '/api/webhooks/:id/deliveries/:deliveryId/try': 'POST',
    '/api/webhooks/:id/test': 'POST',
  },
  developers: {
    '/api/admin/structure/plan': 'POST',
    '/api/admin/structure/apply': 'POST',
    '/api/admin/access/compare': 'POST',
    '/api/functions/*': 'GET POST PUT PATCH DELETE',
    '/functions/v1/:name': 'GET POST PUT PATCH DELETE',
    '/api/admin/access/cases': 'POST',
    '/api/admin/advisors/:id/dismissal': 'PUT DELETE',
    '/api/admin/api-keys': 'POST',
    '/api/admin/api-keys/:id': 'PATCH DELETE',
    '/api/admin/api-keys/:id/rotate': 'POST',
    '/api/admin/apps': 'POST',
    '/api/admin/apps/:id': 'PUT DELETE',
    '/api/admin/auth-settings': 'GET',
    '/api/admin/configuration': 'GET',
    '/api/admin/domains': 'POST',
    '/api/admin/domains/:id': 'DELETE',
    '/api/admin/domains/:id/verify': 'POST',
    '/api/admin/email/send': 'POST',
    '/api/admin/email/templates/:key': 'PUT PATCH DELETE',
    '/api/admin/embeddings/:name/backfill': 'POST',
    '/api/admin/graphql/documents': 'POST',
    '/api/admin/graphql/documents/:hash': 'DELETE',
    '/api/admin/jobs': 'POST',
    '/api/admin/jobs/:id/cancel': 'POST',
    '/api/admin/jobs/:id/retry': 'POST',
    '/api/admin/matviews': 'POST',
    '/api/admin/matviews/:id': 'PUT DELETE',
    '/api/admin/matviews/:id/refresh': 'POST',
    '/api/admin/push/devices': 'POST',
    '/api/admin/push/devices/:id': 'DELETE',
    '/api/admin/push/providers/:provider': 'PUT DELETE',
    '/api/admin/push/send': 'POST',
    '/api/admin/push/send-to-token': 'POST',
    '/api/admin/realtime/connections/:id/disconnect': 'POST',
    '/api/admin/rls/templates/storage-objects/:template': 'POST',
    '/api/admin/schedules': 'POST',
    '/api/admin/schedules/:id': 'PUT DELETE',
    '/api/admin/schedules/:id/disable': 'POST',
    '/api/admin/schedules/:id/enable': 'POST',
    '/api/admin/search/:table/disable': 'POST',
    '/api/admin/search/:table/enable': 'POST',
    '/api/admin/sites': 'POST',
    '/api/admin/sites/:siteId': 'PUT DELETE',
    '/api/admin/sites/:siteId/deploys': 'POST',
    '/api/admin/sites/:siteId/deploys/:deployId/fail': 'POST',
    '/api/admin/sites/:siteId/deploys/:deployId/files': 'POST',
    '/api/admin/sites/:siteId/deploys/:deployId/manifest': 'POST',
    '/api/admin/sites/:siteId/deploys/:deployId/promote': 'POST',
    '/api/admin/sites/:siteId/deploys/rollback': 'POST',
    '/api/admin/sms/send': 'POST',
    '/api/admin/sql/runs/:id/cancel': 'POST',
    '/api/admin/storage/cdn/purge': 'POST',
    '/api/admin/tables/:table/changes': 'POST',
    '/api/admin/usage/:tenantId/plan': 'PUT',
    '/api/admin/users': 'POST',
    '/api/admin/users/:id': 'DELETE',
    '/api/admin/users/:id/deletion': 'GET',
    '/api/admin/users/:id/grants/:grantId': 'DELETE',
    '/api/admin/users/:id/identities/:provider': 'DELETE',
    '/api/admin/users/:id/mail': 'POST',
    '/api/admin/users/:id/provider-tokens': 'GET',
    '/api/admin/users/:id/provider-tokens/:provider': 'DELETE',
    '/api/admin/users/:id/storage-quota': 'PUT',
    '/api/admin/vector/indexes': 'POST',
    '/api/admin/vector/indexes/:name': 'DELETE',
    '/api/batch': 'POST',
    '/api/collections/:table': 'POST PATCH DELETE',
    '/api/collections/:table/:id': 'PATCH DELETE',
    '/api/collections/:table/batch': 'POST',
    '/api/collections/:table/import': 'POST',
    '/api/collections/:table/imports/:id': 'DELETE',
    '/api/collections/:table/search-settings': 'PUT',
    '/api/collections/:table/synonyms': 'PUT',
    '/api/rpc/:procedure': 'POST GET',
    '/api/storage/:bucket': 'POST',
    '/api/storage/:bucket/*': 'DELETE POST PUT',
    '/api/storage/buckets': 'POST',
    '/api/storage/buckets/:bucket': 'PUT DELETE',
    '/api/storage/upload/resumable': 'POST',
    '/api/storage/upload/resumable/:id': 'PATCH DELETE POST',
    '/api/webhooks/:id/deliveries/:deliveryId/replay': 'POST',
    '/api/webhooks/:id/replays': 'POST',
  },
  support: {
    '/api/admin/push/devices': 'GET',
    '/api/admin/oauth/clients/:clientId/grants': 'GET',
    '/api/admin/analytics/queries': 'GET',
    '/api/admin/sql/tabs': 'GET',
    '/api/admin/sql/tabs/:id': 'PUT DELETE',
    '/api/admin/access/explain': 'POST',
    '/api/admin/access/parts': 'POST',
    '/api/admin/audit': 'GET',
    '/api/admin/email/sent': 'GET',
    '/api/admin/impersonations': 'GET',
    '/api/admin/impersonations/:id': 'DELETE',
    '/api/admin/push/deliveries': 'GET',
    '/api/admin/push/deliveries/:id': 'GET',
    '/api/admin/push/sends/:id': 'GET',
    '/api/admin/realtime/preview': 'GET',
    '/api/admin/realtime/stream': 'GET',
    '/api/admin/sms/messages': 'GET',
    '/api/admin/sql': 'POST',
    '/api/admin/sql/explain': 'POST',
    '/api/admin/sql/runs': 'GET',
    '/api/admin/sql/runs/:id': 'GET',
    '/api/admin/sql/saved': 'GET POST',
    '/api/admin/sql/saved/:id': 'GET PUT DELETE',
    '/api/admin/sql/schemas': 'GET',
    '/api/admin/sql/schemas/:schema': 'GET',
    '/api/admin/support/tickets': 'GET',
    '/api/admin/support/tickets/:id': 'GET PUT',
    '/api/admin/support/tickets/:id/messages': 'POST',
    '/api/admin/support/tickets/:id/messages/:messageId/attachments/:place': 'GET',
    '/api/admin/users/:id/disable': 'POST',
    '/api/admin/users/:id/enable': 'POST',
    '/api/admin/users/:id/factors': 'GET',
    '/api/admin/users/:id/grants': 'GET',
    '/api/admin/users/:id/identities': 'GET',
    '/api/admin/users/:id/passkeys': 'GET',
    '/api/admin/users/:id/sessions': 'GET DELETE',
    '/api/admin/users/:id/sessions/:sessionId': 'DELETE',
    '/api/admin/users/:id/storage-quota': 'GET',
    '/api/collections/:table/export.csv': 'GET',
    '/api/collections/:table/export.json': 'GET',
    '/api/collections/:table/export.ndjson': 'GET',
    '/api/collections/:table/imports/:id': 'GET',
    '/api/graphql': 'POST GET',
    '/api/storage/:bucket': 'GET',
    '/api/storage/:bucket/*': 'GET',
    '/api/usage': 'GET',
    '/api/usage/limits': 'GET',
    '/api/webhooks/:id/deliveries': 'GET',
    '/api/webhooks/:id/deliveries/:deliveryId': 'GET',
  },
  everyone: {
    '/api/collections/:table/query': 'POST',
    '/api/collections/:table/facets/:column/search': 'GET',
    '/api/collections/:table/aggregate': 'POST',
    '/api/collections/:table/:id': 'GET',
    '/api/collections/:table': 'GET',
    '/api/admin/users/names': 'GET',
    '/api/admin/users/:id': 'GET',
    '/api/admin/users': 'GET',
    '/api/admin/tables/:table/rows': 'GET',
    '/api/admin/tables/:table/count': 'GET',
    '/api/admin/tables/:table/cell': 'GET',
    '/api/admin/jobs/:id/runs': 'GET',
    '/api/admin/jobs/:id': 'GET',
    '/api/admin/jobs': 'GET',
    '/api/admin/events/:id': 'GET',
    '/api/admin/events': 'GET',
    '/api/admin/analytics/requests/histogram': 'GET',
    '/api/admin/logs/histogram': 'GET',
    '/api/collections/:table/search-settings': 'GET',
    '/api/collections/:table/synonyms': 'GET',
    '/api/storage/buckets': 'GET',
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
    '/api/admin/account/tokens': 'POST',
    '/api/admin/administrators/:id/sessions': 'GET',
    '/api/admin/administrators/:id/sessions/:sessionId': 'DELETE',
    '/api/admin/advisors': 'GET',
    '/api/admin/advisors/performance': 'GET',
    '/api/admin/advisors/security': 'GET',
    '/api/admin/analytics/latency': 'GET',
    '/api/admin/analytics/requests': 'GET',
    '/api/admin/api-keys': 'GET',
    '/api/admin/apps': 'GET',
    '/api/admin/apps/:id': 'GET',
    '/api/admin/apps/:id/billing': 'GET',
    '/api/admin/apps/:id/rate-limit': 'GET',
    '/api/admin/auth/logout': 'POST',
    '/api/admin/billing/events': 'GET',
    '/api/admin/dashboard-reads': 'GET',
    '/api/admin/domains': 'GET',
    '/api/admin/domains/:id': 'GET',
    '/api/admin/email/templates': 'GET',
    '/api/admin/email/templates/:key': 'GET',
    '/api/admin/email/templates/:key/preview': 'POST',
    '/api/admin/embeddings': 'GET',
    '/api/admin/embeddings/:name': 'GET',
    '/api/admin/graphql/documents': 'GET',
    '/api/admin/jobs/stats': 'GET',
    '/api/admin/functions': 'GET',
    '/api/admin/functions/activity': 'GET',
    '/api/admin/functions/deploys': 'GET',
    '/api/admin/functions/errors': 'GET',
    '/api/admin/logs': 'GET',
    '/api/admin/logs/tail': 'GET',
    '/api/admin/matviews': 'GET',
    '/api/admin/matviews/:id': 'GET',
    '/api/admin/oauth/clients': 'GET',
    '/api/admin/oauth/clients/:clientId': 'GET',
    '/api/admin/preferences': 'GET PATCH',
    '/api/admin/push/providers': 'GET',
    '/api/admin/realtime/connections': 'GET',
    '/api/admin/realtime/stats': 'GET',
    '/api/admin/realtime/subscriptions': 'GET',
    '/api/admin/report': 'GET',
    '/api/admin/schedules': 'GET',
    '/api/admin/search': 'GET',
    '/api/admin/search/:table': 'GET',
    '/api/admin/server': 'GET',
    '/api/admin/session': 'GET DELETE',
    '/api/admin/sites': 'GET',
    '/api/admin/sites/:siteId': 'GET',
    '/api/admin/sites/:siteId/deploys': 'GET',
    '/api/admin/sites/:siteId/deploys/:deployId': 'GET',
    '/api/admin/sms/health': 'GET',
    '/api/admin/stats': 'GET',
    '/api/admin/structure/diagram': 'GET',
    '/api/admin/structure/migrations': 'GET',
    '/api/admin/structure/migrations/:name': 'GET',
    '/api/admin/structure/objects': 'GET',
    '/api/admin/structure/relations': 'GET',
    '/api/admin/structure/relations/:schema/:name': 'GET',
    '/api/admin/tables': 'GET',
    '/api/admin/tables/:table': 'GET',
    '/api/admin/usage': 'GET',
    '/api/admin/usage/:tenantId': 'GET',
    '/api/admin/usage/:tenantId/limits': 'GET',
    '/api/admin/usage/breakdown': 'GET',
    '/api/admin/usage/trends': 'GET',
    '/api/admin/vector/indexes': 'GET',
    '/api/openapi.json': 'GET',
    '/api/openapi.yaml': 'GET',
    '/api/schema': 'GET',
  },
} as const

type Least = keyof typeof rows

/** Roles that may call a route. */
const admitted: Readonly<Record<Least, readonly string[]>> = {
  owners: ['owner'],
  developers: ['owner', 'developer'],
  support: ['owner', 'developer', 'support'],
  everyone: ['owner', 'developer', 'support', 'viewer'],
}
const roles = admitted.everyone

let app: TestApp
const tokens = new Map<string, string>()

beforeAll(async () => {
  app = await createOAuthApp({ setup: notes, config: { 'storage.enabled': 'true' } })
  for (const role of roles) tokens.set(role, await inviteAdministrator(app, role))
})
afterAll(async () => await app[Symbol.asyncDispose]())

function call(role: string, method: string, path: string, options: RequestOptions = {}) {
  return app.request(method, path, { token: tokens.get(role) ?? '', ...options })
}

/** Returns the routes of the server that admit administrators. HEAD has the guard of GET. */
function routesOf(least: Least): ServedRoute[] {
  return Object.entries(rows[least]).flatMap(([url, methods]) =>
    methods.split(' ').map((method) => ({ method, url })),
  )
}

/** Routes whose guard admits no administrator, or everybody. */
const others: readonly RegExp[] = [
  /^\/(?!api\/|functions\/)/,
  /^\/api\/auth\//,
  /^\/api\/docs/,
  /^\/api\/(messaging\/sms|email|push|support|sites)\//,
  /^\/api\/admin\/(status|auth|auth\/(password|forgot|passkey|methods|oidc|oidc\/callback))$/,
  /^\/api\/realtime/,
  /^\/api\/webhooks\/(billing|sms\/status|support\/email)$/,
  /^\/api\/functions\/inbound\//,
]

test('lists every route for administrators and for data', () => {
  const listed = Object.keys(rows).flatMap((least) => routesOf(least as Least))
  const nameOf = ({ method, url }: ServedRoute) => `${method} ${url}`
  // A session of the dashboard begins without a token.
  const served = listRoutes(app)
    .filter(({ method, url }) => method !== 'HEAD' && !others.some((pattern) => pattern.test(url)))
    .map(nameOf)
    .filter((name) => name !== 'POST /api/admin/session')
  expect(listed.map(nameOf).sort()).toEqual(served.sort())
})

describe.each(Object.keys(rows) as Least[])('routes for %s', (least) => {
  test.each(roles)('admit or refuse the role %s', async (role) => {
    const isAdmitted = admitted[least].includes(role)
    const wrong: string[] = []
    for (const { method, url } of routesOf(least)) {
      // These end the session or never end.
      if (isAdmitted && /\/(auth\/logout|session|tail|stream)$/.test(url)) continue
      const response = await call(
        role,
        method,
        examplePath(url).replace('administrators/1/sessions', 'administrators/me/sessions'),
      )
      const isRefused = response.status === 403 && response.text.includes('insufficient_role')
      if (isRefused === isAdmitted) wrong.push(`${method} ${url}: ${response.status}`)
    }
    expect(wrong).toEqual([])
  })
})

describe('insufficient_role', () => {
  test('names the roles that may', async () => {
    const response = await call('viewer', 'PUT', '/api/admin/users/1/storage-quota')
    expect([response.status, envelope(response)]).toEqual([
      403,
      expect.objectContaining({
        code: 403,
        message: 'your role may not do this; it takes one of: owner, developer',
        data: expect.objectContaining({ permission: 'users.manage', roles: ['owner', 'developer'] }),
      }),
    ])
  })
})

describe('handlers', () => {
  const insert = "insert into note (owner_id, body) values (gen_random_uuid(), 'x')"

  test.each(['support'])('run reading SQL of %s, and refuse writing SQL', async (role) => {
    const read = await call(role, 'POST', '/api/admin/sql', { body: { query: 'select 1 as one' } })
    expect([read.status, read.json.rows]).toEqual([200, [[1]]])
    const written = await call(role, 'POST', '/api/admin/sql', { body: { query: insert, mode: 'write' } })
    expect(written).toMatchObject({ status: 403 })
    const smuggled = await call(role, 'POST', '/api/admin/sql', { body: { query: insert } })
    expect(smuggled.status).toBe(400)
    const planned = await call(role, 'POST', '/api/admin/sql/explain', {
      body: { query: insert, mode: 'write', analyze: true },
    })
    expect(planned).toMatchObject({ status: 403 })
    const own = await call(role, 'POST', '/api/admin/sql', {
      body: { query: 'select password_hash from basalt.administrators' },
    })
    expect(own.status).toBe(400)
    expect(await app.sql('select from note')).toHaveLength(0)
  })

  test('refuse writes by GraphQL to support', async () => {
    const mutation = { query: 'mutation { insert_note(objects: [{ body: "x" }]) { affected_rows } }' }
    const response = await call('support', 'POST', '/api/graphql', { body: mutation })
    expect(response.text).toContain('errors')
    expect(await app.sql('select from note')).toHaveLength(0)
  })

  test('refuse actions of API keys to a developer', async () => {
    const [user] = await app.sql('select id from basalt.users limit 1')
    const key = { name: 'mail', userId: user?.id ?? alice, actions: ['email:send'] }
    expect(await call('developer', 'POST', '/api/admin/api-keys', { body: key })).toMatchObject({
      status: 403,
    })
    const made = await call('owner', 'POST', '/api/admin/api-keys', { body: key })
    expect(made.status).toBe(201)
    const path = `/api/admin/api-keys/${made.json.apiKey.id}`
    const before = await app.sql('select md5(k::text) as row from basalt.api_keys k')
    expect(await call('developer', 'POST', `${path}/rotate`, { body: {} })).toMatchObject({ status: 403 })
    expect(await call('developer', 'PATCH', path, { body: { actions: ['sms:send'] } })).toMatchObject({
      status: 403,
    })
    expect(await app.sql('select md5(k::text) as row from basalt.api_keys k')).toEqual(before)
    expect(await call('developer', 'PATCH', path, { body: { name: 'post' } })).toMatchObject({ status: 200 })
  })

  test('require a reason of support to view rows as a user, and audit it', async () => {
    const [user] = await app.sql('select id from basalt.users limit 1')
    const path = `/api/admin/tables/note/rows?as=${user?.id}`
    const refused = await call('support', 'GET', path)
    expect([refused.status, refused.json.message]).toEqual([
      400,
      'reason: required to view data as a user with the role support',
    ])
    expect((await call('support', 'GET', `${path}&reason=ticket%2012`)).status).toBe(200)
    const audit = await app.sql(
      "select administrator, detail from basalt.audit where action = 'tables.view_as'",
    )
    expect(audit).toEqual([
      { administrator: 'support@example.com', detail: { as: `user ${user?.id}`, reason: 'ticket 12' } },
    ])
  })

  test('require a reason of support for previews and explanations, and audit it', async () => {
    const [user] = await app.sql('select id from basalt.users limit 1')
    const as = { kind: 'user', id: user?.id }
    const explain = (role: string, path: string, more: object) =>
      call(role, 'POST', `/api/admin/access/${path}`, { body: { table: 'note', as, ...more } })
    const preview = (query: string) =>
      call('support', 'GET', `/api/admin/realtime/preview?tables=note${query}`)
    const message = 'reason: required to view data as a user with the role support'
    const part = { policy: 'absent', stage: 0 }
    for (const refused of [
      await explain('support', 'explain', {}),
      await explain('support', 'explain', { reason: ' ' }),
      await explain('support', 'explain', { as: { kind: 'claims', userId: alice } }),
      await explain('support', 'parts', part),
      await preview(`&as=${user?.id}`),
    ]) {
      expect([refused.status, refused.json.message]).toEqual([400, message])
    }
    const reason = { reason: 'ticket 13' }
    expect((await explain('support', 'explain', { reason: 'x'.repeat(501) })).status).toBe(400)
    expect((await explain('support', 'explain', { as: { kind: 'anonymous' } })).status).toBe(200)
    expect((await explain('developer', 'explain', {})).status).toBe(200)
    expect((await explain('support', 'explain', reason)).status).toBe(200)
    expect((await explain('support', 'parts', { ...part, ...reason })).status).toBe(404)
    expect((await preview(`&as=${user?.id}&reason=ticket%2013`)).status).toBe(200)
    const audit = await app.sql(
      "select action from basalt.audit where administrator = 'support@example.com' and detail ->> 'reason' = 'ticket 13' order by action",
    )
    expect(audit.map(({ action }) => action)).toEqual([
      'access.explain',
      'access.take_apart',
      'realtime.preview',
    ])
  })

  test('keep saved queries of others, except for owners', async () => {
    const save = (role: string, name: string) =>
      call(role, 'POST', '/api/admin/sql/saved', { body: { name, query: 'select 1' } })
    const path = `/api/admin/sql/saved/${(await save('owner', 'report')).json.id}`
    const body = { query: 'select 2', version: 1 }
    expect((await call('support', 'PUT', path, { body })).status).toBe(403)
    expect((await call('support', 'DELETE', path)).status).toBe(403)
    const own = `/api/admin/sql/saved/${(await save('support', 'mine')).json.id}`
    expect((await call('support', 'PUT', own, { body })).status).toBe(200)
    expect((await call('owner', 'DELETE', own)).status).toBe(204)
    expect((await call('owner', 'GET', path)).json).toMatchObject({ query: 'select 1', version: 1 })
  })

  test('keep schedules with the rights of the operator to owners, and payloads from viewers', async () => {
    const payload = { method: 'POST', url: 'https://hooks.example.com/x' }
    const body = { name: 'hook', jobType: 'http_request', cronExpr: '0 3 * * *', enabled: false, payload }
    expect((await call('developer', 'POST', '/api/admin/schedules', { body })).status).toBe(403)
    const made = await call('owner', 'POST', '/api/admin/schedules', { body })
    expect(made.status).toBe(201)
    const path = `/api/admin/schedules/${made.json.id}`
    const hourly = { body: { cronExpr: '0 * * * *' } }
    expect((await call('developer', 'PUT', path, hourly)).status).toBe(403)
    expect((await call('developer', 'POST', `${path}/enable`)).status).toBe(403)
    expect((await call('developer', 'DELETE', path)).status).toBe(403)
    const payloadFor = async (role: string) => {
      const { json } = await call(role, 'GET', '/api/admin/schedules')
      return json.items.find(({ id }: { id: string }) => id === made.json.id).payload
    }
    expect([await payloadFor('support'), await payloadFor('viewer')]).toEqual([payload, {}])
    expect((await call('owner', 'DELETE', path)).status).toBe(204)
  })

  test('leave jobs with the rights of the operator to owners, also retries', async () => {
    const id = randomUUID()
    const state = async () => (await app.sql('select state from basalt.jobs where id = $1', [id]))[0]?.state
    await app.sql(
      `insert into basalt.jobs (id, type, max_attempts, state) values ($1, 'http_request', 1, 'failed')`,
      [id],
    )
    const path = `/api/admin/jobs/${id}/retry`
    expect((await call('developer', 'POST', path)).json).toMatchObject({
      error: 'insufficient_role',
      data: { roles: ['owner'] },
    })
    expect(await state()).toBe('failed')
    expect((await call('owner', 'POST', path)).status).toBe(200)
    await app.sql('delete from basalt.jobs where id = $1', [id])
  })

  test('export at most 1,000 rows to support', async () => {
    await app.sql(
      "insert into note (owner_id, body) select gen_random_uuid(), 'x' from generate_series(1, 1001)",
    )
    const lines = async (role: string) =>
      (await call(role, 'GET', '/api/collections/note/export.ndjson')).text.trim().split('\n').length
    expect([await lines('support'), await lines('developer')]).toEqual([1000, 1001])
  })
})
