import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  createTelnyxKey,
  signPlivo,
  signTelnyx,
  signTwilio,
  signVonage,
  signWebhook,
} from '../../../../../test/sms-callbacks.ts'
import { createTestApp, envelope, type TestApp } from '../../../../../test/test-app.ts'

const path = '/api/webhooks/sms/status'
const token = 'twilio-token'
const telnyx = createTelnyxKey()
const configured = 'https://api.example.com/api/webhooks/sms/status'

let app: TestApp
let other: TestApp
beforeAll(async () => {
  const config = {
    'auth.twilio_token': token,
    'auth.plivo_auth_token': 'plivo-token',
    'auth.telnyx_public_key': telnyx.publicKey,
    'auth.sms_webhook_secret': 'webhook-secret',
    'auth.vonage_api_key': 'abcd1234',
    'auth.vonage_signature_secret': 'vonage-secret',
    'auth.sms_status_url': configured,
  }
  app = await createTestApp({ config })
  other = await createTestApp({ config, database: app.database })
})
beforeEach(async () => {
  await app.sql('truncate basalt.sms_messages')
})
afterAll(async () => {
  await other[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})

async function store(provider: string, status = 'accepted'): Promise<void> {
  await app.sql(
    "insert into basalt.sms_messages (recipient, body, provider, message_id, status) values ('+1', '', $1, 'M1', $2)",
    [provider, status],
  )
}

async function stored() {
  const [row] = await app.sql('select status, error_message from basalt.sms_messages')
  return row
}

const post = (body: string, headers: Record<string, string>, node = app) =>
  node.request('POST', path, { body, headers })

/** Returns a callback of Twilio, signed for the address that the node is reached at. */
const twilio = (fields: Record<string, string>, node = app) => {
  const body = new URLSearchParams(fields).toString()
  return post(body, signTwilio(token, node.url + path, body), node)
}
const now = () => Math.floor(Date.now() / 1000)
const forged = { code: 403, error: 'invalid_webhook_signature', message: 'invalid webhook signature' }

describe('sms › status callbacks › twilio', () => {
  test('advances a message and stores the reason of its failure', async () => {
    await store('twilio')
    const sent = await twilio({ MessageSid: 'M1', MessageStatus: 'sent' })
    expect([sent.status, sent.json]).toEqual([200, {}])
    expect(await stored()).toEqual({ status: 'sent', error_message: null })
    await twilio({
      MessageSid: 'M1',
      MessageStatus: 'undelivered',
      ErrorCode: '30003',
      ErrorMessage: 'Unreachable',
    })
    expect(await stored()).toEqual({ status: 'undelivered', error_message: '30003 Unreachable' })
  })

  test('accepts a signature for the configured address', async () => {
    await store('twilio')
    const body = 'MessageStatus=delivered&MessageSid=M1&Body=a+%2B+%C3%A9'
    expect((await post(body, signTwilio(token, configured, body))).status).toBe(200)
    expect(await stored()).toMatchObject({ status: 'delivered' })
  })

  test.each([
    ['delivered', 'sent'],
    ['delivered', 'failed'],
    ['failed', 'delivered'],
    ['sent', 'queued'],
    ['sending', 'accepted'],
    ['queued', 'queued'],
  ])('keeps a message that is %s after a late %s', async (status, late) => {
    await store('twilio', status)
    expect((await twilio({ MessageSid: 'M1', MessageStatus: late, ErrorCode: '1' })).status).toBe(200)
    expect(await stored()).toEqual({ status, error_message: null })
  })

  test('ends the same in whatever order ten arrive at two nodes', async () => {
    await store('twilio')
    const statuses = ['delivered', 'queued', 'sending', 'sent', 'accepted']
    const answers = await Promise.all(
      [...statuses, ...statuses].map((MessageStatus, index) =>
        twilio({ MessageSid: 'M1', MessageStatus }, index % 2 === 0 ? app : other),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
    expect(await stored()).toEqual({ status: 'delivered', error_message: null })
  })

  test('keeps the first of two rival final statuses, on both nodes', async () => {
    await store('twilio')
    const ends = Array.from({ length: 10 }, (_, index) => (index % 3 === 0 ? 'delivered' : 'failed'))
    await Promise.all(
      ends.map((MessageStatus, index) =>
        twilio(
          { MessageSid: 'M1', MessageStatus, ...(MessageStatus === 'failed' ? { ErrorCode: '7' } : {}) },
          index % 2 === 0 ? app : other,
        ),
      ),
    )
    expect([
      { status: 'delivered', error_message: null },
      { status: 'failed', error_message: '7' },
    ]).toContainEqual(await stored())
  })

  test.each([
    ['an unknown message', { MessageSid: 'M2', MessageStatus: 'sent' }],
    ['no status', { MessageSid: 'M1' }],
    ['an empty status', { MessageSid: 'M1', MessageStatus: '' }],
    ['an unknown status', { MessageSid: 'M1', MessageStatus: 'teleported' }],
    ['NUL in the id', { MessageSid: 'M1\0', MessageStatus: 'sent' }],
  ])('with %s is ignored', async (_case, fields) => {
    await store('telnyx')
    const response = await twilio(fields)
    expect([response.status, response.json]).toEqual([200, {}])
    expect(await stored()).toMatchObject({ status: 'accepted' })
  })

  test('requires a message', async () => {
    const expected = { code: 400, error: 'missing_sms_field', message: 'MessageSid is required' }
    expect(envelope(await twilio({ MessageStatus: 'sent' }))).toEqual(expected)
    expect(envelope(await twilio({ MessageSid: '', MessageStatus: 'sent' }))).toEqual(expected)
  })

  test('is rejected unless its signature covers the body, the address and the key', async () => {
    await store('twilio')
    const body = 'MessageSid=M1&MessageStatus=failed'
    const good = signTwilio(token, app.url + path, body)
    const answers = await Promise.all([
      post(body, { 'content-type': good['content-type'] ?? '' }),
      post(body, { ...good, 'x-twilio-signature': '' }),
      post(body, { ...good, 'x-twilio-signature': 'AAAA' }),
      post(`${body}&ErrorCode=1`, good),
      post(body.replace('failed', 'delivered'), good),
      post(body, signTwilio('another', app.url + path, body)),
      post(body, signTwilio(token, `${app.url}/api/elsewhere`, body)),
      app.request('POST', `${path}?a=1`, { body, headers: good }),
      post('', {}),
    ])
    for (const answer of answers) expect(envelope(answer)).toEqual(forged)
    expect(await stored()).toMatchObject({ status: 'accepted' })
  })

  test('accepts at most 64 KiB', async () => {
    const body = (size: number) => 'MessageSid=M1&Pad='.padEnd(size, 'x')
    const send = (text: string) => post(text, signTwilio(token, app.url + path, text))
    expect((await send(body(65_536))).status).toBe(200)
    expect((await send(body(65_537))).status).toBe(413)
  })
})

describe('sms › status callbacks › other providers', () => {
  const plivo = 'MessageUUID=M1&Status=undelivered&ErrorCode=420'
  const telnyxBody = JSON.stringify({
    data: {
      payload: {
        id: 'M1',
        to: [{ status: 'delivery_failed' }],
        errors: [{ code: '40008', title: 'Undeliverable' }],
      },
    },
  })
  const vonage = JSON.stringify({ messageId: 'M1', status: 'delivered', 'err-code': '0' })
  const webhook = JSON.stringify({ message_id: 'M1', status: 'failed', error: 'no route' })

  test.each([
    ['plivo', plivo, () => signPlivo('plivo-token', configured, plivo), 'undelivered', '420'],
    [
      'telnyx',
      telnyxBody,
      () => signTelnyx(telnyx.privateKey, now(), telnyxBody),
      'undelivered',
      '40008 Undeliverable',
    ],
    ['vonage', vonage, () => signVonage('vonage-secret', now(), vonage), 'delivered', null],
    ['webhook', webhook, () => signWebhook('webhook-secret', webhook), 'failed', 'no route'],
  ])(
    '%s reports a status, signed over the bytes of the body',
    async (provider, body, sign, status, error) => {
      await store(provider)
      const changed = await post(provider === 'plivo' ? `${body}&a=1` : `${body} `, sign())
      expect(envelope(changed)).toEqual(forged)
      expect(await stored()).toEqual({ status: 'accepted', error_message: null })
      const headers = sign()
      for (const _replay of [1, 2]) expect((await post(body, headers)).json).toEqual({})
      expect(await stored()).toEqual({ status, error_message: error })
    },
  )

  test.each([
    ['telnyx, stale', telnyxBody, () => signTelnyx(telnyx.privateKey, now() - 310, telnyxBody)],
    ['telnyx, of the future', telnyxBody, () => signTelnyx(telnyx.privateKey, now() + 310, telnyxBody)],
    ['telnyx, of another key', telnyxBody, () => signTelnyx(createTelnyxKey().privateKey, now(), telnyxBody)],
    ['vonage, stale', vonage, () => signVonage('vonage-secret', now() - 310, vonage)],
    ['vonage, of another key', vonage, () => signVonage('another', now(), vonage)],
    ['vonage, of another account', vonage, () => signVonage('vonage-secret', now(), vonage, { apiKey: 'x' })],
    ['vonage, without algorithm', vonage, () => signVonage('vonage-secret', now(), vonage, { alg: 'none' })],
    [
      'vonage, no token',
      vonage,
      () => ({ authorization: 'Bearer a.b.c', 'content-type': 'application/json' }),
    ],
    [
      'plivo, without nonce',
      plivo,
      () => ({ ...signPlivo('plivo-token', configured, plivo), 'x-plivo-signature-v3-nonce': '' }),
    ],
    ['webhook, of another key', webhook, () => signWebhook('another', webhook)],
  ])('reject a forged callback: %s', async (_case, body, sign) => {
    expect(envelope(await post(body, sign()))).toEqual(forged)
  })

  test('reject a signed body that is not JSON, or names no message', async () => {
    expect(envelope(await post('{', signWebhook('webhook-secret', '{')))).toEqual({
      code: 400,
      error: 'invalid_json',
      message: 'invalid JSON body',
    })
    expect(envelope(await post('[]', signWebhook('webhook-secret', '[]')))).toMatchObject({
      message: 'message_id is required',
    })
  })
})

test('sms › status callbacks › without keys of a provider every callback is rejected', async () => {
  await using bare = await createTestApp({ database: app.database })
  const body = 'MessageSid=M1&MessageStatus=sent'
  expect(envelope(await post(body, signTwilio('', bare.url + path, body), bare))).toEqual(forged)
})
