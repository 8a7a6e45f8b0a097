import { createHash, randomUUID } from 'node:crypto'
import type { AccountsApp } from './accounts.ts'
import { functionArchive, functionFile } from './function-deploys.ts'
import { createSubscription } from './push-stand-ins.ts'
import type { TestResponse } from './test-app.ts'

/** Marker in every secret of a write, by which tests find leaked secrets. */
export const secretMark = 'sHhh-5ecret'

/** Request of a write of administration. */
export interface AdminWrite {
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** Multipart boundary; Undici accepts none that is shorter. */
const boundary = 'x'.repeat(30)
export const defaultApp = '00000000-0000-0000-0000-000000000000'

/** Creates objects for administrators' writes, a new one with each call. */
export function createAdminThings(accounts: AccountsApp) {
  const { app } = accounts
  const call = async (method: string, path: string, body?: unknown): Promise<TestResponse> => {
    const response = await app.request(method, path, { token: await app.adminToken(), body })
    if (response.status >= 300) throw new Error(`${method} ${path}: ${response.text}`)
    return response
  }
  const insert = async (statement: string, values: readonly unknown[] = []) => {
    const [row] = await app.sql<{ id: string }>(statement, values)
    if (row === undefined) throw new Error(`nothing was made by ${statement}`)
    return row.id
  }
  const name = () => `w${randomUUID().slice(0, 8)}`
  const newUser = async () =>
    await insert('insert into basalt.users (email) values ($1) returning id', [`${name()}@example.com`])
  const at = (path: string, body?: unknown): AdminWrite => ({ path: `/api/admin${path}`, body })
  /** Creates an object and returns its path with the id from the response. */
  const made = async (path: string, body: object, member?: string) => {
    const { json } = await call('POST', `/api/admin${path}`, body)
    return `${path}/${(member === undefined ? json : json[member]).id}`
  }
  const newApp = async () => await made('/apps', { name: name(), ownerUserId: await newUser() })
  const newKey = async () => await made('/api-keys', { name: name(), userId: await newUser() }, 'apiKey')
  const newClient = async () => {
    const body = { appId: defaultApp, name: name(), redirectUris: ['https://x.example/'], scopes: ['*'] }
    return (await call('POST', '/api/admin/oauth/clients', body)).json.client
  }
  const clientPath = async () => `/oauth/clients/${(await newClient()).clientId}`
  const newWebhook = async () =>
    (await call('POST', '/api/webhooks', { url: accounts.inbox.url, secret: `whsec ${secretMark}` })).json.id
  const newDelivery = async (more: string) => {
    const webhook = await newWebhook()
    const delivery = await insert(
      `insert into basalt.webhook_deliveries (webhook_id, event_id, event_action, event_table, success, attempt,
        duration_ms, request_body) values ($1, gen_random_uuid(), 'create', 'note', false, 1, 1, '{}') returning id`,
      [webhook],
    )
    return `/api/webhooks/${webhook}/deliveries/${delivery}/${more}`
  }
  const newFunctionDeploy = async () => {
    const content = `// ${name()}`
    const body = functionArchive([content]).toString('latin1')
    const headers = { 'content-type': 'application/x-tar' }
    await app.request('POST', '/api/admin/functions/files', { token: await app.adminToken(), body, headers })
    const files = [functionFile(content)]
    return `/functions/deploys/${(await call('POST', '/api/admin/functions/deploys', { files })).json.deploy.hash}`
  }
  const newSite = async () => await made('/sites', { name: name(), slug: name() })
  const newDeploy = async () => {
    const site = await newSite()
    return `${site}/deploys/${(await call('POST', `/api/admin${site}/deploys`)).json.id}`
  }
  const form = (content: string): Pick<AdminWrite, 'body' | 'headers'> => ({
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    body: [
      `--${boundary}\r\ncontent-disposition: form-data; name="name"\r\n\r\nindex.html`,
      `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="blob"\r\n\r\n${content}`,
      `--${boundary}--\r\n`,
    ].join('\r\n'),
  })
  const newLiveDeploy = async () => {
    const deploy = await newDeploy()
    const { body, headers = {} } = form('hello')
    const token = await app.adminToken()
    await app.request('POST', `/api/admin${deploy}/files`, { token, body, headers })
    await call('POST', `/api/admin${deploy}/promote`)
    return deploy
  }
  const newDomain = async () => await made('/domains', { hostname: `${name()}.example.com` })
  const newBucket = async () => (await call('POST', '/api/storage/buckets', { name: name() })).json.name
  const newJob = async (state: string) =>
    await insert(
      `insert into basalt.jobs (type, payload, state, max_attempts, run_at)
      values ('job_retention', '{}', $1, 1, now() + interval '1 day') returning id`,
      [state],
    )
  const newSchedule = async (enabled: boolean) => {
    const body = { name: name(), jobType: 'job_retention', cronExpr: '0 0 1 1 *', enabled }
    return await made('/schedules', body)
  }
  const newDevice = async () => {
    const body = { provider: 'webpush', platform: 'web', token: `https://push.example/${name()}` }
    const { keys } = createSubscription()
    return await made('/push/devices', { ...body, keys, app_id: defaultApp, user_id: await newUser() })
  }
  const newTicket = async () => {
    const { token } = await accounts.register()
    const body = { subject: 'Door', body: 'Broken' }
    return (await app.request('POST', '/api/support/tickets', { token, body })).json.id
  }
  const newView = async () => {
    const view = name()
    await app.sql(`create materialized view ${view} as select 1 as id`)
    await app.app.catalog.refresh()
    return view
  }
  /** Creates a manifest with a GraphQL document of its own. */
  const documentManifest = () => {
    const text = `query ${name()} { __typename }`
    return { [createHash('sha256').update(text).digest('hex')]: text }
  }
  const listedDocument = async () => {
    const manifest = documentManifest()
    await call('POST', '/api/admin/graphql/documents', manifest)
    return `/graphql/documents/${Object.keys(manifest).join()}`
  }
  const newIdentity = async () => {
    const id = await newUser()
    await app.sql(
      `insert into basalt.social_identities (provider, subject, user_id, is_proven, tokens, tokens_renewable)
      values ('google', $1, $2, true, '\\x00', false)`,
      [id, id],
    )
    return id
  }
  const newGrant = async () => {
    const user = await newUser()
    const { id } = await newClient()
    const grant = await insert(
      `insert into basalt.oauth_consents (user_id, client_id, scope) values ($1, $2, '*') returning id`,
      [user, id],
    )
    return `/users/${user}/grants/${grant}`
  }
  const newPasskey = async () => {
    const user = await newUser()
    await app.sql(
      `insert into basalt.passkeys (user_id, credential_id, public_key, sign_count, display_name, is_backup_eligible,
        is_backed_up, is_user_verified, aaguid) values ($1::uuid, $2, '\\x00', 0, 'x', false, false, true, '')`,
      [user, user],
    )
    return `/users/${user}/passkeys/${user}`
  }
  const sessionOf = async () => {
    const { user } = await accounts.register()
    const [session] = (await call('GET', `/api/admin/users/${user.id}/sessions`)).json
    return `/users/${user.id}/sessions/${session.id}`
  }
  const template = { subjectTemplate: 'Hello', htmlTemplate: '<p>{{.Code}}</p>' }
  const newTemplate = async () => {
    const key = `shop.${name()}`
    await call('PUT', `/api/admin/email/templates/${key}`, template)
    return `/email/templates/${key}`
  }
  const advice = async () => {
    const table = name()
    await app.sql(
      `create table ${table} (id int primary key); grant select on ${table} to basalt_authenticated`,
    )
    await app.app.catalog.refresh()
    const { items } = (await call('GET', '/api/admin/advisors')).json
    const found = items.find(({ object }: { object: string }) => object.includes(table))
    return `/advisors/${found.id}/dismissal`
  }
  const savedQuery = async () => await made('/sql/saved', { name: name(), query: 'select 1' })
  const rehearsal = { as: { kind: 'claims', userId: randomUUID() }, table: 'rehearsed' }

  const newAdministrator = async () =>
    await made('/administrators', { email: `${name()}@example.com`, role: 'viewer' }, 'administrator')
  const newAdminToken = async () =>
    (await call('POST', '/api/admin/account/tokens', { name: name(), expiresInDays: 1 })).json.session.id
  return {
    app,
    newAdministrator,
    newAdminToken,
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
    newFunctionDeploy,
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
    documentManifest,
    listedDocument,
    newIdentity,
    newGrant,
    newPasskey,
    sessionOf,
    template,
    newTemplate,
    advice,
    savedQuery,
    rehearsal,
  }
}
