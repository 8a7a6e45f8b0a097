import { createServer } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { certificate } from '../../../../test/certificate.ts'
import { findingsOf } from '../../../../test/doctor.ts'
import { type HttpProxy, type ProxyFaults, startHttpProxy } from '../../../../test/http-proxy.ts'
import { createTestApp, type TestApp } from '../../../../test/test-app.ts'
import { testConfig } from '../../../../test/test-config.ts'
import { bodyLimit } from '../checks/body-limit.ts'
import { eventStreams } from '../checks/event-streams.ts'
import { forwardedHeaders } from '../checks/forwarded-headers.ts'
import { publicUrl } from '../checks/public-url.ts'
import { tls } from '../checks/tls.ts'
import { websockets } from '../checks/websockets.ts'

let app: TestApp
/** Proxy without a fault. */
let proxy: HttpProxy

beforeAll(async () => {
  app = await createTestApp({ config: { 'server.trusted_proxies': '127.0.0.2' } })
  proxy = await startHttpProxy(app.url, { from: '127.0.0.2' })
})
afterAll(async () => {
  await proxy[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})

const configOf = (url: string, overrides: Readonly<Record<string, string>> = {}) =>
  testConfig({
    'database.url': app.database.url,
    'server.public_base_url': url,
    'server.trusted_proxies': '127.0.0.2',
    ...overrides,
  })

/** Runs a check on the server behind a proxy with faults. */
async function behind(
  faults: ProxyFaults,
  check: typeof tls,
  overrides: Readonly<Record<string, string>> = {},
) {
  await using faulty = await startHttpProxy(app.url, faults)
  return await findingsOf(configOf(faulty.url, overrides), check)
}

function found(id: string, status: string, message: unknown, fix: unknown = null) {
  return { [id]: { id, status, message, fix } }
}

describe('basalt doctor › public_url', () => {
  test('has nothing to mend if the server responds through the proxy', async () => {
    expect(await findingsOf(configOf(proxy.url), publicUrl)).toEqual(
      found('public_url', 'ok', `a server responds at ${proxy.url}`),
    )
  })

  test('fails at an address of another program, and the other checks are skipped', async () => {
    const other = createServer((_, response) => response.end('<h1>It works!</h1>'))
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as { port: number }
    try {
      const url = `http://127.0.0.1:${port}`
      expect(await findingsOf(configOf(url), publicUrl)).toEqual(
        found(
          'public_url',
          'failure',
          `${url} responds with 200, and not as Basalt`,
          `curl -i ${url}/health`,
        ),
      )
      expect(await findingsOf(configOf(url), websockets)).toEqual(
        found('websockets', 'skipped', `no server responds at ${url}`),
      )
    } finally {
      await new Promise((resolve) => other.close(resolve))
    }
  })

  test('fails at an address where nothing listens', async () => {
    expect((await findingsOf(configOf('http://127.0.0.1:9'), publicUrl)).public_url).toMatchObject({
      status: 'failure',
      message: expect.stringMatching(/^http:\/\/127\.0\.0\.1:9 cannot be reached: \w+$/),
    })
  })

  test('fails at an address that accepts connections and never responds', async () => {
    const silent = createServer(() => undefined)
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const { port } = silent.address() as { port: number }
    try {
      const url = `http://127.0.0.1:${port}`
      expect((await findingsOf(configOf(url), publicUrl)).public_url).toMatchObject({
        status: 'failure',
        message: `${url} cannot be reached: no response in time`,
      })
    } finally {
      silent.closeAllConnections()
      await new Promise((resolve) => silent.close(resolve))
    }
  })

  test('warns if none is set on an address that others reach', async () => {
    expect(await findingsOf(configOf('', { 'server.host': '0.0.0.0' }), publicUrl)).toEqual(
      found(
        'public_url',
        'warning',
        'server.public_base_url is not set, so links in mails lead to 0.0.0.0',
        'public_base_url = "https://api.example.com"   # in [server]',
      ),
    )
    expect((await findingsOf(configOf(''), publicUrl)).public_url?.status).toBe('skipped')
  })
})

describe('basalt doctor › event_streams', () => {
  test('has nothing to mend if the first event arrives on the open stream, and leaves no row', async () => {
    expect(await findingsOf(configOf(proxy.url), eventStreams)).toEqual(
      found('event_streams', 'ok', 'events arrive while the stream is open'),
    )
    await expect.poll(() => app.sql('select from basalt.social_popups')).toEqual([])
  })

  test('fails behind a proxy that buffers responses', async () => {
    expect(await behind({ buffersResponses: true }, eventStreams)).toEqual(
      found(
        'event_streams',
        'failure',
        'no event arrived within 5 s on an open stream: the proxy buffers /api/realtime',
        'proxy_buffering off; proxy_http_version 1.1;   # nginx, in location /api/realtime (deploy/nginx.conf)',
      ),
    )
  })
})

describe('basalt doctor › websockets', () => {
  test('has nothing to mend if the handshake passes', async () => {
    expect(await findingsOf(configOf(proxy.url), websockets)).toEqual(
      found('websockets', 'ok', 'a WebSocket opens'),
    )
  })

  test('fails behind a proxy that removes the upgrade', async () => {
    expect(await behind({ removesUpgrade: true }, websockets)).toEqual(
      found(
        'websockets',
        'failure',
        'a WebSocket does not open: the handshake was answered with 426',
        expect.stringContaining('proxy_set_header Upgrade $http_upgrade'),
      ),
    )
  })
})

describe('basalt doctor › body_limit', () => {
  test('has nothing to mend if a body of the limit reaches the server, which does nothing with it', async () => {
    const before = await app.sql('select * from basalt.attempts order by key')
    expect(await findingsOf(configOf(proxy.url), bodyLimit)).toEqual(
      found('body_limit', 'ok', 'a body of 1.0 MB reaches the server'),
    )
    expect(await app.sql('select * from basalt.attempts order by key')).toEqual(before)
  })

  test('fails behind a proxy with a lower limit', async () => {
    expect(await behind({ bodyLimit: 65_536 }, bodyLimit)).toEqual(
      found(
        'body_limit',
        'failure',
        'the proxy rejects a body of 1.0 MB, which server.body_limit permits',
        'client_max_body_size 1m;   # nginx; at least server.body_limit',
      ),
    )
  })

  test('fails if the running server has a lower limit than the configuration', async () => {
    const config = configOf(proxy.url, { 'server.body_limit': '2097152' })
    expect(await findingsOf(config, bodyLimit)).toEqual(
      found(
        'body_limit',
        'failure',
        'the running server rejects a body of 2.1 MB, which server.body_limit permits',
        'basalt reload   # or restart: the server runs with another server.body_limit',
      ),
    )
  })
})

describe('basalt doctor › forwarded_headers', () => {
  test('has nothing to mend if the server sees the address of this client', async () => {
    expect(await findingsOf(configOf(proxy.url), forwardedHeaders)).toEqual(
      found('forwarded_headers', 'ok', 'the server sees clients with their own address (127.0.0.1)'),
    )
  })

  test('fails behind a proxy that passes on what the client claims', async () => {
    expect(await behind({ from: '127.0.0.2', forwarding: 'pass' }, forwardedHeaders)).toEqual(
      found(
        'forwarded_headers',
        'failure',
        'clients can choose the address that the server sees: the proxy passes their X-Forwarded-For on unchanged',
        'proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;   # nginx (deploy/nginx.conf)',
      ),
    )
  })

  test('warns if the proxy is not trusted', async () => {
    const faults = { from: '127.0.0.3' }
    expect(await behind(faults, forwardedHeaders, { 'server.trusted_proxies': '' })).toEqual(
      found(
        'forwarded_headers',
        'warning',
        'the server sees this client (127.0.0.1) as 127.0.0.3: if that is the proxy, all clients share one address in limits and logs',
        'trusted_proxies = ["127.0.0.3"]   # in [server]',
      ),
    )
  })

  test('has nothing to mend if this client is itself trusted', async () => {
    const trusted = { 'server.trusted_proxies': '127.0.0.0/24' }
    await using trusting = await createTestApp({ config: trusted })
    await using correct = await startHttpProxy(trusting.url)
    const config = configOf(correct.url, { 'database.url': trusting.database.url, ...trusted })
    expect((await findingsOf(config, forwardedHeaders)).forwarded_headers?.status).toBe('ok')
  })

  test('warns if a trusted proxy sends no address', async () => {
    expect(await behind({ from: '127.0.0.2', forwarding: 'remove' }, forwardedHeaders)).toEqual(
      found(
        'forwarded_headers',
        'warning',
        'the server sees this client (127.0.0.1) as the proxy 127.0.0.2, which sends no X-Forwarded-For',
        expect.stringContaining('proxy_set_header X-Forwarded-For'),
      ),
    )
  })
})

describe('basalt doctor › tls', () => {
  let secure: HttpProxy
  beforeAll(async () => {
    secure = await startHttpProxy(app.url, { isSecure: true })
  })
  afterAll(() => secure[Symbol.asyncDispose]())

  const skippedRedirect = found(
    'tls.redirect',
    'skipped',
    'the port is not 443, so there is no port for http',
  )
  const renew =
    'certbot renew --cert-name localhost   # or the tool that issues your certificates, then reload the proxy'

  test('has nothing to mend with a certificate that clients accept', async () => {
    expect(await findingsOf(configOf(secure.url), tls, { trust: certificate })).toEqual({
      ...found(
        'tls.certificate',
        'ok',
        expect.stringMatching(/^the certificate of localhost is valid for \d+ days$/),
      ),
      ...skippedRedirect,
    })
  })

  test('lets the other checks work with a certificate that clients reject', async () => {
    expect((await findingsOf(configOf(secure.url), websockets)).websockets?.status).toBe('ok')
    expect((await findingsOf(configOf(secure.url), eventStreams)).event_streams?.status).toBe('ok')
  })

  test('fails with a self-signed certificate', async () => {
    expect(await findingsOf(configOf(secure.url), tls)).toEqual({
      ...found(
        'tls.certificate',
        'failure',
        'clients reject the certificate of localhost: it is self-signed',
        renew,
      ),
      ...skippedRedirect,
    })
  })

  test('fails with a certificate of another name', async () => {
    const url = 'https://api.example.com:8443'
    const replaced = { trust: certificate, reach: () => new URL(secure.url) }
    expect((await findingsOf(configOf(url), tls, replaced))['tls.certificate']).toMatchObject({
      status: 'failure',
      message: 'clients reject the certificate of api.example.com: it is for other names',
    })
  })

  test.each([
    ['2119-12-25T00:00:00Z', 'warning', 'the certificate of localhost expires in 7 days'],
    ['2121-01-01T00:00:00Z', 'failure', 'the certificate of localhost expired on Jan  1 00:00:00 2120 GMT'],
  ])('on %s it is a %s', async (now, status, message) => {
    const replaced = { trust: certificate, clock: { now: () => new Date(now) } }
    expect((await findingsOf(configOf(secure.url), tls, replaced))['tls.certificate']).toEqual({
      id: 'tls.certificate',
      status,
      message,
      fix: renew,
    })
  })

  test.each([
    ['is redirected', 301, 'https://localhost/', 'ok', 'http is redirected to https', null],
    [
      'is served',
      200,
      undefined,
      'warning',
      'http://localhost is served without a redirect to https (200)',
      'return 301 https://$host$request_uri;   # nginx, in the server that listens on 80',
    ],
  ])('if http %s it is found', async (_, status, location, expected, message, fix) => {
    const plain = createServer((_request, response) => {
      response.writeHead(status, location === undefined ? {} : { location }).end()
    })
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve))
    const { port } = plain.address() as { port: number }
    try {
      const replaced = {
        reach: (url: URL) => new URL(url.protocol === 'http:' ? `http://127.0.0.1:${port}/` : secure.url),
      }
      const findings = await findingsOf(configOf('https://localhost'), tls, replaced)
      expect(findings['tls.redirect']).toEqual({ id: 'tls.redirect', status: expected, message, fix })
    } finally {
      await new Promise((resolve) => plain.close(resolve))
    }
  })

  test('warns about an address without TLS that others reach', async () => {
    expect(await findingsOf(configOf('http://api.example.com'), tls)).toEqual(
      found(
        'tls',
        'warning',
        'server.public_base_url is http: passwords and tokens are sent without encryption',
        'public_base_url = "https://…"   # in [server], with a certificate at the proxy',
      ),
    )
    expect((await findingsOf(configOf(proxy.url), tls)).tls?.status).toBe('skipped')
  })
})
