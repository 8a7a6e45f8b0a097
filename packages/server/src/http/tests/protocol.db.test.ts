import { once } from 'node:events'
import { METHODS } from 'node:http'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice, notes } from '../../../test/fixtures.ts'
import { exchangeRaw, openRaw, parseRaw, type RawResponse } from '../../../test/raw-http.ts'
import { createTestApp, type TestApp, userToken } from '../../../test/test-app.ts'
import { waitFor } from '../../../test/wait-for.ts'

let app: TestApp
/** Server with short timeouts for slow clients. */
let hasty: TestApp
const token = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({ setup: notes, config: { 'server.max_connections': '40' } })
  hasty = await createTestApp({
    database: app.database,
    config: { 'server.header_timeout': '1', 'server.request_timeout': '2' },
  })
})
afterAll(async () => {
  await hasty[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})

function expectEnvelope(response: RawResponse, status: number, error: string, message: string) {
  expect(response.status).toBe(status)
  expect(JSON.parse(response.body)).toEqual({
    code: status,
    message,
    error,
    doc_url: expect.stringMatching(new RegExp(`^http://127\\.0\\.0\\.1:\\d+/docs/errors/${error}$`)),
  })
  expect(response.headers.get('content-type')).toEqual(['application/json; charset=utf-8'])
  expect(response.headers.get('x-request-id')).toEqual([expect.stringMatching(/^[\w-]{36}$/)])
  expect(response.headers.get('x-content-type-options')).toEqual(['nosniff'])
}

describe('malformed HTTP/1.1 gets 400 in the envelope', () => {
  const post = 'POST /api/admin/auth HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n'
  test.each([
    ['a TLS handshake', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n'],
    ['an unknown method', 'FETCH /health HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['an unknown version', 'GET /health HTTP/9.9\r\nHost: x\r\n\r\n'],
    ['a request without Host', 'GET /health HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['a request with two hosts', 'GET /health HTTP/1.1\r\nHost: x\r\nhost: x\r\nConnection: close\r\n\r\n'],
    ['a host with a blank', 'GET /health HTTP/1.1\r\nHost: x y\r\nConnection: close\r\n\r\n'],
    ['a host with a path', 'GET /health HTTP/1.1\r\nHost: x/y\r\nConnection: close\r\n\r\n'],
    ['a host with a user', 'GET http://me@x/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    ['a host whose port is no number', 'GET /health HTTP/1.1\r\nHost: x:y\r\nConnection: close\r\n\r\n'],
    ['a tunnel', 'CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a header without a colon', 'GET /health HTTP/1.1\r\nHost x\r\n\r\n'],
    ['a header folded over two lines', 'GET /health HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n'],
    ['a blank before the colon', 'GET /health HTTP/1.1\r\nHost : x\r\n\r\n'],
    ['a zero byte in a header', 'GET /health HTTP/1.1\r\nHost: x\r\nA: \0\r\n\r\n'],
    ['two lengths', `${post}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`],
    ['a length that is no number', `${post}Content-Length: 2x\r\n\r\n{}`],
    ['a negative length', `${post}Content-Length: -1\r\n\r\n{}`],
    ['a length beside chunks', `${post}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['an unknown transfer coding', `${post}Transfer-Encoding: chunked, cow\r\n\r\n0\r\n\r\n`],
    [
      'a body that is compressed for the transfer',
      `${post}Connection: close\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
    ],
    ['a chunk whose size is no number', `${post}Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n`],
  ])('%s', async (_what, text) => {
    expectEnvelope(await exchangeRaw(app.url, text), 400, 'malformed_request', 'malformed HTTP request')
  })

  test('returns 431 for headers of more than 16 KiB', async () => {
    const response = await exchangeRaw(
      app.url,
      `GET /health HTTP/1.1\r\nHost: x\r\nA: ${'b'.repeat(17_000)}\r\n\r\n`,
    )
    expectEnvelope(response, 431, 'headers_too_large', 'the request headers are too large')
  })

  test('gets no response when a body ends before its length', async () => {
    const { socket, write, ended } = openRaw(app.url)
    write(`${post}Content-Length: 100\r\n\r\n{`)
    socket.end()
    await ended
    expect((await app.request('GET', '/health')).status).toBe(200)
  })
})

describe('method without a handler', () => {
  const served = ['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT']
  const unserved = METHODS.filter((method) => !served.includes(method))

  test.each(unserved)('returns 405 with Allow: %s', async (method) => {
    for (const headers of ['', 'Content-Type: application/json\r\nContent-Length: 2\r\n']) {
      const body = headers === '' ? '' : '{}'
      const send = (path: string) =>
        exchangeRaw(
          app.url,
          `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\n${body}`,
        )
      const response = await send('/health')
      expectEnvelope(response, 405, 'method_not_allowed', `${method} is not allowed here: use GET, HEAD`)
      expect(response.headers.get('allow')).toEqual(['GET, HEAD'])
      expect((await send('/api/collections/note')).status).toBe(405)
      expect((await send('/nothing')).status).toBe(404)
    }
  })
})

describe('valid HTTP/1.1', () => {
  test.each([
    ['HTTP/1.0', 'GET /health HTTP/1.0\r\n\r\n'],
    ['a host without a name', 'GET /health HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n'],
    ['a host by its address', 'GET /health HTTP/1.1\r\nHost: [::1]:8090\r\nConnection: close\r\n\r\n'],
    ['a host with an underscore', 'GET /health HTTP/1.1\r\nHost: my_app:80\r\nConnection: close\r\n\r\n'],
    ['an absolute target', 'GET http://example.com/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    [
      'an unknown expectation',
      'GET /health HTTP/1.1\r\nHost: x\r\nExpect: cake\r\nConnection: close\r\n\r\n',
    ],
    [
      'an upgrade that is not offered',
      'GET /health HTTP/1.1\r\nHost: x\r\nConnection: upgrade, close\r\nUpgrade: h2c\r\n\r\n',
    ],
  ])('accepts %s', async (_what, text) => {
    const response = await exchangeRaw(app.url, text)
    expect([response.status, response.body]).toEqual([200, '{"status":"ok","database":"ok"}'])
  })

  test('accepts a body announced by 100-continue', async () => {
    const { socket, write, ended } = openRaw(app.url)
    const body = '{"password":"wrong"}'
    write(
      'POST /api/admin/auth HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n' +
        `Content-Length: ${body.length}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`,
    )
    const [first] = await once(socket, 'data')
    expect(String(first)).toBe('HTTP/1.1 100 Continue\r\n\r\n')
    write(body)
    expect((await ended).text).toContain('HTTP/1.1 401 Unauthorized')
  })

  const announce = (path: string, length: number, authorization = '') =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\n${authorization}Content-Type: application/json\r\n` +
    `Content-Length: ${length}\r\nExpect: 100-continue\r\n\r\n`

  test.each([
    ['without a token', '/api/collections/note', 20, '', 401],
    ['with a token that is none', '/api/collections/note', 20, 'Authorization: Bearer x\r\n', 401],
    [
      'that is too large',
      '/api/collections/note',
      2_000_000,
      () => `Authorization: Bearer ${token}\r\n`,
      413,
    ],
    ['for no route', '/api/nothing', 20, '', 404],
  ])('sends no 100 for an announced body %s', async (_what, path, length, header, status) => {
    const { write, ended } = openRaw(app.url)
    write(announce(path, length, typeof header === 'string' ? header : header()))
    const { text } = await ended
    expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(text).toMatch(/\r\nconnection: close\r\n/i)
  })

  test('sends one 100 for an announced body, and keeps the connection open', async () => {
    const { socket, write, ended } = openRaw(app.url)
    const body = '{"body":"announced"}'
    write(announce('/api/collections/note', body.length, `Authorization: Bearer ${token}\r\n`))
    expect(String((await once(socket, 'data'))[0])).toBe('HTTP/1.1 100 Continue\r\n\r\n')
    write(body)
    await once(socket, 'data')
    write('GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    const { text } = await ended
    expect(text.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 100', 'HTTP/1.1 201', 'HTTP/1.1 200'])
  })

  test('accepts a body in chunks', async () => {
    const response = await exchangeRaw(
      app.url,
      `POST /api/collections/note HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
        'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n' +
        '9\r\n{"body":"\r\n4\r\nt\u00f6x\r\n2\r\n"}\r\n0\r\n\r\n',
    )
    expect([response.status, JSON.parse(response.body).body]).toEqual([201, 'töx'])
  })

  test('accepts pipelined requests, and responds in order', async () => {
    const { write, ended } = openRaw(app.url)
    write(
      'GET /nothing HTTP/1.1\r\nHost: x\r\n\r\nGET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    )
    const { text } = await ended
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 404', 'HTTP/1.1 200'])
  })
})

describe('two Authorization headers', () => {
  test('are rejected, because it is ambiguous which one counts', async () => {
    const send = (headers: string) =>
      exchangeRaw(
        app.url,
        `GET /api/collections/note HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\n\r\n`,
      )
    const good = `Authorization: Bearer ${token}`
    expect((await send(good)).status).toBe(200)
    expect((await send(good.toUpperCase().replace(/BEARER .*/, `Bearer ${token}`))).status).toBe(200)
    for (const headers of [
      `${good}\r\n${good}`,
      `${good}\r\nauthorization: x`,
      `AUTHORIZATION: x\r\n${good}`,
    ]) {
      const response = await send(headers)
      expectEnvelope(response, 401, 'missing_authorization', 'missing or invalid authorization header')
    }
  })
})

const slow = { headers: 'GET /health HTTP/1.1\r\nHost: x\r\n', body: '' }

describe('slow client', () => {
  const body = (authorization: string) =>
    `POST /api/collections/note HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${authorization}` +
    'Content-Length: 100\r\n\r\n{'

  test.concurrent.each([
    ['after a part of the headers', slow.headers],
    ['after a part of the body', body(`Authorization: Bearer ${token}\r\n`)],
    [
      'after a part of the chunks',
      body(`Authorization: Bearer ${token}\r\n`).replace(
        /Content-Length.*/s,
        'Transfer-Encoding: chunked\r\n\r\n5\r\n',
      ),
    ],
  ])('gets 408 %s', async (_where, text) => {
    const response = await exchangeRaw(hasty.url, text)
    expectEnvelope(response, 408, 'request_timeout', 'the request did not arrive in time')
  })

  test.concurrent.each([
    ['headers', slow.headers, 'A: b\r\n'],
    ['a body', body(`Authorization: Bearer ${token}\r\n`), ' '],
  ])('gets 408 even when it drips %s', async (_what, begin, drip) => {
    const { write, ended } = openRaw(hasty.url)
    write(begin)
    const timer = setInterval(() => write(drip), 100)
    const { text } = await ended
    clearInterval(timer)
    expect(parseRaw(text).status).toBe(408)
  })
})

describe('unused connection', () => {
  test('outlives the time limit of the headers, and serves a later request', async () => {
    const unused = openRaw(hasty.url)
    await once(unused.socket, 'connect')
    // Both are due at the same check; the younger connection is not due before it.
    const begun = await exchangeRaw(hasty.url, slow.headers)
    expect(begun.status).toBe(408)
    expect(unused.socket.closed).toBe(false)
    unused.write('GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    expect(parseRaw((await unused.ended).text).status).toBe(200)
  })

  test('has the time limit of the headers from their first byte on', async () => {
    const unused = openRaw(hasty.url)
    await once(unused.socket, 'connect')
    expect((await exchangeRaw(hasty.url, slow.headers)).status).toBe(408)
    unused.write(slow.headers)
    expectEnvelope(
      parseRaw((await unused.ended).text),
      408,
      'request_timeout',
      'the request did not arrive in time',
    )
  })
})

describe('pipelined requests on one connection', () => {
  const request = (path: string, last = false) =>
    `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n${last ? 'Connection: close\r\n' : ''}\r\n`
  const waiting = async () => {
    const [row] = await app.sql<{ count: number }>(
      `select count(*)::int from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return row?.count
  }

  /** Blocks every read of the table until it is disposed. */
  async function lockTable(): Promise<AsyncDisposable> {
    const client = new pg.Client(app.database.url)
    await client.connect()
    await client.query('begin; lock table note in access exclusive mode')
    return { [Symbol.asyncDispose]: () => client.end() }
  }

  test('are served one after the other, in order, while other connections are served', async () => {
    const connection = openRaw(app.url)
    {
      await using _ = await lockTable()
      connection.write(
        request('/api/collections/note?skipTotal=true').repeat(300) + request('/nothing', true),
      )
      await waitFor('the first one', async () => (await waiting()) === 1)
      expect((await app.request('GET', '/health')).json).toEqual({ status: 'ok', database: 'ok' })
      expect(await waiting()).toBe(1)
    }
    const { text } = await connection.ended
    const statuses = [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
    expect(statuses).toEqual([...Array(300).fill('200'), '404'])
  })

  test('are not read from the socket while they wait', async () => {
    await using _ = await lockTable()
    const { socket, write, ended } = openRaw(app.url)
    const many = request('/api/collections/note').repeat(40_000)
    const sent = many.length * 8
    for (let count = 0; count < 8; count += 1) write(many)
    await waitFor('the first one', async () => (await waiting()) === 1)
    const taken = () => socket.bytesWritten - socket.writableLength
    // Only the kernel buffers of both sides fill up.
    let before = -1
    await waitFor('the connection to stall', async () => {
      const isStalled = taken() === before
      before = taken()
      await Promise.all(Array.from({ length: 20 }, () => app.request('GET', '/health')))
      return isStalled
    })
    expect(taken()).toBeLessThan(sent / 4)
    socket.destroy()
    await ended
  })

  test('are dropped after a response that ends the connection', async () => {
    const { text } = await (() => {
      const connection = openRaw(app.url)
      const body = JSON.stringify({ body: 'never' })
      connection.write(
        `${request('/health', true)}POST /api/collections/note HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
          `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      )
      return connection.ended
    })()
    expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1)
    expect(await app.sql(`select from note where body = 'never'`)).toEqual([])
  })
})

describe('connections', () => {
  test('beyond server.max_connections are refused, and accepted again when others have disconnected', async () => {
    const idle = Array.from({ length: 45 }, () => openRaw(app.url))
    // The excess connections are closed.
    expect((await Promise.race(idle.map(({ ended }) => ended))).text).toBe('')
    for (const { socket } of idle) socket.destroy()
    await Promise.all(idle.map(({ ended }) => ended))
    await expect.poll(async () => (await app.request('GET', '/health')).status).toBe(200)
  })
})
