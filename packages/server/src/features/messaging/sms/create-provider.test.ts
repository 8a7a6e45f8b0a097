import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type SmsProviderName, smsConfig } from '../../../../test/sms-config.ts'
import { recordingLog, silentLog } from '../../../../test/sms-log.ts'
import { type Answer, json, type SmsStandIn, startSmsStandIn, text } from '../../../../test/sms-stand-in.ts'
import { systemClock } from '../../../lib/clock.ts'
import { createSmsProvider, SmsRefused } from './index.ts'

const message = { to: '+14155550132', body: 'Your code is: 482913' }

type VendorName = Exclude<SmsProviderName, 'log'>

/** Response of each provider to an accepted message. */
const receipts: Readonly<Record<VendorName, Answer>> = {
  webhook: json(200, { message_id: 'm1' }),
  twilio: json(201, { sid: 'SM1' }),
  plivo: json(202, { message_uuid: ['db3c'] }),
  telnyx: json(200, { data: { id: '4031' } }),
  msg91: json(200, { type: 'success' }),
  sns: text(200, '<MessageId>5679</MessageId>', 'text/xml'),
  vonage: json(200, { messages: [{ status: '0' }] }),
}
const names = Object.keys(receipts) as VendorName[]

/** Error of a broken connection, which depends on how far the provider had read. */
const brokenConnection = /^the connection failed: (UND_ERR_SOCKET|ECONNRESET)$/
/** Address that refuses connections. The protocol of port 2 is obsolete. */
const closedAddress = 'http://127.0.0.1:2'
const withReceipt = names.filter((name) => name !== 'webhook')

let standIn: SmsStandIn

beforeAll(async () => {
  standIn = await startSmsStandIn()
})
afterAll(() => standIn[Symbol.asyncDispose]())

interface Attempt {
  readonly url?: string
  readonly timeoutMs?: number
}

async function send(name: VendorName, { url = standIn.url, ...options }: Attempt = {}): Promise<void> {
  const config = smsConfig(name, url)
  await createSmsProvider({
    config,
    isDevelopment: false,
    log: silentLog,
    clock: systemClock,
    ...options,
  }).send(message)
}

async function failure(name: VendorName, attempt?: Attempt): Promise<Error> {
  const error: unknown = await send(name, attempt).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof Error)) throw new Error('the message was accepted')
  return error
}

async function expectTemporary(name: VendorName, reason: string | RegExp, attempt?: Attempt): Promise<void> {
  const error = await failure(name, attempt)
  expect(error).not.toBeInstanceOf(SmsRefused)
  const introduction = `${name} did not accept the message: `
  expect(error.message.slice(0, introduction.length)).toBe(introduction)
  const actual = error.message.slice(introduction.length)
  if (typeof reason === 'string') expect(actual).toBe(reason)
  else expect(actual).toMatch(reason)
}

describe.each(names)('text messages by %s', (name) => {
  test('sends a message', async () => {
    standIn.answerWith(receipts[name])
    await send(name)
    expect(standIn.requests.length).toBe(1)
  })

  test.each([400, 401, 402, 403, 404, 409, 410, 413, 422, 451])('fails for good after %i', async (status) => {
    standIn.answerWith(text(status, ''))
    const error = await failure(name)
    expect(error).toBeInstanceOf(SmsRefused)
    expect(error.name).toBe('SmsRefused')
    expect(error.message).toBe(`${name} refused the message: HTTP ${status}`)
    expect(standIn.requests.length).toBe(1)
  })

  test.each([301, 304, 308, 408, 425, 429, 500, 502, 503, 504, 599])(
    'may be retried after %i',
    async (status) => {
      standIn.answerWith(text(status, ''))
      await expectTemporary(name, `HTTP ${status}`)
      expect(standIn.requests.length).toBe(1)
    },
  )
})

// All providers share the exchange, so one of them stands for all.
describe('text messages › exchange with a provider', () => {
  const name = 'twilio'

  test.each([301, 302, 303, 307, 308])('follows no redirect with %i', async (status) => {
    await using elsewhere = await startSmsStandIn()
    elsewhere.answerWith(receipts[name])
    standIn.answerWith((response) => response.writeHead(status, { location: elsewhere.url }).end())
    await expectTemporary(name, `HTTP ${status}`)
    expect(elsewhere.requests).toEqual([])
  })

  test('times out without a response', async () => {
    standIn.answerWith(() => undefined)
    await expectTemporary(name, 'no answer within 0.1 s', { timeoutMs: 100 })
  })

  test('times out during a slow response', async () => {
    standIn.answerWith((response) => {
      response.writeHead(200)
      const timer = setInterval(() => response.write(' '), 10)
      response.once('close', () => clearInterval(timer))
    })
    await expectTemporary(name, 'no answer within 0.2 s', { timeoutMs: 200 })
  })

  test('may be retried after a refused connection', async () => {
    await expectTemporary(name, 'the connection failed: ECONNREFUSED', { url: closedAddress })
  })

  test('may be retried when the connection ends before the response', async () => {
    standIn.answerWith((response) => response.destroy())
    await expectTemporary(name, brokenConnection)
  })

  test('may be retried when the connection ends within the response', async () => {
    standIn.answerWith((response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('{', () => response.destroy())
    })
    await expectTemporary(name, brokenConnection)
  })

  test('may be retried when the server does not speak HTTP', async () => {
    standIn.answerWith((response) => response.socket?.end('220 mail.example.com ESMTP\r\n'))
    await expectTemporary(name, 'the connection failed')
  })

  test('reads little of an endless response', async () => {
    const closed = Promise.withResolvers<void>()
    standIn.answerWith((response) => pourInto(response, closed.resolve))
    await expectTemporary(name, "HTTP 200 with a reply that is not the provider's")
    await closed.promise
  })
})

describe.each(withReceipt)('text messages by %s › response 200 without a receipt', (name) => {
  test.each([
    ['an empty response', ''],
    ['a page', '<!doctype html><title>Sign in</title>'],
    ['JSON of another kind', '{"ok":true}'],
    ['a message without a type', '{"message":"ok"}'],
    ['a status without an id', '{"status":"queued"}'],
    ['null data', '{"data":null}'],
    ['empty lists', '{"message_uuid":[],"messages":[]}'],
    ['null', 'null'],
    ['a text', '"success"'],
    ['an empty list', '[]'],
    ['XML without a message id', '<PublishResponse/>'],
    ['half of JSON', '{"sid":"SM1'],
    ['bytes', '\u0000\u0001\ufffd'],
    ['members of the prototype', '{"__proto__":{"sid":"x"},"message_uuid":{},"data":"toString"}'],
  ])('rejects %s', async (_, body) => {
    standIn.answerWith(text(200, body))
    await expectTemporary(name, "HTTP 200 with a reply that is not the provider's")
  })
})

test('text messages by webhook › accepts an endless response by its status', async () => {
  const closed = Promise.withResolvers<void>()
  standIn.answerWith((response) => pourInto(response, closed.resolve))
  await send('webhook')
  await closed.promise
})

describe('text messages › error message', () => {
  const { log, lines } = recordingLog()

  /** Returns all parts of an error that could reach a log. */
  async function logged(name: VendorName, config: Parameters<typeof createSmsProvider>[0]['config']) {
    const sms = createSmsProvider({ config, isDevelopment: false, log, clock: systemClock })
    const error: unknown = await sms.send(message, { id: 'm-1' }).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    if (!(error instanceof Error)) throw new Error(`${name} accepted the message`)
    log.error(error)
    return inspect(error, { depth: null, showHidden: true }) + lines.splice(0).join('')
  }

  /** Makes a response that repeats a part of the request in its error texts. */
  function echo(status: number, part: string): Answer {
    const error = {
      code: part,
      message: part,
      error: part,
      type: 'error',
      errors: [{ title: part, detail: part }],
    }
    const messages = [{ status: '2', 'error-text': part }]
    const xml = `<Error><Code>${part.replaceAll('<', '')}</Code><Message>${part.replaceAll('<', '')}</Message></Error>`
    return (response, request) => {
      const isXml = request.headers['x-amz-date'] !== undefined
      response.writeHead(status).end(isXml ? xml : JSON.stringify({ ...error, messages, title: part }))
    }
  }

  test.each(names)('contains neither credential, number nor code, by %s', async (name) => {
    const config = smsConfig(name, standIn.url)
    standIn.answerWith(receipts[name])
    const sms = createSmsProvider({ config, isDevelopment: false, log, clock: systemClock })
    await sms.send(message, { id: 'm-1' })
    const { path, headers, body } = standIn.onlyRequest()
    const keys = Object.entries(config)
      .filter(([key, value]) => /secret|token|key|_sid|auth_id/.test(key) && typeof value === 'string')
      .map(([, value]) => String(value))
      .filter((value) => value !== '' && value !== config.jwt_secret)
    expect(keys.length).toBeGreaterThan(0)
    const credentials = [...keys, String(headers.authorization ?? headers.authkey ?? keys[0])]
    const parts = [...credentials, message.to, message.body, '482913', body, path, `${body}\n${path}`]
    const forbidden = [
      ...credentials.flatMap((key) => [key, encodeURIComponent(key), key.replace(/^Basic /, '')]),
      ...['14155550132', '482913'],
    ]
    for (const part of parts) {
      for (const status of [200, 400, 500]) {
        standIn.answerWith(echo(status, part))
        if (name === 'webhook' && status === 200) continue
        const text = await logged(name, config)
        for (const value of forbidden) expect(text).not.toContain(value)
      }
    }
  })

  test('is one line of limited length', async () => {
    standIn.answerWith(json(400, { code: 1, message: `a\r\nb\u2028c\u0000d${'e'.repeat(1000)}` }))
    const { message } = await failure('twilio')
    expect(message).toBe(`twilio refused the message: HTTP 400: 1 a b c d${'e'.repeat(200 - 19)}`)
  })

  test.each([
    ['telnyx', 'telnyx_api_key', 'k\u00e9y-\u4e2d-482913'],
    ['telnyx', 'telnyx_api_key', 'key\nwith-lines'],
    ['msg91', 'msg91_auth_key', 'key\u0000with-nul'],
    ['webhook', 'sms_webhook_url', 'http://user:password@127.0.0.1/'],
    ['webhook', 'sms_webhook_url', 'http://[half-an-address'],
    ['twilio', 'twilio_sid', 'lone-\ud800'],
    ['sns', 'aws_region', 'not a region'],
  ] as const)('does not contain the value, by %s with an unusable %s', async (name, key, value) => {
    const config = { ...smsConfig(name), [key]: value }
    const text = await logged(name, config)
    expect(text).not.toContain(value)
    expect(text).not.toContain('password')
    expect(text).toMatch(/check (the address and the|its) keys in the configuration/)
  })
})

describe('text messages in the log', () => {
  async function logged(isDevelopment: boolean): Promise<unknown[]> {
    const { log, lines } = recordingLog()
    const config = smsConfig('log')
    await createSmsProvider({ config, isDevelopment, log, clock: systemClock }).send(message, { id: 'm-1' })
    return lines.map((line) => JSON.parse(line))
  }

  test('have the message in development', async () => {
    expect(await logged(true)).toEqual([
      { level: 30, ...message, msg: 'text message (auth.sms_provider is log: not sent)' },
    ])
  })

  test('have neither code nor number in production', async () => {
    expect(await logged(false)).toEqual([
      { level: 40, to: '+*******0132', msg: 'text message not sent: set auth.sms_provider' },
    ])
  })
})

/** Sends an endless body as fast as it is read, until the client disconnects. */
function pourInto(response: Parameters<Answer>[0], onClose: () => void): void {
  const chunk = Buffer.alloc(16 * 1024, ' ')
  const pour = () => {
    while (!response.closed && response.write(chunk));
  }
  response
    .on('drain', pour)
    .once('close', onClose)
    .on('error', () => undefined)
  response.writeHead(200)
  pour()
}
