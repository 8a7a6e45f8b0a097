import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { request as openRequest } from 'node:http'
import pg from 'pg'
import { Upload } from 'tus-js-client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestApp, TestResponse } from '../../../../../test/test-app.ts'
import { diskStore } from '../bytes/disk.ts'
import { newKey } from '../bytes/store.ts'
import { checkStorage } from '../check.ts'
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

const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/)
const content = 'The quick brown fox jumps over the lazy dog'
const size = content.length
const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')

let apps: StorageApps
let admin: string
/** Bucket in which users write under their own name. */
let own: string

beforeAll(async () => {
  apps = await createStorageApps({ 'storage.max_file_size': '1048576', 'storage.default_quota_mb': '1' })
  admin = await apps.app.adminToken()
  own = await createBucket(apps.app)
  await applyTemplate(apps.app, 'user-own-files', { bucket: own })
})
afterAll(() => apps[Symbol.asyncDispose]())

const tus = { 'tus-resumable': '1.0.0' }
const chunk = { ...tus, 'content-type': 'application/offset+octet-stream' }
const base64 = (text: string) => Buffer.from(text).toString('base64')

async function create(
  path: string,
  length: number | string,
  { token = admin, headers = {} }: { token?: string; headers?: Readonly<Record<string, string>> } = {},
): Promise<TestResponse> {
  const all = { ...tus, 'upload-length': String(length), ...headers }
  return await exchange(apps.app, 'POST', `/upload/resumable${path}`, token, undefined, all)
}

/** Creates an upload that has received no bytes yet. */
async function begin(name: string, options: { token?: string; bucket?: string; size?: number } = {}) {
  const { token = admin, bucket = own } = options
  const response = await create(`?bucket=${bucket}&name=${encodeURIComponent(name)}`, options.size ?? size, {
    token,
  })
  if (response.status !== 201) throw new Error(response.text)
  return response.json.id as string
}

async function patch(
  app: TestApp,
  id: string,
  offset: number | string,
  body: string | Uint8Array<ArrayBuffer>,
  { token = admin, headers = chunk }: { token?: string; headers?: Readonly<Record<string, string>> } = {},
): Promise<TestResponse> {
  const all = { ...headers, 'upload-offset': String(offset) }
  return await exchange(app, 'PATCH', `/upload/resumable/${id}`, token, body, all)
}

async function sendRequest(app: TestApp, method: string, id: string, token = admin, headers: object = tus) {
  return await exchange(app, method, `/upload/resumable/${id}`, token, undefined, { ...headers })
}

const offsetOf = (response: TestResponse) => [response.status, response.headers.get('upload-offset')]
const read = async (bucket: string, name: string, token = admin) =>
  await get(apps.second, `/${bucket}/${name}`, token)

/** Begins a PATCH, sends some of its bytes and holds it open once the server has taken the upload. */
async function hold(app: TestApp, id: string, { offset = 0, text = '', length = size } = {}) {
  const request = openRequest(`${app.url}/api/storage/upload/resumable/${id}`, {
    method: 'PATCH',
    headers: {
      ...chunk,
      authorization: `Bearer ${admin}`,
      'upload-offset': String(offset),
      'content-length': String(length - offset),
    },
  })
  request.on('error', () => undefined)
  request.flushHeaders()
  if (text !== '') request.write(text)
  await expect.poll(() => leaseOf(id)).not.toBe(null)
  return request
}

async function leaseOf(id: string): Promise<string | null | undefined> {
  const [row] = await apps.app.sql<{ lease: string | null }>(
    'select lease from basalt.resumable_uploads where id = $1',
    [id],
  )
  return row?.lease
}

async function cutAfter(app: TestApp, id: string, offset: number, text: string): Promise<void> {
  const request = await hold(app, id, { offset, text })
  request.destroy()
  await expect.poll(() => leaseOf(id)).toBe(null)
}

describe('storage › resumable uploads › a whole one', () => {
  test.each([
    ['PATCH', false],
    ['POST', true],
  ])('makes the object with tus-js-client, in several requests by %s', async (method, overridesMethod) => {
    const { id, token } = newUser()
    const bytes = randomBytes(300_000)
    const answered: string[] = []
    await new Promise<void>((resolve, reject) => {
      const upload = new Upload(bytes, {
        endpoint: `${apps.app.url}/api/storage/upload/resumable?bucket=${own}`,
        headers: { authorization: `Bearer ${token}` },
        metadata: { filename: `${id}/größe.bin`, filetype: 'application/x-thing' },
        chunkSize: 100_000,
        overridePatchMethod: overridesMethod,
        retryDelays: [],
        onAfterResponse: (request, response) => {
          answered.push(
            `${request.getMethod()} ${response.getStatus()} ${response.getHeader('upload-offset')}`,
          )
        },
        onSuccess: () => resolve(),
        onError: reject,
      })
      upload.start()
    })
    const offsets = [100_000, 200_000, 300_000]
    expect(answered).toEqual(['POST 201 0', ...offsets.map((offset) => `${method} 204 ${offset}`)])
    const response = await fetch(
      `${apps.second.url}/api/storage/${own}/${id}/${encodeURIComponent('größe.bin')}`,
      {
        headers: { authorization: `Bearer ${token}` },
      },
    )
    expect(response.headers.get('content-type')).toBe('application/x-thing')
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true)
    expect(
      await apps.app.sql('select size::int from basalt.objects where bucket = $1 and user_id = $2', [
        own,
        id,
      ]),
    ).toEqual([{ size: 300_000 }])
  })

  test('is resumed by tus-js-client on the other node after a cut', async () => {
    const bytes = randomBytes(200_000)
    const options = { headers: { authorization: `Bearer ${admin}` }, chunkSize: 80_000, retryDelays: [] }
    const url = await new Promise<string>((resolve, reject) => {
      const upload = new Upload(bytes, {
        ...options,
        endpoint: `${apps.app.url}/api/storage/upload/resumable?bucket=${own}&name=resumed`,
        onChunkComplete: () => {
          void upload.abort()
          resolve(upload.url ?? '')
        },
        onError: reject,
      })
      upload.start()
    })
    await new Promise<void>((resolve, reject) => {
      const upload = new Upload(bytes, {
        ...options,
        uploadUrl: url.replace(apps.app.url, apps.second.url),
        onSuccess: () => resolve(),
        onError: reject,
        retryDelays: [100, 1000, 5000],
      })
      upload.start()
    })
    const response = await fetch(`${apps.app.url}/api/storage/${own}/resumed`, {
      headers: { authorization: `Bearer ${admin}` },
    })
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true)
  })

  test('returns its metadata and its offset, and reports its completion', async () => {
    const metadata = `filename ${base64('b.txt')},filetype ${base64('text/plain')},empty`
    const created = await create(`?bucket=${own}&name=a.txt`, size, {
      headers: { 'upload-metadata': metadata },
    })
    const { id, expiresAt } = created.json
    expect([created.status, created.json]).toEqual([
      201,
      {
        id: uuid,
        bucket: own,
        name: 'a.txt',
        totalSize: size,
        status: 'active',
        expiresAt: expect.any(Number),
        uploadType: 'resumable',
      },
    ])
    const day = 24 * 60 * 60
    expect(Math.abs(expiresAt - Date.now() / 1000 - day)).toBeLessThan(120)
    expect(created.headers.get('location')).toBe(`/api/storage/upload/resumable/${id}`)
    expect(created.headers.get('tus-resumable')).toBe('1.0.0')
    expect(offsetOf(await patch(apps.app, id, 0, content.slice(0, 10)))).toEqual([204, '10'])
    const head = await sendRequest(apps.second, 'HEAD', id)
    expect([offsetOf(head), head.text]).toEqual([[200, '10'], ''])
    expect(
      ['upload-length', 'upload-metadata', 'cache-control', 'tus-resumable'].map((name) =>
        head.headers.get(name),
      ),
    ).toEqual([String(size), metadata, 'no-store', '1.0.0'])
    expect(Date.parse(head.headers.get('upload-expires') ?? '')).toBeGreaterThanOrEqual(expiresAt * 1000)
    const last = await patch(apps.second, id, 10, content.slice(10))
    expect([offsetOf(last), last.text]).toEqual([[204, String(size)], ''])
    expect((await read(own, 'a.txt')).text).toBe(content)
    // When a response was lost, the client requests the offset or sends the end again.
    expect(offsetOf(await sendRequest(apps.app, 'HEAD', id))).toEqual([200, String(size)])
    expect(offsetOf(await patch(apps.app, id, size, ''))).toEqual([204, String(size)])
  })

  test('comes with its creation, or has no bytes at all', async () => {
    const path = `/upload/resumable?bucket=${own}&name=`
    const headers = { ...chunk, 'upload-length': String(size) }
    const whole = await exchange(apps.app, 'POST', `${path}whole`, admin, content, headers)
    expect([offsetOf(whole), whole.json.status]).toEqual([[201, String(size)], 'completed'])
    expect((await read(own, 'whole')).text).toBe(content)
    const begun = await exchange(apps.app, 'POST', `${path}begun`, admin, content.slice(0, 5), headers)
    expect([offsetOf(begun), begun.json.status]).toEqual([[201, '5'], 'active'])
    expect(offsetOf(await patch(apps.second, begun.json.id, 5, content.slice(5)))).toEqual([
      204,
      String(size),
    ])
    expect((await read(own, 'begun')).text).toBe(content)
    const empty = await create(`?bucket=${own}&name=empty`, 0)
    expect([offsetOf(empty), empty.json.status]).toEqual([[201, '0'], 'completed'])
    const found = await read(own, 'empty')
    expect([found.status, found.text]).toEqual([200, ''])
  })

  test('replaces the object of the same name, and keeps its owner and id', async () => {
    const { id: user, token } = newUser()
    const made = (await put(apps.app, `/${own}/${user}/a`, token, 'old')).json
    const id = await begin(`${user}/a`, { token })
    expect((await read(own, `${user}/a`)).text).toBe('old')
    await patch(apps.app, id, 0, content, { token })
    expect((await read(own, `${user}/a`)).text).toBe(content)
    const [row] = await apps.app.sql('select id, user_id from basalt.objects where name = $1', [`${user}/a`])
    expect(row).toEqual({ id: made.id, user_id: user })
  })
})

describe('storage › resumable uploads › cut off', () => {
  test.each([0, 1, Math.floor(size / 2), size - 1])(
    'after %i bytes keep them and are resumed on the other node',
    async (count) => {
      const name = `cut-${count}`
      const id = await begin(name)
      await cutAfter(apps.app, id, 0, content.slice(0, count))
      expect(offsetOf(await sendRequest(apps.second, 'HEAD', id))).toEqual([200, String(count)])
      expect(offsetOf(await patch(apps.second, id, count, content.slice(count)))).toEqual([204, String(size)])
      expect((await read(own, name)).text).toBe(content)
    },
  )

  test('again and again, byte by byte, are whole in the end', async () => {
    const id = await begin('steps')
    for (const [index, offset] of [0, 1, 2, 10].entries()) {
      const end = [1, 2, 10, 20][index]
      await cutAfter(index % 2 === 0 ? apps.app : apps.second, id, offset, content.slice(offset, end))
    }
    expect(offsetOf(await patch(apps.app, id, 20, content.slice(20)))).toEqual([204, String(size)])
    expect((await read(own, 'steps')).text).toBe(content)
  })

  test('before the object was made are completed by the next HEAD or PATCH, once', async () => {
    for (const [name, resume] of [
      ['by-head', (id: string) => sendRequest(apps.second, 'HEAD', id)],
      ['by-patch', (id: string) => patch(apps.second, id, size, '')],
    ] as const) {
      const id = await begin(name)
      await patch(apps.app, id, 0, content.slice(0, 5))
      // As a node leaves it that dies after its part was kept, with its lease.
      const key = newKey()
      await diskStore(apps.directory).write(key, bytesOf(content.slice(5)))
      await apps.app.sql('insert into basalt.stored_bytes (key) values ($1)', [key])
      await apps.app.sql(`insert into basalt.resumable_parts values ($1, 5, $2, $3)`, [id, size - 5, key])
      await apps.app.sql(
        `update basalt.resumable_uploads set received = size, lease = $2, lease_until = now() + interval '1 hour'
         where id = $1`,
        [id, randomUUID()],
      )
      expect((await resume(id)).status).toBe(423)
      await apps.app.sql('update basalt.resumable_uploads set lease_until = now() where id = $1', [id])
      expect(offsetOf(await resume(id))).toEqual([name === 'by-head' ? 200 : 204, String(size)])
      const first = await read(own, name)
      expect(first.text).toBe(content)
      // No object is made again, because it would replace the newer object of another client.
      await put(apps.app, `/${own}/${name}`, admin, 'newer')
      await resume(id)
      expect((await read(own, name)).text).toBe('newer')
    }
  })

  test('with their node leave a lease that another request takes when its time is up; the first one is fenced off', async () => {
    const id = await begin('fenced')
    const stalled = await hold(apps.app, id, { text: 'stale' })
    await apps.app.sql('update basalt.resumable_uploads set lease_until = now() where id = $1', [id])
    expect(offsetOf(await patch(apps.second, id, 0, content.slice(0, 20)))).toEqual([204, '20'])
    const answer = once(stalled, 'response')
    stalled.end('x'.repeat(size - 5))
    const [response] = await answer
    response.resume()
    expect(response.statusCode).toBe(409)
    expect(offsetOf(await patch(apps.app, id, 20, content.slice(20)))).toEqual([204, String(size)])
    expect((await read(own, 'fenced')).text).toBe(content)
  })
})

describe('storage › resumable uploads › at once', () => {
  test('accepts the bytes of one of ten requests to one upload, half on another node', async () => {
    const id = await begin('contested')
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        patch(index % 2 === 0 ? apps.app : apps.second, id, 0, content.slice(0, 7)),
      ),
    )
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 204)).toHaveLength(1)
    expect(statuses.filter((status) => ![204, 409, 423].includes(status))).toEqual([])
    expect(offsetOf(await sendRequest(apps.app, 'HEAD', id))).toEqual([200, '7'])
    expect(await apps.app.sql('select from basalt.resumable_parts where upload_id = $1', [id])).toHaveLength(
      1,
    )
  })

  test('another request is refused while one adds bytes, and what that one brings stays', async () => {
    const id = await begin('busy')
    const first = await hold(apps.app, id, { text: content.slice(0, 5) })
    const refused = await patch(apps.second, id, 0, content)
    expect(problem(refused)).toEqual([
      423,
      'resumable upload is locked by another request',
      'resumable_upload_locked',
    ])
    expect(refused.headers.get('retry-after')).toBe('1')
    const answer = once(first, 'response')
    first.end(content.slice(5))
    const [response] = await answer
    response.resume()
    expect([response.statusCode, response.headers['upload-offset']]).toEqual([204, String(size)])
    expect((await read(own, 'busy')).text).toBe(content)
  })

  test('two uploads of one name both succeed, and the later one is the object', async () => {
    const [one, other] = [await begin('shared'), await begin('shared')]
    await patch(apps.app, one, 0, content)
    await patch(apps.second, other, 0, content.toUpperCase())
    expect((await read(own, 'shared')).text).toBe(content.toUpperCase())
  })

  test('unfinished uploads of a user and stored files together have no more than the quota', async () => {
    const { id, token } = newUser()
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        index % 2 === 0
          ? create(`?bucket=${own}&name=${id}/${index}`, 400_000, { token })
          : put(apps.second, `/${own}/${id}/${index}`, token, Buffer.alloc(400_000)),
      ),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 413, 413, 413, 413])
    for (const refused of answers.filter(({ status }) => status === 413)) {
      expect(problem(refused)).toEqual([413, 'storage quota exceeded', 'storage_quota_exceeded'])
    }
  })

  test('20 are completed or terminated, each of them one or the other, and none reserves anything after', async () => {
    const { id: user, token } = newUser()
    const names = Array.from({ length: 20 }, (_, index) => `${user}/${index}`)
    const ids = await Promise.all(names.map((name) => begin(name, { token })))
    const pairs = await Promise.all(
      ids.map(async (id, index) => {
        const [one, other] = index % 2 === 0 ? [apps.app, apps.second] : [apps.second, apps.app]
        return await Promise.all([
          patch(one, id, 0, content, { token }),
          sendRequest(other, 'DELETE', id, token),
        ])
      }),
    )
    const stored = await apps.app.sql<{ name: string }>(
      'select name from basalt.objects where user_id = $1',
      [user],
    )
    for (const [index, [patched, ended]] of pairs.entries()) {
      const isStored = stored.some(({ name }) => name === names[index])
      expect([patched.status, isStored]).toEqual(patched.status === 204 ? [204, true] : [404, false])
      expect(ended.status).toBe(204)
    }
    const left = await apps.app.sql(
      `select (select bytes::int from basalt.storage_usage where user_id = $1) as bytes,
        (select sum(reserved)::int from basalt.app_storage_usage)
          - (select coalesce(sum(size), 0)::int from basalt.resumable_uploads where completed_at is null) as reserved,
        (select count(*)::int from basalt.resumable_uploads where user_id = $1) as uploads`,
      [user],
    )
    expect(left).toEqual([{ bytes: stored.length * size, reserved: 0, uploads: 0 }])
  })

  test('deletes the account of their owner amid uploads without a deadlock, and nothing stays', async () => {
    const { id: user, token } = newUser()
    await apps.app.sql('insert into basalt.users (id) values ($1)', [user])
    await put(apps.app, `/${own}/${user}/a`, token, 'before')
    const [id, ended] = [await begin(`${user}/b`, { token }), await begin(`${user}/c`, { token })]
    const client = new pg.Client({ connectionString: apps.database.url })
    await client.connect()
    await client.query('begin')
    await client.query('select from basalt.storage_usage where user_id = $1 for update', [user])
    const deleted = apps.app.request('DELETE', `/api/admin/users/${user}`, { token: admin })
    await untilWaiting(apps.app, 1)
    const refused = [
      put(apps.second, `/${own}/${user}/a`, token, 'after'),
      patch(apps.second, id, 0, content, { token }),
      sendRequest(apps.app, 'DELETE', ended, token),
    ]
    await untilWaiting(apps.app, 4)
    await client.query('commit')
    await client.end()
    expect((await deleted).status).toBe(204)
    expect((await Promise.all(refused)).map(problem)).toEqual([
      [403, 'insufficient storage permissions', 'insufficient_storage_permissions'],
      [404, 'resumable upload not found', 'resumable_upload_not_found'],
      [404, 'resumable upload not found', 'resumable_upload_not_found'],
    ])
    const left = await apps.app.sql(
      `select 'object' from basalt.objects where user_id = $1
       union all select 'upload' from basalt.resumable_uploads where user_id = $1
       union all select 'bytes' from basalt.storage_usage where user_id = $1 and bytes <> 0`,
      [user],
    )
    expect(left).toEqual([])
  })

  test('returns 404 for one deleted with the account while its last bytes are joined', async () => {
    const { id: user, token } = newUser()
    await apps.app.sql('insert into basalt.users (id) values ($1)', [user])
    const id = await begin(`${user}/a`, { token })
    const client = new pg.Client({ connectionString: apps.database.url })
    await client.connect()
    await client.query('begin')
    // The bucket is read before the bytes are joined.
    await client.query('lock table basalt.buckets')
    const patched = patch(apps.app, id, 0, content, { token })
    await expect
      .poll(() => apps.second.sql('select from basalt.resumable_parts where upload_id = $1', [id]))
      .toHaveLength(1)
    await client.query('delete from basalt.users where id = $1', [user])
    await client.query('commit')
    await client.end()
    expect(problem(await patched)).toEqual([404, 'resumable upload not found', 'resumable_upload_not_found'])
  })
})

describe('storage › resumable uploads › refused', () => {
  const begun = (query: string, length: number | string = 1, headers = {}) =>
    create(query, length, { headers })

  test.each<
    readonly [
      what: string,
      query: string,
      length: string,
      headers: object,
      status: number,
      message: string,
      error: string,
    ]
  >([
    [
      'without a bucket',
      '?name=a',
      '1',
      {},
      400,
      'bucket and name query params are required',
      'upload_place_required',
    ],
    [
      'without a name',
      '?bucket=BUCKET',
      '1',
      {},
      400,
      'bucket and name query params are required',
      'upload_place_required',
    ],
    ['into an unknown bucket', '?bucket=none&name=a', '1', {}, 404, 'bucket not found', 'bucket_not_found'],
    [
      'of a wrong name',
      '?bucket=BUCKET&name=../a',
      '1',
      {},
      400,
      'invalid object name: no segment of it may be . or ..',
      'invalid_object_name',
    ],
    [
      'without a length',
      '?bucket=BUCKET&name=a',
      '',
      {},
      400,
      'invalid Upload-Length header: expected a number of bytes',
      'invalid_upload_header',
    ],
    [
      'of a wrong length',
      '?bucket=BUCKET&name=a',
      '-1',
      {},
      400,
      'invalid Upload-Length header: expected a number of bytes',
      'invalid_upload_header',
    ],
    [
      'that are too large',
      '?bucket=BUCKET&name=a',
      '1048577',
      {},
      413,
      'file too large: at most 1048576 bytes',
      'file_too_large',
    ],
    [
      'of another version',
      '?bucket=BUCKET&name=a',
      '1',
      { 'tus-resumable': '0.2.2' },
      412,
      'invalid Tus-Resumable header',
      'invalid_tus_resumable',
    ],
    [
      'with malformed metadata',
      '?bucket=BUCKET&name=a',
      '1',
      { 'upload-metadata': 'name ???' },
      400,
      'invalid Upload-Metadata header: expected pairs of a key and a Base64 value between commas',
      'invalid_upload_header',
    ],
    [
      'with a key twice',
      '?bucket=BUCKET&name=a',
      '1',
      { 'upload-metadata': 'a,a' },
      400,
      'invalid Upload-Metadata header: a is there twice',
      'invalid_upload_header',
    ],
    [
      'with a value that is no Base64',
      '?bucket=BUCKET',
      '1',
      { 'upload-metadata': 'name YWJjZ' },
      400,
      'invalid Upload-Metadata header: expected pairs of a key and a Base64 value between commas',
      'invalid_upload_header',
    ],
    [
      'of a name that is not UTF-8',
      '?bucket=BUCKET',
      '1',
      { 'upload-metadata': 'other /w==,filename /w==' },
      400,
      'invalid Upload-Metadata header: filename is not UTF-8',
      'invalid_upload_header',
    ],
    [
      'that are to be joined',
      '?bucket=BUCKET&name=a',
      '1',
      { 'upload-concat': 'partial' },
      400,
      'invalid Upload-Concat header: the extension concatenation is not offered',
      'invalid_upload_header',
    ],
  ])('%s', async (_what, query, length, headers, status, message, error) => {
    const response = await begun(query.replace('BUCKET', own), length, headers)
    expect(problem(response)).toEqual([status, message, error])
    expect(response.headers.get('tus-resumable')).toBe('1.0.0')
    if (status === 412) expect(response.headers.get('tus-version')).toBe('1.0.0')
  })

  test('never for a type that cannot be one: the file has no known type then', async () => {
    const headers = { 'upload-metadata': `filename ${base64('odd')},filetype ${base64('a/b\0\n')}` }
    const { status, json } = await create(`?bucket=${own}`, 1, { headers })
    expect(status).toBe(201)
    await patch(apps.app, json.id, 0, 'x')
    expect((await read(own, 'odd')).headers.get('content-type')).toBe('application/octet-stream')
    expect((await create('?bucket=%00&name=a', 1)).status).toBe(400)
    expect((await create(`?bucket=${own}&name=%00`, 1)).status).toBe(400)
  })

  test('creations with a body of another type, or longer than the upload', async () => {
    const path = `/upload/resumable?bucket=${own}&name=a`
    const headers = { ...tus, 'upload-length': '2' }
    const wrong = await exchange(apps.app, 'POST', path, admin, '{}', {
      ...headers,
      'content-type': 'application/json',
    })
    expect(problem(wrong)).toEqual([
      415,
      'Content-Type must be application/offset+octet-stream',
      'invalid_chunk_type',
    ])
    const begun = `select count(*)::int as count from basalt.resumable_uploads`
    const before = await apps.app.sql(begun)
    const encoded = await exchange(apps.app, 'POST', path, admin, 'ab', {
      ...headers,
      ...chunk,
      'content-encoding': 'gzip',
    })
    expect(problem(encoded)).toEqual([
      415,
      'Content-Encoding of the request body: expected identity',
      'unsupported_content_encoding',
    ])
    expect(await apps.app.sql(begun)).toEqual(before)
    const long = await exchange(apps.app, 'POST', path, admin, 'abc', { ...headers, ...chunk })
    expect(problem(long)).toEqual([
      413,
      'resumable upload exceeds its Upload-Length',
      'resumable_upload_exceeded',
    ])
  })

  test('requests with wrong headers, to nothing, and from another user', async () => {
    const { id: user, token } = newUser()
    const id = await begin(`${user}/a`, { token })
    const options = { token }
    const notFound = [404, 'resumable upload not found', 'resumable_upload_not_found']
    const cases: readonly [TestResponse, readonly unknown[]][] = [
      [
        await patch(apps.app, id, 0, 'x', { token, headers: { ...chunk, 'tus-resumable': '2.0.0' } }),
        [412, 'invalid Tus-Resumable header', 'invalid_tus_resumable'],
      ],
      [
        await patch(apps.app, id, 0, 'x', { token, headers: { ...tus, 'content-type': 'text/plain' } }),
        [415, 'Content-Type must be application/offset+octet-stream', 'invalid_chunk_type'],
      ],
      [
        await patch(apps.app, id, 0, 'x', { token, headers: { ...chunk, 'upload-checksum': 'sha1 AAAA' } }),
        [
          400,
          'invalid Upload-Checksum header: the extension checksum is not offered',
          'invalid_upload_header',
        ],
      ],
      [
        await patch(apps.app, id, 0, 'x', { token, headers: { ...chunk, 'content-encoding': 'gzip' } }),
        [415, 'Content-Encoding of the request body: expected identity', 'unsupported_content_encoding'],
      ],
      [
        await patch(apps.app, id, 'x', 'x', options),
        [400, 'invalid Upload-Offset header: expected a number of bytes', 'invalid_upload_header'],
      ],
      [
        await patch(apps.app, id, 1, 'x', options),
        [409, 'resumable upload offset mismatch', 'resumable_upload_offset_mismatch'],
      ],
      [
        await patch(apps.app, id, 0, `${content}x`, options),
        [413, 'resumable upload exceeds its Upload-Length', 'resumable_upload_exceeded'],
      ],
      [
        await sendRequest(apps.app, 'POST', id, token),
        [400, 'invalid X-HTTP-Method-Override header: expected PATCH or DELETE', 'invalid_upload_header'],
      ],
      [
        await sendRequest(apps.app, 'POST', id, newUser().token, {
          ...tus,
          'x-http-method-override': 'DELETE',
        }),
        [403, 'resumable upload forbidden: not the upload owner', 'resumable_upload_forbidden'],
      ],
      [await patch(apps.app, randomUUID(), 0, 'x', options), notFound],
      [await patch(apps.app, 'x', 0, 'x', options), notFound],
      [await sendRequest(apps.app, 'DELETE', randomUUID(), token), notFound],
      ...(await Promise.all(
        [newUser().token, admin].map(
          async (other): Promise<[TestResponse, readonly unknown[]]> => [
            await patch(apps.second, id, 0, content, { token: other }),
            [403, 'resumable upload forbidden: not the upload owner', 'resumable_upload_forbidden'],
          ],
        ),
      )),
      [
        await sendRequest(apps.app, 'DELETE', id, newUser().token),
        [403, 'resumable upload forbidden: not the upload owner', 'resumable_upload_forbidden'],
      ],
    ]
    for (const [response, expected] of cases) expect(problem(response)).toEqual(expected)
    expect((await sendRequest(apps.app, 'HEAD', id, newUser().token)).status).toBe(403)
    expect((await sendRequest(apps.app, 'HEAD', randomUUID(), token)).status).toBe(404)
    expect((await sendRequest(apps.app, 'HEAD', id, token, {})).status).toBe(412)
    expect(offsetOf(await sendRequest(apps.app, 'HEAD', id, token))).toEqual([200, '0'])
  })

  test('bytes beyond the length that no header says, of which none stays', async () => {
    const id = await begin('long')
    const send = async (offset: number, text: string) =>
      await exchange(apps.app, 'PATCH', `/upload/resumable/${id}`, admin, new Blob([text]).stream(), {
        ...chunk,
        'upload-offset': String(offset),
      })
    const exceeded = [413, 'resumable upload exceeds its Upload-Length', 'resumable_upload_exceeded']
    expect(problem(await send(0, `${content}x`))).toEqual(exceeded)
    expect(offsetOf(await sendRequest(apps.app, 'HEAD', id))).toEqual([200, '0'])
    expect((await send(0, content)).status).toBe(204)
    expect((await send(size, '')).status).toBe(204)
    expect(problem(await send(size, 'x'))).toEqual(exceeded)
  })

  test('rejects an object that no policy permits: at the creation, and at the end', async () => {
    const { id: user, token } = newUser()
    const refusal = [403, 'insufficient storage permissions', 'insufficient_storage_permissions']
    const closed = await createBucket(apps.app, { public: true })
    expect(problem(await create(`?bucket=${closed}&name=a`, 1, { token }))).toEqual(refusal)
    expect(await apps.app.sql('select from basalt.resumable_uploads where user_id = $1', [user])).toEqual([])
    // An object of another user, out of reach.
    await put(apps.app, `/${own}/theirs`, admin, 'theirs')
    expect(problem(await create(`?bucket=${own}&name=theirs`, 1, { token }))).toEqual(refusal)

    const bucket = await createBucket(apps.app)
    await applyTemplate(apps.app, 'user-own-files', { bucket })
    const id = await begin(`${user}/a`, { token, bucket })
    for (const { policyname } of await apps.app.sql<{ policyname: string }>(
      `select policyname from pg_policies where tablename = 'objects' and coalesce(qual, with_check) like '%' || $1 || '%'`,
      [`'${bucket}'`],
    )) {
      await apps.app.sql(`drop policy "${policyname}" on basalt.objects`)
    }
    expect(problem(await patch(apps.app, id, 0, content, { token }))).toEqual(refusal)
    expect((await sendRequest(apps.app, 'HEAD', id, token)).status).toBe(403)
    expect((await read(bucket, `${user}/a`)).status).toBe(404)
    // The bytes are stored. The upload ends when policies permit it.
    await applyTemplate(apps.app, 'user-own-files', { bucket })
    expect(offsetOf(await sendRequest(apps.app, 'HEAD', id, token))).toEqual([200, String(size)])
    expect((await read(bucket, `${user}/a`)).text).toBe(content)
  })

  test('over the quota: at the creation, and at the end when the quota was lowered meanwhile', async () => {
    const { id: user, token } = newUser()
    const refusal = [413, 'storage quota exceeded', 'storage_quota_exceeded']
    await put(apps.app, `/${own}/${user}/a`, token, Buffer.alloc(700_000))
    expect(problem(await create(`?bucket=${own}&name=${user}/b`, 400_000, { token }))).toEqual(refusal)
    // The replaced object remains, and counts, until the upload is complete.
    expect(problem(await create(`?bucket=${own}&name=${user}/a`, 400_000, { token }))).toEqual(refusal)
    const id = await begin(`${user}/c`, { token, size: 1_048_576 - 700_000 })
    expect(problem(await put(apps.app, `/${own}/${user}/d`, token, 'x'))).toEqual(refusal)
    expect((await put(apps.app, `/${own}/${user}/e`, token, '')).status).toBe(201)
    await sendRequest(apps.app, 'DELETE', id, token)
    expect((await put(apps.app, `/${own}/${user}/d`, token, Buffer.alloc(1_048_576 - 700_000))).status).toBe(
      201,
    )

    const setQuota = async (quota: number | null) =>
      await apps.app.request('PUT', `/api/admin/users/${other.id}/storage-quota`, {
        token: admin,
        body: { quota_mb: quota },
      })
    const other = newUser()
    await apps.app.sql('insert into basalt.users (id) values ($1)', [other.id])
    await setQuota(2)
    await put(apps.app, `/${own}/${other.id}/a`, other.token, Buffer.alloc(700_000))
    const late = await begin(`${other.id}/b`, { ...other, size: 400_000 })
    await setQuota(1)
    expect(problem(await patch(apps.app, late, 0, Buffer.alloc(400_000), other))).toEqual(refusal)
    expect(
      await apps.app.sql('select bytes::int from basalt.storage_usage where user_id = $1', [other.id]),
    ).toEqual([{ bytes: 700_000 }])
  })

  test('rejects a type that the bucket does not accept, whatever the metadata says', async () => {
    const bucket = await createBucket(apps.app, { allowedTypes: ['image/*'], maxFileSize: 100 })
    const headers = { 'upload-metadata': `contentType ${base64('image/png')}` }
    const { id } = (await create(`?bucket=${bucket}&name=a`, size, { headers })).json
    expect(problem(await patch(apps.app, id, 0, content))).toEqual([
      415,
      'the bucket does not take files of the type application/octet-stream',
      'file_type_not_allowed',
    ])
    expect(problem(await create(`?bucket=${bucket}&name=a`, 101))[1]).toBe(
      'file too large: at most 100 bytes',
    )
    const other = await begin('b', { bucket, size: png.length })
    for (const [offset, byte] of [...png].entries()) await patch(apps.app, other, offset, Uint8Array.of(byte))
    expect((await read(bucket, 'b')).headers.get('content-type')).toBe('image/png')
  })
})

describe('storage › resumable uploads › end', () => {
  test('24 hours after the last bytes', async () => {
    const id = await begin('slow')
    const left = () =>
      apps.app.sql(
        `select extract(epoch from expires_at - now()) > 86000 as whole from basalt.resumable_uploads where id = $1`,
        [id],
      )
    await apps.app.sql(
      `update basalt.resumable_uploads set expires_at = now() + interval '1 min' where id = $1`,
      [id],
    )
    await patch(apps.app, id, 0, content.slice(0, 5))
    expect(await left()).toEqual([{ whole: true }])
    // With a lease, so that a reaper which is due for something else does not remove it yet.
    await apps.app.sql(
      `update basalt.resumable_uploads
       set expires_at = now(), lease = gen_random_uuid(), lease_until = now() + interval '1 hour' where id = $1`,
      [id],
    )
    const gone = [410, 'resumable upload has expired', 'resumable_upload_expired']
    expect(problem(await patch(apps.app, id, 5, content.slice(5)))).toEqual(gone)
    expect(problem(await sendRequest(apps.second, 'DELETE', id))).toEqual(gone)
    expect((await sendRequest(apps.app, 'HEAD', id)).status).toBe(410)
    await apps.app.sql('update basalt.resumable_uploads set lease = null, lease_until = null where id = $1', [
      id,
    ])
    await reap()
    await expect.poll(async () => (await sendRequest(apps.app, 'HEAD', id)).status).toBe(404)
  })

  test('stop by termination, also amid a request, and an object that was made stays', async () => {
    const id = await begin('ended')
    const request = await hold(apps.app, id, { text: 'half' })
    expect((await sendRequest(apps.second, 'DELETE', id)).status).toBe(204)
    const answer = once(request, 'response')
    request.end('x'.repeat(size - 4))
    const [response] = await answer
    response.resume()
    expect(response.statusCode).toBe(404)
    expect((await sendRequest(apps.app, 'HEAD', id)).status).toBe(404)
    expect((await read(own, 'ended')).status).toBe(404)

    const done = await begin('done')
    await patch(apps.app, done, 0, content)
    expect((await sendRequest(apps.second, 'DELETE', done)).status).toBe(204)
    expect((await read(own, 'done')).text).toBe(content)
  })

  test('with their bucket and with the account of their owner', async () => {
    const bucket = await createBucket(apps.app)
    const id = await begin('a', { bucket })
    await patch(apps.app, id, 0, 'half')
    await apps.app.request('DELETE', `/api/storage/buckets/${bucket}`, { token: admin })
    expect((await patch(apps.app, id, 4, 'more')).status).toBe(404)
    const user = newUser()
    await apps.app.sql('insert into basalt.users (id) values ($1)', [user.id])
    const mine = await begin(`${user.id}/a`, user)
    await patch(apps.app, mine, 0, 'half', user)
    await apps.app.sql('delete from basalt.users where id = $1', [user.id])
    expect((await patch(apps.app, mine, 4, 'more', user)).status).not.toBe(204)
    expect(await apps.app.sql('select from basalt.resumable_uploads where id = $1', [mine])).toEqual([])
  })

  test('without anything left: no part, no row and no bytes that belong to nothing', async () => {
    const lost = await begin('lost')
    await patch(apps.app, lost, 0, 'half')
    const [part] = await apps.app.sql<{ key: string }>(
      'select key from basalt.resumable_parts where upload_id = $1',
      [lost],
    )
    const store = diskStore(apps.directory)
    await store.remove(part?.key ?? '')
    const storage = { database: apps.app.app.database.system, store }
    expect(await checkStorage(storage)).toMatchObject({
      lost: [{ bucket: own, name: 'lost', key: part?.key, foundSize: null }],
      orphans: [],
    })
    const response = await patch(apps.app, lost, 4, content.slice(4))
    expect(problem(response)[0]).toBe(503)

    await apps.app.sql('update basalt.resumable_uploads set expires_at = now()')
    await reap()
    await expect
      .poll(() =>
        apps.app.sql(`select state from basalt.stored_bytes where state <> 'committed'
          union all select 'part' from basalt.resumable_parts union all select 'upload' from basalt.resumable_uploads`),
      )
      .toEqual([])
    const keys = await apps.app.sql<{ key: string }>('select key from basalt.objects order by key')
    expect(await apps.listFiles()).toEqual(keys.map(({ key }) => key))
    expect(await checkStorage(storage)).toMatchObject({ lost: [], orphans: [], doomed: 0, staged: 0 })
  })
})

test('storage › resumable uploads › OPTIONS says what the server can do, to everyone', async () => {
  const response = await exchange(apps.app, 'OPTIONS', '/upload/resumable', undefined, undefined, {})
  expect([response.status, response.text]).toEqual([204, ''])
  expect(
    ['tus-resumable', 'tus-version', 'tus-extension', 'tus-max-size'].map((name) =>
      response.headers.get(name),
    ),
  ).toEqual(['1.0.0', '1.0.0', 'creation,creation-with-upload,expiration,termination', '1048576'])
})

test('storage › resumable uploads › without a token are refused', async () => {
  const id = await begin('guarded')
  for (const [method, path] of [
    ['POST', `?bucket=${own}&name=a`],
    ['PATCH', `/${id}`],
    ['DELETE', `/${id}`],
  ] as const) {
    const response = await exchange(apps.app, method, `/upload/resumable${path}`, undefined, undefined, tus)
    expect([method, response.status]).toEqual([method, 401])
  }
})

async function reap(): Promise<void> {
  await apps.app.request('POST', '/api/admin/jobs', { token: admin, body: { type: 'storage_reaper' } })
}

async function* bytesOf(text: string) {
  yield Buffer.from(text)
}
