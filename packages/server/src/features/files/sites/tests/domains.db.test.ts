import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  createTestApp,
  createTestDatabase,
  envelope,
  type TestApp,
  type TestDatabase,
  type TestResponse,
} from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import type { Domain } from '../domains/domain.ts'
import { createSite, deployFiles, getRaw, requestSites } from './site-requests.ts'

let database: TestDatabase
let app: TestApp
let second: TestApp

const unknownId = '00000000-0000-4000-8000-000000000000'
const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/)

/** Responses of the name servers by name: the records, or an error code. */
const zone = new Map<string, string[][] | string>()
const questions: string[] = []

async function resolveTxt(name: string): Promise<string[][]> {
  questions.push(name)
  const found = zone.get(name) ?? 'ENOTFOUND'
  if (typeof found === 'string') throw Object.assign(new Error(found), { code: found })
  return found
}

beforeAll(async () => {
  database = await createTestDatabase()
  app = await createTestApp({ database, resolveTxt })
  second = await createTestApp({ database, resolveTxt })
})
afterAll(async () => {
  await second[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})
beforeEach(() => {
  zone.clear()
})

async function call(method: string, path = '', body?: unknown, node = app): Promise<TestResponse> {
  return await node.request(method, `/api/admin/domains${path}`, { token: await node.adminToken(), body })
}

function expectError(response: TestResponse, code: number, message: string, error: string): void {
  expect([response.status, envelope(response)]).toEqual([code, { code, message, error }])
}

let count = 0

async function createDomain(more: object = {}): Promise<Domain> {
  count += 1
  return (await call('POST', '', { hostname: `shop-${count}.example.com`, ...more })).json
}

function publish({ verification: { name, value } }: Domain): void {
  zone.set(name, [['v=spf1 -all'], [value.slice(0, 10), value.slice(10)]])
}

async function createVerified(more: object = {}): Promise<Domain> {
  const domain = await createDomain(more)
  publish(domain)
  return (await call('POST', `/${domain.id}/verify`)).json
}

async function statusOf({ id }: Domain): Promise<string> {
  return (await call('GET', `/${id}`)).json.status
}

async function untilStatus(host: string, status: number, path = '/'): Promise<void> {
  for (const node of [app, second]) {
    await waitFor(`${host} to answer ${status}`, async () => {
      return (await getRaw(node, path, { host })).status === status
    })
  }
}

describe('site domains › administration', () => {
  test('registers, returns, lists and deletes a domain, and audits each change', async () => {
    await app.sql(`delete from basalt.audit where action like 'domains.%'`)
    const created = await call('POST', '', { hostname: ' Bücher.Example. ' })
    const domain = {
      id: uuid,
      hostname: 'xn--bcher-kva.example',
      environment: 'production',
      status: 'pending_verification',
      verification: {
        type: 'TXT',
        name: '_basalt.xn--bcher-kva.example',
        value: expect.stringMatching(/^basalt-verification=[\w-]{32}$/),
      },
      createdAt: timestamp,
      updatedAt: timestamp,
    }
    expect([created.status, created.json]).toEqual([201, domain])
    const { id } = created.json
    expect((await call('GET', `/${id}`)).json).toEqual(created.json)
    expect((await call('GET', '?perPage=1')).json).toEqual({
      items: [created.json],
      page: 1,
      perPage: 1,
      totalItems: 1,
      totalPages: 1,
    })
    publish(created.json)
    await call('POST', `/${id}/verify`)
    const deleted = await call('DELETE', `/${id}`)
    expect([deleted.status, deleted.text]).toEqual([204, ''])
    expect(await statusOf(created.json)).toBe('tombstoned')
    expectError(await call('DELETE', `/${id}`), 404, 'domain not found', 'domain_not_found')
    expectError(await call('POST', `/${id}/verify`), 404, 'domain not found', 'domain_not_found')
    const rows = await app.sql('select action, target from basalt.audit where target = $1 order by id', [id])
    expect(rows).toEqual(
      ['create', 'verify', 'delete'].map((name) => ({ action: `domains.${name}`, target: id })),
    )
    // Free again, with another token.
    const again = await call('POST', '', {
      hostname: 'bücher.example',
      environment: 'staging',
      redirectMode: 'temporary',
    })
    expect(again.json).toMatchObject({ environment: 'staging', redirectMode: 'temporary' })
    expect(again.json.verification.value).not.toBe(created.json.verification.value)
  })

  test.each([
    [{}, 'hostname is required', 'hostname_required'],
    [{ hostname: ' ' }, 'hostname is required', 'hostname_required'],
    [
      { hostname: 'https://a.example' },
      'hostname must be a domain name, such as shop.example.com',
      'invalid_hostname',
    ],
    [
      { hostname: '127.0.0.1' },
      'hostname must be a domain name, such as shop.example.com',
      'invalid_hostname',
    ],
    [
      { hostname: 'a.example', environment: 'a b' },
      'environment must have at most 63 letters, digits, hyphens and underscores',
      'invalid_environment',
    ],
    [
      { hostname: 'a.example', redirectMode: 'always' },
      'redirectMode must be permanent or temporary',
      'invalid_redirect_mode',
    ],
  ])('creating with %j is a 400', async (body, message, error) => {
    expectError(await call('POST', '', body), 400, message, error)
  })

  test('rejects a host of the server', async () => {
    await using own = await createTestApp({
      database,
      config: {
        'server.public_base_url': 'https://api.example.com',
        'sites.base_domain': 'sites.example.com',
      },
    })
    const message = 'hostname must not be that of this server or below the parent domain of sites'
    for (const hostname of ['API.example.com', 'sites.example.com', 'blog.sites.example.com']) {
      expectError(await call('POST', '', { hostname }, own), 400, message, 'own_hostname')
    }
  })

  test('accepts one of ten concurrent registrations of one name on two nodes', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        call('POST', '', { hostname: 'same.example.com' }, index % 2 === 0 ? app : second),
      ),
    )
    const refused = answers.filter(({ status }) => status !== 201)
    expect(refused).toHaveLength(9)
    for (const each of refused) expectError(each, 409, 'hostname already registered', 'hostname_taken')
  })

  test('ids are checked, and what is not there is a 404', async () => {
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/verify'],
    ] as const) {
      expectError(await call(method, `/x${path}`), 400, 'invalid domain id format', 'invalid_domain_id')
      expectError(await call(method, `/${unknownId}${path}`), 404, 'domain not found', 'domain_not_found')
    }
  })
})

describe('site domains › verification', () => {
  test('fails without the record, succeeds with it, and stays when it is requested again', async () => {
    const domain = await createDomain()
    const { name } = domain.verification
    const failed = await call('POST', `/${domain.id}/verify`)
    expect([failed.status, failed.json]).toEqual([
      200,
      {
        ...domain,
        status: 'verification_failed',
        lastError: `${name} has no TXT record`,
        checkedAt: timestamp,
        updatedAt: timestamp,
      },
    ])
    expect(questions.at(-1)).toBe(`_basalt.${domain.hostname}`)
    zone.set(name, [['basalt-verification=of-another']])
    expect((await call('POST', `/${domain.id}/verify`)).json).toMatchObject({
      status: 'verification_failed',
      lastError: `no TXT record of ${name} is the expected value`,
    })
    publish(domain)
    const verified = {
      ...domain,
      status: 'verified',
      verifiedAt: timestamp,
      checkedAt: timestamp,
      updatedAt: timestamp,
    }
    expect((await call('POST', `/${domain.id}/verify`)).json).toEqual(verified)
    zone.clear()
    expect((await call('POST', `/${domain.id}/verify`)).json).toMatchObject({ status: 'verified' })
  })

  test('changes only the reported problem when the name servers do not respond', async () => {
    const domain = await createDomain()
    const { name } = domain.verification
    zone.set(name, 'ESERVFAIL')
    expect((await call('POST', `/${domain.id}/verify`)).json).toMatchObject({
      status: 'pending_verification',
      lastError: `the name servers did not answer for ${name} (ESERVFAIL)`,
    })
  })

  test('is limited to ten in an hour for a domain, over both nodes', async () => {
    const domain = await createDomain()
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        call('POST', `/${domain.id}/verify`, undefined, index % 2 === 0 ? app : second),
      ),
    )
    const refused = answers.filter(({ status }) => status !== 200)
    expect(refused).toHaveLength(2)
    for (const each of refused) {
      expectError(each, 429, 'too many requests', 'too_many_requests')
      expect(Number(each.headers.get('retry-after'))).toBeGreaterThan(3000)
    }
    expect((await call('POST', `/${(await createDomain()).id}/verify`)).status).toBe(200)
  })

  test('lapses when three daily checks in a row miss the record, and returns with it', async () => {
    const domain = await createVerified()
    const kept = await createVerified()
    const check = async () => {
      const token = await app.adminToken()
      const { json } = await app.request('POST', '/api/admin/jobs', {
        token,
        body: { type: 'site_domain_reverify' },
      })
      await waitFor('the check', async () => {
        const job = await app.request('GET', `/api/admin/jobs/${json.id}`, { token })
        return job.json.state === 'completed'
      })
    }
    for (const [answer, status] of [
      [undefined, 'verified'],
      [undefined, 'verified'],
      ['ETIMEOUT', 'verified'],
      ['found', 'verified'],
      [undefined, 'verified'],
      ['ENODATA', 'verified'],
      [undefined, 'verification_lapsed'],
    ] as const) {
      publish(kept)
      zone.delete(domain.verification.name)
      if (answer === 'found') publish(domain)
      else if (answer !== undefined) zone.set(domain.verification.name, answer)
      await check()
      expect([answer, await statusOf(domain), await statusOf(kept)]).toEqual([answer, status, 'verified'])
    }
    publish(domain)
    expect((await call('POST', `/${domain.id}/verify`)).json.status).toBe('verified')
  })
})

describe('site domains › sites', () => {
  test('serves a site at its domain on both nodes, until the domain is deleted', async () => {
    const site = await createSite(app)
    await deployFiles(app, site, { 'index.html': 'at its domain' })
    const domain = await createDomain()
    const host = domain.hostname
    const attached = await requestSites(app, 'PUT', `/${site.id}`, { customDomainId: domain.id })
    expect(attached.json).toMatchObject({ customDomainId: domain.id, url: site.url })
    // Not before it is verified.
    expect((await getRaw(app, '/health', { host })).status).toBe(200)
    expect((await tlsCheck(host)).status).toBe(404)
    publish(domain)
    expect((await call('POST', `/${domain.id}/verify`)).json).toMatchObject({
      status: 'active',
      siteId: site.id,
    })
    // The API's has one.
    await untilStatus(host, 404, '/health')
    for (const node of [app, second]) {
      expect((await getRaw(node, '/', { host: host.toUpperCase() })).body.toString()).toBe('at its domain')
      expect((await getRaw(node, '/health', { host })).status).toBe(404)
      expect((await getRaw(node, '/', { host: new URL(site.url ?? '').host })).status).toBe(200)
    }
    expect((await requestSites(app, 'GET', `/${site.id}`)).json.url).toBe(
      `http://${host}:${new URL(app.url).port}`,
    )
    const allowed = await tlsCheck(host)
    expect([allowed.status, allowed.json]).toEqual([200, { domain: host }])
    expect(allowed.headers.get('cache-control')).toBe('no-store')
    await call('DELETE', `/${domain.id}`)
    await untilStatus(host, 421)
    for (const path of ['/', '/api/admin/status']) {
      const gone = await getRaw(second, path, { host })
      expect(JSON.parse(gone.body.toString())).toMatchObject({
        code: 421,
        message: 'hostname is no longer active',
        error: 'hostname_inactive',
      })
    }
    expectError(await tlsCheck(host), 404, 'domain not found', 'domain_not_found')
    expect((await requestSites(app, 'GET', `/${site.id}`)).json).not.toHaveProperty('customDomainId')
    // A new owner proves it first; then the tombstone no longer counts.
    const successor = (await call('POST', '', { hostname: host })).json
    expect((await getRaw(app, '/', { host })).status).toBe(421)
    publish(successor)
    await call('POST', `/${successor.id}/verify`)
    await untilStatus(host, 404)
    expect((await tlsCheck(host)).status).toBe(404)
    await requestSites(app, 'PUT', `/${site.id}`, { customDomainId: successor.id })
    await untilStatus(host, 200)
    await requestSites(app, 'PUT', `/${site.id}`, { clearCustomDomain: true })
    await untilStatus(host, 404)
    expect(await statusOf(successor)).toBe('verified')
  })

  test.each([
    ['permanent', 308],
    ['temporary', 307],
  ])('with the mode %s the address of the slug leads to the domain with %i', async (redirectMode, status) => {
    const domain = await createVerified({ redirectMode })
    const site = await createSite(app, { customDomainId: domain.id })
    await deployFiles(app, site, { 'index.html': '1' })
    const host = `${site.slug}.localhost`
    await untilStatus(host, status)
    const { headers } = await getRaw(app, '/a/b?c=d', { host })
    expect(headers.location).toBe(`http://${domain.hostname}:${new URL(app.url).port}/a/b?c=d`)
    expect((await tlsCheck(host)).status).toBe(200)
  })

  test('assigns a domain to one site, and rejects a domain that does not exist', async () => {
    const domain = await createDomain()
    const first = await createSite(app, { customDomainId: domain.id })
    const other = await createSite(app)
    const message = 'custom domain is already attached to another site'
    const body = { customDomainId: domain.id.toUpperCase() }
    expectError(await requestSites(app, 'PUT', `/${other.id}`, body), 409, message, 'domain_attached')
    const creation = { name: 'x', slug: 'third', ...body }
    expectError(await requestSites(app, 'POST', '', creation), 409, message, 'domain_attached')
    expect((await requestSites(app, 'PUT', `/${first.id}`, body)).status).toBe(200)
    const both = { customDomainId: domain.id, clearCustomDomain: true }
    expectError(
      await requestSites(app, 'PUT', `/${first.id}`, both),
      400,
      'customDomainId and clearCustomDomain are mutually exclusive',
      'domain_choice',
    )
    for (const [customDomainId, code, text, error] of [
      ['x', 400, 'invalid domain id format', 'invalid_domain_id'],
      [unknownId, 404, 'domain not found', 'domain_not_found'],
    ] as const) {
      expectError(await requestSites(app, 'PUT', `/${other.id}`, { customDomainId }), code, text, error)
    }
    await requestSites(app, 'DELETE', `/${first.id}`)
    expect((await requestSites(app, 'PUT', `/${other.id}`, body)).status).toBe(200)
    await call('DELETE', `/${domain.id}`)
    expectError(
      await requestSites(app, 'PUT', `/${other.id}`, body),
      404,
      'domain not found',
      'domain_not_found',
    )
  })

  test('gives the domain to one of ten sites that request it at once on two nodes', async () => {
    const domain = await createDomain()
    const sites = await Promise.all(Array.from({ length: 10 }, () => createSite(app)))
    const answers = await Promise.all(
      sites.map(({ id }, index) =>
        requestSites(index % 2 === 0 ? app : second, 'PUT', `/${id}`, { customDomainId: domain.id }),
      ),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(9).fill(409)])
  })

  test('removes a tombstone after a month', async () => {
    const domain = await createVerified()
    await call('DELETE', `/${domain.id}`)
    await untilStatus(domain.hostname, 421)
    await app.sql(`update basalt.site_domains set updated_at = now() - interval '31 days' where id = $1`, [
      domain.id,
    ])
    const token = await app.adminToken()
    await app.request('POST', '/api/admin/jobs', { token, body: { type: 'site_cleanup' } })
    await waitFor('the clean-up', async () => (await call('GET', `/${domain.id}`)).status === 404)
    await untilStatus(domain.hostname, 200, '/health')
  })
})

describe('site domains › TLS check of a proxy', () => {
  test('succeeds for sites below the parent domain that have a live deploy', async () => {
    const site = await createSite(app)
    const host = `${site.slug}.localhost`
    expectError(await tlsCheck(host), 404, 'domain not found', 'domain_not_found')
    await deployFiles(app, site, { 'index.html': '1' })
    await waitFor('the site', async () => (await tlsCheck(host)).status === 200)
    for (const other of ['localhost', '127.0.0.1', 'example.com', 'a.b.localhost', '']) {
      expectError(await tlsCheck(other), 404, 'domain not found', 'domain_not_found')
    }
    const missing = await app.request('GET', '/api/sites/tls-check')
    expect([missing.status, envelope(missing).error]).toEqual([400, 'invalid_request'])
  })
})

async function tlsCheck(host: string): Promise<TestResponse> {
  return await app.request('GET', `/api/sites/tls-check?domain=${encodeURIComponent(host)}`)
}
