import { createHmac } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { alice } from '../../../../../test/fixtures.ts'
import { type FunctionsFolder, makeFunctionsFolder } from '../../../../../test/functions-folder.ts'
import {
  createTestApp,
  createTestDatabase,
  type TestApp,
  type TestDatabase,
  userToken,
} from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

const files = {
  'messages.ts': `import { FunctionError, inbound, isHmac, standardWebhookSignature, stripeSignature } from '@basaltdb/functions'
    const record = async (ctx, message) => {
      const { type = 'none' } = message.json()
      await ctx.db.sql\`insert into receipt (message, type, actor) values (\${message.id}, \${type}, current_user)\`
      if (type === 'slow') await ctx.db.sql\`select pg_sleep(0.3)\`
      if (type === 'fail') throw new Error('not today')
      if (type === 'refuse') throw new FunctionError(409, 'out of order')
      return { kind: ctx.claims.kind, time: message.time, text: message.text().length, user: ctx.user ?? null }
    }
    export const stripe = inbound('stripe', stripeSignature('STRIPE_SECRET'), { as: 'admin' }, record)
    export const standard = inbound('standard', standardWebhookSignature('STANDARD_SECRET'), record)
    export const unset = inbound('unset', stripeSignature('UNSET_SECRET'), () => {})
    export const open = inbound('open', ({ headers, body }, { secrets }) =>
      isHmac(headers['x-own'], { secret: secrets.UNSET_SECRET, content: [body] }) ? { id: '1', time: new Date() } : undefined, () => {})
    const own = ({ headers, body }, ctx) => {
      const [id, seconds, signature] = (headers['x-own'] ?? '').split(' ')
      if (id === 'throw') throw new FunctionError(404, 'the detail of the verification')
      if (id === 'malformed') return { id: 1 }
      if (id === 'context') return { id: Object.keys(ctx).sort().join(), time: new Date() }
      return isHmac(signature, { secret: ctx.secrets.STRIPE_SECRET, content: [body], algorithm: 'sha512', encoding: 'base64' })
        ? { id, time: new Date(Number(seconds) * 1000) } : undefined
    }
    export const mine = inbound('mine', own, { tolerance: 3600 }, (ctx, message) => ({ id: message.id, bytes: [...message.body],
      authorization: message.headers.authorization, cookie: message.headers.cookie, request: typeof ctx.request.id }))
    export const quiet = inbound('quiet', own, () => {})
  `,
}
const setup = `create table receipt (message text, type text, actor text);
  alter table receipt enable row level security;
  create policy add on receipt for insert with check (true);
  grant insert on receipt to basalt_anonymous;
  create function unsealed() returns text language plpgsql as $$
  begin
    execute 'set local role none';
    execute $j$ select basalt.accept_inbound_sealed(
      '{"name": "stripe", "id": "evt_9", "time": 0, "tolerance": 2000000000}', repeat('0', 64)) $j$;
    return 'accepted';
  exception when insufficient_privilege then return sqlerrm;
  end $$;`
const secret = 'whsec_of-the-shop'
const key = Buffer.from('a key of standard webhooks')

let database: TestDatabase
let folder: FunctionsFolder
let first: TestApp
let second: TestApp

beforeAll(async () => {
  folder = makeFunctionsFolder(files)
  database = await createTestDatabase()
  await database.sql(setup)
  const config = { 'functions.folder': folder.path, 'functions.connections': '4' }
  first = await createTestApp({ database, config })
  second = await createTestApp({ database, config })
  const token = await first.adminToken()
  for (const [name, value] of [
    ['STRIPE_SECRET', secret],
    ['STANDARD_SECRET', `whsec_${key.toString('base64')}`],
  ])
    await first.request('PUT', `/api/admin/secrets/${name}`, { token, body: { value } })
  // The other node learns of the secrets.
  await waitFor('the secrets', async () => (await send(stripe('probe'), second)).status < 300)
})
afterAll(async () => {
  for (const node of [second, first]) await node?.[Symbol.asyncDispose]()
  folder?.[Symbol.dispose]()
  await database?.[Symbol.asyncDispose]()
})
beforeEach(() => database.sql('truncate receipt, basalt.inbound_messages'))

interface Message {
  readonly name: string
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}
const now = () => Math.floor(Date.now() / 1000)

/** Returns an event as Stripe signs it. */
function stripe(id: string, { type = 'paid', time = now(), with: signer = secret } = {}): Message {
  const body = JSON.stringify({ id, type })
  const signature = createHmac('sha256', signer).update(`${time}.${body}`).digest('hex')
  const headers = { 'stripe-signature': `t=${time},v1=${'0'.repeat(64)},v1=${signature},v0=x` }
  return { name: 'stripe', body, headers }
}
/** Returns a message as Standard Webhooks signs it. */
function standard(id: string, { time = now(), signer = key } = {}): Message {
  const body = '{"type":"paid"}'
  const signature = createHmac('sha256', signer).update(`${id}.${time}.${body}`).digest('base64')
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': String(time),
    'webhook-signature': `v1a,x v1,${signature}`,
  }
  return { name: 'standard', body, headers }
}
function own(id: string, name = 'mine', body = '\u0001ü'): Message {
  const signature = createHmac('sha512', secret).update(body).digest('base64')
  return { name, body, headers: { 'x-own': `${id} ${now() - 3000} ${signature}` } }
}
const send = ({ name, body, headers }: Message, node = first) =>
  node.request('POST', `/api/functions/inbound/${name}`, {
    body,
    headers: { 'content-type': 'application/json', ...headers },
  })
const receipts = () => database.sql('select message, type, actor from receipt')
const refused = { code: 401, error: 'inbound_refused', message: 'the message was refused' }

describe('functions › inbound', () => {
  test('handles a message of Stripe as the declared identity', async () => {
    const time = now()
    const { status, json } = await send(stripe('evt_1', { time }))
    expect([status, json]).toEqual([
      200,
      { kind: 'administrator', time: new Date(time * 1000).toISOString(), text: 28, user: null },
    ])
    expect(await receipts()).toEqual([{ message: 'evt_1', type: 'paid', actor: 'basalt_administrator' }])
  })

  test('handles a message of Standard Webhooks without a user, under policies', async () => {
    const { status, json } = await send(standard('msg_1'))
    expect([status, json.kind]).toEqual([200, 'anonymous'])
    expect(await receipts()).toEqual([{ message: 'msg_1', type: 'paid', actor: 'basalt_anonymous' }])
  })

  test('gets the bytes of the body, and no cookie', async () => {
    const message = own('of-mine')
    const headers = {
      ...message.headers,
      cookie: 'a=b',
      authorization: 'Basic x',
      'content-type': 'text/plain',
    }
    const { status, json } = await send({ ...message, headers })
    expect([status, json]).toEqual([
      200,
      { id: 'of-mine', bytes: [1, 195, 188], authorization: 'Basic x', request: 'string' },
    ])
  })

  test.each([
    ['another secret', () => stripe('evt_2', { with: 'whsec_other' })],
    ['no signature', () => ({ ...stripe('evt_2'), headers: {} })],
    ['another body', () => ({ ...stripe('evt_2'), body: '{"id":"evt_3","type":"paid"}' })],
    [
      'two times',
      () => {
        const { headers, ...rest } = stripe('evt_2')
        return { ...rest, headers: { 'stripe-signature': `t=1,${headers['stripe-signature']}` } }
      },
    ],
    [
      'a body without an id',
      () => {
        const time = now()
        const signature = createHmac('sha256', secret).update(`${time}.[]`).digest('hex')
        return { name: 'stripe', body: '[]', headers: { 'stripe-signature': `t=${time},v1=${signature}` } }
      },
    ],
    ['an old time', () => stripe('evt_2', { time: now() - 330 })],
    ['a time in the future', () => stripe('evt_2', { time: now() + 330 })],
    ['another key', () => standard('msg_2', { signer: Buffer.from('other') })],
    [
      'another id',
      () => {
        const message = standard('msg_2')
        return { ...message, headers: { ...message.headers, 'webhook-id': 'msg_3' } }
      },
    ],
    ['a refusal of the verification', () => ({ ...own('throw'), headers: { 'x-own': 'throw' } })],
  ] as const)('refuses %s without detail', async (_, message) => {
    const { status, json } = await send(message())
    expect([status, json]).toMatchObject([401, refused])
    expect(Object.keys(json).sort()).toEqual(['code', 'doc_url', 'error', 'message'])
    expect(await receipts()).toEqual([])
    expect(await database.sql('select from basalt.inbound_messages')).toEqual([])
  })

  test('handles ten at once on two nodes once', async () => {
    const message = stripe('evt_10', { type: 'slow' })
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => send(message, index % 2 === 0 ? first : second)),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(204)])
    expect(await receipts()).toHaveLength(1)
    // The service signs it again, with a new time.
    expect((await send(stripe('evt_10', { time: now() + 5 }))).status).toBe(204)
    // The same id of another service is another message.
    expect((await send(standard('evt_10'))).status).toBe(200)
    expect(await receipts()).toHaveLength(2)
  })

  test('handles a message again whose function failed', async () => {
    expect((await send(stripe('evt_4', { type: 'fail' }))).status).toBe(500)
    const conflict = await send(stripe('evt_4', { type: 'refuse' }))
    expect([conflict.status, conflict.json.message]).toEqual([409, 'out of order'])
    expect(await receipts()).toEqual([])
    expect((await send(stripe('evt_4'))).status).toBe(200)
    expect(await receipts()).toHaveLength(1)
  })

  test('passes a message on that waited for one that failed', async () => {
    const connection = new pg.Client({ connectionString: database.url })
    await connection.connect()
    await connection.query(`begin; insert into basalt.inbound_messages (name, id) values ('stripe', 'evt_5')`)
    const waiting = send(stripe('evt_5'))
    await expect
      .poll(() =>
        database.sql(
          `select from pg_stat_activity where query like '%accept_inbound_sealed%' and wait_event_type = 'Lock'`,
        ),
      )
      .toHaveLength(1)
    await connection.query('rollback')
    await connection.end()
    expect((await waiting).status).toBe(200)
  })

  test('is no way to mark messages as handled for text that becomes the gateway', async () => {
    const response = await first.request('POST', '/api/rpc/unsealed', {
      token: userToken({ sub: alice }),
      body: {},
    })
    expect([response.status, response.json]).toEqual([200, 'the message has no seal of the server'])
    expect((await send(stripe('evt_9'))).status).toBe(200)
  })

  test('responds to a fault of the verification by 500, and writes it to the log', async () => {
    expect((await send({ ...stripe('evt_6'), name: 'unset' })).status).toBe(500)
    expect(first.log.join('')).toContain('the secret UNSET_SECRET is not set')
    expect((await send({ ...own('x'), headers: { 'x-own': 'malformed' } })).status).toBe(500)
    expect((await send({ ...own('x'), name: 'open' })).status).toBe(500)
    expect(first.log.join('')).toContain('the secret of the signature is not set')
  })

  test('gives a verification no database', async () => {
    const { json } = await send({ ...own('x'), headers: { 'x-own': 'context' } })
    expect(json.id).toBe('fetch,log,secrets,signal')
  })

  test('responds without a result, for unknown names, and for long bodies', async () => {
    expect((await send({ ...own('x', 'quiet'), headers: { 'x-own': 'context' } })).status).toBe(204)
    expect((await send({ ...stripe('evt_7'), name: 'none' })).status).toBe(404)
    expect((await send({ ...stripe('evt_7'), body: 'x'.repeat(2 * 1024 * 1024 + 1) })).status).toBe(413)
  })

  test('refuses to load two of one name, and a route below its path', async () => {
    using wrong = makeFunctionsFolder({
      'a.ts': `import { inbound, route } from '@basaltdb/functions'
        export const one = inbound('same', () => undefined, () => {})
        export const two = inbound('same', () => undefined, () => {})
        export const three = route('POST /inbound/:id', { access: 'anonymous' }, () => {})`,
    })
    await expect(first.app.functions.loadFolder(wrong.path)).rejects.toThrow(
      /is below \/inbound[\s\S]*receives the messages of same, too/,
    )
  })

  test('forgets ids after 30 days', async () => {
    await database.sql(`insert into basalt.inbound_messages (name, id, received_at)
      values ('stripe', 'old', now() - interval '31 days'), ('stripe', 'young', now() - interval '29 days')`)
    const token = await first.adminToken()
    const body = { type: 'inbound_message_retention' }
    expect((await first.request('POST', '/api/admin/jobs', { token, body })).status).toBeLessThan(300)
    await expect.poll(() => database.sql('select id from basalt.inbound_messages')).toEqual([{ id: 'young' }])
  })
})
