import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startS3 } from '../../../../../test/s3-stand-in.ts'
import { createTestApp, createTestDatabase } from '../../../../../test/test-app.ts'
import { diskStore } from '../bytes/disk.ts'
import { newKey } from '../bytes/store.ts'
import { checkStorage, removeOrphans } from '../check.ts'
import { createStorageMeasure } from '../quotas/measure.ts'
import {
  applyTemplate,
  createBucket,
  createStorageApps,
  get,
  newUser,
  problem,
  put,
  type StorageApps,
} from './storage-requests.ts'

let apps: StorageApps
let admin: string

beforeAll(async () => {
  apps = await createStorageApps({
    'storage.cdn.provider': 'webhook',
    'storage.cdn.webhook.endpoint': 'http://127.0.0.1:9/purge',
    'storage.cdn.webhook.signing_secret': 'x'.repeat(32),
    'storage.cdn_url': 'https://cdn.example.com/',
  })
  admin = await apps.app.adminToken()
})
afterAll(() => apps[Symbol.asyncDispose]())

const keysOf = async (bucket: string) =>
  (
    await apps.app.sql<{ key: string }>('select key from basalt.objects where bucket = $1 order by name', [
      bucket,
    ])
  ).map(({ key }) => key)
const untilRemoved = async (keys: readonly string[]) => {
  for (const key of keys) await expect.poll(() => apps.listFiles()).not.toContain(key)
  await expect
    .poll(() => apps.app.sql('select from basalt.stored_bytes where key = any ($1)', [keys]))
    .toEqual([])
}

describe('storage › bytes', () => {
  test('are removed with deleted and with replaced objects', async () => {
    const bucket = await createBucket(apps.app)
    for (const name of ['a', 'b']) await put(apps.app, `/${bucket}/${name}`, admin, name)
    const keys = await keysOf(bucket)
    expect(await apps.listFiles()).toEqual(expect.arrayContaining(keys))
    expect((await get(apps.app, `/${bucket}/a`, admin, {}, 'DELETE')).status).toBe(204)
    expect((await put(apps.second, `/${bucket}/b`, admin, 'new')).status).toBe(200)
    await untilRemoved(keys)
    expect((await get(apps.app, `/${bucket}/b`, admin)).text).toBe('new')
  })

  test('are removed with the account of their user, through the API or by SQL, and so is its usage', async () => {
    const bucket = await createBucket(apps.app)
    await applyTemplate(apps.app, 'user-own-files', { bucket })
    const { id, token } = newUser()
    await apps.app.sql('insert into basalt.users (id) values ($1)', [id])
    await put(apps.app, `/${bucket}/a`, token, 'mine')
    await put(apps.app, `/${bucket}/b`, admin, 'of no user')
    const [key = ''] = await keysOf(bucket)
    await apps.app.sql('delete from basalt.users where id = $1', [id])
    expect(
      (await get(apps.app, `/${bucket}`, admin)).json.items.map(({ name }: { name: string }) => name),
    ).toEqual(['b'])
    const used = 'select bytes::int from basalt.storage_usage where user_id = $1'
    expect(await apps.app.sql(used, [id])).toEqual([{ bytes: 0 }])
    await apps.app.request('POST', '/api/admin/jobs', { token: admin, body: { type: 'storage_reaper' } })
    await untilRemoved([key])
  })

  test('are removed when an upload outlives the account of its user', async () => {
    const bucket = await createBucket(apps.app)
    await applyTemplate(apps.app, 'user-own-files', { bucket })
    const { id, token } = newUser()
    await apps.app.sql('insert into basalt.users (id) values ($1)', [id])
    const before = await apps.listFiles()
    const { promise: isOver, resolve: end } = Promise.withResolvers<void>()
    const body = new ReadableStream({
      async start(stream) {
        stream.enqueue(Buffer.from('first '))
        await isOver
        stream.enqueue(Buffer.from('second'))
        stream.close()
      },
    })
    const uploading = put(apps.app, `/${bucket}/late`, token, body)
    await expect.poll(() => apps.filesSince(before)).toHaveLength(1)
    await apps.second.sql('delete from basalt.users where id = $1', [id])
    end()
    const refused = [403, 'insufficient storage permissions', 'insufficient_storage_permissions']
    expect(problem(await uploading)).toEqual(refused)
    // Nor is one without bytes, which changes no usage; the node may know by now that the token has ended.
    const ofEndedToken = [401, 'invalid or expired token', 'invalid_token']
    expect([refused, ofEndedToken]).toContainEqual(
      problem(await put(apps.app, `/${bucket}/empty`, token, '')),
    )
    expect(await keysOf(bucket)).toEqual([])
    await expect.poll(() => apps.filesSince(before)).toEqual([])

    // The row of a deleted account is deleted after the longest possible upload.
    const rows = () => apps.app.sql('select from basalt.storage_usage where user_id = $1', [id])
    await apps.app.sql(
      `update basalt.storage_usage set ended_at = ended_at - interval '3 days' where user_id = $1`,
      [id],
    )
    await apps.app.request('POST', '/api/admin/jobs', { token: admin, body: { type: 'storage_reaper' } })
    await expect.poll(rows).toEqual([])
  })

  test('are removed after a crash cut off their upload, once their time is up', async () => {
    const [expired, running] = [newKey(), newKey()]
    const store = diskStore(apps.directory)
    for (const key of [expired, running]) await store.write(key, chunks('half'))
    await apps.app.sql(
      `insert into basalt.stored_bytes (key, expires_at)
       values ($1, now() - interval '1 s'), ($2, now() + interval '1 hour')`,
      [expired, running],
    )
    await apps.app.request('POST', '/api/admin/jobs', { token: admin, body: { type: 'storage_reaper' } })
    await untilRemoved([expired])
    expect(await apps.listFiles()).toContain(running)
    await apps.app.sql(`update basalt.stored_bytes set state = 'doomed' where key = $1`, [running])
  })

  test('are found by a check when they have no row, and so are rows without bytes', async () => {
    const store = diskStore(apps.directory)
    const storage = { database: apps.app.app.database.system, store }
    const bucket = await createBucket(apps.app)
    for (const name of ['gone', 'short', 'whole']) await put(apps.app, `/${bucket}/${name}`, admin, 'bytes')
    const [gone = '', short = '', whole = ''] = await keysOf(bucket)
    await store.remove(gone)
    await writeFile(join(apps.directory, short.slice(0, 2), short), 'byt')
    const orphan = newKey()
    await store.write(orphan, chunks('of nothing'))
    const report = await checkStorage(storage)
    expect(report.orphans).toEqual([orphan])
    expect([...report.lost].sort((one, other) => one.name.localeCompare(other.name))).toEqual([
      { bucket, name: 'gone', key: gone, foundSize: null },
      { bucket, name: 'short', key: short, foundSize: 3 },
    ])
    await removeOrphans(storage, report)
    expect((await checkStorage(storage)).orphans).toEqual([])
    expect(await apps.listFiles()).toContain(whole)
    for (const name of ['gone', 'short']) await get(apps.app, `/${bucket}/${name}`, admin, {}, 'DELETE')
  })

  test('return 503 when they cannot be written or read, and the old content stays', async () => {
    const bucket = await createBucket(apps.app, { public: true })
    await put(apps.app, `/${bucket}/a`, admin, 'whole')
    const [key = ''] = await keysOf(bucket)
    const config = {
      'storage.enabled': 'true',
      'storage.local_path': join(apps.directory, key.slice(0, 2), key),
    }
    await using broken = await createTestApp({ database: apps.database, config })
    const response = await put(broken, `/${bucket}/a`, admin, 'new')
    expect(problem(response)).toEqual([503, 'storage is unavailable', 'storage_unavailable'])
    expect(response.headers.get('retry-after')).toBe('5')
    const copy = await broken.request('POST', `/api/storage/${bucket}/a/copy`, {
      token: admin,
      body: { name: 'b' },
    })
    expect(problem(copy)).toEqual([503, 'storage is unavailable', 'storage_unavailable'])
    expect(copy.headers.get('retry-after')).toBe('5')
    expect((await get(apps.app, `/${bucket}/a`)).text).toBe('whole')
    expect((await get(apps.app, `/${bucket}/b`)).status).toBe(404)
    expect(await apps.app.sql(`select from basalt.stored_bytes where state = 'staged'`)).toEqual([])
  })

  test('return 503 when S3 has only a part, whole and in a range, and never the part', async () => {
    await using s3 = await startS3()
    const config = {
      'storage.backend': 's3',
      'storage.enabled': 'true',
      'storage.s3_endpoint': s3.bucket.endpoint,
      'storage.s3_region': s3.bucket.region,
      'storage.s3_bucket': s3.bucket.name,
      'storage.s3_access_key': s3.bucket.accessKey,
      'storage.s3_secret_key': s3.bucket.secretKey,
    }
    await using database = await createTestDatabase()
    await using app = await createTestApp({ database, config })
    const token = await app.adminToken()
    const bucket = await createBucket(app)
    await put(app, `/${bucket}/empty`, token, '')
    expect((await get(app, `/${bucket}/empty`, token)).text).toBe('')
    await put(app, `/${bucket}/a`, token, 'whole')
    expect((await get(app, `/${bucket}/a`, token)).text).toBe('whole')
    for (const [name, bytes] of s3.objects) s3.objects.set(name, bytes.subarray(0, 3))
    const unavailable = [503, 'storage is unavailable', 'storage_unavailable']
    expect(problem(await get(app, `/${bucket}/a`, token))).toEqual(unavailable)
    expect(problem(await get(app, `/${bucket}/a`, token, { range: 'bytes=1-4' }))).toEqual(unavailable)
  })
})

describe('storage › changes', () => {
  test('purge the addresses of public objects, and not of private ones', async () => {
    const [open, closed] = [await createBucket(apps.app, { public: true }), await createBucket(apps.app)]
    const made = await put(apps.app, `/${open}/a b`, admin, '1')
    expect(made.json.url).toBe(`https://cdn.example.com/api/storage/${open}/a%20b`)
    await put(apps.app, `/${closed}/a`, admin, '1')
    await put(apps.app, `/${open}/a b`, admin, '2')
    await put(apps.app, `/${closed}/a`, admin, '2')
    const purged = async () =>
      (
        await apps.app.sql(`select payload->'urls' as urls from basalt.jobs where type = 'cdn_purge'`)
      ).flatMap(({ urls }) => urls)
    await expect.poll(purged).toContain(made.json.url)
    expect((await purged()).filter((url) => url.includes(closed))).toEqual([])
    // Nothing of it is left for another run.
    await expect.poll(() => apps.app.sql('select from basalt.storage_purges')).toEqual([])
  })

  test('are events for webhooks, without the columns of the system', async () => {
    const bucket = await createBucket(apps.app)
    await apps.app.sql(
      `insert into basalt.webhooks (id, url, events, tables, enabled)
       values (gen_random_uuid(), 'http://127.0.0.1:9/', '{create,update,delete}', '{basalt.objects}', true)`,
    )
    const { id } = (await put(apps.app, `/${bucket}/a`, admin, '1')).json
    await put(apps.app, `/${bucket}/a`, admin, '22')
    await get(apps.app, `/${bucket}/a`, admin, {}, 'DELETE')
    const events = await apps.app.sql(
      `select action, record, old_record from basalt.outbox where table_name = 'basalt.objects' and record_key = $1
       order by id`,
      [JSON.stringify([id])],
    )
    const record = (size: number) => ({
      id,
      bucket,
      name: 'a',
      size,
      content_type: 'text/plain; charset=utf-8',
      user_id: null,
      created_at: expect.any(String),
      updated_at: expect.any(String),
      etag: expect.stringMatching(/^[0-9a-f]{32}$/),
    })
    expect(events).toEqual([
      { action: 'create', record: record(1), old_record: null },
      { action: 'update', record: record(2), old_record: record(1) },
      { action: 'delete', record: record(2), old_record: null },
    ])
  })
})

test('storage › usage › is what apps store, measured once a minute', async () => {
  const bucket = await createBucket(apps.app)
  await put(apps.app, `/${bucket}/a`, admin, 'x'.repeat(1000))
  const [sum] = await apps.app.sql('select sum(size)::int as bytes from basalt.objects')
  let now = 0
  const measure = createStorageMeasure(apps.app.app.database.system, () => now)
  expect([...(await measure())]).toEqual([['00000000-0000-0000-0000-000000000000', sum?.bytes]])
  now += 59_000
  expect([...(await measure())]).toEqual([])
  now += 1000
  expect([...(await measure())]).toHaveLength(1)
})

async function* chunks(text: string) {
  yield Buffer.from(text)
}
