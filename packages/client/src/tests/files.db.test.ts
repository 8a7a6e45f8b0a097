import { runInNewContext } from 'node:vm'
import sharp from 'sharp'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  applyTemplate,
  createBucket,
  createStorageApps,
  newUser,
  type StorageApps,
} from '../../../server/src/features/files/storage/tests/storage-requests.ts'
import { faultsOf } from '../../../server/test/faults.ts'
import { type Bucket, type Files, files, type UploadProgress } from '../files/index.ts'
import { BasaltError, createClient } from '../index.ts'
import { createNetwork, type Network } from './harness.ts'

let apps: StorageApps
let network: Network
/** Bucket that everyone can read by URL. Users write under their own name. */
let open: Bucket
/** Bucket in which each user has objects of their own. */
let own: Bucket
let mine: Files
let ownName: string
const user = newUser()
const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/)
const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT/)

const filesOf = (token: string | undefined, url = apps.app.url, retries = 3) =>
  files(createClient({ url, auth: token, fetch: network.fetch, retries }))

beforeAll(async () => {
  apps = await createStorageApps({ 'storage.max_file_size': '3000000' })
  network = createNetwork()
  const openName = await createBucket(apps.app, { public: true })
  ownName = await createBucket(apps.app)
  for (const bucket of [openName, ownName]) await applyTemplate(apps.app, 'user-own-files', { bucket })
  mine = filesOf(user.token)
  open = mine.bucket(openName)
  own = mine.bucket(ownName)
})
beforeEach(() => {
  network.requests.length = 0
})
afterAll(async () => {
  expect([...faultsOf(apps.app), ...faultsOf(apps.second)]).toEqual([])
  await apps[Symbol.asyncDispose]()
})

const textOf = async (bucket: Bucket, name: string) => await (await bucket.download(name)).text()

/** Returns the error slug that a promise rejects with. */
async function failure(work: Promise<unknown>): Promise<unknown> {
  const error: unknown = await work.then(
    () => 'nothing',
    (reason: unknown) => reason,
  )
  return error instanceof BasaltError ? error.error : error
}

test('files › upload › rejects content that is not a Blob, bytes or text, and sends nothing', async () => {
  const message = 'content is a Blob, an ArrayBuffer, a view of one, or a text'
  const refused = [{ a: 1 }, undefined, null, 5, ['a'], new URLSearchParams(), new ReadableStream()]
  for (const content of refused) {
    // @ts-expect-error as without types
    await expect(open.upload('a', content)).rejects.toThrow(new TypeError(message))
    // @ts-expect-error as without types
    await expect(open.uploadResumable('a', content)).rejects.toThrow(new TypeError(message))
    // @ts-expect-error as without types
    await expect(mine.uploadTo('/api/storage/a/b?token=c', content)).rejects.toThrow(new TypeError(message))
  }
  expect(network.requests).toEqual([])
})

test('files › upload › stores content of another realm', async () => {
  const buffer: ArrayBuffer = runInNewContext('new Uint8Array([104, 105]).buffer')
  expect(buffer).not.toBeInstanceOf(ArrayBuffer)
  await expect(open.upload('realm.txt', buffer)).resolves.toMatchObject({ size: 2 })
  await open.delete('realm.txt')
})

describe('files › object names', () => {
  test.each([
    'with space.txt',
    'ünï/文件 😀.txt',
    '100%.txt',
    'a%2Fb%00.txt',
    'a#b?c=d&e.txt',
    '[...slug].js',
    "it's (1)!*~+;,:@$.txt",
    'back\\slash "quoted" <b>.txt',
    '.../..a/b.',
    'constructor',
    '__proto__',
    'sign',
    'notes/revoke',
    'n'.repeat(1000),
  ])('upload, list, read, sign, copy, move and delete %s', async (name) => {
    await open.upload(name, name)
    expect(await textOf(open, name)).toBe(name)
    expect(await (await fetch(open.url(name))).text()).toBe(name)
    expect(await (await fetch(await open.sign(name))).text()).toBe(name)
    await mine.uploadTo(await open.signUpload(name), `${name}, again`)
    await open.revoke(name)
    expect((await open.copy(name, `copy of ${name}`)).name).toBe(`copy of ${name}`)
    expect((await open.move(name, `${name}, moved`)).name).toBe(`${name}, moved`)
    expect((await open.list()).items.map((each) => each.name).sort()).toEqual(
      [`copy of ${name}`, `${name}, moved`].sort(),
    )
    expect(await textOf(open, `${name}, moved`)).toBe(`${name}, again`)
    await open.delete(`copy of ${name}`)
    await open.delete(`${name}, moved`)
    expect((await open.list()).items).toEqual([])
  })

  test('are found in decomposed Unicode form, too', async () => {
    expect((await own.upload('re\u0301sume\u0301', 'x')).name).toBe('r\u00e9sum\u00e9')
    expect(await textOf(own, 're\u0301sume\u0301')).toBe('x')
    await own.delete('re\u0301sume\u0301')
  })

  test.each(['', '.', '..', '/a', 'a/', 'a//b', 'a/../b', './a'])(
    '"%s" would be of another address: nothing is sent',
    async (name) => {
      const requests = [
        () => own.upload(name, 'x'),
        () => own.uploadResumable(name, new Blob(['x'])),
        () => own.download(name),
        () => own.sign(name),
        () => own.revoke(name),
        () => own.delete(name),
        () => own.move(name, 'b'),
      ]
      for (const request of requests) expect(await failure(request())).toEqual(expect.any(TypeError))
      expect(() => own.url(name)).toThrow(TypeError)
      expect(network.requests).toEqual([])
    },
  )

  test('reject with the error of the server if it refuses them', async () => {
    expect(await failure(own.upload('a\nb', 'x'))).toBe('invalid_object_name')
    expect(await failure(own.copy('a', '../b'))).toBe('invalid_object_name')
    expect(await failure(own.upload('n'.repeat(1025), 'x'))).toBe('invalid_object_name')
    expect(await failure(own.upload('\ud800', 'x'))).toEqual(expect.any(URIError))
  })
})

describe('files › upload', () => {
  test.each([
    ['a text', 'héllo', 'text/plain'],
    ['bytes', new TextEncoder().encode('héllo'), undefined],
    ['a view of bytes', new TextEncoder().encode('[héllo]').subarray(1, 7), undefined],
    ['a buffer', new TextEncoder().encode('héllo').buffer, undefined],
    ['a blob', new Blob(['héllo'], { type: 'text/markdown' }), 'text/markdown'],
  ])('stores %s and returns the object', async (_, content, contentType) => {
    const object = await own.upload('kind', content)
    expect(object).toEqual({
      id: uuid,
      bucket: ownName,
      name: 'kind',
      size: 6,
      contentType: contentType === undefined ? expect.any(String) : expect.stringContaining(contentType),
      userId: user.id,
      createdAt: timestamp,
      updatedAt: timestamp,
      etag: expect.stringMatching(/^"[^"]+"$/),
    })
    expect(await textOf(own, 'kind')).toBe('héllo')
    expect((await own.upload('kind', content, { contentType: 'text/css' })).contentType).toContain('text/css')
  })

  test('replaces only the given content with ifMatch, and nothing with ifNoneMatch', async () => {
    const first = await own.upload('known', 'one', { ifNoneMatch: '*' })
    const second = await own.upload('known', 'two', { ifMatch: first.etag })
    expect(await failure(own.upload('known', 'three', { ifMatch: first.etag }))).toBe('precondition_failed')
    expect(await failure(own.upload('known', 'three', { ifNoneMatch: '*' }))).toBe('precondition_failed')
    expect(await failure(own.delete('known', { ifMatch: first.etag }))).toBe('precondition_failed')
    expect(await textOf(own, 'known')).toBe('two')
    await own.delete('known', { ifMatch: second.etag })
    expect(await failure(own.download('known'))).toBe('file_not_found')
  })

  test('is retried after a lost response, unless it has a condition', async () => {
    network.loseAnswer()
    expect(await own.upload('again', 'x')).toMatchObject({ size: 1 })
    network.loseRequest()
    expect(await failure(own.upload('again', 'y', { ifMatch: '"x"' }))).toBe('network_error')
    network.loseAnswer()
    expect(await failure(own.move('again', 'moved'))).toBe('network_error')
    network.loseAnswer()
    expect(await failure(own.copy('moved', 'copied'))).toBe('network_error')
    network.loseAnswer()
    expect(await failure(own.delete('moved'))).toBe('network_error')
    expect(network.requests.map((each) => each.split(' ')[0])).toEqual([
      'PUT',
      'PUT',
      'PUT',
      'POST',
      'POST',
      'DELETE',
    ])
    expect((await own.list({ prefix: 'copied' })).totalItems).toBe(1)
  })

  test('is sent once if a proxy responds, and is not a network error', async () => {
    network.answer(`/api/storage/${ownName}/proxied`, new Response('<html>'))
    expect(await failure(own.upload('proxied', 'x'))).toBe('invalid_response')
    expect(network.requests).toEqual([`PUT /api/storage/${ownName}/proxied`])
  })

  test('rejects with the abort reason of its signal or the error of the server', async () => {
    const reason = new Error('left the page')
    expect(await failure(own.upload('aborted', 'x', { signal: AbortSignal.abort(reason) }))).toBe(reason)
    expect(await failure(own.upload('large', new Uint8Array(3_000_001)))).toBe('file_too_large')
    expect(await failure(filesOf(undefined).bucket(ownName).download('aborted'))).toBe('missing_auth_token')
    const stranger = filesOf(newUser().token).bucket(ownName)
    await own.upload('taken', 'x')
    expect(await failure(stranger.upload('taken', 'y'))).toBe('insufficient_storage_permissions')
    expect(await failure(mine.bucket('absent').upload('x', 'y'))).toBe('bucket_not_found')
  })
})

describe('files › reading', () => {
  test('returns a byte range, and is aborted by its signal', async () => {
    await own.upload('digits', '0123456789')
    const part = await own.download('digits', { range: [2, 4] })
    expect([part.status, part.headers.get('content-range'), await part.text()]).toEqual([
      206,
      'bytes 2-4/10',
      '234',
    ])
    expect(await (await own.download('digits', { range: [7] })).text()).toBe('789')
    expect(await failure(own.download('digits', { range: [10] }))).toBe('range_not_satisfiable')
    await own.upload('long', new Uint8Array(3_000_000))
    const leaving = new AbortController()
    const long = await own.download('long', { signal: leaving.signal })
    leaving.abort(new Error('left the page'))
    expect(await failure(long.arrayBuffer())).toEqual(new Error('left the page'))
  })

  test('returns smaller images, also by URL', async () => {
    expect(await failure(own.download('digits', { w: 0 }))).toBe('invalid_transform')
    const options = {
      w: 64,
      h: 32,
      fit: 'cover',
      crop: 'smart',
      q: 70,
      format: 'webp',
      download: 'a b',
    } as const
    expect(mine.bucket('avatars').url('ada/1.png', options)).toBe(
      `${apps.app.url}/api/storage/avatars/ada/1.png?w=64&h=32&fit=cover&crop=smart&q=70&format=webp&download=a+b`,
    )
  })

  test('signs a URL of a smaller image', async () => {
    const create = { width: 60, height: 30, channels: 3, background: 'red' } as const
    await own.upload('photo', await sharp({ create }).png().toBuffer())
    const url = await own.sign('photo', { w: 20, format: 'webp', download: 'a b', expiresIn: 60 })
    expect(url).toMatch(/\?exp=\d+&sig=[\w-]+&w=20&format=webp&download=a\+b$/)
    const response = await fetch(url)
    const { format, width, height } = await sharp(await response.arrayBuffer()).metadata()
    expect([response.status, format, width, height]).toEqual([200, 'webp', 20, 10])
    expect(response.headers.get('content-disposition')).toContain('a b')
    const whole = await fetch(await own.sign('photo'))
    expect((await sharp(await whole.arrayBuffer()).metadata()).width).toBe(60)
  })

  test('lists pages and folders', async () => {
    for (const name of ['list/a/1', 'list/a/2', 'list/b', 'list/c']) await own.upload(name, 'x')
    const names = async (options: Parameters<Bucket['list']>[0]) => {
      const { items, ...rest } = await own.list({ prefix: 'list/', ...options })
      return { names: items.map((each) => each.name), ...rest }
    }
    expect(await names({ limit: 2, offset: 1 })).toEqual({
      names: ['list/a/2', 'list/b'],
      totalItems: 4,
      nextCursor: expect.any(String),
    })
    expect(await names({ delimiter: '/' })).toEqual({
      names: ['list/b', 'list/c'],
      prefixes: ['list/a/'],
      totalItems: 3,
    })
    const { nextCursor, ...start } = await names({ delimiter: '/', limit: 2, cursor: '' })
    expect(start).toEqual({ names: ['list/b'], prefixes: ['list/a/'], totalItems: -1 })
    expect(await names({ delimiter: '/', limit: 2, cursor: nextCursor })).toEqual({
      names: ['list/c'],
      prefixes: [],
      totalItems: -1,
    })
    expect(await names({ limit: 1, skipTotal: true })).toMatchObject({ totalItems: -1 })
  })
})

describe('files › signed URL', () => {
  test('opens the object until it is revoked', async () => {
    await own.upload('signed', 'x')
    const address = await own.sign('signed', { expiresIn: 60 })
    expect(address).toMatch(new RegExp(`^${apps.app.url}/api/storage/${ownName}/signed\\?exp=\\d+&sig=`))
    expect(await (await fetch(address)).text()).toBe('x')
    await own.revoke('signed')
    expect((await fetch(address)).status).toBe(403)
    expect(await failure(own.sign('signed', { expiresIn: 604_801 }))).toBe('invalid_expiry')
  })

  test('accepts an upload without a token, and other URLs are rejected', async () => {
    const guest = filesOf(undefined)
    const address = await own.signUpload('guest', { expiresIn: 60 })
    expect(await guest.uploadTo(address, 'hello', { ifNoneMatch: '*' })).toMatchObject({ userId: user.id })
    expect(await failure(guest.uploadTo(address, 'bye', { ifNoneMatch: '*' }))).toBe('precondition_failed')
    expect(await failure(guest.uploadTo(`${address}x`, 'bye'))).toBe('invalid_signed_url')
    expect(await failure(guest.uploadTo('https://example.com/', 'bye'))).toEqual(
      new TypeError('not a signed address of a file'),
    )
    expect(await textOf(own, 'guest')).toBe('hello')
  })
})

/** Content in which no part repeats. */
const content = Uint8Array.from({ length: 1024 * 1024 + 7 }, (_, index) => (index * 31 + (index >> 8)) % 251)

async function expectContent(name: string): Promise<void> {
  const stored = await (await own.download(name)).arrayBuffer()
  expect(Buffer.from(stored).equals(content)).toBe(true)
}

function memoryStore() {
  const ids = new Map<string, string>()
  return {
    ids,
    getItem: (key: string) => ids.get(key) ?? null,
    setItem: (key: string, value: string) => ids.set(key, value),
    removeItem: (key: string) => ids.delete(key),
  }
}

/** Records the progress, and checks it when it arrives. */
function watch(each: (progress: UploadProgress) => void = () => undefined) {
  const loaded: number[] = []
  return {
    loaded,
    onProgress: (progress: UploadProgress) => {
      loaded.push(progress.loaded)
      each(progress)
    },
  }
}

describe('files › resumable upload', () => {
  test('sends growing parts and reports progress', async () => {
    const { loaded, onProgress } = watch(({ total }) => expect(total).toBe(content.length))
    await own.uploadResumable('parts [1] é#%.bin', content, { contentType: 'text/x-parts', onProgress })
    expect(loaded.slice(0, 2)).toEqual([0, 256 * 1024])
    expect(loaded.at(-1)).toBe(content.length)
    expect(loaded).toEqual([...new Set(loaded)].sort((a, b) => a - b))
    await expectContent('parts [1] é#%.bin')
    const { items } = await own.list({ prefix: 'parts' })
    expect(items).toMatchObject([{ size: content.length, userId: user.id }])
  })

  test('stores empty content', async () => {
    const { loaded, onProgress } = watch()
    await own.uploadResumable('empty', new Blob([], { type: 'text/css' }), { onProgress })
    const { items } = await own.list({ prefix: 'empty' })
    expect([loaded, items]).toMatchObject([[0], [{ size: 0, contentType: 'text/css' }]])
  })

  test.each(['loseAnswer', 'loseRequest'] as const)('continues after %s of any request', async (lose) => {
    network[lose]() // the first request
    const { loaded, onProgress } = watch(() => network[lose]())
    await own.uploadResumable('lost', content, { onProgress })
    // The last injected failure was for a request that was not sent.
    await failure(own.list())
    expect(loaded).toEqual([...new Set(loaded)].sort((a, b) => a - b))
    await expectContent('lost')
    expect((await own.list({ prefix: 'lost' })).totalItems).toBe(1)
  })

  test('resumes after an abort, on another node', async () => {
    const store = memoryStore()
    const file = new File([content], 'film.mp4', { lastModified: 1 })
    const leaving = new AbortController()
    const reason = new Error('left the page')
    const first = watch((progress) => {
      if (progress.loaded > 0) leaving.abort(reason)
    })
    const { signal } = leaving
    expect(await failure(own.uploadResumable('film', file, { store, signal, ...first }))).toBe(reason)
    expect(store.ids.size).toBe(1)
    const second = watch()
    const elsewhere = filesOf(user.token, apps.second.url).bucket(ownName)
    const moved = { ...store, getItem: () => [...store.ids.values()][0] ?? null }
    await elsewhere.uploadResumable('film', file, { store: moved, ...second })
    expect(second.loaded[0]).toBe(first.loaded.at(-1))
    await expectContent('film')
  })

  test('restarts if the stored upload has expired, or is of another user or other content', async () => {
    const store = memoryStore()
    const file = new File([content], 'film.mp4', { lastModified: 1 })
    const abort = async (bucket: Bucket, changed = file) => {
      const leaving = new AbortController()
      const { signal } = leaving
      const options = { store, signal, ...watch(() => leaving.abort('left')) }
      expect(await failure(bucket.uploadResumable('anew', changed, options))).toBe('left')
    }
    const stranger = newUser()
    await abort(filesOf(stranger.token).bucket(ownName))
    await abort(own, new File([content.toReversed()], 'film.mp4', { lastModified: 2 }))
    expect(store.ids.size).toBe(2)
    const { loaded, onProgress } = watch()
    await own.uploadResumable('anew', file, { store, onProgress })
    expect(loaded[0]).toBe(0)
    await expectContent('anew')
    store.ids.set(
      `basalt-upload ${apps.app.url}/api/storage/${ownName}/anew anything`,
      '00000000-0000-4000-8000-000000000000',
    )
    await own.uploadResumable('anew', content, { store, fingerprint: 'anything' })
    expect(store.ids.size).toBe(1)
    expect(await failure(own.uploadResumable('anew', content, { store }))).toEqual(
      new TypeError('an upload of what is no File needs a fingerprint to be stored'),
    )
  })

  test('works with a store that fails', async () => {
    const fail = () => {
      throw new DOMException('full', 'QuotaExceededError')
    }
    const store = { getItem: fail, setItem: async () => fail(), removeItem: fail }
    await own.uploadResumable('unstored', new Blob(['x']), { store, fingerprint: '1' })
    expect(await textOf(own, 'unstored')).toBe('x')
  })

  test('restarts if the stored upload is complete, as its object may be deleted', async () => {
    const store = memoryStore()
    const options = { store: { ...store, removeItem: () => undefined }, fingerprint: '1' }
    await own.uploadResumable('complete', new Blob(['x']), options)
    await own.delete('complete')
    await own.uploadResumable('complete', new Blob(['x']), options)
    expect(await textOf(own, 'complete')).toBe('x')
  })

  test('rejects with the reason and removes the upload when it is refused', async () => {
    const store = memoryStore()
    const images = await createBucket(apps.app, { allowedTypes: ['image/png'] })
    await applyTemplate(apps.app, 'user-own-files', { bucket: images })
    const options = { store, fingerprint: '1', contentType: 'image/png' }
    const page = new TextEncoder().encode('<script>alert(1)</script>')
    expect(await failure(mine.bucket(images).uploadResumable('page', page, options))).toBe(
      'file_type_not_allowed',
    )
    expect(await failure(own.uploadResumable('large', new Blob([content, content, content]), options))).toBe(
      'file_too_large',
    )
    expect(await failure(mine.bucket('absent').uploadResumable('x', page))).toBe('bucket_not_found')
    expect(await failure(filesOf(undefined).bucket(ownName).uploadResumable('x', page))).toBe(
      'missing_authorization',
    )
    expect(store.ids.size).toBe(0)
    await expect
      .poll(
        async () => (await apps.app.sql(`select 1 from basalt.resumable_uploads where name = 'page'`)).length,
      )
      .toBe(0)
  })

  test('creates one object of one content when ten run at once', async () => {
    const store = memoryStore()
    const second = filesOf(user.token, apps.second.url).bucket(ownName)
    const uploads = Array.from({ length: 10 }, (_, index) =>
      (index % 2 === 0 ? own : second).uploadResumable('ten', content, { store, fingerprint: '1' }),
    )
    await Promise.all(uploads)
    await expectContent('ten')
    expect((await own.list({ prefix: 'ten' })).totalItems).toBe(1)
  })
})
