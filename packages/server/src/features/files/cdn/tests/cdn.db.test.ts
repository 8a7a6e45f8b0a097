import { createHmac } from 'node:crypto'
import { AwsV4Signer } from 'aws4fetch'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  json,
  type ReceivedRequest,
  type SmsStandIn,
  startSmsStandIn,
  text,
} from '../../../../../test/sms-stand-in.ts'
import {
  createTestApp,
  createTestDatabase,
  envelope,
  type TestApp,
  type TestDatabase,
  type TestResponse,
  userToken,
} from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

const path = '/api/admin/storage/cdn/purge'
const requestId = 'cdn-test-request'
const accepted = json(200, { success: true, errors: [], messages: [], result: { id: 'z' } })

let database: TestDatabase
let standIn: SmsStandIn
/** Two nodes that use a stand-in for Cloudflare. */
let nodes: readonly [TestApp, TestApp]

const cloudflare = (): Record<string, string> => ({
  'storage.cdn.provider': 'cloudflare',
  'storage.cdn.cloudflare.zone_id': 'zone/1',
  'storage.cdn.cloudflare.api_token': 'cf-secret-token',
  'storage.cdn.cloudflare.base_url': standIn.url,
})

beforeAll(async () => {
  database = await createTestDatabase()
  standIn = await startSmsStandIn()
  const config = cloudflare()
  nodes = [await createTestApp({ database, config }), await createTestApp({ database, config })]
})
afterAll(async () => {
  for (const node of nodes) await node[Symbol.asyncDispose]()
  await standIn[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})
beforeEach(async () => {
  await database.sql(`delete from basalt.attempts where key like 'cdn_purge_all:%'`)
  await database.sql(`delete from basalt.jobs where type = 'cdn_purge'`)
  standIn.answerWith(accepted)
})
// The next test would count requests that this one has not waited for.
afterEach(async () => {
  await waitFor('the end of all jobs', async () => {
    const pending = `select 1 from basalt.jobs where type = 'cdn_purge' and state in ('queued', 'running')`
    return (await database.sql(pending)).length === 0
  })
})

async function purge(body: unknown, node: TestApp = nodes[0]): Promise<TestResponse> {
  const headers = { 'x-request-id': requestId }
  return await node.request('POST', path, { token: await node.adminToken(), body, headers })
}

/** Runs work on a separate app that uses the stand-in. */
async function withProvider(
  config: Readonly<Record<string, string>>,
  work: (app: TestApp) => Promise<void>,
): Promise<void> {
  await using app = await createTestApp({ config })
  await work(app)
}

function expectError(response: TestResponse, status: number, message: string, error: string) {
  expect([response.status, envelope(response)]).toEqual([status, { code: status, message, error }])
}

async function untilRequests(count: number): Promise<readonly ReceivedRequest[]> {
  return await waitFor(`${count} requests`, () => standIn.requests.length >= count && standIn.requests)
}

interface Job extends Record<string, unknown> {
  readonly state: string
  readonly attempts: number
  readonly last_error: string | null
}

/** Waits for the state of the only job. */
async function untilJob(
  isExpected: (job: Job) => boolean,
  app: Pick<TestApp, 'sql'> = nodes[0],
): Promise<Job> {
  return await waitFor('the job', async () => {
    const [job] = await app.sql<Job>(
      `select state, attempts, last_error from basalt.jobs where type = 'cdn_purge'`,
    )
    return job !== undefined && isExpected(job) && job
  })
}

const urlOf = (index: number) => `https://www.example.com/${index}`

describe('POST /api/admin/storage/cdn/purge', () => {
  test('returns 202 for addresses, sends them once and writes the audit log', async () => {
    await database.sql(`delete from basalt.audit where action like 'cdn.%'`)
    const urls = [
      ' https://www.example.com/a.css ',
      'https://www.example.com/a.css',
      'https://www.example.com/b?c=1',
    ]
    const response = await purge({ urls })
    expect([response.status, response.json]).toEqual([
      202,
      { operation: 'purge_urls', submitted: 2, provider: 'cloudflare' },
    ])
    await untilJob(({ state }) => state === 'completed')
    const { method, path: requested, headers, body } = standIn.onlyRequest()
    expect([method, requested]).toEqual(['POST', '/client/v4/zones/zone%2F1/purge_cache'])
    expect(headers.authorization).toBe('Bearer cf-secret-token')
    expect(headers['content-type']).toBe('application/json')
    expect(JSON.parse(body)).toEqual({
      files: ['https://www.example.com/a.css', 'https://www.example.com/b?c=1'],
    })
    expect(
      await database.sql(
        `select actor, action, target, detail, address, request_id from basalt.audit where action like 'cdn.%'`,
      ),
    ).toEqual([
      {
        actor: 'admin',
        action: 'cdn.purge_urls',
        target: null,
        detail: { provider: 'cloudflare', submitted: 2 },
        address: '127.0.0.1',
        request_id: requestId,
      },
    ])
  })

  test('returns 202 for purge_all and sends it', async () => {
    const response = await purge({ purge_all: true, urls: [] })
    expect([response.status, response.json]).toEqual([
      202,
      { operation: 'purge_all', submitted: 1, provider: 'cloudflare' },
    ])
    const [request] = await untilRequests(1)
    expect(JSON.parse(request?.body ?? '')).toEqual({ purge_everything: true })
  })

  test.each([
    ['nothing', {}],
    ['no addresses', { urls: [] }],
    ['purge_all false', { purge_all: false }],
    ['neither', { urls: [], purge_all: false }],
    ['both', { urls: [urlOf(1)], purge_all: true }],
  ])('rejects %s', async (_name, body) => {
    expectError(
      await purge(body),
      400,
      'choose exactly one mode: either urls or purge_all',
      'invalid_purge_mode',
    )
  })

  test.each([
    ['a path', ['/a.css']],
    ['an empty text', [urlOf(1), '  ']],
    ['another scheme', ['ftp://example.com/a']],
    ['a password', ['https://a:b@example.com/']],
    ['NUL', ['https://example.com/\0']],
    ['half a character', ['https://example.com/\ud800']],
  ])('rejects %s as an address', async (_name, urls) => {
    expectError(await purge({ urls }), 400, 'urls must contain absolute public URLs', 'invalid_purge_urls')
  })

  test.each([
    ['an unknown member', { urls: [urlOf(1)], everything: true }, 'everything: is not a known member'],
    ['a text for a list', { urls: urlOf(1) }, 'urls: must be array'],
    ['a number among the addresses', { urls: [1] }, 'urls.0: must be string'],
    ['a text for true', { purge_all: 'true' }, 'purge_all: must be boolean'],
    ['a list for the body', [], 'body must be object'],
    ['no body', undefined, 'body must be object'],
  ])('rejects %s and names it', async (_name, body, message) => {
    expectError(await purge(body), 400, message, 'invalid_request')
  })

  test('rejects invalid JSON, large bodies and users', async () => {
    expectError(await purge('{'), 400, 'invalid JSON body', 'invalid_json')
    const large = await purge({ urls: [`https://example.com/${'a'.repeat(1_100_000)}`] })
    expectError(large, 413, 'the request body is larger than 1048576 bytes', 'body_too_large')
    const user = userToken({ sub: '0190a000-0000-7000-8000-000000000001' })
    for (const token of [undefined, user]) {
      const response = await nodes[0].request('POST', path, { token, body: { purge_all: true } })
      expectError(response, 401, 'admin authentication required', 'admin_required')
    }
    expect(standIn.requests).toEqual([])
    expect(await database.sql(`select 1 from basalt.jobs where type = 'cdn_purge'`)).toEqual([])
  })
})

describe('CDN purge › purge_all', () => {
  test('is limited to once a minute per address, for ten at once on two nodes', async () => {
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_, index) => purge({ purge_all: true }, nodes[index % 2])),
    )
    const rejected = responses.filter(({ status }) => status !== 202)
    expect(rejected).toHaveLength(9)
    for (const response of rejected) {
      expectError(response, 429, 'cdn purge_all rate limit exceeded', 'purge_all_limit_exceeded')
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(Number(response.headers.get('retry-after'))).toBeLessThanOrEqual(60)
    }
    await untilJob(({ state }) => state === 'completed')
    expect(standIn.requests).toHaveLength(1)
    // Addresses have no such limit, and a rejected request does not count.
    expect((await purge({ urls: [urlOf(1)] })).status).toBe(202)
    await database.sql(`update basalt.attempts set window_ends_at = now() where key like 'cdn_purge_all:%'`)
    expect((await purge({ purge_all: false })).status).toBe(400)
    expect((await purge({ purge_all: true })).status).toBe(202)
  })

  test('does not count if it could not be recorded', async () => {
    await database.sql(`
      create function reject() returns trigger language plpgsql as $$ begin raise 'no'; end $$;
      create trigger reject before insert on basalt.audit for each row
        when (new.action = 'cdn.purge_all') execute function reject()`)
    try {
      expect((await purge({ purge_all: true })).status).not.toBe(202)
    } finally {
      await database.sql(`drop trigger reject on basalt.audit`)
    }
    expect(await database.sql(`select 1 from basalt.jobs where type = 'cdn_purge'`)).toEqual([])
    expect((await purge({ purge_all: true })).status).toBe(202)
  })
})

describe('CDN purge › Cloudflare', () => {
  test('receives 30 addresses per request', async () => {
    const urls = Array.from({ length: 61 }, (_, index) => urlOf(index))
    expect((await purge({ urls })).json).toEqual({
      operation: 'purge_urls',
      submitted: 61,
      provider: 'cloudflare',
    })
    const requests = await untilRequests(3)
    const batches = requests.map(({ body }): string[] => JSON.parse(body).files)
    expect(batches.map(({ length }) => length).toSorted()).toEqual([1, 30, 30])
    expect(batches.flat().toSorted()).toEqual(urls.toSorted())
  })

  test.each([
    ['429', json(429, { success: false })],
    ['503', text(503, 'unavailable')],
    ['a success status without success', json(200, { success: false })],
    ['a proxy page', text(200, '<html>', 'text/html')],
  ])('gets retries after %s', async (_name, failure) => {
    let count = 0
    standIn.answerWith((response, request) => {
      count += 1
      return count <= 2 ? failure(response, request) : accepted(response, request)
    })
    await purge({ urls: [urlOf(1)] })
    expect(await untilJob(({ state }) => state === 'completed')).toMatchObject({ attempts: 1 })
    expect(new Set(standIn.requests.map(({ body }) => body))).toEqual(
      new Set([JSON.stringify({ files: [urlOf(1)] })]),
    )
    expect(standIn.requests).toHaveLength(3)
  })

  test('gets a retry after a broken connection', async () => {
    let count = 0
    standIn.answerWith((response, request) => {
      count += 1
      if (count === 1) response.destroy()
      else accepted(response, request)
    })
    await purge({ urls: [urlOf(1)] })
    await untilJob(({ state }) => state === 'completed')
    expect(standIn.requests).toHaveLength(2)
  })

  test('gets four requests before the job is queued again', async () => {
    standIn.answerWith(text(502, 'cf-secret-token'))
    await purge({ urls: [urlOf(1)] })
    expect(await untilJob(({ state, attempts }) => state === 'queued' && attempts === 1)).toEqual({
      state: 'queued',
      attempts: 1,
      last_error: 'cloudflare did not take the purge: HTTP 502',
    })
    expect(standIn.requests).toHaveLength(4)
    // Another node claims the job as soon as it is due.
    standIn.answerWith(accepted)
    await database.sql(`update basalt.jobs set run_at = now() where type = 'cdn_purge'`)
    expect(await untilJob(({ state }) => state === 'completed')).toMatchObject({ attempts: 2 })
  })

  test('gets one request if it refuses, and the job records the reason without a secret', async () => {
    standIn.answerWith(json(403, { errors: [{ code: 9109, message: 'cf-secret-token is invalid' }] }))
    await purge({ urls: [urlOf(1)] })
    expect(await untilJob(({ state }) => state === 'failed')).toEqual({
      state: 'failed',
      attempts: 1,
      last_error: 'cloudflare refused the purge: HTTP 403, code 9109',
    })
    standIn.onlyRequest()
    expect(nodes.flatMap(({ log }) => log).join()).not.toContain('cf-secret-token')
  })
})

describe('CDN purge › job', () => {
  test('requires addresses from administrators', async () => {
    const add = async (payload: object) =>
      await nodes[0].request('POST', '/api/admin/jobs', {
        token: await nodes[0].adminToken(),
        body: { type: 'cdn_purge', payload },
      })
    for (const [payload, problem] of [
      [{}, 'operation must be purge_urls or purge_all'],
      [{ operation: 'purge_urls' }, 'urls must contain absolute public URLs'],
      [{ operation: 'purge_urls', urls: ['/x'] }, 'urls must contain absolute public URLs'],
    ] as const) {
      const response = await add(payload)
      expect([response.status, response.json.message]).toEqual([400, expect.stringContaining(problem)])
    }
    expect((await add({ operation: 'purge_urls', urls: [urlOf(7)] })).status).toBe(201)
    await untilRequests(1)
    expect(JSON.parse(standIn.onlyRequest().body)).toEqual({ files: [urlOf(7)] })
  })

  test('waits in the database until a node works on it', async () => {
    await withProvider({ ...cloudflare(), 'jobs.enabled': 'false' }, async (idle) => {
      expect((await purge({ urls: [urlOf(1), urlOf(2)] }, idle)).status).toBe(202)
      expect(await untilJob(() => true, idle)).toMatchObject({ state: 'queued', attempts: 0 })
      expect(standIn.requests).toEqual([])
      await using worker = await createTestApp({ database: idle.database, config: cloudflare() })
      await untilJob(({ state }) => state === 'completed', worker)
      expect(JSON.parse(standIn.onlyRequest().body)).toEqual({ files: [urlOf(1), urlOf(2)] })
    })
  })
})

test('CDN purge › without a network › returns 202, writes the audit log and adds no job', async () => {
  await withProvider({}, async (app) => {
    expect((await purge({ urls: [urlOf(1)] }, app)).json).toEqual({
      operation: 'purge_urls',
      submitted: 1,
      provider: 'nop',
    })
    expect((await purge({ purge_all: true }, app)).json).toEqual({
      operation: 'purge_all',
      submitted: 1,
      provider: 'nop',
    })
    expect(await app.sql(`select 1 from basalt.jobs where type = 'cdn_purge'`)).toEqual([])
    expect(await app.sql(`select action from basalt.audit where action like 'cdn.%' order by id`)).toEqual([
      { action: 'cdn.purge_urls' },
      { action: 'cdn.purge_all' },
    ])
  })
})

test('CDN purge › webhook › receives all addresses in one request, signed over its body', async () => {
  const settings = {
    'storage.cdn.provider': 'webhook',
    'storage.cdn.webhook.endpoint': `${standIn.url}/purge`,
    'storage.cdn.webhook.signing_secret': 'hook-secret',
  }
  await withProvider(settings, async (app) => {
    const urls = Array.from({ length: 3001 }, (_, index) => urlOf(index))
    let count = 0
    standIn.answerWith((response) => {
      count += 1
      response.writeHead(count === 1 ? 500 : 204).end()
    })
    expect((await purge({ urls }, app)).json).toEqual({
      operation: 'purge_urls',
      submitted: 3001,
      provider: 'webhook',
    })
    const [first, second] = await untilRequests(2)
    expect(JSON.parse(first?.body ?? '')).toEqual({ operation: 'purge_urls', public_urls: urls })
    expect(first?.path).toBe('/purge')
    const signature = createHmac('sha256', 'hook-secret')
      .update(first?.body ?? '')
      .digest('hex')
    expect(first?.headers['x-cdn-webhook-signature']).toBe(signature)
    expect(first?.headers['webhook-id']).toMatch(/^[\w-]+$/)
    const {
      'webhook-id': sentId,
      'webhook-timestamp': time,
      'webhook-signature': standard,
    } = first?.headers ?? {}
    const expected = createHmac('sha256', 'hook-secret').update(`${sentId}.${time}.${first?.body}`)
    expect(standard).toBe(`v1,${expected.digest('base64')}`)
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])

    standIn.answerWith(text(200, ''))
    await purge({ purge_all: true }, app)
    await untilRequests(1)
    expect(JSON.parse(standIn.onlyRequest().body)).toEqual({ operation: 'purge_all', public_urls: [] })
  })
})

describe('CDN purge › CloudFront', () => {
  const settings = (): Record<string, string> => ({
    'storage.cdn.provider': 'cloudfront',
    'storage.cdn.cloudfront.distribution_id': 'EDFDVBD6EXAMPLE',
    'storage.cdn.cloudfront.access_key_id': 'AKIDEXAMPLE',
    'storage.cdn.cloudfront.secret_access_key': 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
    'storage.cdn.cloudfront.base_url': standIn.url,
  })

  /** Computes the signature of a request from its own parts. */
  async function signatureOf({ path: requested, headers, body }: ReceivedRequest): Promise<string | null> {
    const signer = new AwsV4Signer({
      method: 'POST',
      url: `${standIn.url}${requested}`,
      headers: { 'content-type': String(headers['content-type']) },
      body,
      accessKeyId: 'AKIDEXAMPLE',
      secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
      region: 'us-east-1',
      service: 'cloudfront',
      datetime: String(headers['x-amz-date']),
    })
    return (await signer.sign()).headers.get('authorization')
  }

  test('receives distinct paths in a signed request, with the same reference in every attempt', async () => {
    let count = 0
    standIn.answerWith((response, request) => {
      count += 1
      const throttled =
        '<ErrorResponse><Error><Code>TooManyInvalidationsInProgress</Code></Error></ErrorResponse>'
      return count === 1
        ? text(400, throttled)(response, request)
        : text(201, '<Invalidation/>')(response, request)
    })
    await withProvider(settings(), async (app) => {
      const urls = ['https://a.example/x?a=1&b=<', 'https://b.example/x?a=1&b=<', 'https://a.example']
      expect((await purge({ urls }, app)).json).toEqual({
        operation: 'purge_urls',
        submitted: 3,
        provider: 'cloudfront',
      })
      const [first, second] = await untilRequests(2)
      if (first === undefined || second === undefined) throw new Error('two requests were waited for')
      expect(first.path).toBe('/2020-05-31/distribution/EDFDVBD6EXAMPLE/invalidation')
      const reference = /<CallerReference>([\w-]+)<\/CallerReference>/.exec(first.body)?.[1]
      expect(first.body).toBe(
        '<?xml version="1.0" encoding="UTF-8"?>' +
          '<InvalidationBatch xmlns="http://cloudfront.amazonaws.com/doc/2020-05-31/"><Paths><Quantity>2</Quantity>' +
          '<Items><Path>/x?a=1&amp;b=%3C</Path><Path>/</Path></Items></Paths>' +
          `<CallerReference>${reference}</CallerReference></InvalidationBatch>`,
      )
      expect(second.body).toBe(first.body)
      expect(first.headers.authorization).toContain('/us-east-1/cloudfront/aws4_request')
      expect(first.headers.authorization).toBe(await signatureOf(first))
      await untilJob(({ state }) => state === 'completed', app)
    })
  })

  test('receives 3,000 paths per request, and /* for purge_all', async () => {
    standIn.answerWith(text(201, '<Invalidation/>'))
    await withProvider(settings(), async (app) => {
      await purge({ urls: Array.from({ length: 3001 }, (_, index) => urlOf(index)) }, app)
      const requests = await untilRequests(2)
      const quantities = requests.map(({ body }) => /<Quantity>(\d+)</.exec(body)?.[1])
      expect(quantities.toSorted()).toEqual(['1', '3000'])
      standIn.answerWith(text(201, '<Invalidation/>'))
      await purge({ purge_all: true }, app)
      const [all] = await untilRequests(1)
      expect(all?.body).toContain('<Quantity>1</Quantity><Items><Path>/*</Path></Items>')
    })
  })
})
