import { afterAll, beforeAll, expect, test } from 'vitest'
import type { AccountsApp } from '../../../test/accounts.ts'
import { type AdminWrite, secretMark } from '../../../test/admin-things.ts'
import { adminWrites } from '../../../test/admin-writes.ts'
import { notes } from '../../../test/fixtures.ts'
import { malformedRequests, type Operation } from '../../../test/malformed-requests.ts'
import { resolveReferences } from '../../../test/resolved-document.ts'
import { createMfaApp } from '../../../test/second-factors.ts'
import type { TestApp } from '../../../test/test-app.ts'

let accounts: AccountsApp
let nodes: readonly [TestApp, TestApp]
let token: string
beforeAll(async () => {
  accounts = await createMfaApp({
    setup: `${notes}
      alter table note add column vector jsonb;
      create table rehearsed (id int primary key);
      insert into rehearsed values (1);
      alter table rehearsed enable row level security;
      create policy "all" on rehearsed using (true);`,
    config: {
      'auth.oauth_provider.enabled': 'true',
      'storage.enabled': 'true',
      'support.enabled': 'true',
      'push.enabled': 'true',
      'logging.requests': 'all',
      'ai.providers': JSON.stringify({ openai: { base_url: 'http://127.0.0.1:9', default_model: 'x' } }),
      embeddings: JSON.stringify({ note: { table: 'note', columns: ['body'], vector_column: 'vector' } }),
    },
  })
  nodes = [accounts.app, await accounts.secondNode()]
  token = await accounts.app.adminToken()
})
afterAll(async () => {
  await nodes[1][Symbol.asyncDispose]()
  await accounts[Symbol.asyncDispose]()
})

/** Writes that this test does not send, with the test that sends them. */
const sentElsewhere = new Set([
  // They end the session that the others need: audit.db.test.ts, session.db.test.ts.
  'POST /api/admin/auth/logout',
  'DELETE /api/admin/session',
  // It ends other sessions of the administrator: administrators.db.test.ts.
  'PUT /api/admin/account/password',
  // They need a factor or change the session: second-factor.db.test.ts.
  'POST /api/admin/account/factors/backup-codes',
  'POST /api/admin/account/factors/totp',
  'POST /api/admin/account/factors/totp/confirm',
  'DELETE /api/admin/account/factors/totp',
  'POST /api/admin/account/passkeys',
  'POST /api/admin/account/passkeys/challenge',
  'POST /api/admin/account/passkeys/confirm',
  'DELETE /api/admin/account/passkeys/{id}',
  'POST /api/admin/account/step-up',
  'DELETE /api/admin/administrators/{id}/factors',
  // They need a provider: company-sign-in.db.test.ts.
  'POST /api/admin/account/step-up/oidc',
  'DELETE /api/admin/administrators/{id}/identity',
  // They need pgvector: vector-indexes.db.test.ts.
  'POST /api/admin/vector/indexes',
  'DELETE /api/admin/vector/indexes/{name}',
  // It needs a run in flight: sql.db.test.ts.
  'POST /api/admin/sql/runs/{id}/cancel',
  // It needs an open stream: stream-life.db.test.ts.
  'POST /api/admin/realtime/connections/{id}/disconnect',
  // It needs a function: invoke.db.test.ts.
  'POST /api/admin/functions/invoke',
  // It sends a request to the provider and writes nothing: providers-admin.db.test.ts.
  'POST /api/admin/auth/providers/{provider}/test',
])

/** Writes that leave no audit row. */
const unrecorded = new Set([
  // The audit records rows of collections for the tables in `audit.tables`.
  'POST /api/admin/tables/{table}/changes',
  // These are kept for the dashboard alone.
  'PATCH /api/admin/preferences',
  'PUT /api/admin/sql/tabs/{id}',
  'DELETE /api/admin/sql/tabs/{id}',
  // These show what would be sent.
  'POST /api/admin/email/templates/{key}/preview',
  // These are parts of a deploy, whose start and end are recorded.
  'POST /api/admin/sites/{siteId}/deploys/{deployId}/manifest',
  'POST /api/admin/sites/{siteId}/deploys/{deployId}/files',
  'POST /api/admin/functions/files',
])

/** Returns the operations of the API document that only administrators may call. */
async function listOperations() {
  const [app] = nodes
  const document = (await app.request('GET', '/api/openapi.json', { token })).json
  const paths = resolveReferences(document, document.paths) as Readonly<
    Record<string, Readonly<Record<string, Operation>>>
  >
  const documented = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path,
    })),
  )
  const found: typeof documented = []
  for (const operation of documented) {
    const { method, path } = operation
    const body = ['GET', 'DELETE'].includes(method) ? undefined : {}
    const { text } = await app.request(method, path.replace(/\{\w+\}/g, '1'), { body })
    if (text.includes('"admin_required"')) found.push(operation)
  }
  return found
}

test('administration › has every write in this test or in the list of those sent elsewhere', async () => {
  const writes = (await listOperations()).filter(({ method }) => method !== 'GET')
  expect([...Object.keys(adminWrites(accounts)), ...sentElsewhere].toSorted()).toEqual(
    writes.map(({ method, path }) => `${method} ${path}`).toSorted(),
  )
})

test('administration › records each success of four concurrent writes on two nodes once, and none fails', async () => {
  const [app] = nodes
  const send = (key: string, { path, body, headers }: AdminWrite, requestId: string) =>
    Promise.all(
      Array.from({ length: 4 }, (_, index) => {
        const [method = ''] = key.split(' ')
        const node = nodes[index % 2] ?? app
        return node.request(method, path, { token, body, headers: { ...headers, 'x-request-id': requestId } })
      }),
    )
  const faults: string[] = []
  for (const [index, [key, prepare]] of Object.entries(adminWrites(accounts)).entries()) {
    const requestId = `admin-write-${index}`
    const answers = await send(key, await prepare(), requestId)
    const succeeded = answers.filter(({ status }) => status < 300).length
    const rows = await app.sql(
      `select actor, address from basalt.audit where request_id = $1 and actor = 'admin' and address = '127.0.0.1'`,
      [requestId],
    )
    const expected = unrecorded.has(key) ? 0 : succeeded
    const failure = answers.find(({ status }) => status >= (succeeded > 0 ? 500 : 300))
    if (failure !== undefined) faults.push(`${key}: ${failure.status} ${failure.text}`)
    if (rows.length !== expected) faults.push(`${key}: ${succeeded} succeeded, ${rows.length} recorded`)
  }
  expect(faults).toEqual([])
}, 240_000)

test('administration › writes no secret to the audit, the SQL history or the log', async () => {
  for (const table of ['audit', 'sql_runs']) {
    const found = await nodes[0].sql(`select * from basalt.${table} t where t::text like $1`, [
      `%${secretMark}%`,
    ])
    expect(found).toEqual([])
  }
  for (const { log } of nodes) {
    expect(log.length).toBeGreaterThan(200)
    expect(log.filter((line) => line.includes(secretMark) || line.includes(token))).toEqual([])
  }
})

/** Routes with an endless response, or that end the session. */
const unanswered = /logs\/tail|realtime\/stream|auth\/logout|^\/api\/admin\/session$/

test('administration › rejects malformed input with errors of the API and never with 500', async () => {
  const [app] = nodes
  const operations = (await listOperations()).filter(({ path }) => !unanswered.test(path))
  const faults: string[] = []
  let sent = 0
  for (const { method, path, body } of malformedRequests(operations)) {
    const { status, text } = await app.request(method, path, { token, body })
    sent += 1
    const isRefusal = status >= 400 && status < 500 && text.includes(`"code":${status}`)
    if (!isRefusal && status >= 300)
      faults.push(`${method} ${path} ${body?.slice(0, 200)}: ${status} ${text}`)
  }
  expect(faults).toEqual([])
  expect(sent).toBeGreaterThan(500)
}, 120_000)
