import { describe, expect, test } from 'vitest'
import { readPublicUrls, splitList } from './purge.ts'

describe('CDN purge › addresses', () => {
  test('are trimmed and deduplicated, in order', () => {
    const urls = [' https://a.example/x ', 'http://b.example:8080/?q=%20#f', 'https://a.example/x']
    expect(readPublicUrls(urls)).toEqual(['https://a.example/x', 'http://b.example:8080/?q=%20#f'])
    expect(readPublicUrls(['HTTPS://A.example', 'https://größe.example/ä'])).toEqual([
      'HTTPS://A.example',
      'https://größe.example/ä',
    ])
  })

  test.each([
    '',
    ' ',
    '/path',
    'a.example/x',
    '//a.example/x',
    'ftp://a.example/x',
    'https:a.example/x',
    'https:/a.example/x',
    'https:///x',
    'https://',
    'https://?x',
    'https://a b.example/',
    'https://a.example/a b',
    'https://a.example/\nx',
    'https://a.example/\0',
    'https://a.example\\x',
    'https://a.example/\ud800',
    'https://user:secret@a.example/',
    'https://a.example:99999/',
    'javascript:alert(1)',
  ])('rejects %j', (url) => {
    expect(readPublicUrls(['https://a.example/x', url])).toBeUndefined()
  })
})

test('CDN purge › splits a list into parts of the given size', () => {
  expect(splitList([1, 2, 3, 4, 5], 2)).toEqual([[1, 2], [3, 4], [5]])
  expect(splitList([1, 2], 2)).toEqual([[1, 2]])
  expect(splitList([1, 2], Number.MAX_SAFE_INTEGER)).toEqual([[1, 2]])
  expect(splitList([], 2)).toEqual([])
})
