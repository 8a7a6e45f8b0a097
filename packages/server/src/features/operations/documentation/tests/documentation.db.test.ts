import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { packSite } from '../../../../../../../scripts/docs/pack-site.ts'
import { policyOf } from '../../../../../test/page.ts'
import { makeScratchDirectory } from '../../../../../test/scratch-directory.ts'
import { sendBytes } from '../../../../../test/send-bytes.ts'
import { createTestApp, envelope, type TestApp } from '../../../../../test/test-app.ts'
import { openSiteFiles } from '../site-files.ts'

/** Files as the generator writes them. */
const built = {
  'index.html': '<h1>Front</h1>',
  '404.html': '<h1>Missing</h1>',
  'guides/tables/index.html': `<h1>Tables</h1>${'<p>row</p>'.repeat(400)}`,
  'errors/unique_violation/index.html': '<h1>unique_violation</h1>',
  '_astro/page.Ab12.js': `console.log(1);${'// same\n'.repeat(50)}`,
  '_astro/picture.Cd34.webp': 'RIFF',
  'pagefind/pagefind.js': `export const search = 1;${' '.repeat(50)}`,
  'pagefind/fragment/en_1.pf_fragment': 'fragment',
  'pagefind/pagefind-ui.js': 'unused',
}

const folder = makeScratchDirectory('basalt-docs-')
const packed = join(folder, 'docs-site')
let app: TestApp
let without: TestApp

beforeAll(async () => {
  for (const [name, content] of Object.entries(built)) {
    mkdirSync(join(folder, 'built', name, '..'), { recursive: true })
    writeFileSync(join(folder, 'built', name), content)
  }
  packSite(join(folder, 'built'), packed, '1.2.3')
  const docsSite = openSiteFiles(packed, '1.2.3')
  if (docsSite === undefined) throw new Error('the site is not found')
  app = await createTestApp({ docsSite, config: { 'docs.site': 'true' } })
  without = await createTestApp({ docsSite, database: app.database })
})
afterAll(async () => {
  await without[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

/** Sends a request that follows no redirect and decodes nothing. */
async function get(base: TestApp, path: string, headers: Readonly<Record<string, string>> = {}) {
  const answer = await fetch(base.url + path, {
    headers: { 'accept-encoding': 'identity', ...headers },
    redirect: 'manual',
  })
  return { status: answer.status, headers: answer.headers, text: await answer.text(), json: undefined }
}

describe('GET /docs', () => {
  test.each([
    ['/docs', 'index.html'],
    ['/docs/', 'index.html'],
    ['/docs/guides/tables', 'guides/tables/index.html'],
    ['/docs/guides/tables/?from=link', 'guides/tables/index.html'],
    ['/docs/errors/unique_violation', 'errors/unique_violation/index.html'],
  ] as const)('%s is a page that admits only own scripts and is revalidated', async (path, name) => {
    const page = await get(app, path)
    expect([page.status, page.text]).toEqual([200, built[name]])
    expect(Object.fromEntries(page.headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'x-robots-tag': 'noindex',
      'x-content-type-options': 'nosniff',
      vary: 'Accept-Encoding',
    })
    expect(policyOf(page)).toEqual({
      'default-src': "'none'",
      'script-src': "'self' 'wasm-unsafe-eval'",
      'worker-src': "'self'",
      'style-src': "'self'",
      'style-src-attr': "'unsafe-inline'",
      'img-src': "'self' data:",
      'connect-src': "'self'",
      'base-uri': "'none'",
      'form-action': "'none'",
      'frame-ancestors': "'none'",
    })
    const again = await get(app, path, { 'if-none-match': page.headers.get('etag') ?? '' })
    expect([again.status, again.text]).toEqual([304, ''])
  })

  test.each([
    ['_astro/page.Ab12.js', 'text/javascript; charset=utf-8', 'public, max-age=31536000, immutable'],
    ['_astro/picture.Cd34.webp', 'image/webp', 'public, max-age=31536000, immutable'],
    ['pagefind/pagefind.js', 'text/javascript; charset=utf-8', 'no-cache'],
    ['pagefind/fragment/en_1.pf_fragment', 'application/octet-stream', 'public, max-age=31536000, immutable'],
  ] as const)('%s is cached for ever only if its name has its hash', async (name, type, caching) => {
    const file = await get(app, `/docs/${name}`)
    expect([
      file.status,
      file.text,
      file.headers.get('content-type'),
      file.headers.get('cache-control'),
    ]).toEqual([200, built[name], type, caching])
  })

  test('is sent in the coding that the client accepts', async () => {
    for (const path of ['/docs/guides/tables', '/docs/_astro/page.Ab12.js']) {
      const plain = await get(app, path)
      for (const [accepted, decode] of [
        ['br', brotliDecompressSync],
        ['gzip, br;q=0', gunzipSync],
      ] as const) {
        const { headers, body } = await sendBytes('GET', app.url + path, { 'accept-encoding': accepted })
        const coding = accepted.split(',')[0]
        expect([path, headers['content-encoding'], decode(body).toString()]).toEqual([
          path,
          coding,
          plain.text,
        ])
        const tag = plain.headers.get('etag')?.replace(/"$/, `-${coding}"`)
        expect(headers.etag).toBe(tag)
        const known = await get(app, path, { 'if-none-match': tag ?? '' })
        expect([known.status, known.text]).toEqual([304, ''])
      }
    }
  })

  test.each(['nothing', 'guides', 'errors/%00', '404', 'constructor'])(
    '%s returns the page for missing pages',
    async (path) => {
      const { status, text, headers } = await get(app, `/docs/${path}`)
      expect([status, text, headers.get('cache-control')]).toEqual([404, built['404.html'], 'no-store'])
    },
  )

  test('returns an error object for a missing file, and for files that no page uses', async () => {
    for (const name of ['_astro/gone.js', 'pagefind/pagefind-ui.js', 'site.json', 'guides/..%2fsite.bin']) {
      const response = await app.request('GET', `/docs/${name}`)
      expect([name, envelope(response)]).toEqual([
        name,
        { code: 404, error: 'route_not_found', message: `no such endpoint: GET /docs/${name}` },
      ])
    }
  })
})

test('plain pages › redirect to the site', async () => {
  for (const [path, target] of [
    ['/api/docs/guides', '/docs'],
    ['/api/docs/guides/tables', '/docs/guides/tables'],
    ['/api/docs/guides/configuration', '/docs/reference/configuration'],
    ['/api/docs/guides/%2f%2fevil.example', '/docs/guides/%2F%2Fevil.example'],
    ['/api/docs/errors', '/docs/errors'],
  ]) {
    const { status, headers } = await get(app, path ?? '')
    expect([path, status, headers.get('location')]).toEqual([path, 302, target])
  }
  // It tries the API out, which the site cannot.
  expect((await get(app, '/api/docs')).status).toBe(200)
})

describe('without the site', () => {
  test('redirects to the plain page, which exists', async () => {
    for (const [path, target] of [
      ['/docs', '/api/docs/guides'],
      ['/docs/start', '/api/docs/guides'],
      ['/docs/guides/tables', '/api/docs/guides/tables'],
      ['/docs/reference/configuration', '/api/docs/guides/configuration'],
      ['/docs/reference/api/webhooks', '/api/docs'],
      ['/docs/errors', '/api/docs/errors'],
      ['/docs/errors/unique_violation', '/api/docs/errors#unique_violation'],
    ]) {
      const { status, headers } = await get(without, path ?? '')
      expect([path, status, headers.get('location')]).toEqual([path, 302, target])
      expect([target, (await get(without, target ?? '')).status]).toEqual([target, 200])
    }
  })

  test.each(['nothing', 'errors/A%0d%0aB', 'guides/%2f%2fevil.example', '_astro/page.js'])(
    '%s returns 404 as an error object',
    async (path) => {
      const response = await without.request('GET', `/docs/${path}`)
      expect([response.status, response.json.error]).toEqual([404, 'route_not_found'])
    },
  )
})

test('openSiteFiles › opens no site of another version', () => {
  expect(openSiteFiles(packed, '1.2.4')).toBeUndefined()
  expect(openSiteFiles(join(folder, 'nowhere'), '1.2.3')).toBeUndefined()
})
