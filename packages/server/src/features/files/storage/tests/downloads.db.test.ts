import { readdir, readlink, rm } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApiKey } from '../../../../../test/api-keys.ts'
import { alice } from '../../../../../test/fixtures.ts'
import { createClient, requestToken } from '../../../../../test/oauth.ts'
import { exchangeRaw } from '../../../../../test/raw-http.ts'
import { createTestApp } from '../../../../../test/test-app.ts'
import {
  applyTemplate,
  createBucket,
  createStorageApps,
  exchange,
  get,
  newUser,
  problem,
  put,
  type StorageApps,
  untilWaiting,
} from './storage-requests.ts'

let apps: StorageApps
let admin: string

beforeAll(async () => {
  apps = await createStorageApps({
    'auth.oauth_provider.enabled': 'true',
    'storage.default_quota_mb': '1',
    'storage.upload_timeout': '2',
    'server.request_timeout': '1',
    'server.header_timeout': '1',
  })
  admin = await apps.app.adminToken()
})
afterAll(() => apps[Symbol.asyncDispose]())

describe('storage › downloads', () => {
  let path: string
  let etag: string
  beforeAll(async () => {
    const bucket = await createBucket(apps.app, { public: true })
    path = `/${bucket}/folder/Grüße.txt`
    const made = await put(apps.app, path, admin, '0123456789', {
      'content-type': 'text/plain; charset=utf-8',
    })
    etag = made.headers.get('etag') ?? ''
  })

  test('have a strong tag, a date, a name and what keeps a browser from running them', async () => {
    const { status, text, headers } = await get(apps.app, path)
    expect([status, text]).toEqual([200, '0123456789'])
    expect(
      Object.fromEntries([...headers].filter(([name]) => !['date', 'x-request-id'].includes(name))),
    ).toEqual({
      'accept-ranges': 'bytes',
      'cache-control': 'public, no-cache',
      connection: 'keep-alive',
      'content-disposition': `inline; filename="Gr__e.txt"; filename*=UTF-8''Gr%C3%BC%C3%9Fe.txt`,
      'content-length': '10',
      'content-security-policy':
        "default-src 'none'; img-src 'self' data:; media-src 'self'; style-src 'unsafe-inline'; sandbox",
      'content-type': 'text/plain; charset=utf-8',
      etag,
      'keep-alive': expect.any(String),
      'last-modified': expect.stringMatching(/ GMT$/),
      'referrer-policy': 'no-referrer',
      vary: 'Service-Worker',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    })
    expect(etag).toMatch(/^"[0-9a-f]{32}"$/)
    const head = await get(apps.second, path, undefined, {}, 'HEAD')
    expect([head.status, head.text, head.headers.get('content-length'), head.headers.get('etag')]).toEqual([
      200,
      '',
      '10',
      etag,
    ])
  })

  test.runIf(process.platform === 'linux')(
    'send one response: no file stays open, no failure is logged',
    async () => {
      for (let count = 0; count < 5; count += 1) await get(apps.app, path)
      const openFiles = async () => {
        const names = await readdir('/proc/self/fd')
        const targets = await Promise.all(
          names.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => '')),
        )
        return targets.filter((target) => target.startsWith(apps.directory))
      }
      await expect.poll(openFiles).toEqual([])
      expect(apps.app.log.filter((line) => line.includes('storage_unavailable'))).toEqual([])
    },
  )

  test.each<readonly [range: string, status: number, text: string, contentRange: string | null]>([
    ['bytes=0-3', 206, '0123', 'bytes 0-3/10'],
    ['bytes=8-', 206, '89', 'bytes 8-9/10'],
    ['bytes=-3', 206, '789', 'bytes 7-9/10'],
    ['bytes=5-100', 206, '56789', 'bytes 5-9/10'],
    ['bytes=5-99999999999999999999', 206, '56789', 'bytes 5-9/10'],
    ['bytes=0-0,5-6', 200, '0123456789', null],
    ['bytes=5-2', 200, '0123456789', null],
    ['chars=0-1', 200, '0123456789', null],
  ])('return for the range %s the status %i and %s', async (range, status, text, contentRange) => {
    const response = await get(apps.app, path, undefined, { range })
    expect([response.status, response.text, response.headers.get('content-range')]).toEqual([
      status,
      text,
      contentRange,
    ])
    expect(response.headers.get('content-length')).toBe(String(text.length))
  })

  test.each(['bytes=10-', 'bytes=100-200', 'bytes=99999999999999999999-', 'bytes=-0'])(
    'reject the range %s',
    async (range) => {
      const response = await get(apps.app, path, undefined, { range })
      expect(problem(response)).toEqual([416, 'range not satisfiable', 'range_not_satisfiable'])
      expect(response.headers.get('content-range')).toBe('bytes */10')
    },
  )

  test('follow the conditions of a request', async () => {
    const status = async (headers: Record<string, string>) =>
      (await get(apps.app, path, undefined, headers)).status
    const modified = (await get(apps.app, path)).headers.get('last-modified') ?? ''
    const earlier = new Date(Date.parse(modified) - 1000).toUTCString()
    expect(await status({ 'if-none-match': etag })).toBe(304)
    expect(await status({ 'if-none-match': `W/${etag}` })).toBe(304)
    expect(await status({ 'if-none-match': '"x"', 'if-modified-since': modified })).toBe(200)
    expect(await status({ 'if-modified-since': modified })).toBe(304)
    expect(await status({ 'if-modified-since': earlier })).toBe(200)
    for (const date of ['nonsense', '2099', '1']) {
      expect(await status({ 'if-modified-since': date })).toBe(200)
      expect(await status({ 'if-unmodified-since': date })).toBe(200)
    }
    expect(await status({ 'if-match': etag })).toBe(200)
    expect(await status({ 'if-match': `W/${etag}` })).toBe(412)
    expect(await status({ 'if-unmodified-since': earlier })).toBe(412)
    expect(await status({ 'if-unmodified-since': modified })).toBe(200)
    expect(await status({ range: 'bytes=0-1', 'if-range': etag })).toBe(206)
    expect(await status({ range: 'bytes=0-1', 'if-range': '"old"' })).toBe(200)
  })

  test('show nothing inline that a browser could run, whatever it was uploaded as', async () => {
    const bucket = await createBucket(apps.app, { public: true })
    const upload = async (name: string, type: string, body = '<script>1</script>') => {
      await put(apps.app, `/${bucket}/${name}`, admin, body, { 'content-type': type })
      const { headers } = await get(apps.app, `/${bucket}/${name}`)
      return [headers.get('content-type'), headers.get('content-disposition')]
    }
    expect(await upload('a.html', 'text/html')).toEqual(['text/html', 'attachment; filename="a.html"'])
    expect(await upload('a.svg', 'image/svg+xml')).toEqual(['image/svg+xml', 'attachment; filename="a.svg"'])
    expect(await upload('a.pdf', 'application/pdf', '%PDF-1.7')).toEqual([
      'application/pdf',
      'attachment; filename="a.pdf"',
    ])
    // A page that calls itself an image.
    expect(await upload('a.png', 'image/png')).toEqual([
      'application/octet-stream',
      'attachment; filename="a.png"',
    ])
    const worker = await get(apps.app, path, undefined, { 'service-worker': 'script' })
    expect(problem(worker)).toEqual([403, 'an object cannot be a service worker', 'worker_refused'])
    const saved = await get(apps.app, `${path}?download=a%0D%0Ab.txt`)
    expect(saved.headers.get('content-disposition')).toBe(
      `attachment; filename="a__b.txt"; filename*=UTF-8''a%0D%0Ab.txt`,
    )
  })

  test('return an empty body for an empty object', async () => {
    const bucket = await createBucket(apps.app, { public: true })
    expect((await put(apps.app, `/${bucket}/empty`, admin, '')).json.size).toBe(0)
    const { status, text, headers } = await get(apps.app, `/${bucket}/empty`)
    expect([status, text, headers.get('content-length')]).toEqual([200, '', '0'])
    const last = await get(apps.app, `/${bucket}/empty`, undefined, { range: 'bytes=-5' })
    expect([last.status, last.headers.get('content-range')]).toEqual([200, null])
    const first = await get(apps.app, `/${bucket}/empty`, undefined, { range: 'bytes=0-' })
    expect([first.status, first.headers.get('content-range')]).toEqual([416, 'bytes */0'])
  })

  test('fail with storage_unavailable and log it when the bytes of an object are lost', async () => {
    const bucket = await createBucket(apps.app, { public: true })
    await put(apps.app, `/${bucket}/lost`, admin, 'x')
    const [row] = await apps.app.sql<{ key: string }>('select key from basalt.objects where bucket = $1', [
      bucket,
    ])
    const key = row?.key ?? ''
    await rm(join(apps.directory, key.slice(0, 2), key))
    expect(problem(await get(apps.app, `/${bucket}/lost`))).toEqual([
      503,
      'storage is unavailable',
      'storage_unavailable',
    ])
    expect(apps.app.log.join()).toContain(`no bytes under the key ${key}`)
    await get(apps.app, `/${bucket}/lost`, admin, {}, 'DELETE')
  })

  test('reject a name with a slash at its end, as do uploads and deletions', async () => {
    const bucket = await createBucket(apps.app)
    expect((await put(apps.app, `/${bucket}/photos`, admin, 'one')).status).toBe(201)
    const refused = [400, 'invalid object name: it must have no empty segments', 'invalid_object_name']
    expect(problem(await put(apps.app, `/${bucket}/photos/`, admin, 'two'))).toEqual(refused)
    expect(problem(await exchange(apps.app, 'DELETE', `/${bucket}/photos/`, admin, undefined, {}))).toEqual(
      refused,
    )
    expect(problem(await get(apps.app, `/${bucket}/photos/?download=`, admin))).toEqual(refused)
    expect((await get(apps.app, `/${bucket}/photos?download=a/`, admin)).text).toBe('one')
  })
})

describe('storage › moving and copying', () => {
  const act = (path: string, token: string, body: object) =>
    exchange(apps.app, 'POST', path, token, JSON.stringify(body), { 'content-type': 'application/json' })

  test('keep content and type, and never replace an object', async () => {
    const [from, to] = [await createBucket(apps.app), await createBucket(apps.app, { public: true })]
    const made = await put(apps.app, `/${from}/a/b.txt`, admin, 'content', { 'content-type': 'text/plain' })
    const copied = await act(`/${from}/a/b.txt/copy`, admin, { bucket: to, name: 'c.txt' })
    expect([copied.status, copied.json.name, copied.json.contentType]).toEqual([201, 'c.txt', 'text/plain'])
    expect((await fetch(copied.json.url)).status).toBe(200)
    const exists = [409, 'object already exists', 'object_exists']
    expect(problem(await act(`/${from}/a/b.txt/copy`, admin, { bucket: to, name: 'c.txt' }))).toEqual(exists)
    expect(problem(await act(`/${from}/a/b.txt/move`, admin, { bucket: to, name: 'c.txt' }))).toEqual(exists)
    const moved = await act(`/${from}/a/b.txt/move`, admin, { bucket: to, name: 'd.txt' })
    expect([moved.status, moved.json.id, moved.json.name]).toEqual([200, made.json.id, 'd.txt'])
    expect((await get(apps.app, `/${to}/d.txt`)).text).toBe('content')
    expect(problem(await get(apps.app, `/${from}/a/b.txt`, admin))[0]).toBe(404)
    expect(problem(await act(`/${to}/c.txt/move`, admin, {}))).toEqual([
      400,
      'name is required',
      'invalid_destination',
    ])
    expect(problem(await act(`/${to}/c.txt/move`, admin, { bucket: 'nowhere', name: 'x' }))[1]).toBe(
      'bucket not found',
    )
    expect(problem(await act(`/${to}/c.txt/rename`, admin, { name: 'x' }))[0]).toBe(404)
  })

  test('are up to the policies', async () => {
    const bucket = await createBucket(apps.app)
    await applyTemplate(apps.app, 'user-own-files', { bucket })
    const [one, other] = [newUser(), newUser()]
    await put(apps.app, `/${bucket}/a`, one.token, 'x')
    expect(problem(await act(`/${bucket}/a/move`, other.token, { name: 'b' }))[0]).toBe(404)
    expect(problem(await act(`/${bucket}/a/copy`, other.token, { name: 'b' }))[0]).toBe(404)
    const closed = await createBucket(apps.app)
    expect(problem(await act(`/${bucket}/a/move`, one.token, { bucket: closed, name: 'b' }))[0]).toBe(403)
    expect(problem(await act(`/${bucket}/a/copy`, one.token, { bucket: closed, name: 'b' }))[0]).toBe(403)
    expect((await act(`/${bucket}/a/copy`, one.token, { name: 'b' })).json.userId).toBe(one.id)
    expect((await act(`/${bucket}/a/move`, one.token, { name: 'c' })).status).toBe(200)
  })

  test('check against another bucket the moved content, not the content that it replaced', async () => {
    const from = await createBucket(apps.app)
    const images = await createBucket(apps.app, { allowedTypes: ['image/*'] })
    await put(apps.app, `/${from}/a`, admin, Buffer.from('89504e470d0a1a0a', 'hex'))
    const client = new pg.Client({ connectionString: apps.database.url })
    await client.connect()
    await client.query('begin')
    await client.query('select from basalt.objects where bucket = $1 for update', [from])
    const moving = act(`/${from}/a/move`, admin, { bucket: images, name: 'a' })
    await untilWaiting(apps.app, 1)
    await client.query(`insert into basalt.stored_bytes (key) values (repeat('ab', 16))`)
    await client.query(
      `update basalt.objects set key = repeat('ab', 16), content_type = 'text/html' where bucket = $1`,
      [from],
    )
    await client.query('commit')
    await client.end()
    expect(problem(await moving)[0]).toBe(415)
  })
})

describe('storage › signed addresses', () => {
  const invalid = [403, 'invalid or expired signed URL', 'invalid_signed_url']
  const sign = async (path: string, token: string, body: object = {}, verb = 'sign') =>
    await exchange(apps.app, 'POST', `${path}/${verb}`, token, JSON.stringify(body), {
      'content-type': 'application/json',
    })
  const open = (url: string, method = 'GET', body?: string) =>
    exchange(apps.second, method, url.replace('/api/storage', ''), undefined, body, {})

  test('belong to a program that acts for no user, and so do its objects', async () => {
    const bucket = await createBucket(apps.app)
    await applyTemplate(apps.app, 'bucket-scoped', { bucket })
    await apps.app.sql('insert into basalt.users (id) values ($1)', [alice])
    const { clientId, clientSecret } = await createClient(apps.app)
    const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }
    const program = (await requestToken(apps.app, { ...form, scope: 'readwrite' })).json.access_token
    const path = `/${bucket}/report`
    const upload = (await sign(path, program, {}, 'sign-upload')).json.url
    expect((await exchange(apps.app, 'PUT', upload.slice(12), undefined, 'one', {})).status).toBe(201)
    const made = await put(apps.app, path, program, 'two')
    expect([made.status, made.json.userId]).toEqual([200, undefined])
    const own = (await sign(path, program)).json.url
    const ofAdmin = (await sign(path, admin)).json.url
    const ofUser = (await sign(path, newUser().token)).json.url
    expect((await sign(path, program, {}, 'revoke')).json).toEqual({ revoked: 2 })
    expect(problem(await get(apps.app, own.slice(12)))).toEqual(invalid)
    for (const url of [ofAdmin, ofUser]) expect((await get(apps.app, url.slice(12))).text).toBe('two')
  })

  test('open one object on behalf of a caller who may read it, until they are revoked', async () => {
    const bucket = await createBucket(apps.app)
    await applyTemplate(apps.app, 'user-own-files', { bucket })
    const [one, other] = [newUser(), newUser()]
    await put(apps.app, `/${bucket}/a/ü`, one.token, 'secret')
    await put(apps.app, `/${bucket}/b`, one.token, 'other')
    const signed = await sign(`/${bucket}/a/ü`, one.token)
    expect([signed.status, signed.json]).toEqual([
      200,
      {
        url: expect.stringMatching(new RegExp(`^/api/storage/${bucket}/a/%C3%BC\\?exp=\\d+&sig=[\\w-]{43}$`)),
      },
    ])
    const { url } = signed.json
    const { text, headers } = await open(url)
    expect([text, headers.get('cache-control')]).toEqual(['secret', 'private, no-cache'])
    expect((await open(url, 'HEAD')).status).toBe(200)
    expect(problem(await sign(`/${bucket}/a/ü`, other.token))[0]).toBe(404)
    for (const changed of [
      url.replace(/exp=(\d+)/, (_: string, exp: string) => `exp=${Number(exp) + 1}`),
      url.replace(/exp=\d+/, 'exp=x'),
      url.replace('exp=', 'exp=0'),
      url.replace(/exp=\d+&/, ''),
      url.replace(/&sig=.*/, ''),
      url.replace(/sig=..../, 'sig=AAAA'),
      url.replace('/a/%C3%BC', '/b'),
    ]) {
      expect(problem(await open(changed))).toEqual(invalid)
    }
    expect(problem(await open(url, 'PUT', 'x'))).toEqual(invalid)
    const revoke = (token: string) =>
      exchange(apps.app, 'POST', `/${bucket}/a/ü/revoke`, token, undefined, {})
    expect((await revoke(other.token)).json).toEqual({ revoked: 0 })
    expect((await revoke(one.token)).json).toEqual({ revoked: 1 })
    expect(problem(await open(url))).toEqual(invalid)
  })

  test('end with their time, their object, and the account they work for', async () => {
    const bucket = await createBucket(apps.app)
    await applyTemplate(apps.app, 'user-own-files', { bucket })
    const { id, token } = newUser()
    await apps.app.sql('insert into basalt.users (id) values ($1)', [id])
    for (const name of ['a', 'b', 'c']) await put(apps.app, `/${bucket}/${name}`, token, name)
    const [a, b, c] = await Promise.all(
      ['a', 'b', 'c'].map(
        async (name) => (await sign(`/${bucket}/${name}`, token, { expiresIn: 600 })).json.url,
      ),
    )
    await apps.app.sql(
      `update basalt.signed_addresses set expires_at = now() - interval '1 s' where name = 'a'`,
    )
    expect(problem(await open(a))).toEqual(invalid)
    await get(apps.app, `/${bucket}/b`, token, {}, 'DELETE')
    await put(apps.app, `/${bucket}/b`, token, 'another')
    expect(problem(await open(b))).toEqual(invalid)
    expect((await open(c)).text).toBe('c')
    await apps.app.sql('update basalt.users set disabled_at = now() where id = $1', [id])
    expect(problem(await open(c))).toEqual(invalid)
    expect(problem(await sign(`/${bucket}/c`, admin, { expiresIn: 604_801 }))).toEqual([
      400,
      'expiresIn must not exceed 604800 (7 days)',
      'invalid_expiry',
    ])
    expect(problem(await sign(`/${bucket}/c`, admin, { expiresIn: 0 }))[1]).toBe(
      'expiresIn must be at least 1',
    )
    expect((await sign(`/${bucket}/c`, admin, { expiresIn: 604_800 })).status).toBe(200)
  })

  test.each([-1, 1])(
    'expire by the clock of the database where that of the node is %i h off',
    async (hours) => {
      const bucket = await createBucket(apps.app)
      await put(apps.app, `/${bucket}/a`, admin, 'x')
      await using node = await createTestApp({
        database: apps.database,
        config: { 'storage.enabled': 'true', 'storage.local_path': apps.directory },
        clock: { now: () => new Date(Date.now() + hours * 3_600_000) },
      })
      const { url } = (
        await node.request('POST', `/api/storage/${bucket}/a/sign`, {
          token: admin,
          body: { expiresIn: 600 },
        })
      ).json
      expect((await open(url)).text).toBe('x')
      const [row] = await apps.app.sql<{ is_in_time: boolean }>(
        'select bool_and(expires_at <= now() + make_interval(secs => 600)) as is_in_time from basalt.signed_addresses where bucket = $1',
        [bucket],
      )
      expect(row).toEqual({ is_in_time: true })
    },
  )

  test('are rejected for an object or a bucket deleted at the same time', async () => {
    const bucket = await createBucket(apps.app)
    await put(apps.app, `/${bucket}/a`, admin, 'x')
    const client = new pg.Client({ connectionString: apps.database.url })
    await client.connect()
    const signAmid = async (deletion: string, verb: string) => {
      await client.query('begin')
      await client.query(deletion, [bucket])
      const signing = sign(`/${bucket}/a`, admin, {}, verb)
      await untilWaiting(apps.app, 1)
      await client.query('commit')
      return problem(await signing)
    }
    expect(await signAmid('delete from basalt.objects where bucket = $1', 'sign')).toEqual([
      404,
      'file not found',
      'file_not_found',
    ])
    expect(await signAmid('delete from basalt.buckets where name = $1', 'sign-upload')).toEqual([
      404,
      'bucket not found',
      'bucket_not_found',
    ])
    await client.end()
  })

  test('end with the API key or the OAuth client that signed them', async () => {
    const bucket = await createBucket(apps.app)
    await applyTemplate(apps.app, 'bucket-scoped', { bucket })
    const { id } = newUser()
    await apps.app.sql('insert into basalt.users (id) values ($1)', [id])
    const { key, apiKey } = await createApiKey(apps.app, { userId: id, scope: 'readwrite' })
    const expiring = await createApiKey(apps.app, { userId: id, scope: 'readwrite' })
    const { clientId, clientSecret } = await createClient(apps.app)
    const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }
    const client = (await requestToken(apps.app, { ...form, scope: 'readwrite' })).json.access_token
    await put(apps.app, `/${bucket}/a`, key, 'content')
    const signed = async (token: string): Promise<readonly [string, string]> => [
      (await sign(`/${bucket}/a`, token)).json.url,
      (await sign(`/${bucket}/b`, token, {}, 'sign-upload')).json.url,
    ]
    const [ofKey, ofExpiring, ofClient] = [
      await signed(key),
      await signed(expiring.key),
      await signed(client),
    ]
    const opened = async ([download, upload]: readonly [string, string]) => [
      (await open(download)).status,
      (await open(upload, 'PUT', 'x')).status,
    ]
    const ended = [403, 403]
    expect(await opened(ofKey)).toEqual([200, 201])
    await apps.app.request('POST', `/api/admin/api-keys/${apiKey.id}/rotate`, { token: admin })
    expect(await opened(ofKey)).toEqual([200, 200])
    await apps.app.request('DELETE', `/api/admin/api-keys/${apiKey.id}`, { token: admin })
    expect(await opened(ofKey)).toEqual(ended)
    expect(await opened(ofExpiring)).toEqual([200, 200])
    await apps.app.sql('update basalt.api_keys set expires_at = now() where id = $1', [expiring.apiKey.id])
    expect(await opened(ofExpiring)).toEqual(ended)
    expect(await opened(ofClient)).toEqual([200, 200])
    await apps.app.sql('update basalt.oauth_clients set revoked_at = now() where client_id = $1', [clientId])
    expect(await opened(ofClient)).toEqual(ended)
    expect(problem(await open(ofClient[0]))).toEqual(invalid)
    const deleted = await createApiKey(apps.app, { userId: id, scope: 'readwrite' })
    const ofDeleted = await signed(deleted.key)
    expect(await opened(ofDeleted)).toEqual([200, 200])
    await apps.app.sql('delete from basalt.api_keys where id = $1', [deleted.apiKey.id])
    expect(await opened(ofDeleted)).toEqual(ended)
  })

  test('for uploads work under the policies of who signed', async () => {
    const bucket = await createBucket(apps.app)
    await applyTemplate(apps.app, 'user-own-files', { bucket })
    const { id, token } = newUser()
    const { url } = (await sign(`/${bucket}/up`, token, {}, 'sign-upload')).json
    const made = await open(url, 'PUT', 'sent without a token')
    expect([made.status, made.json.userId, made.json.name]).toEqual([201, id, 'up'])
    expect(problem(await open(url))).toEqual(invalid)
    expect(problem(await open(url.replace('/up?', '/other?'), 'PUT', 'x'))).toEqual(invalid)
    const closed = await createBucket(apps.app)
    const denied = (await sign(`/${closed}/up`, token, {}, 'sign-upload')).json.url
    expect(problem(await open(denied, 'PUT', 'x'))[0]).toBe(403)
    expect(problem(await sign('/nowhere/up', token, {}, 'sign-upload'))[0]).toBe(404)
  })
})

describe('storage › quotas', () => {
  const quotaOf = async (id: string, body?: object) =>
    await apps.app.request(body === undefined ? 'GET' : 'PUT', `/api/admin/users/${id}/storage-quota`, {
      token: admin,
      body,
    })
  const exceeded = [413, 'storage quota exceeded', 'storage_quota_exceeded']

  test('are exact when ten uploads come at once, half on another node', async () => {
    const bucket = await createBucket(apps.app)
    await applyTemplate(apps.app, 'user-own-files', { bucket })
    const { id, token } = newUser()
    await apps.app.sql('insert into basalt.users (id) values ($1)', [id])
    const part = new Uint8Array(300 * 1024)
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        put(index % 2 === 0 ? apps.app : apps.second, `/${bucket}/${index}`, token, part),
      ),
    )
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(3)
    expect(answers.filter(({ status }) => status !== 201).map(problem)).toEqual(
      Array.from({ length: 7 }, () => exceeded),
    )
    const used = { usage_bytes: 3 * part.length, quota_bytes: 1024 * 1024, quota_mb: null }
    expect((await quotaOf(id)).json).toEqual(used)
    // A replacement counts by its difference in size.
    const { json } = await get(apps.app, `/${bucket}`, token)
    const kept = `/${bucket}/${json.items[0].name}`
    expect((await put(apps.app, kept, token, new Uint8Array(400 * 1024))).status).toBe(200)
    expect(problem(await put(apps.app, kept, token, new Uint8Array(500 * 1024)))).toEqual(exceeded)
    expect((await get(apps.app, kept, token)).headers.get('content-length')).toBe(String(400 * 1024))
    await get(apps.app, kept, token, {}, 'DELETE')
    expect((await quotaOf(id)).json.usage_bytes).toBe(2 * part.length)
    expect((await quotaOf(id, { quota_mb: 2 })).json).toEqual({
      usage_bytes: 2 * part.length,
      quota_bytes: 2 * 1024 * 1024,
      quota_mb: 2,
    })
    expect((await put(apps.app, kept, token, new Uint8Array(900 * 1024))).status).toBe(201)
    expect((await quotaOf(id, { quota_mb: 0 })).json.quota_bytes).toBe(0)
    expect((await put(apps.app, `/${bucket}/more`, token, new Uint8Array(900 * 1024))).status).toBe(201)
  })

  test('require an existing user, and a number from 0 to the most that can be stored', async () => {
    for (const settings of [undefined, { quota_mb: 1 }]) {
      expect(problem(await quotaOf('x', settings))).toEqual([
        400,
        'invalid user id format',
        'invalid_user_id',
      ])
      const missing = [404, 'user not found', 'storage_user_not_found']
      expect(problem(await quotaOf(newUser().id, settings))).toEqual(missing)
    }
    const { id } = newUser()
    await apps.app.sql('insert into basalt.users (id) values ($1)', [id])
    expect(problem(await quotaOf(id, { quota_mb: -1 }))).toEqual([
      400,
      'quota_mb must be >= 0',
      'invalid_storage_quota',
    ])
    expect(problem(await quotaOf(id, { quota_mb: 1e18 }))).toEqual([
      400,
      'quota_mb must be <= 1000000000',
      'invalid_storage_quota',
    ])
    expect(problem(await quotaOf(id, {}))[0]).toBe(400)
    expect((await quotaOf(id, { quota_mb: null })).json).toEqual({
      usage_bytes: 0,
      quota_bytes: 1024 * 1024,
      quota_mb: null,
    })
  })
})

describe('storage › programs', () => {
  test('reach the buckets that their keys allow, and write when they may write', async () => {
    const bucket = await createBucket(apps.app)
    await applyTemplate(apps.app, 'user-own-files', { bucket })
    const { id, token } = newUser()
    await apps.app.sql('insert into basalt.users (id) values ($1)', [id])
    await put(apps.app, `/${bucket}/a`, token, 'x')
    const keyOf = async (body: object) => (await createApiKey(apps.app, { userId: id, ...body })).key
    const reader = await keyOf({ scope: 'readonly' })
    expect((await get(apps.app, `/${bucket}/a`, reader)).text).toBe('x')
    expect(problem(await put(apps.app, `/${bucket}/a`, reader, 'y'))[2]).toBe('insufficient_scope')
    const limited = await keyOf({ allowedTables: [`storage:${bucket}`] })
    expect((await put(apps.app, `/${bucket}/a`, limited, 'y')).status).toBe(200)
    const elsewhere = await keyOf({ allowedTables: ['note'] })
    expect(problem(await get(apps.app, `/${bucket}/a`, elsewhere))[2]).toBe('insufficient_scope')
    expect(problem(await get(apps.app, `/${bucket}`, elsewhere))[2]).toBe('insufficient_scope')
  })
})

describe('storage › cut uploads', () => {
  const head = (bucket: string, length: number) =>
    `PUT /api/storage/${bucket}/slow HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${admin}\r\nContent-Length: ${length}\r\n\r\nhalf`

  test('return 504 when they take too long, later than other requests would be cut', async () => {
    const bucket = await createBucket(apps.app)
    const before = await apps.listFiles()
    const response = await exchangeRaw(apps.app.url, head(bucket, 100))
    expect([response.status, JSON.parse(response.body).message]).toEqual([504, 'upload timed out'])
    expect(await apps.filesSince(before)).toEqual([])
    expect((await get(apps.app, `/${bucket}`, admin)).json.totalItems).toBe(0)
  })

  test('are discarded when the client disconnects, and the old object stays whole', async () => {
    const bucket = await createBucket(apps.app)
    await put(apps.app, `/${bucket}/slow`, admin, 'old')
    const before = await apps.listFiles()
    const controller = new AbortController()
    const body = new ReadableStream({
      start: (stream) => stream.enqueue(Buffer.from('half')),
    })
    const sending = fetch(`${apps.app.url}/api/storage/${bucket}/slow`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${admin}` },
      body,
      duplex: 'half',
      signal: controller.signal,
    }).catch(() => undefined)
    await expect.poll(() => apps.filesSince(before)).toHaveLength(1)
    controller.abort()
    await sending
    await expect.poll(() => apps.filesSince(before)).toEqual([])
    expect((await get(apps.app, `/${bucket}/slow`, admin)).text).toBe('old')
    const staged = () => apps.app.sql(`select state from basalt.stored_bytes where state = 'staged'`)
    await expect.poll(staged).toEqual([])
  })
})
