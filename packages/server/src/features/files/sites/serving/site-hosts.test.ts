import { expect, test } from 'vitest'
import type { DomainRoute } from './serving-queries.ts'
import { createSiteHosts } from './site-hosts.ts'

function createHosts(baseDomain: string) {
  const domains: DomainRoute[] = [
    { hostname: 'shop.example.com', slug: 'shop', redirectMode: null, isActive: true },
    { hostname: 'new.example.com', slug: 'moved', redirectMode: 'permanent', isActive: true },
    { hostname: 'soon.example.com', slug: 'later', redirectMode: 'temporary', isActive: true },
    { hostname: 'bare.example.com', slug: null, redirectMode: null, isActive: true },
    { hostname: 'old.example.com', slug: null, redirectMode: null, isActive: false },
    { hostname: 'api.localhost', slug: 'shop', redirectMode: null, isActive: true },
  ]
  const sites = {
    has: (slug: string) => ['blog', 'shop'].includes(slug),
    findDomain: (hostname: string) => domains.find((domain) => domain.hostname === hostname),
    domainOf: (slug: string) => domains.find((domain) => domain.slug === slug && domain.isActive),
  }
  return createSiteHosts(sites, baseDomain, 'api.localhost')
}

const blog = { kind: 'site', slug: 'blog' }

test.each([
  ['blog.localhost', 'localhost', blog],
  ['Blog.LocalHost:8090', 'localhost', blog],
  ['blog.localhost.:8090', 'localhost', blog],
  ['blog.sites.example.com', 'sites.example.com', blog],
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
  ['shop.example.com', 'localhost', { kind: 'site', slug: 'shop' }],
  ['SHOP.example.com.:443', '', { kind: 'site', slug: 'shop' }],
  ['shop.example.com.evil.example', 'localhost', undefined],
  ['x.shop.example.com', 'localhost', undefined],
  ['shop.localhost', 'localhost', { kind: 'site', slug: 'shop' }],
  [
    'moved.localhost',
    'localhost',
    { kind: 'moved', slug: 'moved', hostname: 'new.example.com', status: 308 },
  ],
  [
    'later.localhost',
    'localhost',
    { kind: 'moved', slug: 'later', hostname: 'soon.example.com', status: 307 },
  ],
  ['new.example.com', 'localhost', { kind: 'site', slug: 'moved' }],
  ['bare.example.com', 'localhost', { kind: 'site', slug: undefined }],
  ['old.example.com', 'localhost', { kind: 'inactive' }],
])('sites › the host %s with the parent domain %j stands for %j', (host, base, target) => {
  expect(createHosts(base).find(host)).toEqual(target)
})

test.each([
  ['shop.example.com', true],
  ['blog.localhost', true],
  ['moved.localhost', true],
  ['unknown.localhost', false],
  ['bare.example.com', false],
  ['old.example.com', false],
  ['api.localhost', false],
  ['example.com', false],
])('sites › a certificate for %s: %s', (name, isWanted) => {
  expect(createHosts('localhost').hasSite(name)).toBe(isWanted)
})

test('sites › names of the server and below the parent domain are no custom domains', () => {
  const hosts = createHosts('sites.example.com')
  const names = ['api.localhost', 'sites.example.com', 'a.sites.example.com', 'b.a.sites.example.com']
  expect(names.map(hosts.isOwn)).toEqual([true, true, true, true])
  expect(hosts.isOwn('evilsites.example.com')).toBe(false)
  expect(createHosts('').isOwn('shop.example.com')).toBe(false)
})
