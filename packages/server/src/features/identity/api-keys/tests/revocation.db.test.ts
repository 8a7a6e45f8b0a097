import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAccountsApp, mailedLinkToken, newEmail } from '../../../../../test/accounts.ts'
import { createApiKey, createApplication } from '../../../../../test/api-keys.ts'
import { openEventStream } from '../../../../../test/event-stream.ts'
import { alice, notes } from '../../../../../test/fixtures.ts'
import { createTestApp, type TestApp } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { openWebSocket } from '../../../../../test/websocket-client.ts'

let first: TestApp
let second: TestApp

beforeAll(async () => {
  first = await createTestApp({ setup: `${notes} create table item (id int primary key)` })
  second = await createTestApp({ database: first.database })
  await first.sql('insert into basalt.users (id) values ($1)', [alice])
})
afterAll(async () => {
  await second[Symbol.asyncDispose]()
  await first[Symbol.asyncDispose]()
})

const statusOf = async (node: TestApp, token: string) =>
  (await node.request('GET', '/api/collections/note', { token })).status

/** Creates a key that both nodes have cached. */
async function warmKey(more: object = {}) {
  const made = await createApiKey(first, { userId: alice, ...more })
  for (const node of [first, second]) expect(await statusOf(node, made.key)).toBe(200)
  return made
}

/** Checks that every node rejects the key. Revocation may take a second, and the rest is slack for a busy machine. */
async function expectRevoked(key: string): Promise<void> {
  for (const node of [first, second]) {
    await waitFor('the key to end', async () => (await statusOf(node, key)) === 401)
  }
}

async function asAdmin(method: string, path: string, body?: unknown): Promise<void> {
  const { status, text } = await first.request(method, `/api/admin/${path}`, {
    token: await first.adminToken(),
    body,
  })
  if (status >= 300) throw new Error(text)
}

describe('API key revocation', () => {
  test.each<[string, (key: string, id: string) => Promise<unknown>]>([
    ['revoked', (_key, id) => asAdmin('DELETE', `api-keys/${id}`)],
    ['rotated without grace', (_key, id) => asAdmin('POST', `api-keys/${id}/rotate`, { graceSeconds: 0 })],
    [
      'revoked by SQL',
      (_key, id) => first.sql('update basalt.api_keys set revoked_at = now() where id = $1', [id]),
    ],
    ['deleted by SQL', (_key, id) => first.sql('delete from basalt.api_keys where id = $1', [id])],
    [
      'ended by SQL',
      (_key, id) =>
        first.sql(`update basalt.api_keys set expires_at = now() - interval '1 s' where id = $1`, [id]),
    ],
  ])('rejects a key that is %s on every node', async (_how, end) => {
    const { key, apiKey } = await warmKey()
    await end(key, apiKey.id)
    await expectRevoked(key)
  })

  test('revokes a key permanently with its app', async () => {
    const appId = await createApplication(first, { ownerUserId: alice })
    const { key, apiKey } = await warmKey({ appId })
    await asAdmin('DELETE', `apps/${appId}`)
    await expectRevoked(key)
    const [row] = await first.sql('select app_id, revoked_at from basalt.api_keys where id = $1', [apiKey.id])
    expect(row).toEqual({ app_id: null, revoked_at: expect.any(Date) })
  })

  test('rejects a key while its user is disabled, and permanently once the user is deleted', async () => {
    const [user] = await first.sql<{ id: string }>('insert into basalt.users default values returning id')
    const { key } = await warmKey({ userId: user?.id })
    await asAdmin('POST', `users/${user?.id}/disable`)
    await expectRevoked(key)
    await asAdmin('POST', `users/${user?.id}/enable`)
    for (const node of [first, second]) {
      await waitFor('the key', async () => (await statusOf(node, key)) === 200)
    }
    await asAdmin('DELETE', `users/${user?.id}`)
    await expectRevoked(key)
  })

  test('uses the current address of the user', async () => {
    const [user] = await first.sql<{ id: string }>('insert into basalt.users default values returning id')
    await first.sql(`
      create table whose (id serial primary key, body text, email text default basalt.user_email());
      grant all on all tables in schema public to basalt_authenticated;
      grant usage on all sequences in schema public to basalt_authenticated`)
    const { key } = await warmKey({ userId: user?.id })
    await first.sql(`update basalt.users set email = 'new@example.com' where id = $1`, [user?.id])
    for (const node of [first, second]) {
      await waitFor('the address', async () => {
        const { status, json } = await node.request('POST', '/api/collections/whose', {
          token: key,
          body: { body: 'x' },
        })
        return status === 201 && json.email === 'new@example.com'
      })
    }
  })

  test('ends streams of the key', async () => {
    const { key, apiKey } = await warmKey()
    await using events = await openEventStream(second.url, `tables=item&token=${key}`)
    await using socket = await openWebSocket(second.url, { token: key })
    expect(events.status).toBe(200)
    await asAdmin('DELETE', `api-keys/${apiKey.id}`)
    await events.ended()
    expect((await events.named('close')).data.reason).toBe('session_ended')
    expect((await socket.ended()).code).toBe(4401)
  })

  test('revokes keys from before the owner of an address signed in by mail', async () => {
    await using accounts = await createAccountsApp({ setup: notes })
    const email = newEmail()
    const { token } = await accounts.register(email)
    const made = await accounts.post('api-keys', { name: 'of a stranger' }, token)
    expect(await statusOf(accounts.app, made.json.key)).toBe(200)
    const link = await mailedLinkToken(accounts, email)
    expect((await accounts.post('magic-link/confirm', { token: link })).status).toBe(200)
    await waitFor('the key to end', async () => (await statusOf(accounts.app, made.json.key)) === 401)
  })
})

test('API keys › a WebSocket subscribes only to the tables of its key, even after another key connected', async () => {
  const { key } = await createApiKey(first, { userId: alice, allowedTables: ['item'] })
  const { key: all } = await createApiKey(first, { userId: alice })
  const refused = 'api key does not have access to table: note'
  await using socket = await openWebSocket(first.url, { token: key })
  expect(await socket.request({ type: 'subscribe', tables: ['note'] })).toMatchObject({
    status: 'error',
    message: refused,
  })
  expect(await socket.request({ type: 'subscribe', tables: ['item'] })).toMatchObject({ status: 'ok' })
  expect(await socket.request({ type: 'channel_subscribe', channel: 'room' })).toMatchObject({
    status: 'error',
    message: 'api key scope does not permit access to channels',
  })
  await using wide = await openWebSocket(first.url, { token: all })
  expect(await wide.request({ type: 'subscribe', tables: ['note', 'item'] })).toMatchObject({ status: 'ok' })
  expect(await wide.request({ type: 'auth', token: key })).toMatchObject({
    status: 'error',
    message: refused,
  })
  await using member = await openWebSocket(first.url, { token: all })
  expect(await member.request({ type: 'channel_subscribe', channel: 'room' })).toMatchObject({ status: 'ok' })
  expect(await member.request({ type: 'auth', token: key })).toMatchObject({
    status: 'error',
    message: 'api key scope does not permit access to channels',
  })
  expect(await member.request({ type: 'channel_unsubscribe', channel: 'room' })).toMatchObject({
    status: 'ok',
  })
  expect(await member.request({ type: 'auth', token: key })).toMatchObject({ status: 'ok' })
})

test('API keys › a readonly key receives from channels and cannot send', async () => {
  const { key } = await createApiKey(first, { userId: alice, scope: 'readonly' })
  await using socket = await openWebSocket(first.url, { token: key })
  for (const type of ['broadcast', 'presence_track']) {
    expect(await socket.request({ type, channel: 'room', event: 'x', payload: {} })).toMatchObject({
      status: 'error',
      message: 'api key scope does not permit write operations',
    })
  }
})
