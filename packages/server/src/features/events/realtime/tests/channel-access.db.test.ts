import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { openWebSocket, type WebSocketClient } from '../../../../../test/websocket-client.ts'
import { errorReply, okReply } from './messages.ts'

let app: TestApp
const token = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({ setup: 'create table member (channel text, user_id text)' })
})
afterAll(() => app[Symbol.asyncDispose]())

const channels = 'basalt.realtime_channels'

beforeEach(async () => {
  const policies = await app.sql<{ name: string }>(
    `select polname as name from pg_policy where polrelid = '${channels}'::regclass`,
  )
  for (const { name } of policies) await app.sql(`drop policy ${name} on ${channels}`)
  await app.sql(`delete from member; alter table ${channels} disable row level security`)
})

/** Repeats a request until it has the expected result, because policies are read again after a second. */
async function until(
  expected: string,
  request: () => Promise<{ message?: string; status: string }>,
): Promise<void> {
  await waitFor(expected, async () => {
    const reply = await request()
    return (reply.message ?? reply.status) === expected
  })
}

async function restrict(...policies: readonly string[]): Promise<void> {
  for (const [index, policy] of policies.entries()) {
    await app.sql(`create policy p${index} on ${channels} ${policy}`)
  }
  await app.sql(`alter table ${channels} enable row level security`)
}

const open = (of = token): Promise<WebSocketClient> => openWebSocket(app.url, { token: of })
const subscribe = (client: WebSocketClient, channel: string) => () =>
  client.request({ type: 'channel_subscribe', channel })
const denied = 'channel access denied'
const ofMembers = `exists (
  select from member m where m.channel = realtime_channels.channel and m.user_id = current_setting('basalt.user_id', true)
)`

describe('realtime › policies of realtime_channels', () => {
  test('have no effect while row level security is off', async () => {
    await app.sql(`create policy p on ${channels} using (false)`)
    await using client = await open()
    await until('ok', subscribe(client, 'a'))
    await until('ok', () => client.request({ type: 'broadcast', channel: 'a', event: 'e', payload: 1 }))
  })

  test('decide who may subscribe, as the caller and by other tables', async () => {
    await app.sql(`insert into member values ('team', '${alice}')`)
    await restrict(`for select to basalt_authenticated using (${ofMembers})`)
    await using mine = await open()
    await using theirs = await open(userToken({ sub: bob }))
    await until(denied, subscribe(mine, 'other team'))
    await until('ok', subscribe(mine, 'team'))
    await until(denied, subscribe(theirs, 'team'))
    // No policy permits sending.
    for (const message of [
      { type: 'broadcast', channel: 'team', event: 'e', payload: 1 },
      { type: 'presence_track', channel: 'team', presence: {} },
    ]) {
      expect(await mine.request(message)).toEqual(errorReply(denied))
    }
    expect(await theirs.request({ type: 'presence_sync', channel: 'team' })).toEqual(
      errorReply('not subscribed to channel'),
    )
  })

  test('decide who may broadcast and show presence', async () => {
    await restrict(
      'for select using (true)',
      `for insert with check (channel like 'open:%')`,
      `as restrictive for insert with check (current_setting('basalt.aal') = 'aal2')`,
    )
    await using weak = await open()
    await using strong = await open(userToken({ sub: alice, aal: 'aal2' }))
    for (const channel of ['open:1', 'shut']) {
      for (const client of [weak, strong]) await until('ok', subscribe(client, channel))
    }
    const send = (client: WebSocketClient, channel: string) => () =>
      client.request({ type: 'broadcast', channel, event: 'e', payload: 1 })
    await until(denied, send(weak, 'open:1'))
    await until(denied, send(strong, 'shut'))
    await until('ok', send(strong, 'open:1'))
    await until('ok', () => strong.request({ type: 'presence_track', channel: 'open:1', presence: {} }))
    expect(weak.ofType('broadcast').map(({ channel }) => channel)).not.toContain('shut')
  })

  test('decide both if they are for all commands, and have no effect for other roles', async () => {
    await app.sql(`do $$ begin create role other_role; exception when duplicate_object then null; end $$`)
    await restrict(`using (channel = 'a')`, 'for select to other_role using (true)')
    await using client = await open()
    await until(denied, subscribe(client, 'b'))
    await until('ok', subscribe(client, 'a'))
    await until('ok', () => client.request({ type: 'broadcast', channel: 'a', event: 'e', payload: 1 }))
  })

  test('deny every caller if they permit nothing or are missing', async () => {
    await app.sql(`alter table ${channels} enable row level security`)
    await using client = await open()
    await until(denied, subscribe(client, 'a'))
    await app.sql(`create policy p on ${channels} as restrictive using (true)`)
    await until(denied, subscribe(client, 'a'))
    await app.sql(`create policy q on ${channels} using (null)`)
    await until(denied, subscribe(client, 'a'))
  })

  test('deny the channel for which they fail', async () => {
    await restrict('using (channel::int > 0)')
    await using client = await open()
    await until('ok', subscribe(client, '1'))
    await until(denied, subscribe(client, 'x'))
    await until(denied, subscribe(client, '0'))
    await until('ok', subscribe(client, '2'))
    expect(client.closed).toBeUndefined()
  })

  test('deny every channel if they fail for every one, and the failure is logged once without channel names', async () => {
    await restrict(`using (channel = 'ready' or lastval() > 0 or channel::regtype is not null)`)
    await using client = await open()
    await until('ok', subscribe(client, 'ready'))
    for (const channel of ['secret 1', 'secret 2', 'secret 3'])
      await until(denied, subscribe(client, channel))
    const logged = app.log.filter((line) => line.includes('a policy failed on a channel'))
    expect(logged.filter((line) => line.includes('SQLSTATE 55000'))).toHaveLength(1)
    expect(logged.join()).not.toContain('secret')
  })

  test('receive hostile channel names as plain text', async () => {
    await restrict(`using (channel like 'mine%')`)
    await using client = await open()
    await until('ok', subscribe(client, 'mine'))
    for (const channel of ['x', `' or true --`, '{"a"}', `x', 'mine`, '"]', '\\"', 'MINE']) {
      expect(await subscribe(client, channel)()).toEqual(errorReply(denied))
    }
    for (const channel of [`mine' or "x`, 'mine\\', 'mine😀']) {
      expect(await subscribe(client, channel)()).toEqual(okReply)
    }
  })

  test('unsubscribe the stream when a new token no longer satisfies them', async () => {
    await restrict(`using (current_setting('basalt.aal') = 'aal2')`)
    await using client = await open(userToken({ sub: alice, aal: 'aal2' }))
    await using witness = await open(userToken({ sub: bob, aal: 'aal2' }))
    for (const each of [client, witness]) await until('ok', subscribe(each, 'a'))
    await client.request({ type: 'presence_track', channel: 'a', presence: {} })
    await client.request({ type: 'auth', token })
    expect(await client.next('system')).toEqual([
      { type: 'system', message: 'no longer subscribed to channel a: channel access denied', channel: 'a' },
    ])
    const again = await client.request({ type: 'broadcast', channel: 'a', event: 'e', payload: 1 })
    expect(again).toEqual(errorReply('not subscribed to channel'))
    await waitFor('the presence to leave', () =>
      witness.ofType('presence').some(({ presence_action: action }) => action === 'leave'),
    )
    expect(witness.ofType('system')).toEqual([])
  })
})

test('realtime › basalt.realtime_channels › is not accessible to callers', async () => {
  for (const name of ['basalt.realtime_channels', 'realtime_channels']) {
    expect((await app.request('GET', `/api/collections/${name}`, { token })).status).toBe(404)
  }
  const [row] = await app.sql(`
    select has_any_column_privilege('basalt_authenticated', 'basalt.realtime_channels', 'select, insert, update')
      or has_table_privilege('basalt_authenticated', 'basalt.realtime_channels', 'delete') as may`)
  expect(row).toEqual({ may: false })
})
