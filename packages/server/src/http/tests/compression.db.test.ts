import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice } from '../../../test/fixtures.ts'
import { sendBytes } from '../../../test/send-bytes.ts'
import { createTestApp, type TestApp, userToken } from '../../../test/test-app.ts'

const setup = `
create table note (id int primary key, body text);
insert into note select n, 'note ' || n || repeat(' and more', 10) from generate_series(1, 1000) n;
create table open (id int primary key, body text);
insert into open select id, body from note;
grant select on open to basalt_anonymous;
create function echo(text text) returns text language sql as 'select text';`

let app: TestApp
let plain: TestApp
const token = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({ setup })
  plain = await createTestApp({ database: app.database, config: { 'server.compression': 'off' } })
})
afterAll(async () => {
  await plain[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})

interface Sent {
  readonly method?: string
  readonly on?: TestApp
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Token; empty for none. */
  readonly as?: string
}

function send(
  path: string,
  accepted: string | undefined,
  { method = 'GET', on = app, headers = {}, body, as = token }: Sent = {},
) {
  return sendBytes(
    method,
    `${on.url}${path}`,
    {
      ...(as === '' ? {} : { authorization: `Bearer ${as}` }),
      ...(accepted === undefined ? {} : { 'accept-encoding': accepted }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    body,
  )
}

const decoders = { zstd: zstdDecompressSync, br: brotliDecompressSync, gzip: gunzipSync }
const page = '/api/collections/note?sort=id&perPage=100'
const large = '/api/collections/note?sort=id&perPage=500'
const small = '/api/collections/note?sort=id&perPage=5'

describe('compression of responses', () => {
  test.each([
    ['gzip', 'gzip'],
    ['br', 'br'],
    ['zstd', 'zstd'],
    ['gzip, deflate, br, zstd', 'zstd'],
    ['gzip, deflate, br', 'br'],
    ['zstd;q=0.1, gzip;q=0.8, br;q=0', 'gzip'],
    ['*', 'zstd'],
    ['GZIP', 'gzip'],
  ] as const)('uses for %j the coding %s', async (accepted, coding) => {
    const expected = (await send(page, undefined)).body
    const { headers, body } = await send(page, accepted)
    expect(headers['content-encoding']).toBe(coding)
    expect(headers['content-length']).toBe(String(body.length))
    expect(body.length).toBeLessThan(expected.length / 5)
    expect(decoders[coding](body).equals(expected)).toBe(true)
  })

  test.each([undefined, '', 'identity', 'deflate', 'gzip;q=0', '*;q=0', 'nonsense'])(
    'sends the text as it is for %j',
    async (accepted) => {
      const { headers, body } = await send(page, accepted)
      expect(headers['content-encoding']).toBeUndefined()
      expect(JSON.parse(String(body)).items).toHaveLength(100)
    },
  )

  test('compresses large responses, too, and responses to requests without a token', async () => {
    const { headers, body } = await send(large, 'gzip')
    expect(headers['content-encoding']).toBe('gzip')
    expect(JSON.parse(String(gunzipSync(body))).items).toHaveLength(500)
    const anonymous = await send('/api/collections/open?perPage=100', 'br', { as: '' })
    expect([anonymous.status, anonymous.headers['content-encoding']]).toEqual([200, 'br'])
  })

  test('sends short responses as they are, unless the client refuses that', async () => {
    expect((await send(small, 'gzip')).headers['content-encoding']).toBeUndefined()
    const coded = await send(small, 'gzip, identity;q=0')
    expect(coded.headers['content-encoding']).toBe('gzip')
    expect(JSON.parse(String(gunzipSync(coded.body))).items).toHaveLength(5)
  })

  test('varies by Accept-Encoding, also where nothing is compressed', async () => {
    for (const path of [page, small, '/api/collections/note/1']) {
      expect(String((await send(path, undefined)).headers.vary).split(', ')).toEqual(
        expect.arrayContaining(['Authorization', 'Cookie', 'Accept-Encoding']),
      )
    }
  })

  test('has a tag of its own for each coding, and accepts each of them as known', async () => {
    const tags = await Promise.all(
      ['identity', 'gzip', 'br', 'zstd'].map(async (coding) =>
        String((await send(page, coding)).headers.etag),
      ),
    )
    expect(new Set(tags).size).toBe(4)
    for (const tag of tags) {
      const { status, body } = await send(page, 'br', { headers: { 'if-none-match': tag } })
      expect([status, body.length]).toEqual([304, 0])
    }
  })

  test('sends the headers of HEAD without a coding', async () => {
    const { status, headers, body } = await send(page, 'gzip', { method: 'HEAD' })
    expect([status, headers['content-encoding'], body.length]).toEqual([200, undefined, 0])
  })

  test('compresses results of functions and queries by POST', async () => {
    const text = 'x'.repeat(10_000)
    const call = await send('/api/rpc/echo', 'gzip', { method: 'POST', body: JSON.stringify({ text }) })
    expect([call.status, call.headers['content-encoding']]).toEqual([200, 'gzip'])
    const query = await send('/api/collections/note/query', 'gzip', {
      method: 'POST',
      body: '{"perPage":100}',
    })
    expect(query.headers['content-encoding']).toBe('gzip')
  })

  test('compresses the API document, and no page with a form', async () => {
    expect((await send('/api/openapi.json', 'gzip')).headers['content-encoding']).toBe('gzip')
    for (const path of ['/oauth/authorize', '/api/auth/me']) {
      const { headers } = await send(path, 'gzip, identity;q=0')
      expect(headers['content-encoding']).toBeUndefined()
    }
  })

  test('sends an export as it is', async () => {
    const { headers, body } = await send('/api/collections/note/export.csv', 'gzip')
    expect(headers['content-encoding']).toBeUndefined()
    expect(String(body).split('\n').length).toBeGreaterThan(1000)
  })

  test('is off with server.compression = off', async () => {
    const { headers } = await send(page, 'gzip', { on: plain })
    expect(headers['content-encoding']).toBeUndefined()
    expect(String(headers.vary)).not.toContain('Accept-Encoding')
  })
})
