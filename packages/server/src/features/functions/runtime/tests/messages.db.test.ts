import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { alice, bob, notes } from '../../../../../test/fixtures.ts'
import { type FunctionsFolder, makeFunctionsFolder } from '../../../../../test/functions-folder.ts'
import { type Inbox, openInbox } from '../../../../../test/inbox.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { openWebSocket } from '../../../../../test/websocket-client.ts'

const files = {
  'messages.ts': `
    import { after, FunctionError, job, route } from '@basaltdb/functions'
    const input = { type: 'object' }
    const use = (access, path, work) => route('POST ' + path, { access, input }, async (ctx, { fails, ...message }) => {
      await work(ctx, message)
      if (fails) throw new FunctionError(409, 'undone')
    })
    export const mail = use('anonymous', '/mail', (ctx, message) => ctx.mail(message))
    export const push = use('user', '/push', (ctx, message) => ctx.push(message))
    export const emit = use('anonymous', '/emit', (ctx, { channel, event, payload }) => ctx.emit(channel, event, payload))
    export const each = use('user', '/each', async (ctx, { mails, channel }) => {
      const caught = await ctx.mail({ to: 'nowhere' }).catch(({ status, error }) => ({ status, error }))
      for (const to of mails) await ctx.mail({ to, subject: 'Hi', text: 'kept' })
      await ctx.emit(channel, 'first', caught)
      await ctx.emit(channel, 'second')
    })
    export const packed = after('note', 'create', { retries: 0 }, (ctx, { record }) =>
      ctx.mail({ to: 'warehouse@example.com', subject: record.body, text: 'Pack it.' }))
    export const nightly = job('nightly', {}, (ctx) =>
      ctx.mail({ to: ['a@example.com', 'b@example.com', 'c@example.com', 'd@example.com'], subject: 'Report', text: 'all' }))
  `,
}
const hostile = `
  create function unsealed() returns text language plpgsql as $$
  begin
    execute 'set local role none';
    execute $j$ select basalt.broadcast_sealed('{"channel": "a", "event": "b"}', repeat('0', 64)) $j$;
    return 'sent';
  exception when insufficient_privilege then return sqlerrm;
  end $$;`

let inbox: Inbox
let folder: FunctionsFolder
let app: TestApp
let other: TestApp
const token = userToken({ sub: alice })
const hi = { to: 'ben@example.com', subject: 'Hi', text: 'Dinner?' }

beforeAll(async () => {
  inbox = await openInbox()
  folder = makeFunctionsFolder(files)
  const config = {
    'functions.folder': folder.path,
    'email.backend': 'webhook',
    'email.webhook.url': inbox.url,
    'email.from': 'Shop <shop@example.com>',
    'email.policy.send_rate_limit_per_key': '3',
    'push.enabled': 'true',
    'push.policy.sends_per_hour': '2',
  }
  app = await createTestApp({ setup: `${notes} ${hostile}`, config })
  other = await createTestApp({ config, database: app.database })
  await app.sql(`insert into basalt.users (id) values ('${alice}'), ('${bob}')`)
})
afterAll(async () => {
  await other?.[Symbol.asyncDispose]()
  await app?.[Symbol.asyncDispose]()
  await inbox?.[Symbol.asyncDispose]()
  folder?.[Symbol.dispose]()
})
beforeEach(() =>
  app.sql('delete from basalt.attempts; delete from basalt.jobs; delete from basalt.sent_mails'),
)

const call = (path: string, body: object, of: string | undefined = token) =>
  app.request('POST', `/api/functions${path}`, { body, ...(of === '' ? {} : { token: of }) })
const jobs = () => app.sql<{ type: string }>(`select type from basalt.jobs where type like 'function%'`)

describe('ctx.mail', () => {
  test('sends the mail of a user by a job, and records it', async () => {
    expect((await call('/mail', hi)).status).toBe(204)
    expect(await inbox.take('ben@example.com')).toMatchObject({ subject: 'Hi', text: 'Dinner?' })
    const sent = () => app.sql('select recipient, user_id, sender, subject, status from basalt.sent_mails')
    await waitFor('the record', async () => (await sent())[0]?.status === 'sent')
    expect(await sent()).toEqual([
      {
        recipient: 'ben@example.com',
        user_id: alice,
        sender: 'Shop <shop@example.com>',
        subject: 'Hi',
        status: 'sent',
      },
    ])
  })

  test('sends none when the transaction is undone', async () => {
    expect((await call('/mail', { ...hi, to: 'undone@example.com', fails: true })).status).toBe(409)
    expect(await jobs()).toEqual([])
    expect(inbox.all.filter(({ to }) => to === 'undone@example.com')).toEqual([])
  })

  test('limits a user and requests without a token, but no job of the operator', async () => {
    const both = { ...hi, to: ['x@example.com', 'y@example.com'] }
    for (const by of [token, '']) {
      expect((await call('/mail', both, by)).status).toBe(204)
      expect(envelope(await call('/mail', both, by))).toMatchObject({
        code: 429,
        error: 'mail_limit_reached',
      })
      expect((await call('/mail', hi, by)).status).toBe(204)
    }
    expect((await call('/mail', hi, userToken({ sub: bob }))).status).toBe(204)
    await app.sql(`select basalt.enqueue('nightly')`)
    expect(await inbox.take('d@example.com')).toMatchObject({ subject: 'Report' })
  })

  test('does not limit an after function by the user whose changes it handles', async () => {
    const subjects = ['1', '2', '3', '4', '5']
    for (const body of subjects)
      expect((await app.request('POST', '/api/collections/note', { token, body: { body } })).status).toBe(201)
    const mails = await Promise.all(subjects.map(() => inbox.take('warehouse@example.com')))
    expect(mails.map(({ subject }) => subject).toSorted()).toEqual(subjects)
  })

  test('repeats a mail that failed, with one record', async () => {
    inbox.answer(503)
    expect((await call('/mail', { ...hi, to: 'late@example.com' })).status).toBe(204)
    const record = async () => (await app.sql('select status from basalt.sent_mails'))[0]?.status
    await waitFor('the failure', async () => (await record()) === 'failed')
    inbox.answer(200)
    await waitFor(
      'the pause',
      async () => (await app.sql(`select from basalt.jobs where state = 'queued'`)).length > 0,
    )
    await app.sql(`update basalt.jobs set run_at = now() where state = 'queued'`)
    await inbox.take('late@example.com')
    await waitFor('the success', async () => (await record()) === 'sent')
    expect(await app.sql('select from basalt.sent_mails')).toHaveLength(1)
  })

  test.each([
    [{ ...hi, to: 'nowhere' }, 'invalid_recipient'],
    [{ ...hi, html: 5 }, 'invalid_mail_field'],
    [{ ...hi, body: 'x' }, 'invalid_mail_field'],
    [{ to: 'a@example.com', subject: 'x' }, 'missing_template_field'],
    [{ to: 'a@example.com', templateKey: 'auth.verify' }, 'system_template_not_permitted'],
    [{ ...hi, from: 'evil@example.com' }, 'from_address_not_allowed'],
  ])('rejects %j', async (message, error) => {
    expect(envelope(await call('/mail', message)).error).toBe(error)
    expect(await jobs()).toEqual([])
  })
})

describe('ctx.push', () => {
  const message = { user_id: bob, title: 'Ready', body: 'Your order is ready' }
  const sends = () => app.sql('select id, title from basalt.push_sends')

  test('adds the message by a job, counted for the user who calls', async () => {
    expect((await call('/push', { ...message, fails: true })).status).toBe(409)
    expect((await call('/push', message)).status).toBe(204)
    await waitFor('the message', async () => (await sends()).length === 1)
    const [send] = await sends()
    expect(send).toMatchObject({ title: 'Ready' })
    expect(
      await app.sql(
        `select actor, target, detail->'sender' as sender from basalt.audit where action = 'push.send'`,
      ),
    ).toEqual([{ actor: 'function', target: send?.id, sender: { userId: alice } }])
    expect(envelope(await call('/push', message))).toMatchObject({ code: 429, error: 'push_limit_reached' })
  })

  test.each([
    [{ ...message, token_id: bob }, 'unknown member "token_id"'],
    [{ ...message, title: 5 }, 'title: expected a text'],
    [{ ...message, topic: 'a' }, 'expected either user_id or topic, not both'],
    [{ ...message, user_id: 'bob' }, expect.stringContaining('user_id')],
  ])('rejects %j', async (body, problem) => {
    expect(envelope(await call('/push', body))).toMatchObject({ code: 400, message: problem })
    expect(await jobs()).toEqual([])
  })
})

describe('ctx.emit', () => {
  test('reaches the members on every node once, after the commit and in order', async () => {
    await using here = await openWebSocket(app.url, { token })
    await using there = await openWebSocket(other.url, { token })
    for (const client of [here, there]) await client.request({ type: 'channel_subscribe', channel: 'orders' })
    expect((await call('/emit', { channel: 'orders', event: 'undone', fails: true })).status).toBe(409)
    expect((await call('/each', { mails: ['k@example.com'], channel: 'orders' })).status).toBe(204)
    expect(
      (await call('/emit', { channel: 'orders', event: 'last', payload: { big: 1234567 } }, '')).status,
    ).toBe(204)
    for (const client of [here, there]) {
      await client.next('broadcast', 3)
      expect(client.ofType('broadcast').map(({ event, payload }) => [event, payload])).toEqual([
        ['first', { status: 400, error: 'invalid_recipient' }],
        ['second', null],
        ['last', { big: 1234567 }],
      ])
    }
    await inbox.take('k@example.com')
  })

  test('removes broadcasts that have expired', async () => {
    await app.sql(`update basalt.realtime_messages set created_at = now() - interval '2 minutes'`)
    await call('/emit', { channel: 'empty', event: 'x' })
    expect(await app.sql('select channel from basalt.realtime_messages')).toEqual([{ channel: 'empty' }])
  })

  test('rejects names that clients could not use, and long payloads', async () => {
    for (const [body, error] of [
      [{ event: 'x' }, 'channel_required'],
      [{ channel: 'a' }, 'event_required'],
      [{ channel: 'a'.repeat(201), event: 'x' }, 'invalid_name'],
      [{ channel: 'a', event: 'x', payload: 'x'.repeat(600_000) }, 'invalid_message'],
    ] as const)
      expect(envelope(await call('/emit', body)).error).toBe(error)
  })

  test('is no way to broadcast for text that becomes the gateway', async () => {
    const before = await app.sql('select count(*) from basalt.realtime_messages')
    const response = await app.request('POST', '/api/rpc/unsealed', { token, body: {} })
    expect([response.status, response.json]).toEqual([200, 'the broadcast has no seal of the server'])
    expect(await app.sql('select count(*) from basalt.realtime_messages')).toEqual(before)
  })
})
