import { expect, test } from 'vitest'
import { pathsOf } from './site-purge.ts'

test.each([
  ['index.html', ['/index.html', '/']],
  ['docs/index.html', ['/docs/index.html', '/docs/', '/docs']],
  ['about.html', ['/about.html', '/about']],
  ['myindex.html', ['/myindex.html', '/myindex']],
  ['a b/ä.txt', ['/a%20b/%C3%A4.txt']],
])('sites › copies of the file %s are at %j', (path, addresses) => {
  expect(pathsOf(path)).toEqual(addresses)
})
