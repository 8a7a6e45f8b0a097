import { describe, expect, test } from 'vitest'
import { headersFor, parseHeaders } from './headers.ts'
import { matchPattern, parsePattern } from './pattern.ts'
import { RedirectTable } from './redirect-table.ts'
import { fileOf, locationOf, parseRedirects } from './redirects.ts'
import { maxRuleFileBytes } from './rule-file.ts'
import { parseRules } from './site-rules.ts'

/** Returns the target of the first rule that matches. */
function follow(text: string, path: string): string | undefined {
  const { rules, faults } = parseRedirects(text)
  expect(faults).toEqual([])
  const [found] = new RedirectTable(rules).matches(path)
  if (found === undefined) return undefined
  const { rule, values } = found
  const isFile = rule.status === 200 || rule.status === 404
  return `${rule.status}${rule.isForced ? '!' : ''} ${isFile ? fileOf(rule, values) : locationOf(rule, values)}`
}

describe('site rules › patterns', () => {
  test.each([
    ['/', '', {}],
    ['/a', 'a', {}],
    ['/a', 'a/', {}],
    ['/a/', 'a', {}],
    ['/a', 'a/b', undefined],
    ['/a/b', 'a', undefined],
    ['/gr%C3%B6%C3%9Fe', 'größe', {}],
    ['/größe', 'größe', {}],
    ['/news/:year/:slug', 'news/2026/x', { year: '2026', slug: 'x' }],
    ['/news/:year/:slug', 'news/2026', undefined],
    ['/news/*', 'news/2026/x', { splat: '2026/x' }],
    ['/news/*', 'news', { splat: '' }],
    ['/news/*', 'newspaper', undefined],
    ['/*', '', { splat: '' }],
    ['/:lang/*', 'de/a/b', { lang: 'de', splat: 'a/b' }],
    ['/assets/*.js', 'assets/deep/app.js', { splat: 'deep/app' }],
    ['/assets/*.js', 'assets/.js', { splat: '' }],
    ['/assets/aa*a.js', 'assets/aa.js', undefined],
    ['/a:b', 'a:b', {}],
  ])('%s and the path %j: %j', (text, path, values) => {
    const pattern = parsePattern(text)
    if (typeof pattern === 'string') throw new Error(pattern)
    const found = matchPattern(pattern, path)
    expect(found === undefined ? undefined : Object.fromEntries(found)).toEqual(values)
  })
})

describe('site rules › _redirects', () => {
  test.each([
    ['/old /new', 'old', '301 /new'],
    ['/old /new 302!', 'old/', '302! /new'],
    ['/old https://example.com/a?b=c#d 308', 'old', '308 https://example.com/a?b=c#d'],
    ['/old https://bücher.example:8443/ö', 'old', '301 https://xn--bcher-kva.example:8443/%C3%B6'],
    ['/blog/:y/:s /posts/:s-:y.html 307', 'blog/26/a b', '307 /posts/a%20b-26.html'],
    ['/l/:lang/* /:splat/:lang', 'l/evil.example', '301 /evil.example'],
    ['/l/:lang/* /:splat\\\\:lang', 'l/evil.example', '301 /evil.example'],
    ['/blog/* https://blog.example.com/:splat', 'blog/a/b c', '301 https://blog.example.com/a/b%20c'],
    ['/s/:q /search?q=:q', 's/a&b=c', '301 /search?q=a%26b%3Dc'],
    ['/app/* /app/index.html 200', 'app/x', '200 app/index.html'],
    ['/de/* /404-de%20x.html 404', 'de/x', '404 404-de x.html'],
    ['# a comment\n\n/a /b # another\r\n', 'a', '301 /b'],
    ['/a /#/b', 'a', '301 /#/b'],
    ['/a /one\n/a /two', 'a', '301 /one'],
    ['/* /one\n/a /two', 'a', '301 /one'],
    ['/a /two\n/* /one', 'a', '301 /two'],
    ['/b /two\n/* /one', 'a', '301 /one'],
    ['/b /two', 'a', undefined],
  ])('%j for the path %j leads to %j', (text, path, target) => {
    expect(follow(text, path)).toBe(target)
  })

  test.each([
    ['/a', 'expected a path, a target, and perhaps a status'],
    ['a /b', 'the path must begin with a slash'],
    ['https://old.example.com/* /b', 'the path must begin with a slash'],
    ['/a?b=c /b', 'the path must have no query and no fragment'],
    ['/a%zz /b', 'the path is not percent-encoded UTF-8'],
    ['/*/a /b', 'only one * may stand in a path, at its end'],
    ['/a*b* /b', 'only one * may stand in a path, at its end'],
    ['/*.js /b', 'the * of a redirect must be a whole segment'],
    ['/:a/:a /b', ':a stands for two things'],
    ['/:splat/* /b', ':splat stands for two things'],
    ['/a id=:id /b', 'conditions on the query are not supported'],
    ['/a /b 301 Country=de', 'conditions after the status are not supported'],
    ['/a /b 300', 'the status must be 200, 301, 302, 303, 307, 308 or 404, perhaps with a !'],
    ['/a b', 'the target must be a path that begins with one slash, or an http or https URL'],
    ['/a //evil.example', 'the target must be a path that begins with one slash, or an http or https URL'],
    ['/a /\\evil.example', 'the target must be a path that begins with one slash, or an http or https URL'],
    [
      '/a javascript:alert(1)',
      'the target must be a path that begins with one slash, or an http or https URL',
    ],
    [
      '/a https://u@x.example/',
      'the target must be a path that begins with one slash, or an http or https URL',
    ],
    ['/:h https://x.:h/', 'the target must be a path that begins with one slash, or an http or https URL'],
    ['/* https://:splat', 'the target must be a path that begins with one slash, or an http or https URL'],
    ['/a https://x.example/ 200', 'a rule with the status 200 needs a path of the site as its target'],
    ['/a /b?c 404', 'the target of a rule with the status 404 has no query and no fragment'],
    ['/a /%zz 200', 'the target is not percent-encoded UTF-8'],
    ['/a /:b', ':b is not in the path of the rule'],
    ['/a /:splat', ':splat is not in the path of the rule'],
    ['/a /b\u0001', 'a line must not have control characters'],
    [`/a /${'b'.repeat(2000)}`, 'a line has at most 2000 characters'],
  ])('%j is refused: %s', (text, problem) => {
    expect(parseRedirects(`\n${text}\n/ok /fine`)).toMatchObject({
      rules: [{ target: '/fine' }],
      faults: [{ file: '_redirects', line: 2, problem }],
    })
  })

  test('accepts at most a thousand rules', () => {
    const text = Array.from({ length: 1002 }, (_, index) => `/${index} /x`).join('\n')
    const { rules, faults } = parseRedirects(text)
    expect(rules).toHaveLength(1000)
    expect(faults).toEqual([{ file: '_redirects', line: 1001, problem: 'a site has at most 1000 redirects' }])
  })
})

describe('site rules › _headers', () => {
  test('gives a path the headers of its rules, the later rule before the earlier one', () => {
    const { rules, faults } = parseHeaders(
      [
        '# of all',
        '/*',
        '  X-Frame-Options: DENY',
        '  Link: </a>; rel=preload',
        '  Link: </b>; rel=preload',
        '/assets/*.js',
        '\tCache-Control: public, max-age=60',
        '  X-Frame-Options: SAMEORIGIN',
      ].join('\n'),
    )
    expect(faults).toEqual([])
    expect(headersFor(rules, 'about')).toEqual({
      'x-frame-options': 'DENY',
      link: '</a>; rel=preload, </b>; rel=preload',
    })
    expect(headersFor(rules, 'assets/app.js')).toEqual({
      'x-frame-options': 'SAMEORIGIN',
      link: '</a>; rel=preload, </b>; rel=preload',
      'cache-control': 'public, max-age=60',
    })
  })

  test.each([
    ['  X-A: b', 'a header must stand below a path'],
    ['x\n  X-A: b', 'the path must begin with a slash'],
    ['/a\n  X-A', 'expected a header as "Name: value"'],
    ['/a\n  X-A:', 'expected a header as "Name: value"'],
    ['/a\n  X A: b', 'expected a header as "Name: value"'],
    ['/a\n  ! X-A', 'expected a header as "Name: value"'],
    ['/a\n  Set-Cookie: a=b', 'the header Set-Cookie cannot be set'],
    ['/a\n  transfer-encoding: chunked', 'the header transfer-encoding cannot be set'],
    ['/a\n  Basic-Auth: me:secret', 'the header Basic-Auth cannot be set'],
    ['/a\n  X-A: ä', 'the value of a header must be ASCII'],
    ['/a\n  X-A: a\rb', 'a line must not have control characters'],
  ])('%j is refused: %s', (text, problem) => {
    const { rules, faults } = parseHeaders(text)
    expect(faults.map((fault) => fault.problem)).toEqual([problem])
    expect(rules.flatMap(({ headers }) => [...headers])).toEqual([])
  })

  test('accepts at most a hundred paths and fifty headers per path, and limits the file size', () => {
    const paths = parseHeaders(Array.from({ length: 101 }, (_, index) => `/${index}`).join('\n'))
    expect(paths.faults).toEqual([
      { file: '_headers', line: 101, problem: 'a site has headers for at most 100 paths' },
    ])
    const headers = parseHeaders(
      `/\n${Array.from({ length: 51 }, (_, index) => ` X-${index}: 1`).join('\n')}`,
    )
    expect(headers.faults).toEqual([{ file: '_headers', line: 52, problem: 'a path has at most 50 headers' }])
    const bytes = Buffer.alloc(maxRuleFileBytes + 1, '\n')
    expect(parseRules([{ path: '_headers', bytes }]).faults).toEqual([
      { file: '_headers', line: 1, problem: 'the file has at most 262144 bytes' },
    ])
  })
})
