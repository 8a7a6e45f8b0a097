import { afterAll, beforeAll, expect, test } from 'vitest'
import { openEventStream } from '../../../../../test/event-stream.ts'
import { alice } from '../../../../../test/fixtures.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { openWebSocket } from '../../../../../test/websocket-client.ts'

let first: TestApp
let second: TestApp
beforeAll(async () => {
  first = await createTestApp({
    setup: `
      create table invitation (id int primary key, address text not null);
      alter table invitation enable row level security;
      create policy addressed on invitation for select
        using (basalt.email_verified() and address = basalt.user_email());
      create table item (id int primary key);
      create policy open on basalt.realtime_channels using (basalt.email_verified());
      alter table basalt.realtime_channels enable row level security`,
  })
  second = await createTestApp({ database: first.database })
})
afterAll(async () => {
  await second[Symbol.asyncDispose]()
  await first[Symbol.asyncDispose]()
})

const email = 'alice@example.com'
const unverified = userToken({ sub: alice, email })
const verified = userToken({ sub: alice, email, email_verified: true })

test('realtime › policies › see whether the email of each token is verified, for one user on two nodes', async () => {
  for (const node of [first, second]) {
    await using mine = await openEventStream(node.url, 'tables=invitation,item', { token: verified })
    await using other = await openEventStream(node.url, 'tables=invitation,item', { token: unverified })
    const id = node === first ? 1 : 2
    const token = await first.adminToken()
    const body = { id, address: email }
    const write = async (table: string, record: object) =>
      (await second.request('POST', `/api/collections/${table}`, { token, body: record })).status
    expect([await write('invitation', body), await write('item', { id })]).toEqual([201, 201])
    expect((await mine.next(2)).map(({ record }) => record)).toEqual([body, { id }])
    expect((await other.next(1)).map(({ record }) => record)).toEqual([{ id }])
  }
})

test('realtime › channels › see whether the email of the token is verified', async () => {
  await using mine = await openWebSocket(first.url, { token: verified })
  await using other = await openWebSocket(first.url, { token: unverified })
  const ask = { type: 'channel_subscribe', channel: 'team' }
  await expect.poll(async () => (await mine.ask(ask)).status).toBe('ok')
  expect((await other.ask(ask)).message).toBe('channel access denied')
})
