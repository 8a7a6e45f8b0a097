import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { goodPassword } from '../../../../../test/accounts.ts'
import { notes } from '../../../../../test/fixtures.ts'
import { type FunctionsFolder, makeFunctionsFolder } from '../../../../../test/functions-folder.ts'
import { createTestApp, envelope, type TestResponse } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import {
  applyTemplate,
  createBucket,
  createStorageApps,
  get,
  newUser,
  put,
  type StorageApps,
} from '../../../files/storage/tests/storage-requests.ts'

const files = {
  'files.ts': `
    import { after, before, FunctionError, inbound, job, onSignUp, route, schedule } from '@basaltdb/functions'
    const input = { type: 'object' }
    const caught = (work) => Promise.resolve().then(work).catch(({ status, error, message }) => ({ status, error, message }))
    const show = async (result) => result instanceof Response
      ? { status: result.status, type: result.headers.get('content-type'), etag: result.headers.get('etag'), text: await result.text() }
      : result ?? null
    /** Calls methods of a bucket, one after the other. */
    const run = async (bucket, steps) => {
      const results = []
      for (const [method, ...args] of steps) {
        const given = args.map((each) => (typeof each?.repeat === 'number' ? 'x'.repeat(each.repeat) : each))
        results.push(await caught(async () => show(await bucket[method](...given))))
      }
      return results
    }
    const finish = (results, fails) => {
      if (fails) throw new FunctionError(409, 'undone', { data: { results } })
      return results
    }
    export const steps = route('POST /steps', { access: 'anonymous', input }, async (ctx, { bucket, steps, fails }) =>
      finish(await run(ctx.storage.bucket(bucket), steps), fails))
    export const elevated = route('POST /elevated', { access: 'user', admin: true, input }, async (ctx, { bucket, steps, fails }) =>
      finish(await run(ctx.asAdmin('tidy up').storage.bucket(bucket), steps), fails))
    export const uncaught = route('POST /uncaught', { access: 'user', input }, async (ctx, { bucket, step: [method, ...args] }) =>
      show(await ctx.storage.bucket(bucket)[method](...args)))
    export const mixed = route('POST /mixed', { access: 'user', input }, async (ctx, { bucket, fails }) => {
      await ctx.db.note.create({ body: 'with a file' })
      const { etag } = await ctx.storage.bucket(bucket).upload('mixed', 'text')
      const { count } = await ctx.db.sql\`select from basalt.objects where bucket = \${bucket}\`
      return finish({ etag, count }, fails)
    })
    export const bytes = route('POST /bytes', { access: 'user', input }, async (ctx, { bucket, size }) => {
      const content = Buffer.alloc(size, Buffer.from(Array.from({ length: 256 }, (_, index) => (index * 7) % 256)))
      const files = ctx.storage.bucket(bucket)
      const { size: stored } = await files.upload('bytes', new Blob([content], { type: 'application/x-own' }))
      const copy = Buffer.from(await (await files.download('bytes')).arrayBuffer())
      const part = await files.download('bytes', { range: [1, 3] })
      return { stored, isSame: copy.equals(content), part: [...new Uint8Array(await part.arrayBuffer())], range: part.headers.get('content-range') }
    })
    export const large = route('POST /large', { access: 'user', input }, async (ctx, { bucket, size }) => {
      await ctx.storage.bucket(bucket).upload('large', new Uint8Array(size))
    })
    export const together = route('POST /together', { access: 'user', input }, async (ctx, { bucket }) => {
      const files = ctx.storage.bucket(bucket)
      const made = await Promise.all([1, 2, 3].map((each) => files.upload('part ' + each, new Uint8Array(2_500_000))))
      return made.map(({ name, size }) => [name, size])
    })
    export const unawaited = route('POST /unawaited', { access: 'user', input }, (ctx, { bucket }) => {
      void ctx.storage.bucket(bucket).upload('unawaited', 'text')
    })
    export const leaking = route('POST /leaking', { access: 'user', input }, (ctx, { bucket }) => {
      setImmediate(() => setImmediate(() => ctx.storage.bucket(bucket).upload('leaked', 'text').catch(() => {})))
    })
    export const hanging = route('POST /hanging', { access: 'user', timeout: 1, input }, async (ctx, { bucket }) => {
      await ctx.storage.bucket(bucket).upload('hanging', 'text')
      await new Promise(() => {})
    })
    export const killed = route('POST /killed', { access: 'user', input }, async (ctx, { bucket }) => {
      await ctx.storage.bucket(bucket).upload('killed', 'text')
      void ctx.storage.bucket(bucket).upload('killed 2', new Uint8Array(1_000_000))
      setImmediate(() => process.kill(process.pid, 'SIGKILL'))
      await new Promise(() => {})
    })
    let release
    export const holding = route('POST /holding', { access: 'user', input }, async (ctx, { bucket, text }) => {
      await ctx.storage.bucket(bucket).upload('shared', text)
      if (text === 'first') await new Promise((resolve) => (release = resolve))
    })
    export const isHeld = route('POST /is-held', { access: 'user' }, () => release !== undefined)
    export const letGo = route('POST /let-go', { access: 'user' }, () => release())
    export const open = route('GET /open/:bucket/:name', { access: 'user' }, (ctx) =>
      ctx.storage.bucket(ctx.params.bucket).download(ctx.params.name))
    export const report = job('report', { input, retries: 0 }, async (ctx, { bucket, text }) => {
      await ctx.storage.bucket(bucket).upload('report', text)
      if (text === 'fails') throw new Error('undone')
    })
    export const admit = onSignUp(async (ctx) => void (await ctx.storage.bucket('any').upload('a', 'text')))
    const verify = ({ headers }) => ({ id: headers['x-id'], time: new Date() })
    const keep = async (ctx, message) => void (await ctx.storage.bucket(message.json().bucket).upload('message', message.body))
    export const trusted = inbound('trusted', verify, { as: 'admin' }, keep)
    export const open_ = inbound('open', verify, keep)
    export const nightly = schedule('0 3 1 1 *', {}, async (ctx) =>
      void (await ctx.storage.bucket('nightly').upload('scheduled', 'text')))
    export const refused = before('note', 'create', async (ctx, { values }) => {
      if (values.body === 'hook') await ctx.storage.bucket('any').upload('a', 'text')
    })
    export const changed = after('note', 'create', async (ctx, { record }) => {
      if (record.body.startsWith('bucket-')) await ctx.storage.bucket(record.body).upload('after', 'text')
    })
  `,
}
const hostile = `
  create function unsealed() returns text language plpgsql as $$
  begin
    execute 'set local role none';
    execute $j$ select basalt.storage_sealed('{"kind": "find", "bucket": "a", "name": "b"}', repeat('0', 64)) $j$;
    return 'found';
  exception when insufficient_privilege then return sqlerrm;
  end $$;`

let folder: FunctionsFolder
let apps: StorageApps

beforeAll(async () => {
  folder = makeFunctionsFolder(files)
  apps = await createStorageApps({
    'functions.folder': folder.path,
    'functions.connections': '4',
    'functions.timeout': '25',
    'storage.max_file_size': '20000000',
    'storage.default_quota_mb': '20',
  })
  await apps.app.sql(`${notes} ${hostile}`)
  await apps.app.app.catalog.refresh()
})
afterAll(async () => {
  await apps?.[Symbol.asyncDispose]()
  folder?.[Symbol.dispose]()
})

type Steps = readonly (readonly [method: string, ...args: unknown[]])[]

const call = (path: string, body: object, token?: string) =>
  apps.app.request('POST', `/api/functions${path}`, { body, ...(token === undefined ? {} : { token }) })

/** Returns the results of methods of a bucket, in one call. */
async function run(bucket: string, steps: Steps, token?: string): Promise<unknown[]> {
  const response = await call('/steps', { bucket, steps }, token)
  expect(response.status, response.text).toBe(200)
  return response.json
}

async function ownFiles(settings: object = {}): Promise<string> {
  const bucket = await createBucket(apps.app, settings)
  await applyTemplate(apps.app, 'user-own-files', { bucket })
  return bucket
}

const rows = (bucket: string) =>
  apps.app.sql<{ name: string }>('select name from basalt.objects where bucket = $1 order by name', [bucket])
const names = async (bucket: string) => (await rows(bucket)).map(({ name }) => name)
const read = async (response: Promise<TestResponse>) => {
  const { status, text } = await response
  return [status, text]
}

/** Waits until nothing is staged and the store has only these files more than before. */
async function untilTidy(before: readonly string[], files = 0): Promise<void> {
  await waitFor('unused bytes to be removed', async () => {
    const staged = await apps.app.sql(`select from basalt.stored_bytes where state <> 'committed'`)
    return staged.length === 0 && (await apps.filesSince(before)).length === files
  })
}

describe('ctx.storage', () => {
  test('reads and writes the files of the caller in the transaction', async () => {
    const bucket = await ownFiles()
    const { id, token } = newUser()
    const results = await run(
      bucket,
      [
        ['upload', 'a.txt', 'one', { contentType: 'text/plain' }],
        ['upload', 'folder/b.json', '{}', { contentType: 'application/json' }],
        ['upload', 'a.txt', 'two', { ifNoneMatch: '*' }],
        ['download', 'a.txt'],
        ['list', { delimiter: '/' }],
        ['copy', 'a.txt', 'c.txt'],
        ['move', 'c.txt', 'folder/c.txt'],
        ['delete', 'folder/b.json'],
        ['download', 'folder/b.json'],
        ['list', { prefix: 'folder/', skipTotal: true }],
      ],
      token,
    )
    expect(results).toMatchObject([
      {
        bucket,
        name: 'a.txt',
        size: 3,
        contentType: 'text/plain',
        userId: id,
        etag: expect.stringMatching(/^".*"$/),
      },
      { name: 'folder/b.json' },
      { status: 412, error: 'precondition_failed' },
      { status: 200, type: 'text/plain', text: 'one' },
      { items: [{ name: 'a.txt' }], prefixes: ['folder/'], totalItems: 2 },
      { name: 'c.txt' },
      { name: 'folder/c.txt' },
      null,
      { status: 404, error: 'file_not_found' },
      { items: [{ name: 'folder/c.txt' }], totalItems: -1 },
    ])
    expect(await read(get(apps.second, `/${bucket}/folder/c.txt`, token))).toEqual([200, 'one'])
    expect(await names(bucket)).toEqual(['a.txt', 'folder/c.txt'])
  })

  test('shares the transaction with ctx.db, and leaves nothing of an undone one', async () => {
    const bucket = await ownFiles()
    const { id, token } = newUser()
    const before = await apps.listFiles()
    expect((await call('/mixed', { bucket, fails: true }, token)).status).toBe(409)
    expect(await names(bucket)).toEqual([])
    await untilTidy(before)
    expect(await apps.app.sql('select from basalt.storage_usage where user_id = $1', [id])).toEqual([])
    expect((await call('/mixed', { bucket }, token)).json).toMatchObject({ count: 1 })
    await untilTidy(before, 1)
  })

  test('deletes bytes after the commit only', async () => {
    const bucket = await ownFiles()
    const { token } = newUser()
    await put(apps.app, `/${bucket}/a`, token, 'kept')
    const steps: Steps = [
      ['delete', 'a'],
      ['download', 'a'],
    ]
    const undone = await call('/steps', { bucket, steps, fails: true }, token)
    expect(undone.json.data.results).toMatchObject([null, { error: 'file_not_found' }])
    expect(await read(get(apps.app, `/${bucket}/a`, token))).toEqual([200, 'kept'])
    const before = (await apps.listFiles()).length
    await run(bucket, steps, token)
    await waitFor('the bytes to be removed', async () => (await apps.listFiles()).length === before - 1)
  })

  test('signs and revokes addresses in the transaction, also after a deletion', async () => {
    const bucket = await ownFiles()
    const { token } = newUser()
    const [, url, withSize, upload] = (await run(
      bucket,
      [
        ['upload', 'a', 'signed'],
        ['sign', 'a', { expiresIn: 60 }],
        ['sign', 'a', { w: 100, format: 'webp' }],
        ['signUpload', 'b', { expiresIn: 60 }],
      ],
      token,
    )) as string[]
    const path = (address = '') => new URL(address).href.replace(/^.*\/api\/storage/, '')
    expect(url).toMatch(/^https?:\/\/.*\?exp=\d+&sig=/)
    expect(withSize).toMatch(/&w=100&format=webp$/)
    expect(await read(get(apps.app, path(url)))).toEqual([200, 'signed'])
    expect((await put(apps.app, path(upload), undefined, 'by address')).status).toBe(201)
    // Both statements change the address in one transaction, and the object is locked by it.
    const results = await run(
      bucket,
      [
        ['delete', 'a'],
        ['revoke', 'a'],
        ['upload', 'a', 'again'],
        ['revoke', 'b'],
        ['delete', 'b'],
        ['revoke', 'b'],
      ],
      token,
    )
    expect(results).toMatchObject([null, null, { name: 'a' }, null, null, null])
    expect((await get(apps.app, path(url))).status).toBe(403)
    expect(await apps.app.sql('select from basalt.signed_addresses where bucket = $1', [bucket])).toEqual([])
  })

  test('ends a signed address with its transaction and with the session of its caller', async () => {
    const bucket = await ownFiles()
    const { id, token } = newUser()
    await put(apps.app, `/${bucket}/a`, token, 'text')
    const undone = await call('/steps', { bucket, steps: [['sign', 'a']], fails: true }, token)
    expect(undone.json.data.results).toEqual([expect.stringContaining('sig=')])
    const addresses = () =>
      apps.app.sql('select user_id, session_id from basalt.signed_addresses where bucket = $1', [bucket])
    expect(await addresses()).toEqual([])
    await run(bucket, [['sign', 'a']], token)
    expect(await addresses()).toEqual([{ user_id: id, session_id: id }])
  })

  test('applies the policies of the caller', async () => {
    const bucket = await ownFiles()
    const [one, two] = [newUser(), newUser()]
    await put(apps.app, `/${bucket}/a`, one.token, 'of one')
    const denied = { status: 403, error: 'insufficient_storage_permissions' }
    const missing = { status: 404, error: 'file_not_found' }
    const steps: Steps = [
      ['upload', 'a', 'taken'],
      ['download', 'a'],
      ['delete', 'a'],
      ['sign', 'a'],
      ['list'],
    ]
    expect(await run(bucket, steps, two.token)).toMatchObject([
      denied,
      missing,
      missing,
      missing,
      { items: [] },
    ])
    const unauthorized = { status: 401, error: 'missing_auth_token' }
    expect(await run(bucket, steps)).toMatchObject([
      denied,
      unauthorized,
      { status: 403 },
      unauthorized,
      unauthorized,
    ])
    expect(await read(get(apps.app, `/${bucket}/a`, one.token))).toEqual([200, 'of one'])
  })

  test.each([
    ['that leaves the bucket', '../x'],
    ['with a step back', 'a/../../x'],
    ['without a character', ''],
    ['with a slash at its beginning', '/a'],
    ['with a slash at its end', 'a/'],
    ['with NUL', 'a\0b'],
    ['with half a character', '\ud800'],
    ['of 1,025 bytes', 'x'.repeat(1025)],
    ['of 100,000 bytes', 'x'.repeat(100_000)],
  ])('refuses a name %s like the files API', async (_, name) => {
    const error = 'invalid_object_name'
    const bucket = await ownFiles()
    const { token } = newUser()
    const methods = [
      ['upload', name, 'text'],
      ['download', name],
      ['delete', name],
      ['sign', name],
      ['signUpload', name],
      ['revoke', name],
      ['move', 'a', name],
      ['copy', name, 'a'],
    ] as const
    for (const result of await run(bucket, methods, token))
      expect(result).toMatchObject({ status: 400, error })
    expect(
      envelope(await call('/uncaught', { bucket, step: ['upload', name, 'text'] }, token)),
    ).toMatchObject({
      code: 400,
      error,
    })
  })

  test.each(['missing', '', '../a', 'A', 'a\0', 'x'.repeat(64)])('knows no bucket %j', async (bucket) => {
    const { token } = newUser()
    const steps: Steps = [
      ['upload', 'a', 'text'],
      ['download', 'a'],
      ['list'],
      ['delete', 'a'],
      ['signUpload', 'a'],
    ]
    for (const result of await run(bucket, steps, token))
      expect(result).toMatchObject({ status: 404, error: 'bucket_not_found' })
  })

  test.each([
    [['upload', 'a', 'text', { ifNoneMatch: 'x' }], 'invalid_storage_option'],
    [['download', 'a', { range: [-1] }], 'invalid_storage_option'],
    [['download', 'a', { range: [4] }], 'range_not_satisfiable'],
    [['sign', 'a', { expiresIn: 0 }], 'invalid_expiry'],
    [['sign', 'a', { expiresIn: 'soon' }], 'invalid_expiry'],
    [['sign', 'a', { expiresIn: 604_801 }], 'invalid_expiry'],
    [['list', { limit: 'all' }], 'invalid_list_parameter'],
    [['list', { cursor: '!' }], 'invalid_list_parameter'],
    [['move', 'a', 'a/../b'], 'invalid_object_name'],
  ] as const)('refuses %j', async (step, error) => {
    const bucket = await ownFiles()
    const { token } = newUser()
    await put(apps.app, `/${bucket}/a`, token, 'text')
    expect(await run(bucket, [step], token)).toMatchObject([{ error }])
  })

  test('carries bytes of all values, and parts of them', async () => {
    const bucket = await ownFiles()
    const { token } = newUser()
    expect((await call('/bytes', { bucket, size: 2_000_000 }, token)).json).toEqual({
      stored: 2_000_000,
      isSame: true,
      part: [7, 14, 21],
      range: 'bytes 1-3/2000000',
    })
  })

  test('sends several uploads of a call one after the other', async () => {
    const bucket = await ownFiles()
    const { token } = newUser()
    expect((await call('/together', { bucket }, token)).json).toEqual(
      [1, 2, 3].map((each) => [`part ${each}`, 2_500_000]),
    )
  })

  test('names the limits of a file: of the bucket, of the server, and of the functions', async () => {
    const { token } = newUser()
    const small = await ownFiles({ maxFileSize: 10, allowedTypes: ['image/*'] })
    expect(
      await run(
        small,
        [
          ['upload', 'a', 'eleven text'],
          ['upload', 'a', 'text'],
        ],
        token,
      ),
    ).toMatchObject([
      { status: 413, error: 'file_too_large', message: 'file too large: at most 10 bytes' },
      { status: 415, error: 'file_type_not_allowed' },
    ])
    const bucket = await ownFiles()
    expect(envelope(await call('/large', { bucket, size: 10_485_761 }, token))).toMatchObject({
      code: 413,
      error: 'file_too_large',
      message: 'file too large: at most 10485760 bytes',
    })
    await put(apps.app, `/${bucket}/large`, token, new Uint8Array(10_485_761))
    expect(await run(bucket, [['download', 'large']], token)).toMatchObject([
      { status: 413, error: 'file_too_large', message: 'file too large: at most 10485760 bytes' },
    ])
  })

  test('counts for the quota of the user, and continues after a refusal', async () => {
    const bucket = await ownFiles()
    const { id, token } = newUser()
    await apps.app.sql('insert into basalt.storage_usage (user_id, quota_mb) values ($1, 1)', [id])
    const before = await apps.listFiles()
    const half = { repeat: 600_000 }
    expect(
      await run(
        bucket,
        [
          ['upload', 'a', half],
          ['upload', 'b', half],
          ['upload', 'a', 'less'],
          ['upload', 'b', half],
        ],
        token,
      ),
    ).toMatchObject([
      { name: 'a' },
      { status: 413, error: 'storage_quota_exceeded' },
      { name: 'a' },
      { name: 'b' },
    ])
    expect(await names(bucket)).toEqual(['a', 'b'])
    expect(
      await apps.app.sql('select bytes::int from basalt.storage_usage where user_id = $1', [id]),
    ).toEqual([{ bytes: 600_004 }])
    await untilTidy(before, 2)
  })

  test('lets the second of two uploads of one name wait for the first, and replace it', async () => {
    const bucket = await ownFiles()
    const { token } = newUser()
    const before = await apps.listFiles()
    const first = call('/holding', { bucket, text: 'first' }, token)
    await waitFor('the first upload', async () => (await call('/is-held', {}, token)).json === true)
    const second = call('/holding', { bucket, text: 'second' }, token)
    await waitFor('the second upload to wait', async () => {
      const waiting = await apps.app.sql(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return waiting.length > 0
    })
    await call('/let-go', {}, token)
    expect([(await first).status, (await second).status]).toEqual([204, 204])
    expect(await read(get(apps.app, `/${bucket}/shared`, token))).toEqual([200, 'second'])
    await untilTidy(before, 1)
  })

  test('keeps an upload that has arrived before the end of the function, and refuses a later one', async () => {
    const bucket = await ownFiles()
    const { token } = newUser()
    const before = await apps.listFiles()
    expect((await call('/unawaited', { bucket }, token)).status).toBe(204)
    expect(await names(bucket)).toEqual(['unawaited'])
    expect((await call('/leaking', { bucket }, token)).status).toBe(204)
    await untilTidy(before, 1)
    expect(await names(bucket)).toEqual(['unawaited'])
  })

  test('leaves nothing of a call that its time limit or the end of the process has ended', async () => {
    const bucket = await ownFiles()
    const { token } = newUser()
    const before = await apps.listFiles()
    expect(envelope(await call('/hanging', { bucket }, token))).toMatchObject({ code: 504 })
    expect(envelope(await call('/killed', { bucket }, token))).toMatchObject({ code: 503 })
    await untilTidy(before)
    expect(await names(bucket)).toEqual([])
    await waitFor('another process', async () => (await call('/unawaited', { bucket }, token)).status === 204)
  })

  test('undoes an invocation, with its files', async () => {
    const bucket = await ownFiles()
    const token = await apps.app.adminToken()
    const before = await apps.listFiles()
    const body = { name: 'steps', input: { bucket, steps: [['upload', 'a', 'text']] } }
    const invoked = await apps.app.request('POST', '/api/admin/functions/invoke', { token, body })
    expect(invoked.json).toMatchObject({ status: 200, result: [{ name: 'a' }], isCommitted: false })
    await untilTidy(before)
    expect(await names(bucket)).toEqual([])
  })

  test('passes a download on as the response, with the headers of the files API', async () => {
    const bucket = await ownFiles()
    const { token } = newUser()
    await put(apps.app, `/${bucket}/page.html`, token, '<p>hi', { 'content-type': 'text/html' })
    const [own, direct] = await Promise.all([
      apps.app.request('GET', `/api/functions/open/${bucket}/page.html`, { token }),
      get(apps.app, `/${bucket}/page.html`, token),
    ])
    expect([own.status, own.text]).toEqual([200, '<p>hi'])
    for (const name of [
      'content-type',
      'content-disposition',
      'content-security-policy',
      'etag',
      'content-length',
    ])
      expect(own.headers.get(name), name).toBe(direct.headers.get(name))
  })
})

test('ctx.storage › is refused on a server without storage', async () => {
  const config = { 'functions.folder': folder.path, 'storage.enabled': 'false' }
  await using without = await createTestApp({ database: apps.database, config })
  const body = { bucket: 'any', step: ['list'] }
  const response = await without.request('POST', '/api/functions/uncaught', { body, token: newUser().token })
  expect(envelope(response)).toMatchObject({ code: 404, error: 'storage_not_enabled' })
})

describe('ctx.storage › identities', () => {
  test('is the administrator by ctx.asAdmin, in the same transaction and audited', async () => {
    const bucket = await ownFiles()
    const [one, two] = [newUser(), newUser()]
    await put(apps.app, `/${bucket}/a`, one.token, 'of one')
    const steps: Steps = [
      ['download', 'a'],
      ['delete', 'a'],
      ['upload', 'b', 'text'],
      ['sign', 'b'],
      ['revoke', 'b'],
    ]
    const undone = await call('/elevated', { bucket, steps, fails: true }, two.token)
    expect(undone.json.data.results).toMatchObject([
      { text: 'of one' },
      null,
      { name: 'b' },
      expect.stringContaining('sig='),
      null,
    ])
    expect(await names(bucket)).toEqual(['a'])
    expect((await call('/elevated', { bucket, steps }, two.token)).status).toBe(200)
    expect(
      await apps.app.sql('select name, user_id from basalt.objects where bucket = $1', [bucket]),
    ).toEqual([{ name: 'b', user_id: null }])
    const audited = await apps.app.sql(
      `select detail->>'reason' as reason from basalt.audit where action = 'functions.as_admin' and user_id = $1`,
      [two.id],
    )
    expect(audited).toEqual([{ reason: 'tidy up' }, { reason: 'tidy up' }])
  })

  test('is the administrator in jobs and functions after a change', async () => {
    const bucket = await createBucket(apps.app)
    const before = await apps.listFiles()
    await apps.app.sql(`select basalt.enqueue('report', $1)`, [JSON.stringify({ bucket, text: 'fails' })])
    await waitFor(
      'the failure',
      async () =>
        (await apps.app.sql(`select from basalt.jobs where type = 'report' and state = 'failed'`)).length > 0,
    )
    await untilTidy(before)
    await apps.app.sql(`select basalt.enqueue('report', $1)`, [JSON.stringify({ bucket, text: 'done' })])
    await waitFor('the report', async () => (await names(bucket)).includes('report'))
    const token = await apps.app.adminToken()
    const body = { body: bucket, owner_id: newUser().id }
    expect((await apps.app.request('POST', '/api/collections/note', { token, body })).status).toBe(201)
    await waitFor('the file', async () => (await names(bucket)).includes('after'))
  })

  test('has the identity of an inbound function and of a schedule', async () => {
    const bucket = await createBucket(apps.app)
    const receive = (name: string) =>
      apps.app.request('POST', `/api/functions/inbound/${name}`, {
        body: { bucket },
        headers: { 'x-id': name },
      })
    expect(envelope(await receive('open'))).toMatchObject({
      code: 403,
      error: 'insufficient_storage_permissions',
    })
    expect((await receive('trusted')).status).toBe(204)
    expect(await names(bucket)).toEqual(['message'])
    await apps.app.sql(`insert into basalt.buckets (name, is_public) values ('nightly', false)`)
    await apps.app.sql(`update basalt.schedules set next_run_at = now() where job_type = 'function:nightly'`)
    await waitFor('the schedule', async () => (await names('nightly')).includes('scheduled'))
  })

  test('is refused in before hooks and sign-ups', async () => {
    const body = { email: 'new@example.com', password: goodPassword }
    expect(envelope(await apps.app.request('POST', '/api/auth/register', { body }))).toMatchObject({
      code: 400,
      error: 'storage_not_offered',
    })
    const { token } = newUser()
    const response = await apps.app.request('POST', '/api/collections/note', {
      token,
      body: { body: 'hook' },
    })
    expect(envelope(response)).toMatchObject({ code: 400, error: 'storage_not_offered' })
  })

  test('is no way to find objects for text that becomes the gateway', async () => {
    const { token } = newUser()
    const response = await apps.app.request('POST', '/api/rpc/unsealed', { token, body: {} })
    expect([response.status, response.json]).toEqual([200, 'the request has no seal of the server'])
  })
})
