import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createPage, escapeHtml } from './page.ts'

const hash = (content: string) => `'sha256-${createHash('sha256').update(content).digest('base64')}'`

function directivesOf(policy: string): Map<string, string> {
  return new Map(
    policy.split('; ').map((directive) => {
      const [name = '', ...sources] = directive.split(' ')
      return [name, sources.join(' ')]
    }),
  )
}

describe('page', () => {
  test('allows its own style and script and nothing else', () => {
    const script = 'document.title = "a < b && c"'
    const { html, contentSecurityPolicy } = createPage({ title: 'Sign in', body: '<h1>Hello</h1>', script })
    const style = /<style>([\s\S]*)<\/style>/.exec(html)?.[1] ?? ''
    expect(html).toContain(`<script>${script}</script>`)
    expect(html).toContain('<main>\n<h1>Hello</h1>\n</main>')
    expect(Object.fromEntries(directivesOf(contentSecurityPolicy))).toEqual({
      'default-src': "'none'",
      'style-src': hash(style),
      'script-src': hash(script),
      'img-src': "'self'",
      'connect-src': "'self'",
      'form-action': "'self'",
      'base-uri': "'none'",
      'frame-ancestors': "'none'",
    })
  })

  test('allows no script when it has none', () => {
    const { html, contentSecurityPolicy } = createPage({ title: 'x', body: '' })
    expect(html).not.toContain('<script')
    expect(directivesOf(contentSecurityPolicy).get('script-src')).toBe("'none'")
  })

  test('loads nothing from elsewhere', () => {
    const { html } = createPage({ title: 'x', body: '', script: '' })
    expect(html).not.toMatch(/\burl\(|@import|https?:/)
    for (const [, target] of html.matchAll(/\b(?:src|href)="([^"]*)"/g)) expect(target).toMatch(/^\/(?!\/)/)
  })

  test('allows files of this server that it names, and pictures in its styles', () => {
    const assets = { styles: ['/a.css'], scripts: ['/a.js'] }
    const { html, contentSecurityPolicy } = createPage({ title: 'x', body: '', script: 'go()', assets })
    expect(html.indexOf('<script src="/a.js">')).toBeLessThan(html.indexOf('<script>go()'))
    const policy = directivesOf(contentSecurityPolicy)
    expect(policy.get('script-src')).toBe(`'self' ${hash('go()')}`)
    expect(policy.get('style-src')).toMatch(/^'self' 'sha256-\S+'$/)
    expect(policy.get('img-src')).toBe("'self' data:")
  })

  test('has the name of its application and links to no page of the server', () => {
    const { html } = createPage({ title: 'Sign in', body: '', application: 'Tom & Jerry' })
    expect(html).toContain('<title>Sign in · Tom &#38; Jerry</title>')
    expect(html).not.toMatch(/Basalt|<a /)
  })

  test('escapes its title', () => {
    expect(createPage({ title: '</title><script>alert(1)</script>', body: '' }).html).not.toContain('<script')
  })
})

test('shows escaped text as text at every position', () => {
  const decode = (text: string) => text.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.constantFrom('<img src=x onerror=alert(1)>', `"'&&amp;`)),
      (text) => {
        const escaped = escapeHtml(text)
        expect(escaped).not.toMatch(/[<>"']/)
        expect(decode(escaped)).toBe(text)
      },
    ),
  )
})
