import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { testConfig } from '../../../../test/test-config.ts'
import { waitFor } from '../../../../test/wait-for.ts'
import { type Clock, systemClock } from '../../../lib/clock.ts'
import type { MailBackend, MailMessage } from './backend.ts'
import { createMailBackend } from './create-backend.ts'
import { MailRefused } from './refusal.ts'

const secret = 'shared between the two of us'
const message: MailMessage = {
  to: 'alice@example.com',
  subject: 'Größe „10“ 🎉',
  html: '<p>Grüße</p>',
  text: 'Grüße',
}

let cleanUp: AsyncDisposableStack
beforeEach(() => {
  cleanUp = new AsyncDisposableStack()
})
afterEach(() => cleanUp.disposeAsync())

interface Receiver {
  readonly url: string
  readonly requests: { readonly request: IncomingMessage; readonly body: Buffer }[]
  /** Counts open connections. */
  openConnections(): Promise<number>
}

/** Opens a real server with the given response. */
async function openReceiver(respond: (response: ServerResponse) => void): Promise<Receiver> {
  const requests: Receiver['requests'] = []
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      requests.push({ request, body: Buffer.concat(chunks) })
      respond(response)
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanUp.defer(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/mail?from=basalt`,
    requests,
    openConnections: () =>
      new Promise((resolve, reject) => {
        server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)))
      }),
  }
}

function backendFor(
  url: string,
  overrides: Record<string, string> = {},
  clock: Clock = systemClock,
): MailBackend {
  const config = testConfig({
    'email.backend': 'webhook',
    'email.from': 'Shop <shop@example.com>',
    'email.webhook.url': url,
    'email.webhook.secret': secret,
    'email.webhook.timeout': '1',
    ...overrides,
  }).email
  const log = pino({ level: 'silent' })
  return createMailBackend({ config, isDevelopment: false, log, clock })
}

async function failureOf(sending: Promise<void>): Promise<Error> {
  try {
    await sending
  } catch (error) {
    return error as Error
  }
  throw new Error('the mail was sent')
}

describe('mail webhook › the request', () => {
  test('is the mail as JSON, signed over its exact bytes', async () => {
    const receiver = await openReceiver((response) => response.writeHead(204).end())
    await backendFor(receiver.url).send(message, { id: 'job-17' })
    const [{ request, body } = { request: undefined, body: Buffer.of() }] = receiver.requests
    expect(receiver.requests).toHaveLength(1)
    expect(request?.method).toBe('POST')
    expect(request?.url).toBe('/mail?from=basalt')
    expect(JSON.parse(body.toString('utf8'))).toEqual({ ...message, from: 'Shop <shop@example.com>' })
    expect(request?.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'Basalt',
      'webhook-id': 'job-17',
      'x-basalt-signature': createHmac('sha256', secret).update(body).digest('hex'),
    })
  })

  test.each([
    [secret, Buffer.from(secret)],
    ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64')],
  ])('is signed as in Standard Webhooks with %s, at each attempt with its time', async (secret, key) => {
    const receiver = await openReceiver((response) => response.writeHead(503).end())
    const times = [new Date('2026-03-04T05:06:07.900Z'), new Date('2026-03-04T06:06:07.100Z')]
    const clock = { now: () => times[receiver.requests.length] ?? new Date(0) }
    const backend = backendFor(receiver.url, { 'email.webhook.secret': secret }, clock)
    for (const _ of times) await failureOf(backend.send(message, { id: 'job-17' }))
    const seconds = ['1772600767', '1772604367']
    expect(receiver.requests.map(({ request }) => request.headers['webhook-id'])).toEqual([
      'job-17',
      'job-17',
    ])
    for (const [index, { request, body }] of receiver.requests.entries()) {
      const signed = Buffer.concat([Buffer.from(`job-17.${seconds[index]}.`), body])
      expect(request.headers).toMatchObject({
        'webhook-timestamp': seconds[index],
        'webhook-signature': `v1,${createHmac('sha256', key).update(signed).digest('base64')}`,
        'x-basalt-signature': createHmac('sha256', secret).update(body).digest('hex'),
      })
    }
  })

  test('has an id and no signature without a secret', async () => {
    const receiver = await openReceiver((response) => response.end())
    await backendFor(receiver.url, { 'email.webhook.secret': '' }).send(message)
    const headers = receiver.requests[0]?.request.headers ?? {}
    expect(headers).not.toHaveProperty('x-basalt-signature')
    expect(headers).not.toHaveProperty('webhook-signature')
    expect(headers['webhook-id']).toMatch(/^[0-9a-f-]{36}$/)
  })

  test('is not sent for an invalid address', async () => {
    const receiver = await openReceiver((response) => response.end())
    const failure = await failureOf(backendFor(receiver.url).send({ ...message, to: 'a@b.co, c@d.co' }))
    expect(failure).toBeInstanceOf(MailRefused)
    expect(receiver.requests).toEqual([])
  })
})

describe('mail webhook › the response', () => {
  test('decides whether another attempt makes sense', async () => {
    let status = 0
    const receiver = await openReceiver((response) => response.writeHead(status).end('so it is'))
    const backend = backendFor(receiver.url)
    const verdicts: Record<string, number[]> = { sent: [], temporary: [], final: [] }
    const statuses = [
      200, 201, 202, 204, 299, 304, 400, 401, 403, 404, 408, 410, 422, 425, 429, 500, 502, 503,
    ]
    for (status of statuses) {
      const verdict = await backend.send(message).then(
        () => 'sent',
        (error: unknown) => (error instanceof MailRefused ? 'final' : 'temporary'),
      )
      verdicts[verdict]?.push(status)
    }
    expect(verdicts).toEqual({
      sent: [200, 201, 202, 204, 299],
      temporary: [304, 408, 425, 429, 500, 502, 503],
      final: [400, 401, 403, 404, 410, 422],
    })
    expect(receiver.requests).toHaveLength(statuses.length)
  })

  test('is reported in one line when it is a failure', async () => {
    const receiver = await openReceiver((response) =>
      response.writeHead(422).end(`{"error":\n "unknown\u0007 recipient${'!'.repeat(10_000)}"}`),
    )
    const failure = await failureOf(backendFor(receiver.url).send(message))
    expect(failure.message).toMatch(/^the mail webhook answered 422: \{"error": "unknown recipient!+$/)
    expect(failure.message.length).toBeLessThan(250)
  })

  test.each([301, 302, 303, 307, 308])('is not followed with status %d', async (status) => {
    const elsewhere = await openReceiver((response) => response.end())
    const receiver = await openReceiver((response) =>
      response.writeHead(status, { location: elsewhere.url }).end(),
    )
    const failure = await failureOf(backendFor(receiver.url).send(message))
    expect(failure).not.toBeInstanceOf(MailRefused)
    expect(failure.message).toBe(`the mail webhook answered ${status}: `)
    expect(elsewhere.requests).toEqual([])
  })

  test('without end counts by its status, and is not read', async () => {
    const receiver = await openReceiver((response) => {
      response.writeHead(response.req.headers['webhook-id'] === 'good' ? 200 : 500)
      const chunk = Buffer.alloc(64 * 1024, 'x')
      const write = () => {
        while (!response.destroyed && response.write(chunk));
      }
      response.on('drain', write)
      write()
    })
    const backend = backendFor(receiver.url, { 'email.webhook.timeout': '20' })
    await backend.send(message, { id: 'good' })
    const failure = await failureOf(backend.send(message, { id: 'bad' }))
    expect(failure.message).toMatch(/answered 500: x{200}$/)
    await waitFor('connections to close', async () => (await receiver.openConnections()) === 0)
  })

  test('counts by its status while it trickles', async () => {
    const timers = new Set<NodeJS.Timeout>()
    cleanUp.defer(() => timers.forEach(clearInterval))
    const receiver = await openReceiver((response) => {
      response.writeHead(response.req.headers['webhook-id'] === 'good' ? 200 : 404)
      timers.add(setInterval(() => response.write('.'), 50))
    })
    const backend = backendFor(receiver.url)
    await backend.send(message, { id: 'good' })
    expect(await failureOf(backend.send(message, { id: 'bad' }))).toBeInstanceOf(MailRefused)
  })

  test('is a temporary failure when it is late', async () => {
    const receiver = await openReceiver(() => undefined)
    const failure = await failureOf(backendFor(receiver.url).send(message))
    expect(failure).not.toBeInstanceOf(MailRefused)
    expect(failure.message).toBe('the mail webhook took too long')
    await waitFor('the connection to close', async () => (await receiver.openConnections()) === 0)
  })

  test('is a temporary failure when it is cut off', async () => {
    const receiver = await openReceiver((response) => response.destroy())
    const failure = await failureOf(backendFor(receiver.url).send(message))
    expect(failure).not.toBeInstanceOf(MailRefused)
    expect(failure.message).toMatch(/^the mail webhook cannot be reached: ./)
  })
})

test('mail webhook › an unavailable receiver is a temporary failure', async () => {
  const receiver = await openReceiver(() => undefined)
  await cleanUp.disposeAsync()
  const failure = await failureOf(backendFor(receiver.url).send(message))
  expect(failure).not.toBeInstanceOf(MailRefused)
  expect(failure.message).toMatch(/^the mail webhook cannot be reached: .*ECONNREFUSED/)
})
