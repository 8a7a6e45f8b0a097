import { createHash, createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type SmsProviderName, smsConfig } from '../../../../../test/sms-config.ts'
import { silentLog } from '../../../../../test/sms-log.ts'
import {
  type Answer,
  json,
  type ReceivedRequest,
  type SmsStandIn,
  startSmsStandIn,
  text,
} from '../../../../../test/sms-stand-in.ts'
import { createSmsProvider, SmsRefused } from '../index.ts'
import { msg91 } from './msg91.ts'
import { plivo } from './plivo.ts'
import { sns } from './sns.ts'
import { telnyx } from './telnyx.ts'
import { twilio } from './twilio.ts'
import { vonage } from './vonage.ts'
import { webhook } from './webhook.ts'

const message = { to: '+14155550132', body: 'Your code is: 482913' }
const id = '8e03978e-40d5-43e8-bc93-6894a57f9326'
const clock = { now: () => new Date('2026-03-04T05:06:07.089Z') }

let standIn: SmsStandIn

beforeAll(async () => {
  standIn = await startSmsStandIn()
})
afterAll(() => standIn[Symbol.asyncDispose]())

async function send(
  provider: SmsProviderName,
  answer: Answer,
  body = message.body,
): Promise<ReceivedRequest> {
  standIn.answerWith(answer)
  const url = provider === 'webhook' ? `${standIn.url}/hook?tenant=1` : standIn.url
  const sms = createSmsProvider({
    config: smsConfig(provider, url),
    isDevelopment: false,
    log: silentLog,
    clock,
  })
  await sms.send({ ...message, body }, { id })
  return standIn.onlyRequest()
}

/** Returns the error message for a reply, and whether it is final. */
async function failure(provider: SmsProviderName, answer: Answer) {
  const error: unknown = await send(provider, answer).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof Error)) throw new Error('the message was accepted')
  return { isFinal: error instanceof SmsRefused, message: error.message }
}

/** Headers of every request of fetch. */
const ordinary = [
  ...['host', 'connection', 'content-length', 'user-agent', 'accept-encoding', 'accept-language'],
  'sec-fetch-mode',
]

function ownHeaders({ headers }: ReceivedRequest) {
  return Object.fromEntries(
    Object.entries(headers).filter(([name, value]) => !ordinary.includes(name) && value !== '*/*'),
  )
}

function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
}

function form({ body }: ReceivedRequest): [string, string][] {
  return [...new URLSearchParams(body)]
}

const formType = 'application/x-www-form-urlencoded'

test('text messages by vendors › every request names its sender', async () => {
  const { headers } = await send('twilio', json(201, { sid: 'SM1' }))
  expect(headers['user-agent']).toBe('Basalt')
})

describe('text messages by twilio', () => {
  const accepted = json(201, { sid: 'SM0123', status: 'queued', error_code: null })

  test('gets a form with basic authentication', async () => {
    const request = await send('twilio', accepted)
    expect(request.method).toBe('POST')
    expect(request.path).toBe('/2010-04-01/Accounts/AC0f%2F1/Messages.json')
    expect(ownHeaders(request)).toEqual({
      authorization: basic('AC0f/1', 'tw/tok+en=&"x'),
      'content-type': formType,
    })
    expect(form(request)).toEqual([
      ['To', '+14155550132'],
      ['From', '+15005550001'],
      ['Body', 'Your code is: 482913'],
    ])
  })

  test('reports a refusal with a code and a message', async () => {
    const answer = json(400, {
      code: 21211,
      message: "The 'To' number +14155550132 is not a valid phone number.",
      more_info: 'https://www.twilio.com/docs/errors/21211',
      status: 400,
    })
    expect(await failure('twilio', answer)).toEqual({
      isFinal: true,
      message:
        "twilio refused the message: HTTP 400: 21211 The 'To' number [redacted] is not a valid phone number.",
    })
  })

  test('is not quoted with the text of the message', async () => {
    const answer = json(400, { code: 30007, message: `Filtered: ${message.body} (482913)` })
    expect(await failure('twilio', answer)).toEqual({
      isFinal: true,
      message: 'twilio refused the message: HTTP 400: 30007 Filtered: [redacted] ([redacted])',
    })
  })
})

describe('text messages by plivo', () => {
  test('gets JSON with basic authentication', async () => {
    const answer = json(202, { message: 'message(s) queued', message_uuid: ['db3c'], api_id: 'db34' })
    const request = await send('plivo', answer)
    expect(request.method).toBe('POST')
    expect(request.path).toBe('/v1/Account/MA0f%2F1/Message/')
    expect(ownHeaders(request)).toEqual({
      authorization: basic('MA0f/1', 'pl/tok+en=&"x'),
      'content-type': 'application/json',
    })
    expect(JSON.parse(request.body)).toEqual({
      src: '14152828726',
      dst: '+14155550132',
      text: 'Your code is: 482913',
    })
  })

  test('reports a refusal with an error', async () => {
    const answer = json(400, { api_id: 'db34', error: '14155550132 is not a valid phone number' })
    expect(await failure('plivo', answer)).toEqual({
      isFinal: true,
      message: 'plivo refused the message: HTTP 400: [redacted] is not a valid phone number',
    })
  })
})

describe('text messages by telnyx', () => {
  test('gets JSON with a bearer key and an idempotency key', async () => {
    const request = await send('telnyx', json(200, { data: { id: '4031', record_type: 'message' } }))
    expect(request.method).toBe('POST')
    expect(request.path).toBe('/v2/messages')
    expect(ownHeaders(request)).toEqual({
      authorization: 'Bearer KEY01/tel+nyx=&"x',
      'content-type': 'application/json',
      'idempotency-key': id,
    })
    expect(JSON.parse(request.body)).toEqual({
      from: '+15005550002',
      to: '+14155550132',
      text: 'Your code is: 482913',
    })
  })

  test('gets no idempotency key when the message has none', async () => {
    standIn.answerWith(json(200, { data: { id: '4031' } }))
    const config = smsConfig('telnyx', standIn.url)
    await createSmsProvider({ config, isDevelopment: false, log: silentLog, clock }).send(message)
    expect(standIn.onlyRequest().headers['idempotency-key']).toBeUndefined()
  })

  test('reports a refusal with a list of errors', async () => {
    const answer = json(422, {
      errors: [{ code: '40310', title: "Invalid 'to' address", detail: 'The to address is invalid.' }],
    })
    expect(await failure('telnyx', answer)).toEqual({
      isFinal: true,
      message: "telnyx refused the message: HTTP 422: 40310 Invalid 'to' address The to address is invalid.",
    })
  })
})

describe('text messages by msg91', () => {
  const accepted = json(200, { type: 'success', message: '3763646e3330323230' })

  test('gets a template with the message and the code in it', async () => {
    const request = await send('msg91', accepted)
    expect(request.method).toBe('POST')
    expect(request.path).toBe('/api/v5/flow')
    expect(ownHeaders(request)).toEqual({
      authkey: '91/auth+key=&"x',
      accept: 'application/json',
      'content-type': 'application/json',
    })
    expect(JSON.parse(request.body)).toEqual({
      template_id: 'tmpl-65f0',
      short_url: '0',
      recipients: [{ mobiles: '14155550132', VAR1: 'Your code is: 482913', OTP: '482913' }],
    })
  })

  test.each([
    ['no number', 'Welcome', {}],
    ['two numbers', '1234 or 5678', {}],
    ['a number too long for a code', 'Order 123456789', {}],
    ['a short and a fitting number', '2 days: 1234', { OTP: '1234' }],
  ])('finds the code in a message with %s', async (_, body, expected) => {
    const request = await send('msg91', accepted, body)
    expect(JSON.parse(request.body).recipients).toEqual([{ mobiles: '14155550132', VAR1: body, ...expected }])
  })

  test('reports a refusal with status 200 and type error', async () => {
    const answer = json(200, { type: 'error', message: 'Template ID missing or invalid', code: '203' })
    expect(await failure('msg91', answer)).toEqual({
      isFinal: true,
      message: 'msg91 refused the message: HTTP 200: 203 Template ID missing or invalid',
    })
  })

  test('reports a refusal with a status of its own', async () => {
    const answer = json(401, { status: 'fail', message: 'Unauthorized 91/auth+key=&"x' })
    expect(await failure('msg91', answer)).toEqual({
      isFinal: true,
      message: 'msg91 refused the message: HTTP 401: Unauthorized [redacted]',
    })
  })
})

describe('text messages by sns', () => {
  const accepted = text(
    200,
    `<PublishResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishResult>
      <MessageId>567910cd-659e-55d4-8ccb-5aaf14679dc0</MessageId></PublishResult></PublishResponse>`,
    'text/xml',
  )

  function refusal(status: number, code: string) {
    const type = status < 500 ? 'Sender' : 'Receiver'
    const error = `<Error><Type>${type}</Type><Code>${code}</Code><Message>Rate or value</Message></Error>`
    return text(status, `<ErrorResponse>${error}<RequestId>1</RequestId></ErrorResponse>`, 'text/xml')
  }

  test('gets a signed form of the action Publish', async () => {
    const request = await send('sns', accepted, 'Your code is: 482913 & más')
    expect(request.method).toBe('POST')
    expect(request.path).toBe('/')
    expect(form(request)).toEqual([
      ['Action', 'Publish'],
      ['Version', '2010-03-31'],
      ['PhoneNumber', '+14155550132'],
      ['Message', 'Your code is: 482913 & más'],
      ['MessageAttributes.entry.1.Name', 'AWS.SNS.SMS.SMSType'],
      ['MessageAttributes.entry.1.Value.DataType', 'String'],
      ['MessageAttributes.entry.1.Value.StringValue', 'Transactional'],
    ])
    expect(ownHeaders(request)).toEqual({
      'content-type': formType,
      'x-amz-date': '20260304T050607Z',
      authorization: signatureV4(request, '20260304T050607Z'),
    })
  })

  test.each([
    [400, 'InvalidParameter', true],
    [403, 'AuthorizationError', true],
    [400, 'ThrottlingException', false],
    [400, 'Throttling', false],
    [429, 'Throttled', false],
    [500, 'InternalError', false],
  ])('reports whether %i %s is final', async (status, code, isFinal) => {
    const verb = isFinal ? 'refused' : 'did not accept'
    expect(await failure('sns', refusal(status, code))).toEqual({
      isFinal,
      message: `sns ${verb} the message: HTTP ${status}: ${code} Rate or value`,
    })
  })
})

/** Computes Signature Version 4 as the AWS documentation describes it, step by step. */
function signatureV4({ body, headers }: ReceivedRequest, date: string): string {
  const hmac = (key: string | Buffer, data: string) => createHmac('sha256', key).update(data).digest()
  const hash = (data: string) => createHash('sha256').update(data).digest('hex')
  const scope = `${date.slice(0, 8)}/eu-central-1/sns/aws4_request`
  const canonical = [
    'POST',
    '/',
    '',
    `host:${headers.host}`,
    `x-amz-date:${date}`,
    '',
    'host;x-amz-date',
    hash(body),
  ].join('\n')
  const toSign = ['AWS4-HMAC-SHA256', date, scope, hash(canonical)].join('\n')
  const secret = 'AWS4wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'
  const key = ['20260304', 'eu-central-1', 'sns', 'aws4_request'].reduce<string | Buffer>(hmac, secret)
  const signature = hmac(key, toSign).toString('hex')
  return `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/${scope}, SignedHeaders=host;x-amz-date, Signature=${signature}`
}

describe('text messages by vonage', () => {
  const accepted = json(200, { 'message-count': '1', messages: [{ status: '0', 'message-id': '0C01' }] })

  function answer(...statuses: (string | undefined)[]) {
    const messages = statuses.map((status) => ({ status, 'error-text': `text of ${status}` }))
    return json(200, { 'message-count': String(statuses.length), messages })
  }

  test('gets a form with key and secret', async () => {
    const request = await send('vonage', accepted)
    expect(request.method).toBe('POST')
    expect(request.path).toBe('/sms/json')
    expect(ownHeaders(request)).toEqual({ 'content-type': formType })
    expect(form(request)).toEqual([
      ['api_key', 'abcd1234'],
      ['api_secret', 'vo/sec+ret=&"x'],
      ['from', 'Basalt'],
      ['to', '14155550132'],
      ['text', 'Your code is: 482913'],
      ['type', 'text'],
    ])
  })

  test.each(['Ihr Code ist gültig', 'コード: 482913', 'back`tick'])(
    'announces the alphabet of %s',
    async (body) => {
      expect(form(await send('vonage', accepted, body))).toContainEqual(['type', 'unicode'])
    },
  )

  test.each([
    ['1', false],
    ['5', false],
    ['10', false],
    ['2', true],
    ['4', true],
    ['6', true],
    ['7', true],
    ['9', true],
    ['15', true],
    ['33', true],
  ])('reports whether 200 with status %s is final', async (status, isFinal) => {
    const verb = isFinal ? 'refused' : 'did not accept'
    expect(await failure('vonage', answer(status))).toEqual({
      isFinal,
      message: `vonage ${verb} the message: HTTP 200: status ${status} text of ${status}`,
    })
  })

  test('may send the status as a number', async () => {
    await send('vonage', json(200, { messages: [{ status: 0 }] }))
    expect(await failure('vonage', json(200, { messages: [{ status: 1 }] }))).toMatchObject({
      isFinal: false,
    })
  })

  test('counts as failed when one part failed', async () => {
    expect(await failure('vonage', answer('0', '6'))).toMatchObject({ isFinal: true })
    expect(await failure('vonage', answer('0', '1'))).toMatchObject({ isFinal: false })
  })

  test.each([
    ['no parts', answer()],
    ['a part without status', answer(undefined)],
    ['parts that are no list', json(200, { messages: { status: '0' } })],
  ])('is a temporary failure with %s', async (_, reply) => {
    expect(await failure('vonage', reply)).toEqual({
      isFinal: false,
      message: "vonage did not accept the message: HTTP 200 with a reply that is not the provider's",
    })
  })
})

describe('text messages by webhook', () => {
  test('gets signed JSON', async () => {
    const request = await send('webhook', json(200, { message_id: 'm1' }))
    expect(request.method).toBe('POST')
    expect(request.path).toBe('/hook?tenant=1')
    const signature = createHmac('sha256', 'wh/sec+ret=&"x').update(request.body).digest('hex')
    expect(ownHeaders(request)).toEqual({
      'content-type': 'application/json',
      'x-basalt-signature': signature,
      'x-webhook-signature': signature,
      'webhook-id': id,
      'webhook-timestamp': '1772600767',
      'webhook-signature': `v1,${createHmac('sha256', 'wh/sec+ret=&"x')
        .update(`${id}.1772600767.${request.body}`)
        .digest('base64')}`,
      'idempotency-key': id,
    })
    expect(JSON.parse(request.body)).toEqual({
      to: '+14155550132',
      body: 'Your code is: 482913',
      timestamp: '2026-03-04T05:06:07.089Z',
    })
  })

  test('signs the bytes that are sent', async () => {
    const { body, headers } = await send('webhook', text(204, ''), 'Código “½” \u{1f511} \ud800')
    const signature = createHmac('sha256', 'wh/sec+ret=&"x').update(Buffer.from(body)).digest('hex')
    expect(headers['x-basalt-signature']).toBe(signature)
    expect(JSON.parse(body).body).toBe('Código “½” \u{1f511} \ud800')
  })

  test('accepts a message with any success', async () => {
    for (const status of [200, 201, 202, 204]) await send('webhook', text(status, 'thanks'))
  })

  test('reports a refusal', async () => {
    expect(await failure('webhook', json(403, { error: 'wh/sec+ret=&"x' }))).toEqual({
      isFinal: true,
      message: 'webhook refused the message: HTTP 403',
    })
  })
})

describe('text messages without a configured address', () => {
  test.each([
    ['twilio', twilio, 'https://api.twilio.com/2010-04-01/Accounts/AC0f%2F1/Messages.json'],
    ['plivo', plivo, 'https://api.plivo.com/v1/Account/MA0f%2F1/Message/'],
    ['telnyx', telnyx, 'https://api.telnyx.com/v2/messages'],
    ['msg91', msg91, 'https://control.msg91.com/api/v5/flow'],
    ['sns', sns, 'https://sns.eu-central-1.amazonaws.com/'],
    ['vonage', vonage, 'https://rest.nexmo.com/sms/json'],
    ['webhook', webhook, 'http://127.0.0.1:9/hook?tenant=1'],
  ] as const)('are sent by %s to its documented address', async (name, create, url) => {
    expect(await create(smsConfig(name), clock).request(message, id)).toMatchObject({ url })
  })

  test('are sent to the address of the region in China', async () => {
    const config = { ...smsConfig('sns'), aws_region: 'cn-north-1' }
    const { url } = await sns(config, clock).request(message, id)
    expect(url).toBe('https://sns.cn-north-1.amazonaws.com.cn/')
  })

  test('are sent to a path below the configured address', async () => {
    const { url } = await telnyx(smsConfig('telnyx', 'http://stand-in.test/telnyx/')).request(message, id)
    expect(url).toBe('http://stand-in.test/telnyx/v2/messages')
  })
})
