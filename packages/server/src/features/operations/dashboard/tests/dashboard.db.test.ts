import { existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Fastify from 'fastify'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inlineParts, policyOf } from '../../../../../test/page.ts'
import { makeScratchDirectory } from '../../../../../test/scratch-directory.ts'
import {
  createTestApp,
  createTestDatabase,
  envelope,
  type TestApp,
  type TestDatabase,
} from '../../../../../test/test-app.ts'
import { testAdminPassword } from '../../../../../test/test-config.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { type DashboardFiles, openDashboardFiles } from '../files.ts'
import { createWaitingPage } from '../waiting-page.ts'

describe('dashboard', () => {
  const folder = makeScratchDirectory('basalt-dashboard-')
  const folders = {
    published: join(folder, 'published'),
    clone: { builds: join(folder, 'builds'), script: join(folder, 'build.js') },
  }
  const { builds, script: buildScript } = folders.clone
  let files: DashboardFiles
  /** Test server, of which only the dashboard matters. */
  let app: TestApp

  const writeBuild = (name: string, content: string) => {
    const build = join(builds, name)
    mkdirSync(join(build, 'assets'), { recursive: true })
    writeFileSync(
      join(build, 'index.html'),
      `<meta nonce="__CSP_NONCE__"><script src="/admin/assets/${content}.js">`,
    )
    writeFileSync(
      join(build, 'graphiql.html'),
      `<meta nonce="__CSP_NONCE__"><script src="/admin/assets/${content}.js">`,
    )
    writeFileSync(join(build, 'assets', `${content}.js`), `plain ${content}`)
    writeFileSync(join(build, 'assets', `${content}.js.br`), `br ${content}`)
    writeFileSync(join(build, 'assets', `${content}.js.gz`), `gzip ${content}`)
    writeFileSync(join(build, 'assets', `${content}.svg`), '<svg/>')
    writeFileSync(join(build, 'assets', `${content}.exe`), 'no type of the page')
    writeFileSync(join(builds, 'current'), name)
  }

  beforeAll(async () => {
    files = openDashboardFiles(folders)
    app = await createTestApp({ dashboardFiles: files })
  })
  afterAll(async () => {
    await app[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  test('explains how to build it when it is not built', async () => {
    const response = await app.request('GET', '/admin')
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store'])
    expect(response.text).toContain('<h1>The dashboard is not built</h1>')
  })

  test('serves its page at every address below its own, with a nonce and a policy of its own', async () => {
    writeBuild('aaaaaaaaaaaaaaaa', 'first-1a')
    const nonces = new Set<string>()
    for (const path of ['/admin', '/admin/', '/admin/tables/public.note?filter=a', '/admin/sign-in']) {
      const response = await app.request('GET', path)
      expect([path, response.status, response.headers.get('content-type')]).toEqual([
        path,
        200,
        'text/html; charset=utf-8',
      ])
      expect(response.headers.get('cache-control')).toBe('no-store')
      expect(response.headers.get('x-content-type-options')).toBe('nosniff')
      expect(response.headers.get('referrer-policy')).toBe('no-referrer')
      const [, nonce = ''] = /nonce="([^"]+)"/.exec(response.text) ?? []
      expect(Buffer.from(nonce, 'base64')).toHaveLength(16)
      nonces.add(nonce)
      expect(policyOf(response)).toEqual({
        'default-src': "'none'",
        'script-src': "'self'",
        'style-src': `'self' 'nonce-${nonce}'`,
        'img-src': "'self' data: blob:",
        'font-src': "'self'",
        'connect-src': "'self'",
        'frame-src': "'self'",
        'base-uri': "'none'",
        'form-action': "'self'",
        'frame-ancestors': "'none'",
        'require-trusted-types-for': "'script'",
        'trusted-types': 'basalt-inert',
      })
    }
    expect(nonces.size).toBe(4)
  })

  test('serves GraphiQL as a tab of the API page, with a policy without inline code and eval', async () => {
    const response = await app.request('GET', '/api/docs/graphql')
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store'])
    const [, nonce = ''] = /nonce="([^"]+)"/.exec(response.text) ?? []
    expect(Buffer.from(nonce, 'base64')).toHaveLength(16)
    expect(policyOf(response)).toEqual({
      'default-src': "'none'",
      'script-src': "'self'",
      'style-src': `'self' 'nonce-${nonce}'`,
      'img-src': "'self' data:",
      'connect-src': "'self'",
      'base-uri': "'none'",
      'form-action': "'none'",
      'frame-ancestors': "'none'",
    })
    const [, script = ''] = /<script src="([^"]+)"/.exec(response.text) ?? []
    expect(script).toBe('/api/docs/graphql/assets/first-1a.js')
    const file = await fetchUndecoded(app.url + script, 'br')
    expect([file.status, file.text]).toEqual([200, 'br first-1a'])
    const missing = await fetchUndecoded(`${app.url}/api/docs/graphql/assets/..%2Findex.html`, 'br')
    expect([missing.status, JSON.parse(missing.text).error]).toEqual([404, 'route_not_found'])
  })

  test.each([
    ['br', 'br', 'br first-1a'],
    ['gzip, br;q=0', 'gzip', 'gzip first-1a'],
    ['identity', null, 'plain first-1a'],
  ])('serves immutable files, to %s in the coding %s', async (accepted, coding, content) => {
    const response = await fetchUndecoded(`${app.url}/admin/assets/first-1a.js`, accepted)
    expect(response.headers).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-type': 'text/javascript; charset=utf-8',
      'content-length': String(content.length),
      'x-content-type-options': 'nosniff',
    })
    expect([response.headers['content-encoding'] ?? null, response.text]).toEqual([coding, content])
    expect(response.headers.vary).toContain('Accept-Encoding')
  })

  test('serves a file without a coding unchanged', async () => {
    const response = await fetchUndecoded(`${app.url}/admin/assets/first-1a.svg`, 'br')
    expect([response.headers['content-encoding'], response.text]).toEqual([undefined, '<svg/>'])
  })

  test.each([
    'missing.js',
    'first-1a.exe',
    'first-1a.js.br',
    'a/first-1a.js',
    '../index.html',
    '..%2Findex.html',
    '%2e%2e%2fcurrent',
    '.hidden.js',
    '%00.js',
    'x'.repeat(2000),
  ])('returns 404 for the file %s, not its page', async (name) => {
    const response = await fetchUndecoded(`${app.url}/admin/assets/${name}`, 'br')
    expect([response.status, JSON.parse(response.text).error]).toEqual([404, 'route_not_found'])
    expect(response.headers['cache-control']).toBe('no-store')
  })

  test('serves files of earlier builds to open pages', async () => {
    writeBuild('bbbbbbbbbbbbbbbb', 'second-2b')
    const page = await app.request('GET', '/admin')
    expect(page.text).toContain('/admin/assets/second-2b.js')
    for (const name of ['first-1a', 'second-2b']) {
      const file = await fetchUndecoded(`${app.url}/admin/assets/${name}.js`, 'br')
      expect([file.status, file.text]).toEqual([200, `br ${name}`])
    }
  })

  test('is built in the background, and its page says so and opens by itself', async () => {
    const go = join(folder, 'go')
    writeFileSync(
      buildScript,
      `import { existsSync } from 'node:fs'
       console.log('building')
       setInterval(() => existsSync(${JSON.stringify(go)}) && process.exit(0), 20)`,
    )
    const { log, lines } = capture()
    files.build(log)
    files.build(log)
    await waitFor('the build to begin', () => files.state.kind === 'building')
    const page = await app.request('GET', '/admin/tables')
    expect([page.status, page.headers.get('cache-control')]).toEqual([200, 'no-store'])
    expect(page.text).toContain('<h1>The dashboard is being built</h1>')
    const [script] = inlineParts(page.text, 'script')
    expect(script?.content).toContain('location.reload()')
    expect(policyOf(page)['script-src']).toBe(script?.source)
    writeFileSync(go, '')
    await waitFor('the build to end', () => files.state.kind === 'idle')
    expect((await app.request('GET', '/admin/tables')).text).toContain('second-2b')
    expect(lines.map(({ msg }) => msg)).toEqual(['building the dashboard', 'the dashboard is built'])
  })

  test('does not report a build when its sources are unchanged', async () => {
    const done = join(folder, 'done')
    writeFileSync(buildScript, `process.getBuiltinModule('fs').writeFileSync(${JSON.stringify(done)}, '')`)
    const { log, lines } = capture()
    files.build(log)
    await waitFor('the script to run', () => existsSync(done))
    await files.stop()
    expect([files.state, lines]).toEqual([{ kind: 'idle' }, []])
  })

  test('shows the output of a failed build, as text', async () => {
    writeFileSync(buildScript, `console.log('building'); console.error('no <b>react</b>'); process.exit(3)`)
    const { log, lines } = capture()
    files.build(log)
    await waitFor('the build to fail', () => files.state.kind === 'failed')
    const page = await app.request('GET', '/admin')
    expect([page.status, page.headers.get('cache-control')]).toEqual([200, 'no-store'])
    expect(page.text).toContain('<h1>The dashboard cannot be built</h1>')
    expect(page.text).toContain('no &#60;b&#62;react&#60;/b&#62;')
    expect(lines.at(-1)).toMatchObject({
      level: 50,
      msg: 'failed to build the dashboard',
      reason: 'no <b>react</b>',
    })
    // The earlier build is outdated. One that is made by hand is valid, without a restart.
    expect((await app.request('GET', '/admin')).text).not.toContain('second-2b')
    writeBuild('cccccccccccccccc', 'third-3c')
    // The clock of files lags behind, so a new build can be older than the failure.
    const minuteAgo = Date.now() / 1000 - 60
    utimesSync(join(builds, 'current'), minuteAgo, minuteAgo)
    expect((await app.request('GET', '/admin')).text).toContain('third-3c')
    const file = await fetchUndecoded(`${app.url}/admin/assets/third-3c.js`, 'br')
    expect([file.status, file.text]).toEqual([200, 'br third-3c'])
    writeBuild('bbbbbbbbbbbbbbbb', 'second-2b')
  })

  test('leaves no process after a stopped build', async () => {
    writeFileSync(buildScript, `console.log('building'); setInterval(() => {}, 1000)`)
    files.build(capture().log)
    await waitFor('the build to begin', () => files.state.kind === 'building')
    await files.stop()
    expect(files.state).toEqual({ kind: 'idle' })
  })

  test('serves the files of an installed package, and builds nothing', async () => {
    mkdirSync(join(folders.published, 'assets'), { recursive: true })
    writeFileSync(join(folders.published, 'index.html'), 'published')
    writeFileSync(join(folders.published, 'graphiql.html'), 'graphiql')
    writeFileSync(join(folders.published, 'assets', 'own.js'), 'own')
    const installed = openDashboardFiles({ ...folders, clone: undefined })
    installed.build(capture().log)
    expect([installed.state, await installed.readPage('index.html')]).toEqual([{ kind: 'idle' }, 'published'])
    expect(await installed.readPage('graphiql.html')).toBe('graphiql')
    expect(await installed.findAsset('own.js', 'br')).toMatchObject({ size: 3, coding: undefined })
    expect(await installed.findAsset('first-1a.js', 'br')).toBeUndefined()
    // Published files never change, so nothing is read again.
    rmSync(folders.published, { recursive: true })
    expect(await installed.readPage('index.html')).toBe('published')
    expect(await installed.readPage('graphiql.html')).toBe('graphiql')
    expect(await installed.findAsset('own.js', 'br')).toMatchObject({ size: 3 })
    expect((await app.request('GET', '/admin')).text).toContain('second-2b')
  })

  test('names no path of the machine while it waits', () => {
    for (const state of [{ kind: 'idle' }, { kind: 'building' }] as const) {
      expect(createWaitingPage(state).html).not.toContain(process.cwd())
    }
  })
})

describe('admin listener and addresses', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  const start = (config: Record<string, string>) => createTestApp({ database, config })

  test('serves the dashboard at another path, and only the API without a dashboard', async () => {
    await using moved = await start({ 'admin.path': '/back/office' })
    expect((await moved.request('GET', '/back/office/tables')).text).toContain('html')
    expect((await moved.request('GET', '/admin')).status).toBe(404)
    expect(moved.app.dashboardUrl()).toBe(`${moved.url}/back/office`)
    await using without = await start({ 'admin.enabled': 'false' })
    expect((await without.request('GET', '/admin')).status).toBe(404)
    expect((await without.request('GET', '/api/admin/status')).status).toBe(200)
    expect(without.app.dashboardUrl()).toBeUndefined()
    expect((await without.request('GET', '/')).text).not.toContain('Dashboard')
  })

  test('serves GraphiQL without a dashboard, and no tab without GraphQL', async () => {
    const graphiql = '/api/docs/graphql'
    await using without = await start({ 'admin.enabled': 'false' })
    expect((await without.request('GET', graphiql)).status).toBe(200)
    expect((await without.request('GET', '/api/docs')).text).toContain(`<a href="${graphiql}">GraphQL</a>`)
    await using rest = await start({ 'graphql.enabled': 'false' })
    expect((await rest.request('GET', graphiql)).status).toBe(404)
    expect((await rest.request('GET', '/api/docs')).text).not.toContain('GraphQL</a>')
    expect((await rest.request('GET', '/admin')).status).toBe(200)
  })

  test('serves administration on a separate listener, and none of it on the other one', async () => {
    await using node = await start({ 'admin.listen': '127.0.0.1:0' })
    const own = new URL(node.app.dashboardUrl() ?? '').origin
    expect(own).not.toBe(node.url)
    const token = async (origin: string) => {
      const response = await fetch(`${origin}/api/admin/auth`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ password: testAdminPassword }),
      })
      const { token: opened } = (await response.json()) as { token?: string }
      return [response.status, opened]
    }
    const [status, admin] = await token(own)
    expect([status, (await token(node.url))[0]]).toEqual([200, 404])
    const headers = { authorization: `Bearer ${admin}` }
    const statuses = async (origin: string) => {
      const paths = [
        '/admin',
        '/admin/tables',
        '/api/admin/tables',
        '/api/admin/status',
        '/api/webhooks',
        '/api/schema',
      ]
      return Promise.all(paths.map(async (path) => (await fetch(origin + path, { headers })).status))
    }
    expect(await statuses(own)).toEqual([200, 200, 200, 200, 200, 200])
    expect(await statuses(node.url)).toEqual([404, 404, 404, 404, 404, 200])
    const hidden = await node.request('GET', '/api/admin/tables?x=1')
    expect(envelope(hidden)).toEqual({
      code: 404,
      message: 'no such endpoint: GET /api/admin/tables',
      error: 'route_not_found',
    })
    for (const [method, target] of [
      ['POST', '/api/admin/tables'],
      ['OPTIONS', '/api/admin/tables/'],
      ['DELETE', '/admin'],
      ['PUT', '/api/webhooks?x=1'],
      ['PUT', '/api/storage/buckets'],
    ] as const) {
      const [here, there] = await Promise.all(
        [own, node.url].map(async (origin) => {
          const { status, headers } = await fetch(origin + target, { method })
          return [status, headers.has('allow')]
        }),
      )
      expect([target, here, there]).toEqual([target, [method === 'OPTIONS' ? 204 : 405, true], [404, false]])
    }
    // Only a page of the listener's own origin has the session.
    const asPageOf = (origin: string) =>
      fetch(`${own}/api/admin/session`, {
        method: 'DELETE',
        headers: { cookie: `__Host-basalt-admin=${admin}`, 'x-basalt-dashboard': '1', origin },
      })
    expect((await asPageOf('http://127.0.0.1:1')).status).toBe(403)
    expect((await asPageOf(own)).status).toBe(204)
  })

  test('refuses to start where its address is in use', async () => {
    const blocker = Fastify()
    await blocker.listen({ host: '127.0.0.1', port: 0 })
    const { port } = new URL(blocker.listeningOrigin)
    try {
      await expect(start({ 'admin.listen': `127.0.0.1:${port}` })).rejects.toThrow(
        `127.0.0.1:${port} is taken by another program: stop it or set admin.listen`,
      )
    } finally {
      await blocker.close()
    }
  })

  test('treats a range of all IPv4-mapped addresses as all of IPv4', async () => {
    await using node = await start({ 'admin.allowed_ips': '::ffff:0:0/90' })
    expect((await node.request('GET', '/api/admin/status')).status).toBe(200)
  })

  test('serves only allowed addresses, as a trusted proxy reports them', async () => {
    await using node = await start({
      'admin.allowed_ips': '192.0.2.0/24,2001:db8::/32,::ffff:203.0.113.0/120,::ffff:198.18.0.7,2001:db7::9',
      'server.trusted_proxies': '127.0.0.1',
    })
    const from = (address: string, path = '/api/admin/status') =>
      node.request('GET', path, { headers: { 'x-forwarded-for': address } })
    for (const path of [
      '/admin',
      '/admin/tables',
      '/api/admin/status',
      '/api/admin/tables',
      '/api/webhooks',
    ]) {
      const response = await from('198.51.100.1', path)
      expect([path, response.status, envelope(response)]).toEqual([
        path,
        403,
        { code: 403, message: 'Your IP address is not in the allowlist', error: 'access_denied' },
      ])
    }
    for (const address of [
      ...[
        '192.0.2.77',
        '::ffff:192.0.2.1',
        '::ffff:c000:201',
        '203.0.113.5',
        '198.18.0.7',
        '::ffff:198.18.0.7',
      ],
      ...['2001:db8::1', '2001:DB8:0:0::ffff', '2001:db7::9'],
    ]) {
      expect([address, (await from(address)).status]).toEqual([address, 200])
    }
    for (const address of [
      ...['192.0.3.1', '::ffff:192.0.3.1', '203.0.114.1', '198.18.0.8', '::192.0.2.1', '64:ff9b::192.0.2.1'],
      ...['2001:db9::1', '2001:db7::8', '::1', 'x'],
    ]) {
      expect([address, (await from(address)).status]).toEqual([address, 403])
    }
    // The rest of the API is open to every address.
    expect((await from('198.51.100.1', '/health')).status).toBe(200)
  })
})

function capture() {
  const lines: { readonly msg: string; readonly level: number; readonly reason?: string }[] = []
  return { lines, log: pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line)) }) }
}

/** Sends a raw request, because `fetch` decodes bodies and resolves paths. */
async function fetchUndecoded(url: string, codings: string) {
  const { request } = await import('node:http')
  const { origin } = new URL(url)
  return new Promise<{ status: number | undefined; headers: Record<string, unknown>; text: string }>(
    (resolve, reject) => {
      const outgoing = request(origin, {
        path: url.slice(origin.length),
        headers: { 'accept-encoding': codings },
      })
      outgoing.on('error', reject)
      outgoing.on('response', (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk) => (text += chunk))
        response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }))
      })
      outgoing.end()
    },
  )
}
