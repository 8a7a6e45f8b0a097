import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inlineParts, policyOf } from '../../../../../test/page.ts'
import { createTestApp, type TestApp } from '../../../../../test/test-app.ts'
import { listErrors } from '../../../../error-catalog.ts'
import { type ErrorTable, errorKind } from '../../../../lib/errors.ts'

let app: TestApp

beforeAll(async () => {
  app = await createTestApp()
})
afterAll(() => app[Symbol.asyncDispose]())

describe('error catalog', () => {
  test('names each kind once, in one spelling, with a status and a help text', () => {
    const errors = listErrors()
    expect(errors.length).toBeGreaterThan(40)
    const kinds = errors.map(({ kind }) => kind)
    expect(kinds.filter((kind, index) => kinds.indexOf(kind) !== index)).toEqual([])
    for (const { kind, status, message, help } of errors) {
      expect(kind).toMatch(/^[a-z]+(_[a-z0-9]+)*$/)
      expect([kind, status >= 400 && status < 600]).toEqual([kind, true])
      expect([kind, message.length > 0, /^[A-Z`].*\.$/s.test(help)]).toEqual([kind, true, true])
    }
  })
})

describe('error catalog completeness', () => {
  test('contains every error table of the code', async () => {
    const source = join(import.meta.dirname, '..', '..', '..')
    const files = globSync('**/*.ts', { cwd: source }).filter(
      (file) =>
        !file.endsWith('.test.ts') && readFileSync(join(source, file), 'utf8').includes('= defineErrors('),
    )
    expect(files.length).toBeGreaterThanOrEqual(15)
    const kinds = new Set(listErrors().map(({ kind }) => kind))
    for (const file of files) {
      const module: Record<string, unknown> = await import(join(source, file))
      const tables = Object.entries(module).filter(([name]) => name.endsWith('ErrorTable'))
      expect([file, tables.length > 0]).toEqual([file, true])
      for (const [, table] of tables) {
        const missing = Object.keys(table as ErrorTable).filter((key) => !kinds.has(errorKind(key)))
        expect([file, missing]).toEqual([file, []])
      }
    }
  })
})

describe('GET /api/docs/errors', () => {
  test('has the anchor that doc_url of each error links to', async () => {
    const { text, status, headers } = await app.request('GET', '/api/docs/errors')
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    for (const { kind, status: code } of listErrors()) {
      expect(text.match(new RegExp(` id="${kind}"`, 'g')), kind).toHaveLength(1)
      expect(text).toContain(`<code>${kind}</code></td><td>${code}</td>`)
    }
  })

  test('is the target of doc_url of a real error', async () => {
    const { doc_url: docUrl } = (await app.request('GET', '/api/schema')).json
    const page = await fetch(docUrl)
    expect(page.status).toBe(200)
    // The address of a response has no fragment.
    expect([docUrl, page.url]).toEqual([
      `${app.url}/docs/errors/missing_authorization`,
      `${app.url}/api/docs/errors`,
    ])
    expect(await page.text()).toContain('id="missing_authorization"')
  })

  test('loads nothing from other origins and runs no script', async () => {
    const response = await app.request('GET', '/api/docs/errors')
    const [style] = inlineParts(response.text, 'style')
    expect(policyOf(response)).toMatchObject({
      'default-src': "'none'",
      'script-src': "'none'",
      'style-src': style?.source,
    })
    expect(response.text).not.toMatch(/<script| (style|on\w+)=|(src|href)="(?!\/[^/]|\/")/)
  })

  test('escapes names and markup of messages', async () => {
    const { text } = await app.request('GET', '/api/docs/errors')
    expect(text).toContain('<code>Authorization: Bearer &#60;token&#62;</code>')
  })
})

describe('GET /api/docs', () => {
  test.each(['/api/docs', '/api/docs/', '/api/docs?a=b'])(
    '%s is a page whose parts this server serves',
    async (path) => {
      const response = await app.request('GET', path)
      expect([response.status, response.headers.get('content-type')]).toEqual([
        200,
        'text/html; charset=utf-8',
      ])
      const parts = [...response.text.matchAll(/<(?:script src|link [^>]*href)="([^"]+)"/g)].map(
        ([, to = '']) => to,
      )
      expect(parts).toHaveLength(4)
      for (const part of parts) {
        const url = new URL(part, app.url + path)
        expect(url.origin).toBe(app.url)
        const asset = await fetch(url)
        expect([part, asset.status]).toEqual([part, 200])
        expect((await asset.arrayBuffer()).byteLength).toBeGreaterThan(100)
        expect(asset.headers.get('x-content-type-options')).toBe('nosniff')
        const types: Readonly<Record<string, RegExp>> = {
          js: /javascript/,
          css: /text\/css/,
          svg: /image\/svg/,
        }
        expect(asset.headers.get('content-type')).toMatch(types[url.pathname.split('.').at(-1) ?? ''] ?? /^$/)
      }
    },
  )

  test('has a policy that allows only this server, also over HTTP, and no frame', async () => {
    const response = await app.request('GET', '/api/docs')
    const [style] = inlineParts(response.text, 'style')
    const [script] = inlineParts(response.text, 'script')
    expect(policyOf(response)).toEqual({
      'default-src': "'none'",
      'script-src': `'self' ${script?.source}`,
      'style-src': `'self' ${style?.source}`,
      'img-src': "'self' data:",
      'connect-src': "'self'",
      'form-action': "'self'",
      'base-uri': "'none'",
      'frame-ancestors': "'none'",
    })
  })

  test('sends a file again only when it has changed', async () => {
    const path = '/api/docs/assets/swagger-ui.css'
    const { headers } = await app.request('GET', path)
    const again = await app.request('GET', path, { headers: { 'if-none-match': headers.get('etag') ?? '' } })
    expect([again.status, again.text]).toEqual([304, ''])
  })

  test.each([
    '/api/docs/assets/../../../package.json',
    '/api/docs/assets/%2e%2e/index.js',
    '/api/docs/assets/nothing.js',
  ])('%s returns 404 as an error object', async (path) => {
    const response = await app.request('GET', path)
    expect([response.status, response.json.error]).toEqual([404, 'route_not_found'])
  })
})

describe('GET /api/docs/guides', () => {
  const linksOf = (html: string) => [...html.matchAll(/<a [^>]*href="([^"]+)"/g)].map(([, to = '']) => to)

  test('lists the guides of this version, each a page whose links have targets', async () => {
    const list = await app.request('GET', '/api/docs/guides')
    const [first, ...pages] = linksOf(list.text).filter((link) => link.startsWith('/api/docs/guides/'))
    expect(first, 'where to begin').toBe('/api/docs/guides/tutorial')
    const files = globSync('*.md', { cwd: join(import.meta.dirname, '../../../../../../../docs/guides') })
    expect(pages.map((page) => page.split('/').at(-1)).sort()).toEqual(
      [...files.map((file) => file.replace('.md', '')), 'configuration'].sort(),
    )
    for (const page of pages) {
      const { status, text } = await app.request('GET', page)
      expect([page, status]).toEqual([page, 200])
      expect(text).toMatch(/<h1 id="[^"]+">/)
      // The header leads to the site, of which these pages are the fallback.
      const links = linksOf(text).filter((each) => !each.startsWith('http') && each !== '/docs')
      for (const link of links) {
        const [path = '', anchor] = link.split('#')
        const target = await app.request('GET', path === '' ? page : path)
        expect([page, link, target.status]).toEqual([page, link, 200])
        if (anchor !== undefined)
          expect([link, target.text.includes(` id="${anchor}"`)]).toEqual([link, true])
      }
    }
  })

  test('leaves code unchanged, and runs no script', async () => {
    const response = await app.request('GET', '/api/docs/guides/collections')
    expect(response.text).toContain('<code>unit_price &gt; 0.99 AND')
    expect(policyOf(response)['script-src']).toBe("'none'")
  })

  test('shows the pictures of a guide, each small and described', async () => {
    const { text } = await app.request('GET', '/api/docs/guides/dashboard')
    const pictures = [...text.matchAll(/<img src="([^"]+)" alt="([^"]+)"/g)]
    expect(pictures.length).toBeGreaterThanOrEqual(5)
    for (const [, source = ''] of pictures) {
      const answer = await fetch(`${app.url}/api/docs/guides/${source}`)
      expect([source, answer.status, answer.headers.get('content-type')]).toEqual([source, 200, 'image/webp'])
      const bytes = Buffer.from(await answer.arrayBuffer())
      expect([bytes.toString('latin1', 8, 12), bytes.length < 80_000]).toEqual(['WEBP', true])
    }
  })

  test.each([
    'nothing',
    '..%2f..%2fREADME',
    'collections.md',
    'images/nothing.webp',
    'images/..%2fdashboard.md',
  ])('%s returns 404 as an error object', async (name) => {
    const response = await app.request('GET', `/api/docs/guides/${name}`)
    expect([response.status, response.json.error]).toEqual([404, 'route_not_found'])
  })
})
