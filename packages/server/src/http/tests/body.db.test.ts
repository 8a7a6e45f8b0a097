import { once } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice, notes } from '../../../test/fixtures.ts'
import { openRaw, parseRaw } from '../../../test/raw-http.ts'
import { sendBytes } from '../../../test/send-bytes.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../test/test-app.ts'

let app: TestApp
let roomy: TestApp
const token = userToken({ sub: alice })
const endpoints = ['/api/admin/auth', '/api/collections/note', '/api/collections/note/batch', '/api/batch']

beforeAll(async () => {
  app = await createTestApp({ setup: notes })
  roomy = await createTestApp({ database: app.database, config: { 'server.body_limit': '33554432' } })
})
afterAll(async () => {
  await roomy[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})

/** Sends the head, then pieces until the server closes or all are sent; returns the received text. */
async function upload(path: string, lengthHeader: string, pieces: Iterable<Buffer>) {
  const { socket, write, ended } = openRaw(app.url)
  write(
    `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
      `Content-Type: application/json\r\n${lengthHeader}\r\n\r\n`,
  )
  let sentBytes = 0
  for (const piece of pieces) {
    if (!socket.writable) break
    sentBytes += piece.length
    if (!socket.write(piece)) await Promise.race([once(socket, 'drain').catch(() => undefined), ended])
    await nextTurn()
  }
  return { sentBytes, response: parseRaw((await ended).text) }
}

describe('endless request body', () => {
  test.each(endpoints)('gets 413 and is aborted in chunks at %s', async (path) => {
    const data = Buffer.alloc(65_536, 'x')
    const chunk = Buffer.concat([Buffer.from('10000\r\n'), data, Buffer.from('\r\n')])
    const { sentBytes, response } = await upload(path, 'Transfer-Encoding: chunked', repeat(chunk, 16_384))
    expect([response.status, JSON.parse(response.body).error]).toEqual([413, 'body_too_large'])
    // Little more than the limit and the buffers of the network was sent.
    expect(sentBytes).toBeLessThan(64 * 1024 * 1024)
  })

  test.concurrent.each(endpoints)(
    'is rejected by its length alone when it has a gigabyte, at %s',
    async (path) => {
      const { sentBytes, response } = await upload(path, 'Content-Length: 1073741824', [])
      expect([response.status, sentBytes]).toEqual([413, 0])
    },
  )

  test.each(endpoints)(
    'gets a response that a client can read while it keeps sending, at %s',
    async (path) => {
      const data = repeat(Buffer.alloc(65_536, 'x'), 16_384)
      const { sentBytes, response } = await upload(path, 'Content-Length: 1073741824', data)
      expect([response.status, response.headers.get('connection')]).toEqual([413, ['close']])
      expect(sentBytes).toBeLessThan(64 * 1024 * 1024)
    },
  )

  test('gets a response that fetch can read', async () => {
    const body = Buffer.alloc(40 * 1024 * 1024, 'x')
    for (const [type, status] of [
      ['application/json', 413],
      ['text/plain', 415],
    ] as const) {
      const headers = { 'content-type': type }
      const response = await fetch(`${app.url}/api/admin/auth`, { method: 'POST', headers, body })
      expect([response.status, await response.json()]).toEqual([
        status,
        expect.objectContaining({ code: status }),
      ])
    }
    const response = await fetch(`${app.url}/api/collections/note`, { method: 'POST', body })
    expect([response.status, await response.json()]).toEqual([401, expect.objectContaining({ code: 401 })])
  })
})

describe('rejected request body within the limit', () => {
  test.each([
    ['for its type', 'Content-Type: text/plain', 415],
    ['for its syntax', 'Content-Type: application/json', 400],
    ['for a missing token', 'Authorization: Basic x', 401],
    ['for its path', 'X-Nothing: x', 404],
  ])('leaves the connection open when it is rejected %s', async (_why, header, status) => {
    const { write, ended } = openRaw(app.url)
    const path = status === 404 ? '/nothing' : status === 401 ? '/api/collections/note' : '/api/admin/auth'
    write(`POST ${path} HTTP/1.1\r\nHost: x\r\n${header}\r\nContent-Length: 300000\r\n\r\n`)
    write(Buffer.alloc(300_000, 'x'))
    write('GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    expect((await ended).text.match(/HTTP\/1\.1 \d+/g)).toEqual([`HTTP/1.1 ${status}`, 'HTTP/1.1 200'])
  })
})

function* repeat(piece: Buffer, times: number): Generator<Buffer> {
  for (let index = 0; index < times; index += 1) yield piece
}

describe('hostile JSON is rejected with 4xx', () => {
  const depth = 100_000
  const million = Array.from({ length: 1_000_000 }, (_, index) => `"k${index}":0`).join(',')
  const bombs: readonly (readonly [string, string])[] = [
    ['lists 100,000 deep', '['.repeat(depth) + ']'.repeat(depth)],
    ['lists 100,000 deep without an end', '['.repeat(depth)],
    ['objects 100,000 deep', `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`],
    ['a value 100,000 deep', `{"body":${'['.repeat(depth)}${']'.repeat(depth)}}`],
    ['operations 100,000 deep', `{"operations":${'['.repeat(depth)}${']'.repeat(depth)}}`],
    ['a method 100,000 deep', `{"operations":[{"method":${'['.repeat(depth)}${']'.repeat(depth)}}]}`],
    ['an object of a million members', `{${million}}`],
    ['a million values', `[${'0,'.repeat(999_999)}0]`],
    ['a number of a million digits', `{"id":${'9'.repeat(1_000_000)}}`],
    ['a million escapes', `{"id":"${'\\u0000'.repeat(1_000_000)}"}`],
  ]
  for (const [name, body] of bombs) {
    test.each(endpoints.slice(0, body.length > 4_000_000 ? 2 : 4))(`${name}: %s`, async (path) => {
      const response = await roomy.request('POST', path, { token, body })
      expect(response.status).toBe(400)
      expect(envelope(response).code).toBe(400)
      expect(response.text.length).toBeLessThan(2000)
    })
  }

  test('leaves the server healthy', async () => {
    expect((await roomy.request('GET', '/health')).json).toEqual({ status: 'ok', database: 'ok' })
    expect(await app.sql('select 1 from note')).toEqual([])
    expect(roomy.log).toEqual([])
  })
})

describe('request body with a content encoding', () => {
  const sendEncoded = async (bytes: Buffer, coding: string) => {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'content-encoding': coding,
      'content-length': String(bytes.length),
    }
    const { status, body } = await sendBytes('POST', `${app.url}/api/collections/note`, headers, bytes)
    return { status, json: JSON.parse(String(body)) }
  }
  const send = (path: string, coding: string, body: string, bearer: string | undefined = token) =>
    app.request('POST', path, { token: bearer, body, headers: { 'content-encoding': coding } })

  test.each(endpoints)('gets 415 with the accepted codings, at %s', async (path) => {
    for (const coding of ['br', 'deflate', 'zstd', 'x-gzip', 'gzip, identity', 'gzip, gzip', 'x']) {
      const response = await send(path, coding, '{}')
      expect(envelope(response)).toEqual({
        code: 415,
        message: 'Content-Encoding of the request body: expected gzip or identity',
        error: 'unsupported_content_encoding',
      })
      expect(response.headers.get('accept-encoding')).toBe('gzip, identity')
    }
  })

  test('is decoded when it is gzip', async () => {
    const body = '{"body":"ä written in gzip"}'
    for (const coding of ['gzip', ' GZIP ']) {
      const response = await sendEncoded(gzipSync(body), coding)
      expect([response.status, response.json.body]).toEqual([201, 'ä written in gzip'])
    }
    // Two members are one body (RFC 1952 §2.2).
    const halves = Buffer.concat([gzipSync('{"body":'), gzipSync('"x"}')])
    expect((await sendEncoded(halves, 'gzip')).json.body).toBe('x')
  })

  test.each([
    ['plain text', Buffer.from('{"body":"a"}')],
    ['a truncated stream', gzipSync('{"body":"a"}').subarray(0, 20)],
    ['gzip in gzip', gzipSync(gzipSync('{"body":"a"}'))],
  ])('gets 400 for %s', async (_, bytes) => {
    const { status, json } = await sendEncoded(bytes, 'gzip')
    expect([status, json.error]).toEqual([400, expect.stringMatching(/^invalid_(gzip_body|json)$/)])
  })

  test('gets 413 for a body that expands beyond the limit', async () => {
    const bomb = gzipSync(`{"body":"${'x'.repeat(64 * 1024 * 1024)}"}`)
    expect(bomb.length).toBeLessThan(100_000)
    const { status, json } = await sendEncoded(bomb, 'gzip')
    expect([status, json.error]).toEqual([413, 'body_too_large'])
    expect((await sendEncoded(gzipSync('{"body":"after"}'), 'gzip')).status).toBe(201)
  })

  test('gets 413 for blocks that are empty without end', async () => {
    const { socket, write, ended } = openRaw(app.url)
    write(
      `POST /api/collections/note HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
        'Content-Type: application/json\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n',
    )
    // A header (RFC 1952 §2.3), then empty stored blocks (RFC 1951 §3.2.4).
    const empty = Buffer.alloc(5 * 13_000, Buffer.from([0, 0, 0, 0xff, 0xff]))
    const chunkOf = (bytes: Buffer) =>
      Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
    socket.write(chunkOf(Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3])))
    for (let sent = 0; sent < 40 && socket.writable; sent += 1) {
      socket.write(chunkOf(empty))
      await nextTurn()
    }
    expect(parseRaw((await ended).text).status).toBe(413)
  })

  test('is rejected by its headers, before it has arrived', async () => {
    const connection = openRaw(app.url)
    for (const path of endpoints) {
      const answer = once(connection.socket, 'data')
      connection.write(
        `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n` +
          'Content-Encoding: br\r\nContent-Length: 1000\r\n\r\n{',
      )
      expect(parseRaw(String((await answer)[0])).status).toBe(415)
      connection.write(' '.repeat(999))
    }
    connection.socket.destroy()
  })

  test('is accepted when it is identity', async () => {
    expect((await send('/api/collections/note', 'identity', '{"body":"a"}')).status).toBe(201)
    expect((await send('/api/collections/note', ' Identity ', '{"body":"a"}')).status).toBe(201)
  })

  test('discloses nothing to a caller without a token', async () => {
    expect(
      (
        await app.request('POST', '/api/collections/note', {
          body: '{}',
          headers: { 'content-encoding': 'gzip' },
        })
      ).status,
    ).toBe(401)
  })
})
