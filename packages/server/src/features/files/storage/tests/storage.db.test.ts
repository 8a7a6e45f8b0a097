import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
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
  sendForm,
  untilWaiting,
} from './storage-requests.ts'

const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/)
const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')

let apps: StorageApps
let admin: string

beforeAll(async () => {
  apps = await createStorageApps({ 'storage.max_file_size': '1000', 'storage.default_quota_mb': '1' })
  admin = await apps.app.adminToken()
})
afterAll(() => apps[Symbol.asyncDispose]())

function sendRequest(method: string, path: string, body?: unknown, token: string | undefined = admin) {
  return apps.app.request(method, path, { token, body })
}

describe('storage › buckets', () => {
  test('are created, listed, changed and deleted, and each change is audited', async () => {
    const created = await sendRequest('POST', '/api/storage/buckets', { name: 'photos', public: true })
    const bucket = { id: uuid, name: 'photos', public: true, createdAt: timestamp, updatedAt: timestamp }
    expect([created.status, created.json]).toEqual([201, bucket])
    const listed = await sendRequest('GET', '/api/storage/buckets')
    expect(listed.json.items.filter(({ name }: { name: string }) => name === 'photos')).toEqual([
      created.json,
    ])
    const limits = { maxFileSize: 10, allowedTypes: ['image/*'] }
    const changed = await sendRequest('PUT', '/api/storage/buckets/photos', { public: false, ...limits })
    expect([changed.status, changed.json]).toEqual([200, { ...bucket, public: false, ...limits }])
    const freed = await sendRequest('PUT', '/api/storage/buckets/photos', {
      maxFileSize: null,
      allowedTypes: null,
    })
    expect(freed.json).toEqual({ ...bucket, public: false })
    const deleted = await sendRequest('DELETE', '/api/storage/buckets/photos')
    expect([deleted.status, deleted.text]).toEqual([204, ''])
    expect(problem(await sendRequest('DELETE', '/api/storage/buckets/photos'))).toEqual([
      404,
      'bucket not found',
      'bucket_not_found',
    ])
    const audit = await apps.app.sql(
      `select action, target, detail from basalt.audit where target = 'photos' order by id`,
    )
    expect(audit).toEqual([
      { action: 'storage.create_bucket', target: 'photos', detail: { public: true } },
      { action: 'storage.update_bucket', target: 'photos', detail: { public: false, ...limits } },
      {
        action: 'storage.update_bucket',
        target: 'photos',
        detail: { maxFileSize: null, allowedTypes: null },
      },
      { action: 'storage.delete_bucket', target: 'photos', detail: { objects: 0 } },
    ])
  })

  test.each<readonly [body: object, status: number, message: string, error: string]>([
    [{}, 400, 'name is required', 'bucket_name_required'],
    [{ name: '' }, 400, 'name is required', 'bucket_name_required'],
    [{ name: 'A b' }, 400, 'invalid bucket name: use 1 to 63 of a-z, 0-9, - and _', 'invalid_bucket_name'],
    [{ name: 'upload' }, 400, 'invalid bucket name: upload is a path of the API', 'invalid_bucket_name'],
    [{ name: 1 }, 400, 'name: must be string', 'invalid_request'],
    [{ name: 'x', public: 'yes' }, 400, 'public: must be boolean', 'invalid_request'],
    [{ name: 'x', maxFileSize: 0 }, 400, 'maxFileSize must be at least 1', 'invalid_bucket_limit'],
    [
      { name: 'x', maxFileSize: 1e30 },
      400,
      'maxFileSize must be at most 9007199254740991',
      'invalid_bucket_limit',
    ],
    [
      { name: 'x', allowedTypes: ['png'] },
      400,
      'allowedTypes: "png" is not a media type such as image/png or image/*',
      'invalid_bucket_limit',
    ],
  ])('%j is refused', async (body, status, message, error) => {
    expect(problem(await sendRequest('POST', '/api/storage/buckets', body))).toEqual([status, message, error])
  })

  test('are created once when ten requests use one name at once, half on another node', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        (index % 2 === 0 ? apps.app : apps.second).request('POST', '/api/storage/buckets', {
          token: admin,
          body: { name: 'contested' },
        }),
      ),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: 9 }, () => 409)])
    const refused = answers.find(({ status }) => status === 409)
    expect(refused && problem(refused)).toEqual([409, 'object already exists', 'bucket_exists'])
  })

  test('with objects are deleted by force alone, and the bytes with them', async () => {
    const bucket = await createBucket(apps.app)
    expect((await put(apps.app, `/${bucket}/a`, admin, 'x')).status).toBe(201)
    const [row] = await apps.app.sql('select key from basalt.objects where bucket = $1', [bucket])
    expect(problem(await sendRequest('DELETE', `/api/storage/buckets/${bucket}`))).toEqual([
      409,
      'bucket has objects; use force=true to delete',
      'bucket_not_empty',
    ])
    expect(problem(await sendRequest('DELETE', `/api/storage/buckets/${bucket}?force=yes`))[0]).toBe(400)
    expect((await sendRequest('DELETE', `/api/storage/buckets/${bucket}?force=true`)).status).toBe(204)
    await expect.poll(() => apps.listFiles()).not.toContain(row?.key)
  })

  test('leave exact counters when they are deleted amid uploads', async () => {
    const bucket = await createBucket(apps.app)
    await applyTemplate(apps.app, 'bucket-scoped', { bucket })
    const user = newUser()
    await put(apps.app, `/${bucket}/first`, user.token, 'x')
    const [removed, ...answers] = await Promise.all([
      apps.second.request('DELETE', `/api/storage/buckets/${bucket}?force=true`, { token: admin }),
      ...Array.from({ length: 10 }, (_, index) =>
        put(index % 2 === 0 ? apps.app : apps.second, `/${bucket}/${index}`, user.token, 'xx'),
      ),
    ])
    expect(removed.status).toBe(204)
    for (const { status } of answers) expect([201, 404]).toContain(status)
    const [counters] = await apps.app.sql(
      `select (select coalesce(sum(size), 0)::int from basalt.objects) as stored,
        (select coalesce(sum(bytes), 0)::int from basalt.app_storage_usage) as of_apps,
        (select bytes::int from basalt.storage_usage where user_id = $1) as of_user`,
      [user.id],
    )
    expect(counters).toEqual({ stored: counters?.stored, of_apps: counters?.stored, of_user: 0 })
  })

  test('take only files of their types and up to their size', async () => {
    const bucket = await createBucket(apps.app, { maxFileSize: 20, allowedTypes: ['image/*'] })
    expect((await put(apps.app, `/${bucket}/a`, admin, png)).status).toBe(201)
    expect(problem(await put(apps.app, `/${bucket}/b`, admin, 'x', { 'content-type': 'image/png' }))).toEqual(
      [415, 'the bucket does not take files of the type application/octet-stream', 'file_type_not_allowed'],
    )
    const large = [413, 'file too large: at most 20 bytes', 'file_too_large']
    expect(problem(await put(apps.app, `/${bucket}/c`, admin, Buffer.alloc(21)))).toEqual(large)
    const form = new FormData()
    form.append('file', new Blob([Buffer.alloc(21)]), 'c')
    expect(problem(await sendForm(apps.app, bucket, admin, form))).toEqual(large)
    const { json } = await get(apps.app, `/${bucket}`, admin)
    expect(json.items.map(({ name }: { name: string }) => name)).toEqual(['a'])
  })
})

describe('storage › uploads', () => {
  test('return the object for a form and for a plain body, and are downloaded as they were sent', async () => {
    const bucket = await createBucket(apps.app, { public: true })
    const form = new FormData()
    form.append('file', new Blob([png], { type: 'text/html' }), 'my photo.png')
    const made = await sendForm(apps.app, bucket, admin, form)
    const url = `${apps.app.url}/api/storage/${bucket}/my%20photo.png`
    const object = {
      id: uuid,
      bucket,
      name: 'my photo.png',
      size: png.length,
      contentType: 'image/png',
      createdAt: timestamp,
      updatedAt: timestamp,
      url,
    }
    expect([made.status, made.json]).toEqual([201, object])
    const response = await fetch(url)
    expect(Buffer.from(await response.arrayBuffer())).toEqual(png)
    const named = new FormData()
    named.append('file', new Blob(['second']), 'ignored')
    named.append('name', 'a/b/c.txt')
    const second = await sendForm(apps.second, bucket, admin, named)
    expect([second.status, second.json.name, second.json.contentType]).toEqual([
      201,
      'a/b/c.txt',
      'text/plain; charset=utf-8',
    ])
    const untyped = { 'content-type': 'application/x-www-form-urlencoded' }
    const posted = await put(apps.app, `/${bucket}/by-curl.json`, admin, '{}', untyped)
    expect([posted.status, posted.json.contentType]).toEqual([201, 'application/json; charset=utf-8'])
    const replaced = await put(apps.app, `/${bucket}/a/b/c.txt`, admin, 'third', {
      'content-type': 'text/plain',
    })
    expect([replaced.status, replaced.json]).toEqual([
      200,
      { ...second.json, size: 5, contentType: 'text/plain', updatedAt: timestamp, url: replaced.json.url },
    ])
    expect((await get(apps.second, `/${bucket}/a/b/c.txt`)).text).toBe('third')
  })

  test.each<readonly [path: string, name: string]>([
    ['/a%2Fb.txt', 'a/b.txt'],
    ['/a%252Fb.txt', 'a%2Fb.txt'],
    ['/%5B...slug%5D.js', '[...slug].js'],
    ['/[...slug].js', '[...slug].js'],
    ['/a%3Fb%23c', 'a?b#c'],
    ['/u%CC%88', '\u00fc'],
    ['/%F0%9F%98%80', '😀'],
    ['/a+b', 'a+b'],
    ['/%25', '%'],
  ])('decode the path %s once, to the name %j', async (path, name) => {
    const bucket = await createBucket(apps.app, { public: true })
    const { status, json } = await put(apps.app, `/${bucket}${path}`, admin, 'x')
    expect([status, json.name]).toEqual([201, name])
    expect((await get(apps.app, `/${bucket}${path}`)).text).toBe('x')
    expect((await fetch(json.url)).status).toBe(200)
  })

  test.each([
    ['/%2e%2e%2fa', 'no segment of it may be . or ..'],
    ['/a%2F..%2Fb', 'no segment of it may be . or ..'],
    ['/a%00b', 'it must not contain control characters'],
    ['/a%2F', 'it must have no empty segments'],
    ['/%2Fa', 'it must not begin with a slash'],
    [`/${'x'.repeat(1025)}`, 'it must have at most 1024 bytes'],
  ])('reject the path %s', async (path, message) => {
    const bucket = await createBucket(apps.app)
    const expected = [400, `invalid object name: ${message}`, 'invalid_object_name']
    expect(problem(await put(apps.app, `/${bucket}${path}`, admin, 'x'))).toEqual(expected)
    expect(problem(await get(apps.app, `/${bucket}${path}`, admin))).toEqual(expected)
  })

  test('malformed forms are refused and leave nothing', async () => {
    const bucket = await createBucket(apps.app)
    const before = await apps.listFiles()
    const invalid = [400, 'invalid multipart form or file too large', 'invalid_upload_form']
    const multipart = { 'content-type': 'multipart/form-data; boundary=b' }
    const post = (body: string, headers: Readonly<Record<string, string>>) =>
      exchange(apps.app, 'POST', `/${bucket}`, admin, body, headers)
    const part = '--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\nhello'
    expect(problem(await post('{}', { 'content-type': 'application/json' }))).toEqual(invalid)
    expect(problem(await post(part, { 'content-type': 'multipart/form-data' }))).toEqual(invalid)
    expect(problem(await post(part, multipart))).toEqual(invalid)
    expect(problem(await post('no form', multipart))).toEqual(invalid)
    expect(problem(await post('', multipart))).toEqual(invalid)
    const missing = [400, 'missing "file" field in multipart form', 'upload_file_missing']
    const empty = new FormData()
    empty.append('name', 'a')
    expect(problem(await sendForm(apps.app, bucket, admin, empty))).toEqual(missing)
    const twice = new FormData()
    twice.append('file', new Blob(['1']), 'a')
    twice.append('file', new Blob(['2']), 'b')
    expect(problem(await sendForm(apps.app, bucket, admin, twice))).toEqual(missing)
    const unnamed = new FormData()
    unnamed.append('file', new Blob(['1']), 'a')
    unnamed.append('name', '../a')
    expect(problem(await sendForm(apps.app, bucket, admin, unnamed))[1]).toBe(
      'invalid object name: no segment of it may be . or ..',
    )
    const named = new FormData()
    named.append('file', new Blob(['1']), 'a')
    for (const name of ['b', 'c']) named.append('name', name)
    expect(problem(await sendForm(apps.app, bucket, admin, named))).toEqual(invalid)
    const crowded = new FormData()
    crowded.append('file', new Blob(['1']), 'a')
    for (let field = 0; field < 55; field += 1) crowded.append(`field-${field}`, '1')
    crowded.append('name', 'b')
    expect(problem(await sendForm(apps.app, bucket, admin, crowded))).toEqual(invalid)
    const latin = Buffer.from(`${part.replace('"a"', '"\xe4"')}\r\n--b--\r\n`, 'latin1')
    expect(problem(await exchange(apps.app, 'POST', `/${bucket}`, admin, latin, multipart))).toEqual([
      400,
      'invalid object name: it must be UTF-8',
      'invalid_object_name',
    ])
    expect(await apps.filesSince(before)).toEqual([])
    expect((await get(apps.app, `/${bucket}`, admin)).json.totalItems).toBe(0)
  })

  test('are rejected with a content encoding: they would be stored as they came', async () => {
    const bucket = await createBucket(apps.app)
    const response = await put(apps.app, `/${bucket}/a`, admin, 'x', { 'content-encoding': 'gzip' })
    expect(problem(response)).toEqual([
      415,
      'Content-Encoding of the request body: expected identity',
      'unsupported_content_encoding',
    ])
  })

  test('to a bucket that is not there are refused', async () => {
    const missing = [404, 'bucket not found', 'bucket_not_found']
    expect(problem(await put(apps.app, '/nowhere/a', admin, 'x'))).toEqual(missing)
    const form = new FormData()
    form.append('file', new Blob(['1']), 'a')
    expect(problem(await sendForm(apps.app, 'nowhere', admin, form))).toEqual(missing)
    expect(problem(await get(apps.app, '/nowhere/a'))).toEqual(missing)
    for (const bucket of ['nowhere', 'Nowhere', '%00', 'a'.repeat(64), 'a%2Fb']) {
      expect(problem(await get(apps.app, `/${bucket}`, admin))).toEqual(missing)
      expect(problem(await put(apps.app, `/${bucket}/a`, admin, 'x'))).toEqual(missing)
    }
  })

  test('leave one of several concurrent uploads of one name whole, and no bytes of the others', async () => {
    const bucket = await createBucket(apps.app, { public: true })
    const before = await apps.listFiles()
    const bodies = Array.from({ length: 10 }, (_, index) => String(index).repeat(500))
    const answers = await Promise.all(
      bodies.map((body, index) =>
        put(index % 2 === 0 ? apps.app : apps.second, `/${bucket}/one`, admin, body),
      ),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array.from({ length: 9 }, () => 200), 201])
    expect(bodies).toContain((await get(apps.app, `/${bucket}/one`)).text)
    await expect.poll(() => apps.filesSince(before)).toHaveLength(1)
  })

  test('with If-Unmodified-Since are replaced and deleted as long as nothing has changed them', async () => {
    const bucket = await createBucket(apps.app)
    const path = `/${bucket}/a`
    const made = await put(apps.app, path, admin, 'one')
    const at = (seconds: number) => ({
      'if-unmodified-since': new Date(Date.parse(made.json.updatedAt) + seconds * 1000).toUTCString(),
    })
    const failed = [412, 'precondition failed', 'precondition_failed']
    expect(problem(await put(apps.app, path, admin, 'two', at(-1)))).toEqual(failed)
    expect(problem(await exchange(apps.app, 'DELETE', path, admin, undefined, at(-1)))).toEqual(failed)
    expect((await get(apps.app, path, admin)).text).toBe('one')
    // A tag says more, and what is no date nothing.
    const etag = made.headers.get('etag') ?? ''
    expect((await put(apps.app, path, admin, 'two', { ...at(-1), 'if-match': etag })).status).toBe(200)
    expect((await put(apps.app, path, admin, 'three', { 'if-unmodified-since': '1' })).status).toBe(200)
    expect((await put(apps.app, path, admin, 'four', at(3600))).status).toBe(200)
    expect((await put(apps.app, `/${bucket}/new`, admin, 'new', at(-1))).status).toBe(201)
    expect((await exchange(apps.app, 'DELETE', path, admin, undefined, at(3600))).status).toBe(204)
  })

  test('are deleted once by ten who delete them at once, half on another node: the others find nothing', async () => {
    for (const isPublic of [true, false]) {
      const bucket = await createBucket(apps.app, { public: isPublic })
      const etag = (await put(apps.app, `/${bucket}/a`, admin, 'x')).headers.get('etag') ?? ''
      const client = new pg.Client({ connectionString: apps.database.url })
      await client.connect()
      await client.query('begin')
      await client.query('select from basalt.objects where bucket = $1 for update', [bucket])
      const deletions = Array.from({ length: 10 }, (_, index) =>
        exchange(index % 2 === 0 ? apps.app : apps.second, 'DELETE', `/${bucket}/a`, admin, undefined, {
          ...(index > 5 ? { 'if-match': etag } : {}),
        }),
      )
      await untilWaiting(apps.app, 10)
      await client.query('commit')
      await client.end()
      const answers = await Promise.all(deletions)
      expect(answers.map(({ status }) => status).sort()).toEqual([204, ...Array(9).fill(404)])
    }
  })

  test('with If-None-Match never replace what they know, nor anything with *, with If-Match only what they know', async () => {
    const bucket = await createBucket(apps.app)
    const failed = [412, 'precondition failed', 'precondition_failed']
    const path = `/${bucket}/a`
    expect(problem(await put(apps.app, path, admin, '1', { 'if-match': '*' }))).toEqual(failed)
    const first = await put(apps.app, path, admin, '1', { 'if-none-match': '*' })
    expect(first.status).toBe(201)
    expect(problem(await put(apps.app, path, admin, '2', { 'if-none-match': '*' }))).toEqual(failed)
    const etag = first.headers.get('etag') ?? ''
    const second = await put(apps.app, path, admin, '2', { 'if-match': `"x", ${etag}` })
    expect(second.status).toBe(200)
    expect(problem(await put(apps.app, path, admin, '3', { 'if-match': etag }))).toEqual(failed)
    expect(problem(await get(apps.app, path, admin, { 'if-match': etag }, 'DELETE'))).toEqual(failed)
    const current = second.headers.get('etag') ?? ''
    for (const known of [current, `"x", W/${current}`]) {
      expect(problem(await put(apps.app, path, admin, '3', { 'if-none-match': known }))).toEqual(failed)
    }
    expect((await get(apps.app, path, admin)).text).toBe('2')
    const other = await put(apps.app, `${path}-other`, admin, '1', { 'if-none-match': etag })
    expect(other.status).toBe(201)
    const replaced = await put(apps.app, `${path}-other`, admin, '2', { 'if-none-match': current })
    expect(replaced.status).toBe(200)
    expect((await get(apps.app, path, admin, { 'if-match': current }, 'DELETE')).status).toBe(204)
  })
})

test('storage › while it is off every route of it says so', async () => {
  await using off = await createTestApp({ database: apps.database, config: { 'storage.enabled': 'false' } })
  const token = await off.adminToken()
  const expected = [404, 'storage is not enabled', 'storage_not_enabled']
  expect(problem(await off.request('GET', '/api/storage/buckets', { token }))).toEqual(expected)
  expect(problem(await get(off, '/a/b'))).toEqual(expected)
  expect(problem(await put(off, '/a/b', token, 'x'))).toEqual(expected)
})

describe('storage › policies', () => {
  test('nothing but public buckets is readable without one, and those are not listed', async () => {
    const [open, closed] = [await createBucket(apps.app, { public: true }), await createBucket(apps.app)]
    const { token } = newUser()
    for (const bucket of [open, closed]) await put(apps.app, `/${bucket}/a`, admin, 'x')
    expect((await get(apps.app, `/${open}/a`)).text).toBe('x')
    expect((await get(apps.app, `/${open}/a`, token)).text).toBe('x')
    const missing = [401, 'missing auth token', 'missing_auth_token']
    expect(problem(await get(apps.app, `/${closed}/a`))).toEqual(missing)
    expect(problem(await get(apps.app, `/${closed}/b`))).toEqual(missing)
    expect(problem(await get(apps.app, `/${open}`))).toEqual(missing)
    const notFound = [404, 'file not found', 'file_not_found']
    expect(problem(await get(apps.app, `/${closed}/a`, token))).toEqual(notFound)
    expect(problem(await get(apps.app, `/${open}/b`))).toEqual(notFound)
    expect((await get(apps.app, `/${open}`, token)).json).toEqual({ items: [], totalItems: 0 })
    expect((await get(apps.app, `/${open}`, admin)).json.totalItems).toBe(1)
  })

  test('without one no user uploads, replaces or deletes, and what is there stays whole', async () => {
    const bucket = await createBucket(apps.app, { public: true })
    const { token } = newUser()
    const denied = [403, 'insufficient storage permissions', 'insufficient_storage_permissions']
    const before = await apps.listFiles()
    expect(problem(await put(apps.app, `/${bucket}/new`, token, 'x'))).toEqual(denied)
    expect(await apps.filesSince(before)).toEqual([])
    await put(apps.app, `/${bucket}/a`, admin, 'whole')
    expect(problem(await put(apps.app, `/${bucket}/a`, token, 'x'))).toEqual(denied)
    expect(problem(await get(apps.app, `/${bucket}/a`, token, {}, 'DELETE'))).toEqual(denied)
    expect((await get(apps.app, `/${bucket}/a`)).text).toBe('whole')
    const form = new FormData()
    form.append('file', new Blob(['x']), 'a')
    expect(problem(await sendForm(apps.app, bucket, token, form))).toEqual(denied)
    expect(problem(await sendForm(apps.app, bucket, undefined, form))[0]).toBe(401)
    expect(problem(await put(apps.app, `/${bucket}/a`, undefined, 'x'))[0]).toBe(401)
    expect(problem(await put(apps.app, `/${bucket}/a`, 'nonsense', 'x'))[0]).toBe(401)
  })

  test('give each user their own files with the template user-own-files', async () => {
    const bucket = await createBucket(apps.app)
    const applied = await applyTemplate(apps.app, 'user-own-files', { bucket })
    expect([applied.status, applied.json]).toEqual([
      201,
      {
        template: 'user-own-files',
        table: 'basalt.objects',
        bucket,
        policies: ['select', 'insert', 'update', 'delete'].map((command) => ({
          name: `user-own-files ${bucket} ${command}`,
          command,
        })),
      },
    ])
    // Again, without harm.
    expect((await applyTemplate(apps.app, 'user-own-files', { bucket })).json).toEqual(applied.json)
    const [one, other] = [newUser(), newUser()]
    const made = await put(apps.app, `/${bucket}/a`, one.token, 'mine')
    expect([made.status, made.json.userId]).toEqual([201, one.id])
    expect((await get(apps.second, `/${bucket}/a`, one.token)).text).toBe('mine')
    expect((await get(apps.app, `/${bucket}`, one.token)).json).toEqual({ items: [made.json], totalItems: 1 })
    expect((await get(apps.app, `/${bucket}`, other.token)).json).toEqual({ items: [], totalItems: 0 })
    expect(problem(await get(apps.app, `/${bucket}/a`, other.token))[0]).toBe(404)
    expect(problem(await put(apps.app, `/${bucket}/a`, other.token, 'theirs'))[0]).toBe(403)
    expect(problem(await get(apps.app, `/${bucket}/a`, other.token, {}, 'DELETE'))[0]).toBe(404)
    expect((await put(apps.app, `/${bucket}/a`, one.token, 'new')).status).toBe(200)
    // The administrator may replace it, and the owner stays.
    expect((await put(apps.app, `/${bucket}/a`, admin, 'x')).json.userId).toBe(one.id)
    expect((await get(apps.app, `/${bucket}/a`, one.token, {}, 'DELETE')).status).toBe(204)
    expect(problem(await get(apps.app, `/${bucket}/a`, one.token, {}, 'DELETE'))).toEqual([
      404,
      'file not found',
      'file_not_found',
    ])
  })

  test('let everybody list and each user change their own files with the template public-read-auth-write', async () => {
    const bucket = await createBucket(apps.app)
    const { json } = await applyTemplate(apps.app, 'public-read-auth-write', { bucket })
    const [one, other] = [newUser(), newUser()]
    expect((await put(apps.app, `/${bucket}/a`, one.token, 'mine')).status).toBe(201)
    expect((await get(apps.app, `/${bucket}/a`)).text).toBe('mine')
    expect((await get(apps.app, `/${bucket}`)).json.totalItems).toBe(1)
    expect(problem(await put(apps.app, `/${bucket}/a`, other.token, 'x'))[0]).toBe(403)
    // Requests without a token see no more of another bucket than before.
    const closed = await createBucket(apps.app)
    await put(apps.app, `/${closed}/a`, admin, 'x')
    expect(problem(await get(apps.app, `/${closed}/a`))[0]).toBe(401)
    expect((await get(apps.app, `/${closed}`)).json).toEqual({ items: [], totalItems: 0 })
    expect(json.policies).toHaveLength(4)
  })

  test('exist once when one template is applied ten times at once, half on another node', async () => {
    for (let round = 0; round < 3; round += 1) {
      const bucket = await createBucket(apps.app)
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          applyTemplate(index % 2 === 0 ? apps.app : apps.second, 'bucket-scoped', { bucket }),
        ),
      )
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201))
      const made = `select from pg_policies where tablename = 'objects' and (qual ~ $1 or with_check ~ $1)`
      expect(await apps.app.sql(made, [bucket])).toHaveLength(4)
    }
  })

  test('let every user work in one bucket with the template bucket-scoped', async () => {
    const bucket = await createBucket(apps.app)
    expect(problem(await applyTemplate(apps.app, 'bucket-scoped'))).toEqual([
      400,
      'bucket is required',
      'template_bucket_required',
    ])
    expect(problem(await applyTemplate(apps.app, 'bucket-scoped', { bucket: 'nowhere' }))[0]).toBe(404)
    expect(problem(await applyTemplate(apps.app, 'no-such'))).toEqual([
      404,
      'no such template: no-such',
      'storage_template_not_found',
    ])
    await applyTemplate(apps.app, 'bucket-scoped', { bucket })
    const [one, other] = [newUser(), newUser()]
    expect((await put(apps.app, `/${bucket}/a`, one.token, 'x')).status).toBe(201)
    const replaced = await put(apps.app, `/${bucket}/a`, other.token, 'y')
    expect([replaced.status, replaced.json.userId]).toEqual([200, one.id])
  })

  test('hide the columns of the system from callers', async () => {
    const columns = await apps.app.sql(
      `select column_name::text as name from information_schema.column_privileges
       where grantee = 'basalt_authenticated' and table_schema = 'basalt' and table_name = 'objects'
         and privilege_type = 'SELECT' order by 1`,
    )
    expect(columns.map(({ name }) => name)).toEqual([
      'bucket',
      'content_type',
      'created_at',
      'etag',
      'id',
      'name',
      'size',
      'updated_at',
      'user_id',
    ])
  })
})
