import { type AccountsApp, goodPassword } from './accounts.ts'
import { type AdminWrite, createAdminThings, defaultApp, secretMark } from './admin-things.ts'
import { functionArchive, functionFile } from './function-deploys.ts'
import { createSubscription } from './push-stand-ins.ts'
import { totpUser } from './second-factors.ts'

/**
 * Lists every write of administration by its method and path in the API document, each with an object to write to.
 */
export function adminWrites(accounts: AccountsApp): Readonly<Record<string, () => Promise<AdminWrite>>> {
  const make = createAdminThings(accounts)
  return {
    'POST /api/admin/administrators': async () =>
      make.at('/administrators', { email: `${make.name()}@example.com`, role: 'viewer' }),
    'PATCH /api/admin/administrators/{id}': async () =>
      make.at(await make.newAdministrator(), { role: 'support' }),
    'DELETE /api/admin/administrators/{id}': async () => make.at(await make.newAdministrator()),
    'POST /api/admin/administrators/{id}/invitation': async () =>
      make.at(`${await make.newAdministrator()}/invitation`),
    'DELETE /api/admin/administrators/{id}/sessions/{sessionId}': async () =>
      make.at(`/administrators/me/sessions/${await make.newAdminToken()}`),
    'POST /api/admin/account/tokens': async () =>
      make.at('/account/tokens', { name: make.name(), expiresInDays: 1 }),
    'PATCH /api/admin/preferences': async () => make.at('/preferences', { theme: 'dark' }),
    'PUT /api/admin/dashboard-reads': async () => make.at('/dashboard-reads', { isLogged: true }),
    'PUT /api/admin/usage/{tenantId}/plan': async () =>
      make.at(`/usage/${defaultApp}/plan`, { plan: 'default' }),
    'POST /api/admin/search/{table}/enable': async () => make.at('/search/note/enable'),
    'POST /api/admin/search/{table}/disable': async () => make.at('/search/note/disable'),
    'PUT /api/collections/{table}/search-settings': async () => ({
      path: '/api/collections/note/search-settings',
      body: { searchableAttributes: ['body'] },
    }),
    'PUT /api/collections/{table}/synonyms': async () => ({
      path: '/api/collections/note/synonyms',
      body: { groups: [{ terms: ['a', 'b'] }] },
    }),
    'PUT /api/admin/advisors/{id}/dismissal': async () => make.at(await make.advice(), { reason: 'meant' }),
    'DELETE /api/admin/advisors/{id}/dismissal': async () => {
      const path = await make.advice()
      await make.call('PUT', `/api/admin${path}`, { reason: 'meant' })
      return make.at(path)
    },
    'POST /api/admin/sql': async () =>
      make.at('/sql', {
        query: `do $$ begin if false then alter role absent password '${secretMark}'; end if; end $$`,
      }),
    'POST /api/admin/sql/explain': async () => make.at('/sql/explain', { query: 'select 1' }),
    'POST /api/admin/sql/saved': async () => make.at('/sql/saved', { name: make.name(), query: 'select 1' }),
    'PUT /api/admin/sql/saved/{id}': async () =>
      make.at(await make.savedQuery(), { name: make.name(), version: 1 }),
    'DELETE /api/admin/sql/saved/{id}': async () => make.at(await make.savedQuery()),
    'PUT /api/admin/sql/tabs/{id}': async () => make.at('/sql/tabs/a1', { text: 'select 1' }),
    'DELETE /api/admin/sql/tabs/{id}': async () => make.at('/sql/tabs/a1'),
    'POST /api/admin/graphql/documents': async () => make.at('/graphql/documents', make.documentManifest()),
    'DELETE /api/admin/graphql/documents/{hash}': async () => make.at(await make.listedDocument()),
    'POST /api/admin/matviews': async () => make.at('/matviews', { viewName: await make.newView() }),
    'PUT /api/admin/matviews/{id}': async () =>
      make.at(await make.made('/matviews', { viewName: await make.newView() }), { refreshMode: 'standard' }),
    'DELETE /api/admin/matviews/{id}': async () =>
      make.at(await make.made('/matviews', { viewName: await make.newView() })),
    'POST /api/admin/matviews/{id}/refresh': async () =>
      make.at(`${await make.made('/matviews', { viewName: await make.newView() })}/refresh`),
    'POST /api/admin/sms/send': async () => make.at('/sms/send', { to: '+12025550123', body: secretMark }),
    'POST /api/admin/apps': async () =>
      make.at('/apps', { name: make.name(), ownerUserId: await make.newUser() }),
    'PUT /api/admin/apps/{id}': async () => make.at(await make.newApp(), { name: make.name() }),
    'DELETE /api/admin/apps/{id}': async () => make.at(await make.newApp()),
    'POST /api/admin/api-keys': async () =>
      make.at('/api-keys', { name: make.name(), userId: await make.newUser() }),
    'PATCH /api/admin/api-keys/{id}': async () => make.at(await make.newKey(), { name: make.name() }),
    'DELETE /api/admin/api-keys/{id}': async () => make.at(await make.newKey()),
    'POST /api/admin/api-keys/{id}/rotate': async () => make.at(`${await make.newKey()}/rotate`, {}),
    'PATCH /api/admin/auth-settings': async () => make.at('/auth-settings', { totp_enabled: true }),
    'PUT /api/admin/auth-settings': async () => make.at('/auth-settings', { totp_enabled: true }),
    'DELETE /api/admin/users/{id}/factors': async () => make.at(`/users/${await make.newUser()}/factors`),
    'DELETE /api/admin/users/{id}/factors/{factorId}': async () => {
      const { user, factorId } = await totpUser(accounts)
      return make.at(`/users/${user.id}/factors/${factorId}`)
    },
    'DELETE /api/admin/users/{id}/passkeys/{credential_id}': async () => make.at(await make.newPasskey()),
    'POST /api/admin/oauth/clients': async () =>
      make.at('/oauth/clients', {
        ...{ appId: defaultApp, name: make.name(), redirectUris: ['https://x.example/'], scopes: ['*'] },
      }),
    'PUT /api/admin/oauth/clients/{clientId}': async () =>
      make.at(await make.clientPath(), {
        name: make.name(),
        redirectUris: ['https://y.example/'],
        scopes: ['*'],
      }),
    'DELETE /api/admin/oauth/clients/{clientId}': async () => make.at(await make.clientPath()),
    'POST /api/admin/oauth/clients/{clientId}/rotate-secret': async () =>
      make.at(`${await make.clientPath()}/rotate-secret`),
    'DELETE /api/admin/users/{id}/grants/{grantId}': async () => make.at(await make.newGrant()),
    'POST /api/admin/access/explain': async () => make.at('/access/explain', make.rehearsal),
    'POST /api/admin/access/parts': async () =>
      make.at('/access/parts', { ...make.rehearsal, policy: 'all', stage: 0 }),
    'POST /api/admin/access/compare': async () =>
      make.at('/access/compare', {
        table: 'rehearsed',
        as: [make.rehearsal.as],
        policy: { name: 'all', using: 'false' },
      }),
    'POST /api/admin/access/cases': async () =>
      make.at('/access/cases', { ...make.rehearsal, name: make.name() }),
    'POST /api/admin/storage/cdn/purge': async () =>
      make.at('/storage/cdn/purge', { urls: ['https://cdn.example.com/x'] }),
    'POST /api/admin/functions/deploys': async () =>
      make.at('/functions/deploys', { files: [functionFile(secretMark)] }),
    'POST /api/admin/functions/files': async () => ({
      path: '/api/admin/functions/files',
      headers: { 'content-type': 'application/x-tar' },
      body: functionArchive([secretMark]).toString('latin1'),
    }),
    'POST /api/admin/functions/deploys/{hash}/promote': async () =>
      make.at(`${await make.newFunctionDeploy()}/promote`),
    'POST /api/admin/functions/deploys/rollback': async () => {
      for (const path of [await make.newFunctionDeploy(), await make.newFunctionDeploy()])
        await make.call('POST', `/api/admin${path}/promote`)
      return make.at('/functions/deploys/rollback')
    },
    'PUT /api/admin/secrets/{name}': async () => make.at(`/secrets/${make.name()}`, { value: secretMark }),
    'DELETE /api/admin/secrets/{name}': async () => {
      const path = `/secrets/${make.name()}`
      await make.call('PUT', `/api/admin${path}`, { value: secretMark })
      return make.at(path)
    },
    'POST /api/admin/sites': async () => make.at('/sites', { name: make.name(), slug: make.name() }),
    'PUT /api/admin/sites/{siteId}': async () => make.at(await make.newSite(), { name: make.name() }),
    'DELETE /api/admin/sites/{siteId}': async () => make.at(await make.newSite()),
    'POST /api/admin/sites/{siteId}/deploys': async () => make.at(`${await make.newSite()}/deploys`),
    'POST /api/admin/sites/{siteId}/deploys/rollback': async () => {
      const deploy = await make.newLiveDeploy()
      const site = deploy.slice(0, deploy.indexOf('/deploys'))
      const next = `${site}/deploys/${(await make.call('POST', `/api/admin${site}/deploys`)).json.id}`
      const token = await make.app.adminToken()
      await make.app.request('POST', `/api/admin${next}/files`, { token, ...make.form('again') })
      await make.call('POST', `/api/admin${next}/promote`)
      return make.at(`${site}/deploys/rollback`)
    },
    'POST /api/admin/sites/{siteId}/deploys/{deployId}/promote': async () => {
      const deploy = await make.newDeploy()
      const token = await make.app.adminToken()
      await make.app.request('POST', `/api/admin${deploy}/files`, { token, ...make.form('hello') })
      return make.at(`${deploy}/promote`)
    },
    'POST /api/admin/sites/{siteId}/deploys/{deployId}/fail': async () =>
      make.at(`${await make.newDeploy()}/fail`, { errorMessage: 'x' }),
    'POST /api/admin/sites/{siteId}/deploys/{deployId}/manifest': async () =>
      make.at(`${await make.newDeploy()}/manifest`, {
        files: [{ path: 'a', sha256: '0'.repeat(64), size: 1 }],
      }),
    'POST /api/admin/sites/{siteId}/deploys/{deployId}/files': async () => ({
      ...make.at(`${await make.newDeploy()}/files`),
      ...make.form('hello'),
    }),
    'POST /api/admin/domains': async () => make.at('/domains', { hostname: `${make.name()}.example.com` }),
    'DELETE /api/admin/domains/{id}': async () => make.at(await make.newDomain()),
    'POST /api/admin/domains/{id}/verify': async () => make.at(`${await make.newDomain()}/verify`),
    'POST /api/admin/structure/plan': async () =>
      make.at('/structure/plan', { sql: `create role ${make.name()} password '${secretMark}'` }),
    'POST /api/admin/structure/apply': async () => {
      const table = make.name()
      return make.at('/structure/apply', {
        sql: `create table ${table} (id int primary key)`,
        name: `add ${table}`,
      })
    },
    'POST /api/webhooks': async () => ({
      path: '/api/webhooks',
      body: { url: 'http://127.0.0.1:9/', secret: `whsec ${secretMark}` },
    }),
    'PATCH /api/webhooks/{id}': async () => ({
      path: `/api/webhooks/${await make.newWebhook()}`,
      body: { secret: `new ${secretMark}` },
    }),
    'DELETE /api/webhooks/{id}': async () => ({ path: `/api/webhooks/${await make.newWebhook()}` }),
    'POST /api/webhooks/{id}/test': async () => ({ path: `/api/webhooks/${await make.newWebhook()}/test` }),
    'POST /api/webhooks/{id}/deliveries/{deliveryId}/replay': async () => ({
      path: await make.newDelivery('replay'),
    }),
    'POST /api/webhooks/{id}/deliveries/{deliveryId}/try': async () => ({
      path: await make.newDelivery('try'),
      body: { url: accounts.inbox.url, secret: `whsec ${secretMark}` },
    }),
    'POST /api/webhooks/{id}/replays': async () => ({
      path: `/api/webhooks/${await make.newWebhook()}/replays`,
      body: { which: 'missed' },
    }),
    'POST /api/admin/tables/{table}/changes': async () =>
      make.at('/tables/note/changes', {
        operations: [{ method: 'create', body: { owner_id: await make.newUser(), body: 'x' } }],
      }),
    'PUT /api/admin/email/templates/{key}': async () => make.at(await make.newTemplate(), make.template),
    'PATCH /api/admin/email/templates/{key}': async () =>
      make.at(await make.newTemplate(), { enabled: false }),
    'DELETE /api/admin/email/templates/{key}': async () => make.at(await make.newTemplate()),
    'POST /api/admin/email/templates/{key}/preview': async () =>
      make.at(`${await make.newTemplate()}/preview`, { ...make.template, variables: { Code: secretMark } }),
    'POST /api/admin/email/send': async () =>
      make.at('/email/send', {
        templateKey: (await make.newTemplate()).slice('/email/templates/'.length),
        ...{ to: 'to@example.com', variables: { Code: secretMark } },
      }),
    'POST /api/admin/push/devices': async () =>
      make.at('/push/devices', {
        ...{
          provider: 'webpush',
          platform: 'web',
          token: `https://push.example/${make.name()}`,
          app_id: defaultApp,
        },
        ...{ keys: createSubscription().keys, user_id: await make.newUser() },
      }),
    'DELETE /api/admin/push/devices/{id}': async () => make.at(await make.newDevice()),
    'POST /api/admin/push/send': async () => {
      const id = (await make.newDevice()).slice('/push/devices/'.length)
      const [device] = await make.app.sql('select user_id from basalt.push_devices where id = $1', [id])
      return make.at('/push/send', {
        app_id: defaultApp,
        user_id: device?.user_id,
        title: 'x',
        body: secretMark,
      })
    },
    'POST /api/admin/push/send-to-token': async () =>
      make.at('/push/send-to-token', {
        ...{
          token_id: (await make.newDevice()).slice('/push/devices/'.length),
          title: 'x',
          body: secretMark,
        },
      }),
    'PUT /api/admin/push/providers/{provider}': async () =>
      make.at('/push/providers/webpush', { private_key: Buffer.alloc(32, 7).toString('base64url') }),
    'DELETE /api/admin/push/providers/{provider}': async () => make.at('/push/providers/webpush'),
    'PUT /api/admin/support/tickets/{id}': async () =>
      make.at(`/support/tickets/${await make.newTicket()}`, { status: 'closed' }),
    'POST /api/admin/support/tickets/{id}/messages': async () =>
      make.at(`/support/tickets/${await make.newTicket()}/messages`, { body: 'x' }),
    'POST /api/admin/users': async () =>
      make.at('/users', { email: `${make.name()}@example.com`, password: `${goodPassword}-${secretMark}` }),
    'PATCH /api/admin/users/{id}': async () =>
      make.at(`/users/${await make.newUser()}`, { email: `${make.name()}@example.com` }),
    'DELETE /api/admin/users/{id}': async () => make.at(`/users/${await make.newUser()}`),
    'POST /api/admin/users/{id}/mail': async () =>
      make.at(`/users/${await make.newUser()}/mail`, { purpose: 'password_reset' }),
    'DELETE /api/admin/users/{id}/sessions': async () =>
      make.at(`/users/${(await accounts.register()).user.id}/sessions`),
    'DELETE /api/admin/users/{id}/sessions/{sessionId}': async () => make.at(await make.sessionOf()),
    'POST /api/admin/users/{id}/disable': async () => make.at(`/users/${await make.newUser()}/disable`),
    'POST /api/admin/users/{id}/enable': async () => {
      const user = `/users/${await make.newUser()}`
      await make.call('POST', `/api/admin${user}/disable`)
      return make.at(`${user}/enable`)
    },
    'POST /api/admin/users/{id}/impersonate': async () =>
      make.at(`/users/${await make.newUser()}/impersonate`, { reason: 'a complaint' }),
    'DELETE /api/admin/impersonations/{id}': async () => {
      await make.call('POST', `/api/admin/users/${await make.newUser()}/impersonate`, { reason: 'x' })
      const [newest] = (await make.call('GET', '/api/admin/impersonations')).json.items
      return make.at(`/impersonations/${newest.id}`)
    },
    'PUT /api/admin/auth/providers/{provider}': async () =>
      make.at('/auth/providers/google', { client_id: 'id', client_secret: secretMark }),
    'DELETE /api/admin/auth/providers/{provider}': async () => make.at('/auth/providers/google'),
    'DELETE /api/admin/users/{id}/identities/{provider}': async () =>
      make.at(`/users/${await make.newIdentity()}/identities/google`),
    'DELETE /api/admin/users/{id}/provider-tokens/{provider}': async () =>
      make.at(`/users/${await make.newIdentity()}/provider-tokens/google`),
    'POST /api/storage/buckets': async () => ({ path: '/api/storage/buckets', body: { name: make.name() } }),
    'PUT /api/storage/buckets/{bucket}': async () => ({
      path: `/api/storage/buckets/${await make.newBucket()}`,
      body: { public: true },
    }),
    'DELETE /api/storage/buckets/{bucket}': async () => ({
      path: `/api/storage/buckets/${await make.newBucket()}`,
    }),
    'PUT /api/admin/users/{id}/storage-quota': async () =>
      make.at(`/users/${await make.newUser()}/storage-quota`, { quota_mb: 5 }),
    'POST /api/admin/rls/templates/storage-objects/{template}': async () =>
      make.at('/rls/templates/storage-objects/bucket-scoped', { bucket: await make.newBucket() }),
    'POST /api/admin/embeddings/{name}/backfill': async () => make.at('/embeddings/note/backfill', {}),
    'POST /api/admin/jobs': async () => make.at('/jobs', { type: 'job_retention', payload: {} }),
    'POST /api/admin/jobs/{id}/retry': async () => make.at(`/jobs/${await make.newJob('failed')}/retry`),
    'POST /api/admin/jobs/{id}/cancel': async () => make.at(`/jobs/${await make.newJob('queued')}/cancel`),
    'POST /api/admin/schedules': async () =>
      make.at('/schedules', { name: make.name(), jobType: 'job_retention', cronExpr: '0 0 1 1 *' }),
    'PUT /api/admin/schedules/{id}': async () =>
      make.at(await make.newSchedule(true), { cronExpr: '0 1 1 1 *' }),
    'DELETE /api/admin/schedules/{id}': async () => make.at(await make.newSchedule(true)),
    'POST /api/admin/schedules/{id}/enable': async () => make.at(`${await make.newSchedule(false)}/enable`),
    'POST /api/admin/schedules/{id}/disable': async () => make.at(`${await make.newSchedule(true)}/disable`),
  }
}
