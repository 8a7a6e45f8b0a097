import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestApp, createTestDatabase, type TestApp, type TestDatabase } from '../../../test/test-app.ts'

let database: TestDatabase
let direct: TestApp
let proxied: TestApp

beforeAll(async () => {
  database = await createTestDatabase()
  const config = { 'logging.requests': 'all' }
  direct = await createTestApp({ database, config })
  proxied = await createTestApp({
    database,
    config: { ...config, 'server.trusted_proxies': '127.0.0.1/32, 10.0.0.0/8' },
  })
})
afterAll(async () => {
  await proxied[Symbol.asyncDispose]()
  await direct[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

const forged = {
  'x-forwarded-for': '198.51.100.7',
  'x-real-ip': '198.51.100.7',
  forwarded: 'for=198.51.100.7;proto=https;host=evil.example',
  'x-forwarded-host': 'evil.example',
  'x-forwarded-proto': 'https',
  'cf-connecting-ip': '198.51.100.7',
  'true-client-ip': '198.51.100.7',
}

/** Returns the key by which the failed sign-ins of an address are counted. */
async function countedKey(on: TestApp, headers: Record<string, string>): Promise<string | undefined> {
  await database.sql('delete from basalt.attempts')
  await on.request('POST', '/api/admin/auth', { body: { password: 'wrong' }, headers })
  const [row] = await database.sql<{ key: string }>('select key from basalt.attempts')
  return row?.key.replace('admin.sign_in:', '')
}

function lastAddress(on: TestApp): string {
  return JSON.parse(on.log.at(-1) ?? '').address
}

describe('client address without trusted proxies', () => {
  test('is the peer, whatever headers say', async () => {
    expect(await countedKey(direct, forged)).toBe('127.0.0.1')
    expect(lastAddress(direct)).toBe('127.0.0.1')
  })

  test('does not let headers change the links in errors', async () => {
    const { doc_url: docUrl } = (
      await direct.request('GET', '/nothing', { headers: { ...forged, host: 'evil.example' } })
    ).json
    expect(docUrl).toBe(`${direct.url}/docs/errors/route_not_found`)
  })
})

describe('client address with a trusted proxy', () => {
  test.each([
    ['one hop', '198.51.100.7', '198.51.100.7'],
    ['two trusted hops', '198.51.100.7, 10.1.2.3', '198.51.100.7'],
    ['an untrusted hop', '203.0.113.9, 198.51.100.7', '198.51.100.7'],
    ['what the client put before the proxy’s own', '127.0.0.1, 198.51.100.7', '198.51.100.7'],
    ['a long forged list', `${'1.2.3.4, '.repeat(50)}198.51.100.7, 10.0.0.1`, '198.51.100.7'],
    ['an IPv6 client counted by its network', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['the same network in another spelling', '2001:0DB8:1:2::9', '2001:db8:1:2::/64'],
    ['an IPv4 client in IPv6 notation', '::ffff:198.51.100.7', '198.51.100.7'],
    ['an IPv4 client in IPv6 notation of hexadecimal groups', '::ffff:c633:6407', '198.51.100.7'],
    ['a client with its port', '198.51.100.7:50123', '198.51.100.7'],
    ['an IPv6 client with its port', '[2001:db8:1:2::9]:50123', '2001:db8:1:2::/64'],
    ['an IPv6 client in brackets', '[2001:db8:1:2::9]', '2001:db8:1:2::/64'],
    ['a trusted hop with its port', '198.51.100.7, 10.1.2.3:443', '198.51.100.7'],
    ['a client its proxy does not name', 'unknown, 10.1.2.3', '10.1.2.3'],
    ['what is no address', 'x'.repeat(4000), '127.0.0.1'],
    ['empty elements of the list', ' , 198.51.100.7, ', '198.51.100.7'],
  ])('is the last untrusted one in the list: %s', async (_what, list, key) => {
    expect(await countedKey(proxied, { 'x-forwarded-for': list })).toBe(key)
  })

  test('is that of the proxy without its header', async () => {
    expect(await countedKey(proxied, {})).toBe('127.0.0.1')
  })

  test('ignores other headers', async () => {
    const { 'x-forwarded-for': _, ...others } = forged
    expect(await countedKey(proxied, others)).toBe('127.0.0.1')
  })

  test('is in the log', async () => {
    await proxied.request('GET', '/health', { headers: { 'x-forwarded-for': '198.51.100.7:50123' } })
    expect(lastAddress(proxied)).toBe('198.51.100.7')
  })
})
