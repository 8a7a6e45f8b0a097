import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApiKey, createApplication } from '../../../../../test/api-keys.ts'
import { openEventStream } from '../../../../../test/event-stream.ts'
import { openRaw } from '../../../../../test/raw-http.ts'
import { createTestApp, userToken } from '../../../../../test/test-app.ts'
import { sql } from '../../../../database/sql.ts'
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
} from './storage-requests.ts'

let apps: StorageApps
let admin: string

beforeAll(async () => {
  apps = await createStorageApps({
    'storage.max_file_size': '1000',
    'usage.enforce': 'true',
    'usage.plans': '{"tiny":{"storage_bytes":100}}',
  })
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

  test('end the visibility granted by a dropped policy', async () => {
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
    ['shows no file that it hides', 'app_id is distinct from %'],
    ['shows the files that it permits', 'key is not null and app_id <> %'],
    ['is evaluated on the whole row', '(objects.*)::text not like %'],
  ])('follow a policy on columns of the system, which %s', async (_, permits) => {
    const bucket = await ownFiles()
    const { userId, appId, token: program } = await addProgram('default')
    const hidden = permits.replace('%', permits.includes('like') ? `'%${appId}%'` : `'${appId}'`)
    await apps.app.sql(
      `create policy "hidden ${bucket}" on basalt.objects as restrictive for select
       using (bucket <> '${bucket}' or ${hidden})`,
    )
    const token = userToken({ sub: userId })
    await using stream = await listen(token, `bucket=eq.${bucket}`)
    for (const [name, caller] of [
      ['hidden', program],
      ['shown', token],
    ] as const) {
      for (const text of ['1', '22']) await put(apps.second, `/${bucket}/${name}`, caller, text)
    }
    // The policy also keeps the caller from deleting hidden objects, so SQL deletes this one.
    await apps.app.sql(`delete from basalt.objects where bucket = $1 and name = 'hidden'`, [bucket])
    const { json } = await get(apps.app, `/${bucket}`, token)
    await get(apps.app, `/${bucket}/shown`, token, {}, 'DELETE')
    const [object] = json.items
    expect(json.items).toHaveLength(1)
    const messages = await stream.next(3)
    expect(messages.map(({ action, record }) => [action, record.name, record.size])).toEqual([
      ['create', 'shown', 1],
      ['update', 'shown', 2],
      ['delete', undefined, undefined],
    ])
    expect(messages.map(({ record }) => record.id)).toEqual([object.id, object.id, object.id])
    expect(messages.flatMap(({ record }) => [record.key, record.app_id])).toEqual(Array(6).fill(undefined))
    await apps.app.sql(`drop policy "hidden ${bucket}" on basalt.objects`)
  })

  test.each([
    ['storage:%', (bucket: string) => `bucket=eq.${bucket}`, 200],
    ['storage:%', (bucket: string) => `bucket=in.${bucket}|photos`, 403],
    ['storage:%', (bucket: string) => `bucket=neq.${bucket}`, 403],
    ['storage:%', () => undefined, 403],
    ['basalt.objects', () => undefined, 200],
    ['track', (bucket: string) => `bucket=eq.${bucket}`, 403],
  ])('limit a key that is allowed %s to that scope (%#)', async (allowed, filterOf, status) => {
    const bucket = await createBucket(apps.app)
    const userId = await addUser()
    const allowedTables = [allowed.replace('%', bucket)]
    const { key } = await createApiKey(apps.app, { userId, scope: 'readonly', allowedTables })
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

/** Creates a user with an account, who may own keys. */
async function addUser(): Promise<string> {
  const { id } = newUser()
  await apps.app.sql('insert into basalt.users (id, email) values ($1, $2)', [id, `${id}@example.com`])
  return id
}

/** Creates a program of an app with the plan. */
async function addProgram(plan: string) {
  const userId = await addUser()
  const appId = await createApplication(apps.app, { ownerUserId: userId })
  await apps.app.sql('update basalt.apps set plan = $2 where id = $1', [appId, plan])
  return { userId, appId, token: (await createApiKey(apps.app, { userId, appId, scope: '*' })).key }
}

/** Creates a bucket in which users have files of their own. */
async function ownFiles(): Promise<string> {
  const bucket = await createBucket(apps.app)
  await applyTemplate(apps.app, 'user-own-files', { bucket })
  return bucket
}

describe('storage › idempotency', () => {
  const act = (path: string, token: string, key: string, body: object, on = apps.app) =>
    on.request('POST', `/api/storage${path}`, { token, body, headers: { 'idempotency-key': key } })
  const keyed = (key: string) => ({ 'idempotency-key': key })
  const replayed = (response: { headers: Headers }) => response.headers.get('idempotency-replayed')
  const reused = [
    422,
    'Idempotency-Key was used for a different request within the last 24 hours',
    'idempotency_key_reused',
  ]

  test('returns the first response to a repeated upload, without a second version', async () => {
    const bucket = await ownFiles()
    const { token } = newUser()
    const before = await apps.listFiles()
    const first = await put(apps.app, `/${bucket}/a`, token, 'one', keyed('k'))
    expect([first.status, replayed(first)]).toEqual([201, null])
    await put(apps.app, `/${bucket}/a`, token, 'newer')
    const again = await put(apps.second, `/${bucket}/a`, token, 'one', keyed('k'))
    expect([again.status, again.json, again.headers.get('etag'), replayed(again)]).toEqual([
      201,
      first.json,
      first.headers.get('etag'),
      'true',
    ])
    expect((await get(apps.app, `/${bucket}/a`, token)).text).toBe('newer')
    expect(problem(await put(apps.app, `/${bucket}/a`, token, 'two', keyed('k')))).toEqual(reused)
    expect(problem(await put(apps.app, `/${bucket}/b`, token, 'one', keyed('k')))).toEqual(reused)
    // The keys of others are others.
    expect((await put(apps.app, `/${bucket}/c`, newUser().token, 'one', keyed('k'))).status).toBe(201)
    await expect.poll(async () => (await apps.filesSince(before)).length).toBe(2)
  })

  test('treats a form repeated with another boundary as the same request', async () => {
    const bucket = await ownFiles()
    const { token } = newUser()
    const send = (content: string) => {
      const form = new FormData()
      form.append('name', 'notes.txt')
      form.append('file', new Blob([content], { type: 'text/plain' }), 'x.txt')
      const headers = { authorization: `Bearer ${token}`, ...keyed('form') }
      return fetch(`${apps.app.url}/api/storage/${bucket}`, { method: 'POST', headers, body: form })
    }
    const first = await send('one')
    const again = await send('one')
    expect([again.status, replayed(again), await again.json()]).toEqual([201, 'true', await first.json()])
    expect((await send('two')).status).toBe(422)
    const form = new FormData()
    form.append('file', new Blob(['one']), 'other.txt')
    expect((await sendForm(apps.app, bucket, token, form)).status).toBe(201)
  })

  test('ten uploads at once on two nodes make one object and one version', async () => {
    const bucket = await ownFiles()
    const { id, token } = newUser()
    const before = await apps.listFiles()
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        put(index % 2 === 0 ? apps.app : apps.second, `/${bucket}/a`, token, 'same', keyed('race')),
      ),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(answers.filter((answer) => replayed(answer) === null)).toHaveLength(1)
    const [{ bytes } = {}] = await apps.app.sql(
      'select bytes::int from basalt.storage_usage where user_id = $1',
      [id],
    )
    expect(bytes).toBe(4)
    await expect.poll(async () => (await apps.filesSince(before)).length).toBe(1)
  })

  test('returns a response to repeated moves, copies and deletions, not a rejection', async () => {
    const bucket = await ownFiles()
    const { token } = newUser()
    await put(apps.app, `/${bucket}/a`, token, 'one')
    const move = (on: typeof apps.app) => act(`/${bucket}/a/move`, token, 'move', { name: 'b' }, on)
    const moved = await Promise.all([move(apps.app), move(apps.second), move(apps.app)])
    expect(moved.map(({ status, json }) => [status, json])).toEqual(
      Array.from({ length: 3 }, () => [200, { ...moved[0]?.json, name: 'b' }]),
    )
    expect(moved.filter((answer) => replayed(answer) === null)).toHaveLength(1)
    expect(problem(await act(`/${bucket}/a/move`, token, 'move', { name: 'c' }))).toEqual(reused)

    const copied = await act(`/${bucket}/b/copy`, token, 'copy', { name: 'c' })
    const copiedAgain = await act(`/${bucket}/b/copy`, token, 'copy', { name: 'c' }, apps.second)
    expect([copied.status, copiedAgain.status, copiedAgain.json, replayed(copiedAgain)]).toEqual([
      201,
      201,
      copied.json,
      'true',
    ])
    expect(problem(await act(`/${bucket}/b/copy`, token, 'other', { name: 'c' }))[0]).toBe(409)

    const remove = (key: string) => get(apps.second, `/${bucket}/b`, token, keyed(key), 'DELETE')
    const removed = [await remove('delete'), await remove('delete')]
    expect(removed.map((answer) => [answer.status, answer.text, replayed(answer)])).toEqual([
      [204, '', null],
      [204, '', 'true'],
    ])
    expect(problem(await remove('another'))[0]).toBe(404)
  })

  test('leaves the key unused after a rejected request', async () => {
    const bucket = await createBucket(apps.app)
    const { token } = newUser()
    expect(problem(await put(apps.app, `/${bucket}/a`, token, 'x', keyed('k')))[0]).toBe(403)
    expect(problem(await get(apps.app, `/${bucket}/a`, token, keyed('k'), 'DELETE'))[0]).toBe(404)
    await applyTemplate(apps.app, 'user-own-files', { bucket })
    expect((await put(apps.app, `/${bucket}/a`, token, 'x', keyed('k'))).status).toBe(201)
    const taken = { 'if-none-match': '*', ...keyed('other') }
    expect(problem(await put(apps.app, `/${bucket}/a`, token, 'x', taken))[0]).toBe(412)
    expect(problem(await put(apps.app, `/${bucket}/b`, token, 'x', keyed('k'.repeat(256))))).toEqual([
      400,
      'idempotency-key: must not have more than 255 characters',
      'invalid_request',
    ])
  })
})

describe('storage › plans', () => {
  const full = [429, 'usage limit exceeded: storage_bytes', 'usage_limit_exceeded']

  test('limits an app to the capacity of its plan, however many uploads come at once', async () => {
    const bucket = await ownFiles()
    const program = await addProgram('tiny')
    const send = (on: typeof apps.app, name: string, size = 30) =>
      put(on, `/${bucket}/${name}`, program.token, 'x'.repeat(size))
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => send(index % 2 === 0 ? apps.app : apps.second, `${index}`)),
    )
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(3)
    const refused = answers.filter(({ status }) => status !== 201)
    expect(refused.map(problem)).toEqual(Array.from({ length: 7 }, () => full))
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0)
    const [kept = '', other = ''] = answers.flatMap(({ status, json }) => (status === 201 ? [json.name] : []))
    // A write that grows an object is rejected and leaves it. Shrinking or removing an object frees capacity.
    expect(problem(await send(apps.app, kept, 60))).toEqual(full)
    expect((await get(apps.app, `/${bucket}/${kept}`, program.token)).text).toHaveLength(30)
    expect((await send(apps.app, kept, 10)).status).toBe(200)
    expect((await send(apps.second, 'fits')).status).toBe(201)
    const copy = { token: program.token, body: { name: 'copy' } }
    expect(problem(await apps.app.request('POST', `/api/storage/${bucket}/fits/copy`, copy))).toEqual(full)
    await get(apps.app, `/${bucket}/${other}`, program.token, {}, 'DELETE')
    expect((await apps.app.request('POST', `/api/storage/${bucket}/fits/copy`, copy)).status).toBe(201)
    const began = await apps.app.request('POST', `/api/storage/upload/resumable?bucket=${bucket}&name=r`, {
      token: program.token,
      headers: { 'tus-resumable': '1.0.0', 'upload-length': '50' },
    })
    expect(problem(began)).toEqual(full)
  })

  test('reserve the declared size of a resumable upload until it has ended', async () => {
    const bucket = await ownFiles()
    const program = await addProgram('tiny')
    const path = '/upload/resumable'
    const tus = { 'tus-resumable': '1.0.0' }
    const begin = (on: typeof apps.app, name: string, size = 30, token = program.token) =>
      exchange(on, 'POST', `${path}?bucket=${bucket}&name=${name}`, token, undefined, {
        ...tus,
        'upload-length': String(size),
      })
    const add = (id: string, size: number) =>
      exchange(apps.second, 'PATCH', `${path}/${id}`, program.token, 'x'.repeat(size), {
        ...tus,
        'upload-offset': '0',
        'content-type': 'application/offset+octet-stream',
      })
    const usage = async () => {
      const [row] = await apps.app.sql(
        `select sum(bytes)::int as bytes, sum(reserved)::int as reserved from basalt.app_storage_usage where app_id = $1`,
        [program.appId],
      )
      return row
    }
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => begin(index % 2 === 0 ? apps.app : apps.second, `${index}`)),
    )
    const [one, two, three] = answers.flatMap(({ status, json }) => (status === 201 ? [json.id] : []))
    expect(answers.filter(({ status }) => status !== 201).map(problem)).toEqual(Array(7).fill(full))
    expect(await usage()).toEqual({ bytes: 0, reserved: 90 })
    // Whatever else the app stores has what is left, and what is reserved becomes an object in a full plan.
    expect(problem(await put(apps.app, `/${bucket}/more`, program.token, 'x'.repeat(11)))).toEqual(full)
    expect((await put(apps.app, `/${bucket}/more`, program.token, 'x'.repeat(10))).status).toBe(201)
    expect((await add(one, 30)).status).toBe(204)
    expect(await usage()).toEqual({ bytes: 40, reserved: 60 })
    // A terminated and a reaped upload each release their reservation. A completed upload has nothing to release.
    expect((await exchange(apps.app, 'DELETE', `${path}/${two}`, program.token, undefined, tus)).status).toBe(
      204,
    )
    expect(await usage()).toEqual({ bytes: 40, reserved: 30 })
    await apps.app.sql(`update basalt.resumable_uploads set expires_at = now() where id = any ($1)`, [
      [one, three],
    ])
    await apps.app.sql(`delete from basalt.resumable_uploads where id = any ($1)`, [[one, three]])
    expect(await usage()).toEqual({ bytes: 40, reserved: 0 })
    // A replacement is stored beside what it replaces until it is whole.
    const [{ name } = {}] = await apps.app.sql(
      'select name from basalt.objects where bucket = $1 and size = 30',
      [bucket],
    )
    expect(problem(await begin(apps.app, name, 61))).toEqual(full)
    const { json } = await begin(apps.app, name, 60)
    expect((await add(json.id, 60)).status).toBe(204)
    expect(await usage()).toEqual({ bytes: 70, reserved: 0 })
    // Administrators are held to no plan, and a bucket takes its uploads with it.
    expect((await begin(apps.app, 'theirs', 900, admin)).status).toBe(201)
    expect((await begin(apps.app, 'last', 30)).status).toBe(201)
    expect(
      (await apps.app.request('DELETE', `/api/storage/buckets/${bucket}?force=true`, { token: admin }))
        .status,
    ).toBe(204)
    expect(await usage()).toEqual({ bytes: 0, reserved: 0 })
    const reserved = await apps.app.sql('select sum(reserved)::int as sum from basalt.app_storage_usage')
    expect(reserved).toEqual([{ sum: 0 }])
  })

  test('let an upload proceed during another change of its app’s usage, and count both', async () => {
    const bucket = await createBucket(apps.app)
    const stored = () =>
      apps.app.sql(`
        select (select sum(bytes)::int from basalt.app_storage_usage) as counted,
          (select sum(size)::int from basalt.objects) as "present"`)
    expect((await put(apps.app, `/${bucket}/first`, admin, 'one')).status).toBe(201)
    await apps.app.app.database.system.transaction(async (transaction) => {
      await transaction.count(sql`update basalt.app_storage_usage set bytes = bytes`)
      await transaction.count(sql`
        insert into basalt.app_storage_usage
        select a.app_id, p, 0 from (select distinct app_id from basalt.app_storage_usage) a, generate_series(0, 15) p
        on conflict do nothing`)
      expect((await put(apps.second, `/${bucket}/second`, admin, 'two')).status).toBe(201)
    })
    const [{ counted, present } = {}] = await stored()
    expect(counted).toBe(present)
  })

  test('apply from the next upload on, to their app alone, and not to administrators', async () => {
    const bucket = await ownFiles()
    const [tiny, free] = [await addProgram('tiny'), await addProgram('default')]
    expect((await put(apps.app, `/${bucket}/a`, free.token, 'x'.repeat(200))).status).toBe(201)
    expect(problem(await put(apps.app, `/${bucket}/b`, tiny.token, 'x'.repeat(101)))).toEqual(full)
    await apps.app.sql(`update basalt.apps set plan = 'tiny' where id = $1`, [free.appId])
    expect(problem(await put(apps.second, `/${bucket}/c`, free.token, '1'))).toEqual(full)
    // The object belongs to the app, whichever caller replaces it.
    expect((await put(apps.app, `/${bucket}/a`, admin, 'x'.repeat(300))).status).toBe(200)
    const sums = await apps.app.sql(
      `select (select sum(bytes)::int from basalt.app_storage_usage where app_id = $1) as counted,
        (select sum(size)::int from basalt.objects where app_id = $1) as stored`,
      [free.appId],
    )
    expect(sums).toEqual([{ counted: 300, stored: 300 }])
  })
})

describe('storage › uploads announced by 100-continue', () => {
  const announce = (path: string, token: string, length: number, method = 'PUT', headers = '') =>
    `${method} /api/storage${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n${headers}` +
    `Content-Length: ${length}\r\nExpect: 100-continue\r\n\r\n`
  const chunk = 'Tus-Resumable: 1.0.0\r\nContent-Type: application/offset+octet-stream\r\nUpload-Offset: '

  test('are requested after the caller, the bucket and the size are checked', async () => {
    const bucket = await ownFiles()
    const { token } = newUser()
    const began = await apps.app.request('POST', `/api/storage/upload/resumable?bucket=${bucket}&name=r`, {
      token,
      headers: { 'tus-resumable': '1.0.0', 'upload-length': '5' },
    })
    const upload = `/upload/resumable/${began.json.id}`
    const refused: [string, number][] = [
      [announce(`/${bucket}/a`, 'nonsense', 5), 401],
      [announce('/missing/a', token, 5), 404],
      [announce(`/${bucket}/a`, token, 1001), 413],
      [announce(upload, token, 6, 'PATCH', `${chunk}0\r\n`), 413],
      [announce(upload, token, 1, 'PATCH', `${chunk}3\r\n`), 409],
    ]
    for (const [request, status] of refused) {
      const { write, ended } = openRaw(apps.app.url)
      write(request)
      expect((await ended).text).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    }
    for (const request of [
      announce(`/${bucket}/a`, token, 5),
      announce(upload, token, 5, 'PATCH', `${chunk}0\r\n`),
    ]) {
      const { socket, write } = openRaw(apps.app.url)
      write(request)
      expect(String((await once(socket, 'data'))[0])).toBe('HTTP/1.1 100 Continue\r\n\r\n')
      write('12345')
      expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1.1 20[14] /)
      socket.destroy()
    }
    for (const name of ['a', 'r'])
      expect((await get(apps.app, `/${bucket}/${name}`, token)).text).toBe('12345')
  })
})

/** Mounts a file system of 256 KiB in memory. Returns undefined where the process may not mount one. */
async function mountSmallDisk(): Promise<string | undefined> {
  const directory = await mkdtemp(join(tmpdir(), 'basalt-full-'))
  const mounted = await promisify(execFile)('mount', [
    '-t',
    'tmpfs',
    '-o',
    'size=256k',
    'tmpfs',
    directory,
  ]).catch(() => undefined)
  if (mounted !== undefined) return directory
  await rm(directory, { recursive: true })
  return undefined
}

test('storage › a full disk returns 507, leaves no bytes, and ends when capacity is free', async (context) => {
  const directory = await mountSmallDisk()
  if (directory === undefined) return context.skip()
  try {
    // On a shared database, another node would delete the bytes in its own directory.
    await using app = await createTestApp({
      config: {
        'storage.enabled': 'true',
        'storage.local_path': directory,
        'storage.max_file_size': '1000000',
      },
    })
    const admin = await app.adminToken()
    const bucket = await createBucket(app)
    const full = [507, 'storage is full', 'storage_full']
    const fill = (size: number) => 'x'.repeat(size)
    expect((await put(app, `/${bucket}/a`, admin, fill(100_000))).status).toBe(201)
    const before = await readdir(directory, { recursive: true })
    expect(problem(await put(app, `/${bucket}/b`, admin, fill(400_000)))).toEqual(full)
    expect(problem(await put(app, `/${bucket}/a`, admin, fill(400_000)))).toEqual(full)
    expect(await readdir(directory, { recursive: true })).toEqual(
      [...before, 'unfinished'].filter((each, index, all) => all.indexOf(each) === index),
    )
    const began = await app.request('POST', `/api/storage/upload/resumable?bucket=${bucket}&name=r`, {
      token: admin,
      headers: { 'tus-resumable': '1.0.0', 'upload-length': '400000' },
    })
    const tus = {
      'tus-resumable': '1.0.0',
      'content-type': 'application/offset+octet-stream',
      'upload-offset': '0',
    }
    const path = `/upload/resumable/${began.json.id}`
    expect(problem(await exchange(app, 'PATCH', path, admin, fill(400_000), tus))).toEqual(full)
    const head = await exchange(app, 'HEAD', path, admin, undefined, { 'tus-resumable': '1.0.0' })
    expect(head.headers.get('upload-offset')).toBe('0')
    expect((await get(app, `/${bucket}/a`, admin)).text).toHaveLength(100_000)
    expect((await get(app, `/${bucket}`, admin)).json.items).toHaveLength(1)
    expect(await app.sql(`select from basalt.stored_bytes where state = 'staged'`)).toEqual([])
    await get(app, `/${bucket}/a`, admin, {}, 'DELETE')
    await expect.poll(async () => (await put(app, `/${bucket}/b`, admin, fill(200_000))).status).toBe(201)
  } finally {
    await promisify(execFile)('umount', [directory])
    await rm(directory, { recursive: true })
  }
})
