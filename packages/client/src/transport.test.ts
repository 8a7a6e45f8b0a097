import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { createTransport, type TransportOptions } from './transport.ts'

afterEach(() => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

/** Creates a transport that records its requests and responds with an empty object. */
function createRecorder(options: Partial<TransportOptions> = {}) {
  const sent: { readonly address: string; readonly headers: Headers }[] = []
  const transport = createTransport({
    url: 'http://localhost',
    fetch: async (address, init) => {
      sent.push({ address: String(address), headers: new Headers(init?.headers) })
      return Response.json({})
    },
    ...options,
  })
  return { sent, transport }
}

const read = { isRepeatable: true }

describe('createTransport › url', () => {
  test.each([
    'api.example.com',
    'localhost:8090',
    '//api.example.com',
    'ftp://api.example.com',
    'https://',
    'https://ada:secret@api.example.com',
    'https://api.example.com?key=1',
    'api/v1',
    undefined,
    null,
  ])('rejects %s at once', (url) => {
    const create = () => createTransport({ url: url as string })
    expect(create).toThrow(
      new TypeError("url is the http address of a server, as in 'https://api.example.com'"),
    )
  })

  test.each([
    ['https://api.example.com/base//', 'https://api.example.com/base'],
    [' http://localhost:8090\n', 'http://localhost:8090'],
  ])('parses %j', (url, expected) => {
    expect(createTransport({ url }).url).toBe(expected)
  })

  test('resolves a path against the page, and rejects the first request without a page', async () => {
    await expect(createTransport({ url: '/base' }).request('GET', 'health', read)).rejects.toThrow(TypeError)
    vi.stubGlobal('location', new URL('https://page.example.com/a?b#c'))
    expect(['', '/', '/base/'].map((url) => createTransport({ url }).url)).toEqual([
      'https://page.example.com',
      'https://page.example.com',
      'https://page.example.com/base',
    ])
  })
})

describe('createTransport › timeoutMs', () => {
  test('0 means no limit', async () => {
    vi.useFakeTimers()
    const { transport } = createRecorder({
      timeoutMs: 0,
      retries: 0,
      fetch: (_address, init) =>
        new Promise((resolve, reject) => {
          init?.signal?.addEventListener('abort', () => reject(init.signal?.reason))
          setTimeout(() => resolve(Response.json('late')), 86_400_000)
        }),
    })
    const answers = [undefined, 0].map((timeoutMs) =>
      transport.request('GET', 'health', { ...read, timeoutMs }),
    )
    await vi.advanceTimersByTimeAsync(86_400_000)
    expect(await Promise.all(answers)).toEqual(['late', 'late'])
  })

  test.each([-1, Number.NaN])('rejects %s, and sends nothing', async (timeoutMs) => {
    const refused = new TypeError('timeoutMs is a number of milliseconds, 0 for none')
    expect(() => createRecorder({ timeoutMs })).toThrow(refused)
    const { sent, transport } = createRecorder()
    await expect(transport.request('GET', 'health', { ...read, timeoutMs })).rejects.toThrow(refused)
    expect(sent).toEqual([])
  })
})

test('createTransport › sends headers of the client once, whatever their case, with streams as well', async () => {
  const headers = { 'Content-Type': 'text/plain', Authorization: 'Basic x', 'X-Tenant': 'a' }
  const { sent, transport } = createRecorder({ headers, auth: 'token' })
  await transport.request('POST', 'batch', { body: {}, isRepeatable: false })
  await transport.fetch('http://localhost/api/realtime', { headers: { accept: 'text/event-stream' } })
  expect(sent.map(({ headers }) => Object.fromEntries(headers))).toEqual([
    { 'content-type': 'application/json', authorization: 'Bearer token', 'x-tenant': 'a' },
    { 'content-type': 'text/plain', authorization: 'Basic x', 'x-tenant': 'a', accept: 'text/event-stream' },
  ])
})

test('createTransport › does not retry with an invalid number of retries', async () => {
  let requests = 0
  const { transport } = createRecorder({
    retries: Number.NaN,
    fetch: async () => {
      requests += 1
      throw new TypeError('fetch failed')
    },
  })
  await expect(transport.request('GET', 'health', read)).rejects.toMatchObject({ error: 'network_error' })
  expect(requests).toBe(1)
})

test('createTransport › rejects a redirect with its target, and does not follow it', async () => {
  const requests: string[] = []
  const server = createServer(({ method, url }, response) => {
    requests.push(`${method} ${url}`)
    response.writeHead(301, { location: '/elsewhere' }).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    // A server that listens on a port has an address of this form.
    const { port } = server.address() as AddressInfo
    const transport = createTransport({ url: `http://127.0.0.1:${port}` })
    await expect(transport.write('POST', 'collections/task', { body: {} })).rejects.toMatchObject({
      error: 'invalid_response',
      status: 301,
      message: 'the server redirects to /elsewhere: use that as url',
    })
    expect(requests).toEqual(['POST /api/collections/task'])
  } finally {
    server.close()
  }
})

test('createTransport › does not send a request of one user as the next user who signs in', async () => {
  const tokens: string[] = []
  let identity = 'ada'
  const { transport } = createRecorder({
    auth: {
      token: () => identity,
      identity: () => identity,
      renew: async () => {
        identity = 'grace'
        return identity
      },
    },
    fetch: async (_address, init) => {
      tokens.push(String(new Headers(init?.headers).get('authorization')))
      return Response.json({ error: 'invalid_token', message: 'invalid or expired token' }, { status: 401 })
    },
  })
  await expect(transport.write('POST', 'collections/task', { body: {} })).rejects.toMatchObject({
    error: 'invalid_token',
  })
  expect(tokens).toEqual(['Bearer ada'])
})
