import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApiKey } from '../../../../../test/api-keys.ts'
import { openEventStream } from '../../../../../test/event-stream.ts'
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
  apps = await createStorageApps({ 'storage.max_file_size': '1000' })
  admin = await apps.app.adminToken()
})
afterAll(() => apps[Symbol.asyncDispose]())

describe('storage › streams', () => {
  const listen = (token: string | undefined, filter?: string, app = apps.app) =>
    openEventStream(app.url, `tables=basalt.objects${filter === undefined ? '' : `&filter=${filter}`}`, {
      token,
    })

  test('deliver changes of files under the policies, by bucket, on every node', async () => {
    const [bucket, other] = [await createBucket(apps.app), await createBucket(apps.app)]
    for (const each of [bucket, other]) await applyTemplate(apps.app, 'user-own-files', { bucket: each })
    const [one, two] = [newUser(), newUser()]
    await using own = await listen(one.token, `bucket=eq.${bucket}`)
    await using theirs = await listen(two.token, undefined, apps.second)
    const made = (await put(apps.app, `/${bucket}/a`, one.token, 'mine')).json
    await put(apps.second, `/${other}/a`, one.token, 'elsewhere')
    await put(apps.second, `/${bucket}/a`, one.token, 'newer')
    await put(apps.app, `/${bucket}/b`, two.token, 'theirs')
    await get(apps.second, `/${bucket}/a`, one.token, {}, 'DELETE')
    const record = (name: string, size: number, user: string) =>
      expect.objectContaining({ bucket, name, size, user_id: user })
    const table = 'basalt.objects'
    expect(await own.next(3)).toEqual([
      {
        action: 'create',
        table,
        record: {
          id: made.id,
          bucket,
          name: 'a',
          size: 4,
          content_type: 'text/plain; charset=utf-8',
          user_id: one.id,
          created_at: expect.any(String),
          updated_at: expect.any(String),
          etag: expect.stringMatching(/^[0-9a-f]{32}$/),
        },
      },
      { action: 'update', table, record: record('a', 5, one.id) },
      { action: 'delete', table, record: { id: made.id } },
    ])
    expect(await theirs.next(1)).toEqual([{ action: 'create', table, record: record('b', 6, two.id) }])
    expect([own.messages.length, theirs.messages.length]).toEqual([3, 1])
  })

  test('end what a policy that is dropped had shown', async () => {
    const bucket = await createBucket(apps.app)
    await applyTemplate(apps.app, 'user-own-files', { bucket })
    const user = newUser()
    await using stream = await listen(user.token, `bucket=eq.${bucket}`)
    await put(apps.app, `/${bucket}/a`, user.token, '1')
    await stream.next(1)
    await apps.app.sql(`drop policy "user-own-files ${bucket} select" on basalt.objects`)
    await put(apps.app, `/${bucket}/b`, admin, '1')
    await stream.named('gap')
    expect(stream.messages).toHaveLength(1)
  })

  test.each([
    ['storage:%', (bucket: string) => `bucket=eq.${bucket}`, 200],
    ['storage:%', (bucket: string) => `bucket=in.${bucket}|photos`, 403],
    ['storage:%', (bucket: string) => `bucket=neq.${bucket}`, 403],
    ['storage:%', () => undefined, 403],
    ['basalt.objects', () => undefined, 200],
    ['track', (bucket: string) => `bucket=eq.${bucket}`, 403],
  ])('a key that is allowed %s may listen as far as that (%#)', async (allowed, filterOf, status) => {
    const bucket = await createBucket(apps.app)
    const owner = newUser()
    await apps.app.sql('insert into basalt.users (id, email) values ($1, $2)', [
      owner.id,
      `${owner.id}@example.com`,
    ])
    const allowedTables = [allowed.replace('%', bucket)]
    const { key } = await createApiKey(apps.app, { userId: owner.id, scope: 'readonly', allowedTables })
    await using stream = await listen(key, filterOf(bucket))
    expect(stream.status).toBe(status)
  })

  test('need a token, or a grant to those without one; no other table of the system has any', async () => {
    expect(problem(await apps.app.request('GET', '/api/realtime?tables=basalt.objects'))[0]).toBe(401)
    const refused = await apps.app.request('GET', '/api/realtime?tables=basalt.users', {
      token: newUser().token,
    })
    expect([refused.status, refused.json.message]).toEqual([400, 'unknown table: basalt.users'])
    const collection = await apps.app.request('GET', '/api/collections/basalt.objects', { token: admin })
    expect(problem(collection)[0]).toBe(404)
  })
})
