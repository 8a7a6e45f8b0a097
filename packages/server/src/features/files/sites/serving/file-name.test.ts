import { describe, expect, test } from 'vitest'
import { isHashedName, readRequestPath } from './file-name.ts'

describe('site requests › path', () => {
  test.each([
    ['/', ''],
    ['/?x=/..', ''],
    ['/about', 'about'],
    ['/a/b/', 'a/b/'],
    ['/_app/%5B...slug%5D.js', '_app/[...slug].js'],
    ['/_app/[...slug].js', '_app/[...slug].js'],
    ['/a%20b', 'a b'],
    ['/a%CC%88', '\u00e4'],
    ['/..a/b..', '..a/b..'],
  ])('%s is %j', (target, path) => {
    expect(readRequestPath(target)).toBe(path)
  })

  test.each([
    '/..',
    '/../x',
    '/a/../b',
    '/%2e%2e/x',
    '/a%2f..%2fb',
    '/a%2Fb',
    '/a\\b',
    '/a%5cb',
    '/%00',
    '/a%0ab',
    '//evil.example',
    '/a//b',
    '/./a',
    '/%',
    '/%ff',
    'http://x/a',
    '*',
    '',
  ])('%s is none', (target) => {
    expect(readRequestPath(target)).toBeUndefined()
  })
})

describe('site requests › hashed names', () => {
  test.each([
    'assets/index-BfX3k2aZ.js',
    'assets/index-BfX3k2aZ.css.map',
    'main.3f2a9b1c.css',
    'static/js/main.787ab3f0deadbeef1234.chunk.js'.replace('.chunk', ''),
    'chunk-X7DQ2LGM.js',
    'font.0a1b2c3d.woff2',
  ])('%s never changes', (path) => {
    expect(isHashedName(path)).toBe(true)
  })

  test.each([
    'index.html',
    'about-3f2a9b1c.html',
    'app.js',
    'my-component.js',
    'jquery-3.7.1.min.js',
    'photo-20240131.jpg',
    'font-Regular8.woff2'.replace('8', ''),
    'logo-Standard.svg',
    'robots.txt',
  ])('%s may change', (path) => {
    expect(isHashedName(path)).toBe(false)
  })
})
