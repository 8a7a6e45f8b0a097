import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { openWebSocket, type WebSocketClient } from '../../../../../test/websocket-client.ts'

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

/** Policies are read again after a second; who asks in vain until then asks again. */
async function until(
  expected: string,
  ask: () => Promise<{ message?: string; status: string }>,
): Promise<void> {
  await waitFor(expected, async () => {
    const reply = await ask()
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
  client.ask({ type: 'channel_subscribe', channel })
const denied = 'channel access denied'
const ofMembers = `exists (
  select from member m where m.channel = realtime_channels.channel and m.user_id = current_setting('basalt.user_id', true)
)`

describe('realtime › policies of realtime_channels', () => {
  test('decide nothing while row level security is off', async () => {
    await app.sql(`create policy p on ${channels} using (false)`)
    await using client = await open()
    await until('ok', subscribe(client, 'a'))
    await until('ok', () => client.ask({ type: 'broadcast', channel: 'a', event: 'e', payload: 1 }))
  })

  test('decide who may subscribe, as the caller, by other tables', async () => {
    await app.sql(`insert into member values ('team', '${alice}')`)
    await restrict(`for select to basalt_authenticated using (${ofMembers})`)
    await using mine = await open()
    await using theirs = await open(userToken({ sub: bob }))
    await until(denied, subscribe(mine, 'other team'))
    await until('ok', subscribe(mine, 'team'))
    await until(denied, subscribe(theirs, 'team'))
    // Nobody may send: there is no policy for it.
    for (const message of [
      { type: 'broadcast', channel: 'team', event: 'e', payload: 1 },
      { type: 'presence_track', channel: 'team', presence: {} },
    ]) {
      expect((await mine.ask(message)).message).toBe(denied)
    }
    expect((await theirs.ask({ type: 'presence_sync', channel: 'team' })).message).toBe(
      'not subscribed to channel',
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
      client.ask({ type: 'broadcast', channel, event: 'e', payload: 1 })
    await until(denied, send(weak, 'open:1'))
    await until(denied, send(strong, 'shut'))
    await until('ok', send(strong, 'open:1'))
    await until('ok', () => strong.ask({ type: 'presence_track', channel: 'open:1', presence: {} }))
    expect(weak.ofType('broadcast').map(({ channel }) => channel)).not.toContain('shut')
  })

  test('for all commands decide both, and policies of other roles nothing', async () => {
    await app.sql(`do $$ begin create role nobody_of_ours; exception when duplicate_object then null; end $$`)
    await restrict(`using (channel = 'a')`, 'for select to nobody_of_ours using (true)')
    await using client = await open()
    await until(denied, subscribe(client, 'b'))
    await until('ok', subscribe(client, 'a'))
    await until('ok', () => client.ask({ type: 'broadcast', channel: 'a', event: 'e', payload: 1 }))
  })

  test('that permit nothing, or are missing, deny every caller', async () => {
    await app.sql(`alter table ${channels} enable row level security`)
    await using client = await open()
    await until(denied, subscribe(client, 'a'))
    await app.sql(`create policy p on ${channels} as restrictive using (true)`)
    await until(denied, subscribe(client, 'a'))
    await app.sql(`create policy q on ${channels} using (null)`)
    await until(denied, subscribe(client, 'a'))
  })

  test('whose evaluation fails deny the channel', async () => {
    await restrict('using (channel::int > 0)')
    await using client = await open()
    await until('ok', subscribe(client, '1'))
    await until(denied, subscribe(client, 'x'))
    await until(denied, subscribe(client, '0'))
    await until('ok', subscribe(client, '2'))
    expect(client.closed).toBeUndefined()
  })

  test('whose evaluation fails for every channel deny it, and are logged once without its name', async () => {
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
      expect((await subscribe(client, channel)()).message).toBe(denied)
    }
    for (const channel of [`mine' or "x`, 'mine\\', 'mine😀']) {
      expect((await subscribe(client, channel)()).status).toBe('ok')
    }
  })

  test('that a replaced token no longer satisfies unsubscribe the stream', async () => {
    await restrict(`using (current_setting('basalt.aal') = 'aal2')`)
    await using client = await open(userToken({ sub: alice, aal: 'aal2' }))
    await using witness = await open(userToken({ sub: bob, aal: 'aal2' }))
    for (const each of [client, witness]) await until('ok', subscribe(each, 'a'))
    await client.ask({ type: 'presence_track', channel: 'a', presence: {} })
    await client.ask({ type: 'auth', token })
    expect(await client.next('system')).toEqual([
      { type: 'system', message: 'no longer subscribed to channel a: channel access denied', channel: 'a' },
    ])
    const again = await client.ask({ type: 'broadcast', channel: 'a', event: 'e', payload: 1 })
    expect(again.message).toBe('not subscribed to channel')
    await waitFor('its presence to leave', () =>
      witness.ofType('presence').some(({ presence_action: action }) => action === 'leave'),
    )
    expect(witness.ofType('system')).toEqual([])
  })
})

test('realtime › the table cannot be reached by callers', async () => {
  for (const name of ['basalt.realtime_channels', 'realtime_channels']) {
    expect((await app.request('GET', `/api/collections/${name}`, { token })).status).toBe(404)
  }
  const [row] = await app.sql(`
    select has_any_column_privilege('basalt_authenticated', 'basalt.realtime_channels', 'select, insert, update')
      or has_table_privilege('basalt_authenticated', 'basalt.realtime_channels', 'delete') as may`)
  expect(row).toEqual({ may: false })
})
