import { type AccountsApp, goodPassword } from './accounts.ts'
import { type AdminWrite, createAdminThings, defaultApp, secretMark } from './admin-things.ts'
import { createSubscription } from './push-stand-ins.ts'
import { totpUser } from './second-factors.ts'

/** Every write of administration by its method and path in the API document, with something of its own to write to. */
export function adminWrites(accounts: AccountsApp): Readonly<Record<string, () => Promise<AdminWrite>>> {
  const {
    app,
    call,
    name,
    newUser,
    at,
    made,
    newApp,
    newKey,
    clientPath,
    newWebhook,
    newDelivery,
    newSite,
    newDeploy,
    form,
    newLiveDeploy,
    newDomain,
    newBucket,
    newJob,
    newSchedule,
    newDevice,
    newTicket,
    newView,
    newIdentity,
    newGrant,
    newPasskey,
    sessionOf,
    template,
    newTemplate,
    advice,
    savedQuery,
    asked,
  } = createAdminThings(accounts)
  return {
    'PUT /api/admin/usage/{tenantId}/plan': async () => at(`/usage/${defaultApp}/plan`, { plan: 'default' }),
    'POST /api/admin/search/{table}/enable': async () => at('/search/note/enable'),
    'POST /api/admin/search/{table}/disable': async () => at('/search/note/disable'),
    'PUT /api/collections/{table}/search-settings': async () => ({
      path: '/api/collections/note/search-settings',
      body: { searchableAttributes: ['body'] },
    }),
    'PUT /api/collections/{table}/synonyms': async () => ({
      path: '/api/collections/note/synonyms',
      body: { groups: [{ terms: ['a', 'b'] }] },
    }),
    'PUT /api/admin/advisors/{id}/dismissal': async () => at(await advice(), { reason: 'meant' }),
    'DELETE /api/admin/advisors/{id}/dismissal': async () => {
      const path = await advice()
      await call('PUT', `/api/admin${path}`, { reason: 'meant' })
      return at(path)
    },
    'POST /api/admin/sql': async () =>
      at('/sql', {
        query: `do $$ begin if false then alter role nobody_here password '${secretMark}'; end if; end $$`,
      }),
    'POST /api/admin/sql/explain': async () => at('/sql/explain', { query: 'select 1' }),
    'POST /api/admin/sql/saved': async () => at('/sql/saved', { name: name(), query: 'select 1' }),
    'PUT /api/admin/sql/saved/{id}': async () => at(await savedQuery(), { name: name(), version: 1 }),
    'DELETE /api/admin/sql/saved/{id}': async () => at(await savedQuery()),
    'POST /api/admin/matviews': async () => at('/matviews', { viewName: await newView() }),
    'PUT /api/admin/matviews/{id}': async () =>
      at(await made('/matviews', { viewName: await newView() }), { refreshMode: 'standard' }),
    'DELETE /api/admin/matviews/{id}': async () => at(await made('/matviews', { viewName: await newView() })),
    'POST /api/admin/matviews/{id}/refresh': async () =>
      at(`${await made('/matviews', { viewName: await newView() })}/refresh`),
    'POST /api/admin/sms/send': async () => at('/sms/send', { to: '+12025550123', body: secretMark }),
    'POST /api/admin/apps': async () => at('/apps', { name: name(), ownerUserId: await newUser() }),
    'PUT /api/admin/apps/{id}': async () => at(await newApp(), { name: name() }),
    'DELETE /api/admin/apps/{id}': async () => at(await newApp()),
    'POST /api/admin/api-keys': async () => at('/api-keys', { name: name(), userId: await newUser() }),
    'PATCH /api/admin/api-keys/{id}': async () => at(await newKey(), { name: name() }),
    'DELETE /api/admin/api-keys/{id}': async () => at(await newKey()),
    'POST /api/admin/api-keys/{id}/rotate': async () => at(`${await newKey()}/rotate`, {}),
    'PATCH /api/admin/auth-settings': async () => at('/auth-settings', { totp_enabled: true }),
    'PUT /api/admin/auth-settings': async () => at('/auth-settings', { totp_enabled: true }),
    'DELETE /api/admin/users/{id}/factors': async () => at(`/users/${await newUser()}/factors`),
    'DELETE /api/admin/users/{id}/factors/{factorId}': async () => {
      const { user, factorId } = await totpUser(accounts)
      return at(`/users/${user.id}/factors/${factorId}`)
    },
    'DELETE /api/admin/users/{id}/passkeys/{credential_id}': async () => at(await newPasskey()),
    'POST /api/admin/oauth/clients': async () =>
      at('/oauth/clients', {
        ...{ appId: defaultApp, name: name(), redirectUris: ['https://x.example/'], scopes: ['*'] },
      }),
    'PUT /api/admin/oauth/clients/{clientId}': async () =>
      at(await clientPath(), { name: name(), redirectUris: ['https://y.example/'], scopes: ['*'] }),
    'DELETE /api/admin/oauth/clients/{clientId}': async () => at(await clientPath()),
    'POST /api/admin/oauth/clients/{clientId}/rotate-secret': async () =>
      at(`${await clientPath()}/rotate-secret`),
    'DELETE /api/admin/users/{id}/grants/{grantId}': async () => at(await newGrant()),
    'POST /api/admin/access/explain': async () => at('/access/explain', asked),
    'POST /api/admin/access/parts': async () => at('/access/parts', { ...asked, policy: 'all', stage: 0 }),
    'POST /api/admin/access/compare': async () =>
      at('/access/compare', { table: 'rehearsed', as: [asked.as], policy: { name: 'all', using: 'false' } }),
    'POST /api/admin/access/cases': async () => at('/access/cases', { ...asked, name: name() }),
    'POST /api/admin/storage/cdn/purge': async () =>
      at('/storage/cdn/purge', { urls: ['https://cdn.example.com/x'] }),
    'POST /api/admin/sites': async () => at('/sites', { name: name(), slug: name() }),
    'PUT /api/admin/sites/{siteId}': async () => at(await newSite(), { name: name() }),
    'DELETE /api/admin/sites/{siteId}': async () => at(await newSite()),
    'POST /api/admin/sites/{siteId}/deploys': async () => at(`${await newSite()}/deploys`),
    'POST /api/admin/sites/{siteId}/deploys/rollback': async () => {
      const deploy = await newLiveDeploy()
      const site = deploy.slice(0, deploy.indexOf('/deploys'))
      const next = `${site}/deploys/${(await call('POST', `/api/admin${site}/deploys`)).json.id}`
      const token = await app.adminToken()
      await app.request('POST', `/api/admin${next}/files`, { token, ...form('again') })
      await call('POST', `/api/admin${next}/promote`)
      return at(`${site}/deploys/rollback`)
    },
    'POST /api/admin/sites/{siteId}/deploys/{deployId}/promote': async () => {
      const deploy = await newDeploy()
      const token = await app.adminToken()
      await app.request('POST', `/api/admin${deploy}/files`, { token, ...form('hello') })
      return at(`${deploy}/promote`)
    },
    'POST /api/admin/sites/{siteId}/deploys/{deployId}/fail': async () =>
      at(`${await newDeploy()}/fail`, { errorMessage: 'x' }),
    'POST /api/admin/sites/{siteId}/deploys/{deployId}/manifest': async () =>
      at(`${await newDeploy()}/manifest`, { files: [{ path: 'a', sha256: '0'.repeat(64), size: 1 }] }),
    'POST /api/admin/sites/{siteId}/deploys/{deployId}/files': async () => ({
      ...at(`${await newDeploy()}/files`),
      ...form('hello'),
    }),
    'POST /api/admin/domains': async () => at('/domains', { hostname: `${name()}.example.com` }),
    'DELETE /api/admin/domains/{id}': async () => at(await newDomain()),
    'POST /api/admin/domains/{id}/verify': async () => at(`${await newDomain()}/verify`),
    'POST /api/admin/structure/plan': async () =>
      at('/structure/plan', { sql: `create role ${name()} password '${secretMark}'` }),
    'POST /api/admin/structure/apply': async () => {
      const table = name()
      return at('/structure/apply', {
        sql: `create table ${table} (id int primary key)`,
        name: `add ${table}`,
      })
    },
    'POST /api/webhooks': async () => ({
      path: '/api/webhooks',
      body: { url: 'http://127.0.0.1:9/', secret: `whsec ${secretMark}` },
    }),
    'PATCH /api/webhooks/{id}': async () => ({
      path: `/api/webhooks/${await newWebhook()}`,
      body: { secret: `new ${secretMark}` },
    }),
    'DELETE /api/webhooks/{id}': async () => ({ path: `/api/webhooks/${await newWebhook()}` }),
    'POST /api/webhooks/{id}/test': async () => ({ path: `/api/webhooks/${await newWebhook()}/test` }),
    'POST /api/webhooks/{id}/deliveries/{deliveryId}/replay': async () => ({
      path: await newDelivery('replay'),
    }),
    'POST /api/webhooks/{id}/deliveries/{deliveryId}/try': async () => ({
      path: await newDelivery('try'),
      body: { url: accounts.inbox.url, secret: `whsec ${secretMark}` },
    }),
    'POST /api/webhooks/{id}/replays': async () => ({
      path: `/api/webhooks/${await newWebhook()}/replays`,
      body: { which: 'missed' },
    }),
    'POST /api/admin/tables/{table}/changes': async () =>
      at('/tables/note/changes', {
        operations: [{ method: 'create', body: { owner_id: await newUser(), body: 'x' } }],
      }),
    'PUT /api/admin/email/templates/{key}': async () => at(await newTemplate(), template),
    'PATCH /api/admin/email/templates/{key}': async () => at(await newTemplate(), { enabled: false }),
    'DELETE /api/admin/email/templates/{key}': async () => at(await newTemplate()),
    'POST /api/admin/email/templates/{key}/preview': async () =>
      at(`${await newTemplate()}/preview`, { ...template, variables: { Code: secretMark } }),
    'POST /api/admin/email/send': async () =>
      at('/email/send', {
        templateKey: (await newTemplate()).slice('/email/templates/'.length),
        ...{ to: 'to@example.com', variables: { Code: secretMark } },
      }),
    'POST /api/admin/push/devices': async () =>
      at('/push/devices', {
        ...{
          provider: 'webpush',
          platform: 'web',
          token: `https://push.example/${name()}`,
          app_id: defaultApp,
        },
        ...{ keys: createSubscription().keys, user_id: await newUser() },
      }),
    'DELETE /api/admin/push/devices/{id}': async () => at(await newDevice()),
    'POST /api/admin/push/send': async () => {
      const id = (await newDevice()).slice('/push/devices/'.length)
      const [device] = await app.sql('select user_id from basalt.push_devices where id = $1', [id])
      return at('/push/send', { app_id: defaultApp, user_id: device?.user_id, title: 'x', body: secretMark })
    },
    'POST /api/admin/push/send-to-token': async () =>
      at('/push/send-to-token', {
        ...{ token_id: (await newDevice()).slice('/push/devices/'.length), title: 'x', body: secretMark },
      }),
    'PUT /api/admin/push/providers/{provider}': async () =>
      at('/push/providers/webpush', { private_key: Buffer.alloc(32, 7).toString('base64url') }),
    'DELETE /api/admin/push/providers/{provider}': async () => at('/push/providers/webpush'),
    'PUT /api/admin/support/tickets/{id}': async () =>
      at(`/support/tickets/${await newTicket()}`, { status: 'closed' }),
    'POST /api/admin/support/tickets/{id}/messages': async () =>
      at(`/support/tickets/${await newTicket()}/messages`, { body: 'x' }),
    'POST /api/admin/users': async () =>
      at('/users', { email: `${name()}@example.com`, password: `${goodPassword}-${secretMark}` }),
    'PATCH /api/admin/users/{id}': async () =>
      at(`/users/${await newUser()}`, { email: `${name()}@example.com` }),
    'DELETE /api/admin/users/{id}': async () => at(`/users/${await newUser()}`),
    'POST /api/admin/users/{id}/mail': async () =>
      at(`/users/${await newUser()}/mail`, { purpose: 'password_reset' }),
    'DELETE /api/admin/users/{id}/sessions': async () =>
      at(`/users/${(await accounts.register()).user.id}/sessions`),
    'DELETE /api/admin/users/{id}/sessions/{sessionId}': async () => at(await sessionOf()),
    'POST /api/admin/users/{id}/disable': async () => at(`/users/${await newUser()}/disable`),
    'POST /api/admin/users/{id}/enable': async () => {
      const user = `/users/${await newUser()}`
      await call('POST', `/api/admin${user}/disable`)
      return at(`${user}/enable`)
    },
    'POST /api/admin/users/{id}/impersonate': async () =>
      at(`/users/${await newUser()}/impersonate`, { reason: 'a complaint' }),
    'DELETE /api/admin/impersonations/{id}': async () => {
      await call('POST', `/api/admin/users/${await newUser()}/impersonate`, { reason: 'x' })
      const [newest] = (await call('GET', '/api/admin/impersonations')).json.items
      return at(`/impersonations/${newest.id}`)
    },
    'PUT /api/admin/auth/providers/{provider}': async () =>
      at('/auth/providers/google', { client_id: 'id', client_secret: secretMark }),
    'DELETE /api/admin/auth/providers/{provider}': async () => at('/auth/providers/google'),
    'DELETE /api/admin/users/{id}/identities/{provider}': async () =>
      at(`/users/${await newIdentity()}/identities/google`),
    'DELETE /api/admin/users/{id}/provider-tokens/{provider}': async () =>
      at(`/users/${await newIdentity()}/provider-tokens/google`),
    'POST /api/storage/buckets': async () => ({ path: '/api/storage/buckets', body: { name: name() } }),
    'PUT /api/storage/buckets/{bucket}': async () => ({
      path: `/api/storage/buckets/${await newBucket()}`,
      body: { public: true },
    }),
    'DELETE /api/storage/buckets/{bucket}': async () => ({
      path: `/api/storage/buckets/${await newBucket()}`,
    }),
    'PUT /api/admin/users/{id}/storage-quota': async () =>
      at(`/users/${await newUser()}/storage-quota`, { quota_mb: 5 }),
    'POST /api/admin/rls/templates/storage-objects/{template}': async () =>
      at('/rls/templates/storage-objects/bucket-scoped', { bucket: await newBucket() }),
    'POST /api/admin/embeddings/{name}/backfill': async () => at('/embeddings/note/backfill', {}),
    'POST /api/admin/jobs': async () => at('/jobs', { type: 'job_retention', payload: {} }),
    'POST /api/admin/jobs/{id}/retry': async () => at(`/jobs/${await newJob('failed')}/retry`),
    'POST /api/admin/jobs/{id}/cancel': async () => at(`/jobs/${await newJob('queued')}/cancel`),
    'POST /api/admin/schedules': async () =>
      at('/schedules', { name: name(), jobType: 'job_retention', cronExpr: '0 0 1 1 *' }),
    'PUT /api/admin/schedules/{id}': async () => at(await newSchedule(true), { cronExpr: '0 1 1 1 *' }),
    'DELETE /api/admin/schedules/{id}': async () => at(await newSchedule(true)),
    'POST /api/admin/schedules/{id}/enable': async () => at(`${await newSchedule(false)}/enable`),
    'POST /api/admin/schedules/{id}/disable': async () => at(`${await newSchedule(true)}/disable`),
  }
}
