import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { json, type SmsStandIn, startSmsStandIn } from '../../../../../test/sms-stand-in.ts'
import {
  createTestApp,
  createTestDatabase,
  envelope,
  type TestApp,
  type TestDatabase,
} from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import type { Site } from '../administration/site.ts'
import {
  createDeploy,
  createSite,
  deployFiles,
  getRaw,
  requestSites,
  type SiteResponse,
  sha256,
  upload,
} from './site-requests.ts'

let database: TestDatabase
let app: TestApp
let second: TestApp
let site: Site

const script = `export const text = ${JSON.stringify('compressible '.repeat(100))}\n`
const files = {
  'index.html': '<h1>home</h1>',
  'about.html': '<h1>about</h1>',
  'docs/index.html': '<h1>docs</h1>',
  '404.html': '<h1>lost</h1>',
  'assets/app-BfX3k2aZ.js': script,
  'plain.txt': '0123456789',
  '_app/[...slug].js': 'slug()',
  'größe.txt': 'ä',
  'api/schema': 'a file of the site',
}

function get(
  path: string,
  headers: Readonly<Record<string, string>> = {},
  { method = 'GET', node = app }: { method?: string; node?: TestApp } = {},
): Promise<SiteResponse> {
  return getRaw(node, path, { host: `${site.slug}.localhost`, ...headers }, method)
}

const navigation = { 'sec-fetch-mode': 'navigate', accept: 'text/html' }

async function untilBody(path: string, body: string, node: TestApp): Promise<void> {
  await waitFor(`${path} to be ${body}`, async () => (await get(path, {}, { node })).body.toString() === body)
}

beforeAll(async () => {
  database = await createTestDatabase()
  app = await createTestApp({ database })
  second = await createTestApp({ database })
  site = await createSite(app, { slug: 'shop' })
  await deployFiles(app, site, files)
  await untilBody('/plain.txt', '0123456789', app)
  await untilBody('/plain.txt', '0123456789', second)
})
afterAll(async () => {
  await second[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

describe('sites › serving', () => {
  test.each([
    ['/', 200, '<h1>home</h1>'],
    ['/?utm=1', 200, '<h1>home</h1>'],
    ['/index.html', 200, '<h1>home</h1>'],
    ['/about', 200, '<h1>about</h1>'],
    ['/about.html', 200, '<h1>about</h1>'],
    ['/docs/', 200, '<h1>docs</h1>'],
    ['/plain.txt', 200, '0123456789'],
    ['/_app/%5B...slug%5D.js', 200, 'slug()'],
    ['/gr%C3%B6%C3%9Fe.txt', 200, 'ä'],
    ['/gro%CC%88%C3%9Fe.txt', 200, 'ä'],
    ['/api/schema', 200, 'a file of the site'],
  ])('%s returns %i with %s', async (path, status, body) => {
    const answer = await get(path)
    expect([answer.status, answer.body.toString()]).toEqual([status, body])
  })

  test.each([
    ['http://shop.localhost/plain.txt', 'other.localhost', '0123456789'],
    ['HTTP://Shop.localhost:80/docs/?a=1', 'api.example', '<h1>docs</h1>'],
    ['http://shop.localhost', 'api.example', '<h1>home</h1>'],
    ['http://api.example/health', 'shop.localhost', '{"status":"ok","database":"ok"}'],
  ])('takes the host from the absolute target %s, whatever the header says', async (target, host, body) => {
    const answer = await get(target, { host })
    expect([answer.status, answer.body.toString()]).toEqual([200, body])
  })

  test.each([
    ['/docs', '/docs/'],
    ['/docs?a=1', '/docs/?a=1'],
    ['/about/', '/about'],
    ['/plain.txt/', '/plain.txt'],
  ])('%s leads to %s', async (path, location) => {
    const { status, headers } = await get(path)
    expect([status, headers.location, headers['cache-control']]).toEqual([308, location, 'no-cache'])
  })

  test.each([
    '/..%2fplain.txt',
    '/docs/../plain.txt',
    '/docs/%2e%2e/plain.txt',
    '/docs%2findex.html',
    '/%00',
    '/%',
    '/%ff',
    '//plain.txt',
    '/docs\\index.html',
    '/PLAIN.TXT',
    '/plain.txt%00.html',
    '/missing.js',
  ])('%s is a 404 that is not kept', async (path) => {
    const { status, headers, body } = await get(path)
    expect([status, headers['cache-control']]).toEqual([404, 'no-store'])
    expect(body.toString()).not.toContain('0123456789')
  })

  test('returns the 404.html of the site for a missing page, but not for a missing asset', async () => {
    const page = await get('/missing', navigation)
    expect([page.status, page.body.toString()]).toEqual([404, '<h1>lost</h1>'])
    const asset = await get('/missing.js', { 'sec-fetch-mode': 'no-cors', accept: '*/*' })
    expect([asset.status, asset.headers['cache-control']]).toEqual([404, 'no-store'])
    expect(asset.body.toString()).not.toContain('lost')
  })

  test('marks hashed assets as immutable, and requires revalidation for the rest', async () => {
    const asset = await get('/assets/app-BfX3k2aZ.js')
    expect(asset.headers['cache-control']).toBe('public, max-age=31536000, immutable')
    const page = await get('/')
    expect(page.headers).toMatchObject({
      'cache-control': 'no-cache',
      'content-type': 'text/html; charset=utf-8',
      'x-content-type-options': 'nosniff',
    })
    expect(page.headers).not.toHaveProperty('content-security-policy')
    expect(page.headers).not.toHaveProperty('x-frame-options')
  })

  test('returns 304 for a known file, with a separate tag for each coding', async () => {
    const plain = await get('/assets/app-BfX3k2aZ.js')
    const packed = await get('/assets/app-BfX3k2aZ.js', { 'accept-encoding': 'br' })
    const { etag } = plain.headers
    expect(etag).toMatch(/^"[0-9a-f]{32}"$/)
    expect(packed.headers.etag).toBe(`${String(etag).slice(0, -1)}-br"`)
    const again = await get('/assets/app-BfX3k2aZ.js', { 'if-none-match': `"x", W/${etag}` })
    expect([again.status, again.body.length, again.headers.etag]).toEqual([304, 0, etag])
    expect((await get('/assets/app-BfX3k2aZ.js', { 'if-none-match': '"x"' })).status).toBe(200)
  })

  test('sends compressed text to clients that accept it', async () => {
    const path = '/assets/app-BfX3k2aZ.js'
    const br = await get(path, { 'accept-encoding': 'gzip, br' })
    expect(br.headers).toMatchObject({ 'content-encoding': 'br', vary: 'Accept-Encoding' })
    expect(brotliDecompressSync(br.body).toString()).toBe(script)
    const gzip = await get(path, { 'accept-encoding': 'gzip, br;q=0' })
    expect(gzip.headers['content-encoding']).toBe('gzip')
    expect(gunzipSync(gzip.body).toString()).toBe(script)
    expect(gzip.body.length).toBeLessThan(script.length / 2)
    const identity = await get(path)
    expect(identity.headers).toMatchObject({ vary: 'Accept-Encoding' })
    expect(identity.headers).not.toHaveProperty('content-encoding')
    expect(identity.body.toString()).toBe(script)
    expect((await get('/plain.txt', { 'accept-encoding': 'br' })).headers).not.toHaveProperty('vary')
  })

  test('returns 206 for a range, 416 outside the file, and the whole file for another version', async () => {
    const part = await get('/plain.txt', { range: 'bytes=2-4', 'accept-encoding': 'br' })
    expect([part.status, part.body.toString(), part.headers['content-range']]).toEqual([
      206,
      '234',
      'bytes 2-4/10',
    ])
    expect((await get('/plain.txt', { range: 'bytes=-2' })).body.toString()).toBe('89')
    const outside = await get('/plain.txt', { range: 'bytes=10-' })
    expect([outside.status, outside.headers['content-range']]).toEqual([416, 'bytes */10'])
    const same = await get('/plain.txt', { range: 'bytes=0-0', 'if-range': String(part.headers.etag) })
    expect(same.status).toBe(206)
    const changed = await get('/plain.txt', { range: 'bytes=0-0', 'if-range': '"x"' })
    expect([changed.status, changed.body.toString()]).toEqual([200, '0123456789'])
    // A range applies to GET alone (RFC 9110 §14.2).
    const head = await get('/plain.txt', { range: 'bytes=2-4' }, { method: 'HEAD' })
    expect([head.status, head.headers['content-length'], head.headers['content-range']]).toEqual([
      200,
      '10',
      undefined,
    ])
  })

  test('returns 412 for a file that is not the expected one', async () => {
    const { etag } = (await get('/plain.txt')).headers
    expect((await get('/plain.txt', { 'if-match': `"x", ${etag}` })).status).toBe(200)
    expect((await get('/plain.txt', { 'if-match': '*' })).status).toBe(200)
    for (const tag of ['"x"', `W/${etag}`]) {
      const { status, body, headers } = await get('/plain.txt', { 'if-match': tag })
      expect([status, body.toString(), headers['cache-control']]).toEqual([412, '', 'no-store'])
    }
    expect((await get('/none', { 'if-match': '"x"', ...navigation })).status).toBe(404)
  })

  test('HEAD has the headers and no body, other methods are a 405', async () => {
    const head = await get('/plain.txt', {}, { method: 'HEAD' })
    expect([head.status, head.body.length, head.headers['content-length']]).toEqual([200, 0, '10'])
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const { status, headers } = await get('/plain.txt', {}, { method })
      expect([status, headers.allow]).toEqual([405, 'GET, HEAD'])
    }
  })

  test('routes by host: a site host does not serve the API, nor the API host a site', async () => {
    for (const path of ['/health', '/api/admin/status', '/admin/sign-in']) {
      expect((await get(path)).status).toBe(404)
    }
    for (const host of ['127.0.0.1', 'localhost', 'a.shop.localhost', 'shop.example.com', 'evil-localhost']) {
      expect([host, (await get('/health', { host })).status]).toEqual([host, 200])
      expect([host, (await get('/plain.txt', { host })).status]).toEqual([host, 404])
      expect([host, (await get('/_sites', { host })).status]).toEqual([host, 404])
    }
    expect((await get('/plain.txt', { host: 'SHOP.localhost:80' })).status).toBe(200)
    const unknown = await get('/plain.txt', { host: 'unknown.localhost' })
    expect([unknown.status, unknown.headers['content-type'], unknown.headers['cache-control']]).toEqual([
      404,
      'text/html; charset=utf-8',
      'no-store',
    ])
  })
})

test('sites › a single-page app responds to navigations, and not to assets', async () => {
  const spa = await createSite(app, { slug: 'spa', spaMode: true })
  await deployFiles(app, spa, { 'index.html': 'app' })
  const host = 'spa.localhost'
  await waitFor('the site', async () => (await get('/', { host })).status === 200)
  const page = await get('/orders/7', { host, ...navigation })
  expect([page.status, page.body.toString(), page.headers['cache-control']]).toEqual([200, 'app', 'no-cache'])
  expect((await get('/orders/7', { host, accept: 'text/html,*/*' })).status).toBe(200)
  for (const path of ['/user/john.doe', '/a@b.com', '/p/@scope%2Fname', '/v1.2', '/.hidden']) {
    const found = await get(path, { host, ...navigation })
    expect([path, found.status, found.body.toString()]).toEqual([path, 200, 'app'])
  }
  for (const [path, headers] of [
    ['/orders/7.js', navigation],
    ['/p/@scope%2Fname.js', navigation],
    ['/p/..%2Fname', navigation],
    ['/p/@scope%2Fname', { 'sec-fetch-mode': 'no-cors', accept: '*/*' }],
    ['/user/john.doe', { 'sec-fetch-mode': 'no-cors', accept: '*/*' }],
    ['/orders/7', { 'sec-fetch-mode': 'cors', accept: 'text/html' }],
    ['/orders/7', { accept: 'application/json' }],
  ] as const) {
    const { status, headers: sent } = await get(path, { host, ...headers })
    expect([status, sent['cache-control']]).toEqual([404, 'no-store'])
  }
})

test('sites › a promotion and a rollback are in force on both nodes, hashed assets of before stay', async () => {
  const other = await createSite(app, { slug: 'release' })
  const host = 'release.localhost'
  const both = async (body: string) => {
    for (const node of [app, second]) {
      await waitFor(`${body} on both nodes`, async () => {
        return (await get('/', { host }, { node })).body.toString() === body
      })
    }
  }
  await deployFiles(app, other, { 'index.html': 'one', 'a-3f2a9b1c.js': 'first()', 'b.js': 'old()' })
  await both('one')
  await deployFiles(app, other, { 'index.html': 'two' })
  await both('two')
  const asset = await get('/a-3f2a9b1c.js', { host }, { node: second })
  expect([asset.status, asset.body.toString()]).toEqual([200, 'first()'])
  expect((await get('/b.js', { host })).status).toBe(404)
  await requestSites(second, 'POST', `/${other.id}/deploys/rollback`)
  await both('one')
  await requestSites(app, 'DELETE', `/${other.id}`)
  for (const node of [app, second]) {
    await waitFor('no site', async () => (await get('/', { host }, { node })).status === 404)
  }
})

test('sites › a change is in force on its node when its response arrives', async () => {
  const prompt = await createSite(app, { slug: 'prompt' })
  const shown = async (path = '/') => {
    const { status, body } = await get(path, { host: 'prompt.localhost', ...navigation })
    return status === 200 ? body.toString() : status
  }
  for (const body of ['one', 'two', 'three']) {
    await deployFiles(app, prompt, { 'index.html': body })
    expect(await shown()).toBe(body)
  }
  await requestSites(app, 'POST', `/${prompt.id}/deploys/rollback`)
  expect([await shown(), await shown('/lost')]).toEqual(['two', 404])
  await requestSites(app, 'PUT', `/${prompt.id}`, { spaMode: true })
  expect(await shown('/lost')).toBe('two')
  await requestSites(app, 'DELETE', `/${prompt.id}`)
  expect(await shown()).toBe(404)
})

test('sites › a promotion that its node cannot read at once succeeds, and is in force later', async () => {
  const slow = await createSite(app, { slug: 'slow' })
  const host = 'slow.localhost'
  await app.sql('alter table basalt.site_domains rename redirect_mode to renamed')
  try {
    expect(await deployFiles(app, slow, { 'index.html': 'one' })).toMatchObject({ status: 'live' })
    expect((await get('/', { host })).status).toBe(404)
  } finally {
    await app.sql('alter table basalt.site_domains rename renamed to redirect_mode')
  }
  await waitFor('the site', async () => (await get('/', { host })).body.toString() === 'one')
})

test('sites › a node that has not noticed a promotion or a rollback has the hashed assets of it', async () => {
  const late = await createSite(app, { slug: 'late' })
  const host = 'late.localhost'
  const get2 = async (path: string) => (await get(path, { host }, { node: second })).body.toString()
  await deployFiles(app, late, {
    'index.html': 'one',
    'a-3f2a9b1c.js': 'one()',
    'same-9b1c3f2a.js': 'same()',
  })
  await waitFor('the site', async () => (await get2('/')) === 'one')
  await database.sql('alter table basalt.site_deploys disable trigger site_deploys_version')
  try {
    await deployFiles(app, late, {
      'index.html': 'two',
      'b-1c3f2a9b.js': 'two()',
      'same-9b1c3f2a.js': 'same()',
    })
    expect(await Promise.all(['/', '/b-1c3f2a9b.js', '/a-3f2a9b1c.js'].map(get2))).toEqual([
      'one',
      'two()',
      'one()',
    ])
    expect((await get('/b-0c3f2a9b.js', { host }, { node: second })).status).toBe(404)
  } finally {
    await database.sql('alter table basalt.site_deploys enable trigger site_deploys_version')
  }
  // Every site's version has changed, so that both nodes have the second deploy.
  await requestSites(app, 'PUT', `/${late.id}`, { name: 'Late' })
  await waitFor('the second deploy', async () => (await get2('/')) === 'two')
  await database.sql('alter table basalt.site_deploys disable trigger site_deploys_version')
  try {
    await requestSites(app, 'POST', `/${late.id}/deploys/rollback`)
    expect(await Promise.all(['/', '/a-3f2a9b1c.js'].map(get2))).toEqual(['two', 'one()'])
  } finally {
    await database.sql('alter table basalt.site_deploys enable trigger site_deploys_version')
  }
})

describe('sites › rules', () => {
  const host = 'rules.localhost'
  const page = '<h1>app</h1>'

  beforeAll(async () => {
    const ruled = await createSite(app, { slug: 'rules' })
    await deployFiles(app, ruled, {
      'index.html': '<h1>home</h1>',
      'app/index.html': page,
      'lost.html': '<h1>lost here</h1>',
      '404.html': '<h1>lost</h1>',
      'real.txt': 'a file',
      'data-3f2a9b1c.json': '{}',
      'well-known': '{"a":1}',
      _redirects: [
        '/forced.txt /real.txt 302!',
        '/real.txt /elsewhere',
        '/old/* /new/:splat',
        '/in/:lang/* /:splat/:lang',
        '/out/:what https://example.com/:what?from=site#top 308',
        '/app/* /app/index.html 200',
        '/data /data-3f2a9b1c.json 200',
        '/gone/* /lost.html 404',
        '/same/* /same/:splat',
        '/missing/target /nothing.html 200',
      ].join('\n'),
      _headers: [
        '/*',
        '  X-Frame-Options: DENY',
        '  Cache-Control: public, max-age=60',
        '/well-known',
        '  Content-Type: application/json',
      ].join('\n'),
    })
    for (const node of [app, second])
      await waitFor('the site', async () => (await get('/', { host }, { node })).status === 200)
  })

  test.each([
    ['/forced.txt', 302, '/real.txt'],
    ['/old/a%20b/c?x=1', 301, '/new/a%20b/c?x=1'],
    ['/old', 301, '/new/'],
    ['/in/evil.example', 301, '/evil.example'],
    ['/out/a%2Bb?x=1', 308, 'https://example.com/a%2Bb?from=site#top'],
    ['/app', 308, '/app/'],
  ])('%s is redirected with %i to %s', async (path, status, location) => {
    const answer = await get(path, { host })
    expect([answer.status, answer.headers.location, answer.headers['cache-control']]).toEqual([
      status,
      location,
      'no-cache',
    ])
  })

  test('leaves files alone for a rule without !, and skips a rule that leads to itself', async () => {
    expect((await get('/real.txt', { host })).body.toString()).toBe('a file')
    expect((await get('/same/x', { host })).status).toBe(404)
    expect((await get('/missing/target', { host })).status).toBe(404)
  })

  test('responds to navigations with the page of a rewrite, and with 404 to a missing asset below it', async () => {
    for (const path of ['/app/orders/7', '/app/orders/']) {
      const found = await get(path, { host, ...navigation })
      expect([found.status, found.body.toString()]).toEqual([200, page])
    }
    const asset = await get('/app/main.js', { host, accept: '*/*' })
    expect([asset.status, asset.headers['cache-control']]).toEqual([404, 'no-store'])
    const data = await get('/data', { host, accept: '*/*' })
    expect([data.status, data.body.toString()]).toEqual([200, '{}'])
    expect(data.headers['cache-control']).toBe('public, max-age=60')
    const gone = await get('/gone/for/good', { host, ...navigation })
    expect([gone.status, gone.body.toString()]).toEqual([404, '<h1>lost here</h1>'])
  })

  test('headers are those of the path, a page that is missing is not kept', async () => {
    const file = await get('/well-known', { host })
    expect(file.headers).toMatchObject({
      'x-frame-options': 'DENY',
      'cache-control': 'public, max-age=60',
      'content-type': 'application/json',
      etag: expect.stringMatching(/^"/),
    })
    const known = await get('/well-known', { host, 'if-none-match': String(file.headers.etag) })
    expect([known.status, known.headers['x-frame-options']]).toEqual([304, 'DENY'])
    const missing = await get('/missing', { host, ...navigation })
    expect([missing.status, missing.headers['x-frame-options'], missing.headers['cache-control']]).toEqual([
      404,
      'DENY',
      'no-cache',
    ])
  })

  test('does not serve the files of the rules', async () => {
    for (const path of ['/_redirects', '/_headers']) expect((await get(path, { host })).status).toBe(404)
  })

  test('rejects the promotion of a deploy with a line that is no rule, and keeps the live one', async () => {
    const { id } = await createSite(app, { slug: 'faulty' })
    const live = await deployFiles(app, { id }, { 'index.html': '1' })
    const deploy = await createDeploy(app, { id })
    await upload(app, deploy, '_redirects', '/a /b\n/a /b 999\n/c')
    await upload(app, deploy, '_headers', '/*\n  Set-Cookie: a=b\n')
    const refused = await requestSites(app, 'POST', `/${id}/deploys/${deploy.id}/promote`)
    const problem = 'the status must be 200, 301, 302, 303, 307, 308 or 404, perhaps with a !'
    expect([refused.status, envelope(refused)]).toEqual([
      400,
      {
        code: 400,
        message: `_redirects line 2: ${problem} (and 2 more)`,
        error: 'invalid_site_rules',
        data: {
          faults: [
            { file: '_redirects', line: 2, problem },
            { file: '_redirects', line: 3, problem: 'expected a path, a target, and perhaps a status' },
            { file: '_headers', line: 2, problem: 'the header Set-Cookie cannot be set' },
          ],
        },
      },
    ])
    const { json } = await requestSites(app, 'GET', `/${id}/deploys/${deploy.id}`)
    expect(json.status).toBe('uploading')
    expect((await requestSites(app, 'GET', `/${id}`)).json.liveDeployId).toBe(live.id)
    // Mended, it becomes live.
    await upload(app, deploy, '_redirects', '/a /b')
    await upload(app, deploy, '_headers', '/*\n  X-A: b\n')
    expect((await requestSites(app, 'POST', `/${id}/deploys/${deploy.id}/promote`)).json.status).toBe('live')
  })
})

test('sites › a request for a WebSocket on the host of a site does not reach the API', async () => {
  const answer = await get('/api/realtime/ws', {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  })
  expect([answer.status, answer.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8'])
})

describe('sites › CDN purge', () => {
  let standIn: SmsStandIn
  let node: TestApp
  const taken = new Set<string>()

  beforeAll(async () => {
    standIn = await startSmsStandIn()
    standIn.answerWith(json(200, {}))
    node = await createTestApp({
      config: {
        'storage.cdn.provider': 'webhook',
        'storage.cdn.webhook.endpoint': `${standIn.url}/purge`,
        'storage.cdn.webhook.signing_secret': 'a secret for tests',
      },
      // Jobs are due by the clock of the database.
      clock: { now: () => new Date(Date.now() - 3_600_000) },
    })
  })
  afterAll(async () => {
    await node[Symbol.asyncDispose]()
    await standIn[Symbol.asyncDispose]()
  })

  /** Returns the addresses that the jobs of the last change purge, without the origin of the site. */
  async function takeQueued({ url = '' }: Site): Promise<string[]> {
    const rows = await node.sql<{ id: string; payload: { urls?: string[]; operation: string } }>(
      `select id, payload from basalt.jobs where type = 'cdn_purge' and id <> all($1) order by created_at`,
      [[...taken]],
    )
    return rows.map(({ id, payload: { urls, operation } }) => {
      taken.add(id)
      return urls?.map((each) => each.replace(url, '')).join(' ') ?? operation
    })
  }

  test('purges the changed addresses on a promotion, a rollback and a deletion', async () => {
    const own = await createSite(node)
    const first = await deployFiles(node, own, {
      'index.html': '1',
      'docs/index.html': '1',
      'same.txt': 'same',
      'a-3f2a9b1c.js': 'first()',
    })
    expect(await takeQueued(own)).toEqual([])
    await deployFiles(node, own, { 'index.html': '2', 'same.txt': 'same', 'new file.html': 'n' })
    expect(await takeQueued(own)).toEqual([
      '/docs/index.html /docs/ /docs /index.html / /new%20file.html /new%20file',
    ])
    await requestSites(node, 'POST', `/${own.id}/deploys/rollback`)
    expect(await takeQueued(own)).toEqual([
      '/docs/index.html /docs/ /docs /index.html / /new%20file.html /new%20file',
    ])
    await deployFiles(node, own, { 'index.html': '1', 'docs/index.html': '1', _headers: '/*\n X-A: b' })
    expect(await takeQueued(own)).toEqual([
      '/a-3f2a9b1c.js /docs/index.html /docs/ /docs /index.html / /same.txt',
    ])
    await requestSites(node, 'POST', `/${own.id}/deploys/${first.id}/promote`)
    await takeQueued(own)
    await requestSites(node, 'DELETE', `/${own.id}`)
    expect(await takeQueued(own)).toEqual([
      '/a-3f2a9b1c.js /docs/index.html /docs/ /docs /index.html / /same.txt',
    ])
    // A change that is refused purges nothing.
    const other = await createSite(node)
    await deployFiles(node, other, { 'index.html': '1' })
    const faulty = await deployFiles(node, other, { _redirects: '/a' })
    expect(faulty).toMatchObject({ error: 'invalid_site_rules' })
    expect(await takeQueued(other)).toEqual([])
  })

  test('purges everything when thousands of addresses change', async () => {
    const own = await createSite(node)
    await deployFiles(node, own, { 'index.html': 'many' })
    const deploy = await createDeploy(node, own)
    const files = Array.from({ length: 3001 }, (_, index) => ({
      path: `${index}.txt`,
      sha256: sha256('many'),
      size: 4,
    }))
    await requestSites(node, 'POST', `/${own.id}/deploys/${deploy.id}/manifest`, { files })
    await requestSites(node, 'POST', `/${own.id}/deploys/${deploy.id}/promote`)
    expect(await takeQueued(own)).toEqual(['purge_all'])
  })

  test('sends the purge to the network when every node serves the change', async () => {
    const own = await createSite(node)
    await deployFiles(node, own, { 'index.html': 'x' })
    await deployFiles(node, own, { 'index.html': 'y' })
    const sent = await waitFor('the purge', () =>
      standIn.requests.find(({ body }) => body.includes(own.slug)),
    )
    expect(JSON.parse(sent.body)).toEqual({
      operation: 'purge_urls',
      public_urls: [`${own.url}/index.html`, `${own.url}/`],
    })
    const [job] = await node.sql(
      `select run_at >= created_at + interval '1 second' as is_later from basalt.jobs
       where type = 'cdn_purge' and payload::text like $1`,
      [`%${own.slug}%`],
    )
    expect(job).toEqual({ is_later: true })
  })
})
