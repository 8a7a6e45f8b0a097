import { afterAll, beforeAll, expect, test } from 'vitest'
import { openEventStream } from '../../../../../test/event-stream.ts'
import { alice } from '../../../../../test/fixtures.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { openWebSocket } from '../../../../../test/websocket-client.ts'
import { created, errorReply, okReply } from './messages.ts'

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

test('realtime › policies › read email_verified of each token, for one user on two nodes', async () => {
  for (const node of [first, second]) {
    await using mine = await openEventStream(node.url, 'tables=invitation,item', { token: verified })
    await using other = await openEventStream(node.url, 'tables=invitation,item', { token: unverified })
    const id = node === first ? 1 : 2
    const token = await first.adminToken()
    const body = { id, address: email }
    const write = async (table: string, record: object) =>
      (await second.request('POST', `/api/collections/${table}`, { token, body: record })).status
    expect([await write('invitation', body), await write('item', { id })]).toEqual([201, 201])
    expect(await mine.next(2)).toEqual([created('invitation', body), created('item', { id })])
    expect(await other.next(1)).toEqual([created('item', { id })])
  }
})

test('realtime › channel access › reads email_verified of the token', async () => {
  await using mine = await openWebSocket(first.url, { token: verified })
  await using other = await openWebSocket(first.url, { token: unverified })
  const subscribe = { type: 'channel_subscribe', channel: 'team' }
  await expect.poll(() => mine.request(subscribe)).toEqual(okReply)
  expect(await other.request(subscribe)).toEqual(errorReply('channel access denied'))
})
