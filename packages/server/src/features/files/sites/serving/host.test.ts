import { expect, test } from 'vitest'
import { slugOfHost } from './host.ts'

test.each([
  ['blog.localhost', 'localhost', 'blog'],
  ['Blog.LocalHost:8090', 'localhost', 'blog'],
  ['blog.localhost.:8090', 'localhost', 'blog'],
  ['blog.sites.example.com', 'sites.example.com', 'blog'],
  ['..localhost', 'localhost', undefined],
  ['a.b.localhost', 'localhost', undefined],
  ['localhost', 'localhost', undefined],
  ['API.localhost:8090', 'localhost', undefined],
  ['.localhost', 'localhost', undefined],
  ['evillocalhost', 'localhost', undefined],
  ['127.0.0.1:8090', 'localhost', undefined],
  ['[::1]:8090', 'localhost', undefined],
  ['blog.localhost', '', undefined],
  [undefined, 'localhost', undefined],
])('sites › the host %s below %s names the site %s', (host, base, slug) => {
  expect(slugOfHost(host, base, 'api.localhost')).toBe(slug)
})
