import { buffer } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type S3Call, type S3StandIn, startS3 } from '../../../../../../test/s3-stand-in.ts'
import { waitFor } from '../../../../../../test/wait-for.ts'
import { systemClock } from '../../../../../lib/clock.ts'
import { type ByteStore, newKey, StoreFailed } from '../store.ts'
import { s3Store } from './store.ts'

const mebibyte = 1024 * 1024

describe('storage › bytes in S3', () => {
  let s3: S3StandIn
  let store: ByteStore

  beforeEach(async () => {
    s3 = await startS3()
    store = s3Store(s3.bucket, systemClock, 1)
  })
  afterEach(async () => {
    vi.useRealTimers()
    await s3[Symbol.asyncDispose]()
  })

  async function* chunks(...texts: readonly string[]) {
    for (const text of texts) yield Buffer.from(text)
  }

  /** Mebibytes, each of another byte, in chunks that fit no part. */
  async function* mebibytes(count: number) {
    for (let index = 0; index < count * 4; index++) yield Buffer.alloc(mebibyte / 4, index)
  }

  const read = async (key: string, span?: { start: number; end: number }) => {
    const stream = await store.read(key, span)
    return stream === undefined ? undefined : await buffer(stream)
  }
  const listed = async () => {
    const found: { key: string; size: number }[] = []
    for await (const { key, size } of store.list()) found.push({ key, size })
    return found
  }
  /** Makes the first matching calls, as many as `times`, fail with the fault. */
  const failing = (times: number, fault: ReturnType<S3StandIn['fault']>, fits = (_call: S3Call) => true) => {
    let left = times
    s3.fault = (call) => (fits(call) && left-- > 0 ? fault : undefined)
  }
  const unavailable = expect.objectContaining({
    reason: 'unavailable',
    message: expect.stringMatching(/^storage is unavailable: ./),
  })

  test('stores a stream under a key and reads it whole and in part', async () => {
    const key = newKey()
    expect(await store.write(key, chunks('hello', ', ', 'world'))).toBe(12)
    expect(String(await read(key))).toBe('hello, world')
    expect(String(await read(key, { start: 7, end: 11 }))).toBe('world')
    expect(String(await read(key, { start: 0, end: 4 }))).toBe('hello')
    expect(await store.sizeOf(key)).toBe(12)
    expect([...s3.objects.keys()]).toEqual([`objects/${key}`])
  })

  test('stores nothing at all as an object without bytes', async () => {
    const key = newKey()
    expect(await store.write(key, chunks())).toBe(0)
    expect([await store.sizeOf(key), (await read(key))?.length]).toEqual([0, 0])
  })

  test('knows nothing of a key that was never written or was removed, however often', async () => {
    const key = newKey()
    expect([await read(key), await store.sizeOf(key), await listed()]).toEqual([undefined, undefined, []])
    await store.write(key, chunks('x'))
    await store.remove(key)
    await store.remove(key)
    expect([await read(key), await store.sizeOf(key), await listed()]).toEqual([undefined, undefined, []])
  })

  test('lists page by page what is its own', async () => {
    const keys = Array.from({ length: 5 }, newKey).sort()
    for (const key of keys) await store.write(key, chunks('x'))
    s3.objects.set('objects/notes.txt', Buffer.from('of others'))
    s3.objects.set('elsewhere', Buffer.from('of others'))
    expect(await listed()).toEqual(keys.map((key) => ({ key, size: 1 })))
  })

  test('sends a long stream in parts of one size', async () => {
    const key = newKey()
    expect(await store.write(key, mebibytes(19))).toBe(19 * mebibyte)
    const parts = s3.calls
      .filter(({ query }) => query.has('partNumber'))
      .map(({ body }) => body.length / mebibyte)
    expect(parts).toEqual([8, 8, 3])
    const bytes = await read(key, { start: 16 * mebibyte - 1, end: 16 * mebibyte })
    expect([...(bytes ?? [])]).toEqual([63, 64])
    expect(s3.uploads.size).toBe(0)
  })

  test('sends a stream of exactly one part', async () => {
    const key = newKey()
    expect(await store.write(key, mebibytes(8))).toBe(8 * mebibyte)
    expect(await store.sizeOf(key)).toBe(8 * mebibyte)
  })

  test.each([1, 17])(
    'leaves nothing of a stream that breaks off after %i MiB, and rethrows the error of the stream',
    async (count) => {
      const key = newKey()
      const broken = async function* () {
        yield* mebibytes(count)
        throw new RangeError('broken off')
      }
      await expect(store.write(key, broken())).rejects.toThrow(new RangeError('broken off'))
      expect([s3.objects.size, s3.uploads.size]).toEqual([0, 0])
    },
  )

  test.each([
    ['500', { status: 500 }],
    ['503', { status: 503, body: '<Error><Code>SlowDown</Code></Error>' }],
    ['no response', 'hang up' as const],
  ])('tries again after %s', async (_name, fault) => {
    const key = newKey()
    failing(2, fault)
    expect(await store.write(key, chunks('x'))).toBe(1)
    failing(2, fault)
    expect(String(await read(key))).toBe('x')
  })

  test('tries a part again without sending another', async () => {
    const key = newKey()
    failing(1, { status: 500 }, ({ query }) => query.get('partNumber') === '2')
    await store.write(key, mebibytes(17))
    expect((await read(key))?.equals(await buffer(mebibytes(17)))).toBe(true)
  })

  test('treats an upload as complete when its first response was lost', async () => {
    const key = newKey()
    const isCompletion = ({ method, query }: S3Call) => method === 'POST' && query.has('uploadId')
    // The stand-in carries out the request before it fails.
    failing(1, { status: 500 }, isCompletion)
    expect(await store.write(key, mebibytes(9))).toBe(9 * mebibyte)
  })

  test('aborts an upload whose completion fails after the service has sent status 200', async () => {
    const key = newKey()
    const isCompletion = ({ method, query }: S3Call) => method === 'POST' && query.has('uploadId')
    failing(9, { body: '<Error><Code>InternalError</Code></Error>' }, isCompletion)
    await expect(store.write(key, mebibytes(9))).rejects.toEqual(unavailable)
    expect(s3.uploads.size).toBe(0)
  })

  test('takes a read up again where the connection was cut', async () => {
    const key = newKey()
    await store.write(key, mebibytes(1))
    failing(3, { cutAfter: 100_000 }, ({ method }) => method === 'GET')
    expect((await read(key))?.equals(await buffer(mebibytes(1)))).toBe(true)
    const ranges = s3.calls.slice(-3).map(({ headers }) => headers.range)
    expect(new Set(ranges).size).toBe(3)
  })

  test('ends a read with an error that is cut again and again, never early as if it were whole', async () => {
    const key = newKey()
    await store.write(key, mebibytes(1))
    failing(99, { cutAfter: 1000 }, ({ method }) => method === 'GET')
    await expect(read(key)).rejects.toBeInstanceOf(StoreFailed)
  })

  test('reports that it is unavailable when the service keeps failing, and discloses the response only to the log', async () => {
    failing(99, { status: 503, body: '<Error><Code>SlowDown</Code></Error>' })
    const error = await store.write(newKey(), chunks('x')).catch((failure) => failure)
    expect(error).toEqual(unavailable)
    expect(String(error.cause)).toBe('S3Refusal: S3 answered PUT with 503 SlowDown')
    expect(error.message).toBe('storage is unavailable: S3 answered PUT with 503 SlowDown')
    expect(s3.calls).toHaveLength(4)
  })

  test('says why the service cannot be reached', async () => {
    failing(99, 'hang up')
    await expect(store.sizeOf(newKey())).rejects.toThrow('storage is unavailable: other side closed')
  })

  test.each([
    ['the beginning of an upload', ({ method, query }: S3Call) => method === 'POST' && query.has('uploads')],
    ['its end', ({ method, query }: S3Call) => method === 'POST' && query.has('uploadId')],
  ])('retries when the response to %s is cut', async (_name, fits) => {
    const key = newKey()
    failing(1, { cutAfter: 20 }, fits)
    expect(await store.write(key, mebibytes(9))).toBe(9 * mebibyte)
    expect((await read(key))?.equals(await buffer(mebibytes(9)))).toBe(true)
  })

  test.each([
    ['a write', async () => await store.write(newKey(), chunks('x')), 1],
    ['a list', async () => await store.sizeOf(newKey()), undefined],
  ])('retries when the response to %s begins and then stalls', async (_name, send, expected) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    failing(1, { body: 'never whole', stallAfter: 5 })
    const result = send()
    await waitFor('the call', () => s3.calls.length === 1)
    await pause(50)
    vi.advanceTimersByTime(31_000)
    expect(await result).toBe(expected)
    expect(s3.calls).toHaveLength(2)
  })

  test('is unavailable when the responses to a list are cut again and again', async () => {
    failing(99, { cutAfter: 20 })
    await expect(store.sizeOf(newKey())).rejects.toEqual(unavailable)
    await expect(listed()).rejects.toEqual(unavailable)
    await expect(store.removeUnfinished(new Date())).rejects.toEqual(unavailable)
  })

  test('is unavailable when an upload begins without a name', async () => {
    failing(1, { body: '<html></html>' }, ({ method }) => method === 'POST')
    await expect(store.write(newKey(), mebibytes(9))).rejects.toEqual(unavailable)
  })

  test.each([
    ['an object', ({ method }: S3Call) => method === 'PUT', 1],
    ['a part', ({ query }: S3Call) => query.has('partNumber'), 9],
    ['the end of an upload', ({ method, query }: S3Call) => method === 'POST' && query.has('uploadId'), 9],
  ])('is unavailable when something other than S3 responds with 200 to %s', async (_name, fits, count) => {
    failing(1, { status: 200, headers: {}, body: '<html></html>' }, fits)
    await expect(store.write(newKey(), mebibytes(count))).rejects.toEqual(unavailable)
    expect(s3.uploads.size).toBe(0)
  })

  test('is unavailable when a read that was cut is refused as it resumes', async () => {
    const key = newKey()
    await store.write(key, mebibytes(1))
    s3.fault = ({ method, headers }) => {
      if (method !== 'GET') return undefined
      return headers.range === undefined ? { cutAfter: 1000 } : { status: 403, body: '<Error></Error>' }
    }
    await expect(read(key)).rejects.toEqual(unavailable)
  })

  test('takes 200 for a range that is all of an object, and for no other', async () => {
    failing(9, { status: 200, body: 'whole' }, ({ method }) => method === 'GET')
    const key = newKey()
    await store.write(key, chunks('whole'))
    expect(String(await read(key, { start: 0, end: 4 }))).toBe('whole')
    await expect(read(key, { start: 0, end: 3 })).rejects.toEqual(unavailable)
    await expect(read(key, { start: 1, end: 5 })).rejects.toEqual(unavailable)
  })

  test('says that the bucket is in another region, and follows no redirect', async () => {
    const body = '<Error><Code>PermanentRedirect</Code></Error>'
    failing(9, { status: 301, headers: { location: s3.bucket.endpoint }, body })
    const error = await store.write(newKey(), chunks('x')).catch((failure) => failure)
    expect(error).toEqual(unavailable)
    expect(String(error.cause)).toBe('S3Refusal: S3 answered PUT with 301 PermanentRedirect')
    expect(s3.calls).toHaveLength(1)
  })

  test('says that it is full when the service says so', async () => {
    failing(1, { status: 507, body: '<Error><Code>XMinioStorageFull</Code></Error>' })
    await expect(store.write(newKey(), chunks('x'))).rejects.toMatchObject({ reason: 'full' })
  })

  test('tries nothing again that is refused for good, and discloses no secret', async () => {
    const wrong = s3Store({ ...s3.bucket, secretKey: 'another-secret' }, systemClock, 1)
    const error = await wrong.write(newKey(), chunks('x')).catch((failure) => failure)
    expect(error).toEqual(unavailable)
    expect(String(error.cause)).toBe('S3Refusal: S3 answered PUT with 403 SignatureDoesNotMatch')
    expect(s3.calls).toHaveLength(1)
    expect(JSON.stringify(error) + error.stack + error.cause.stack).not.toContain('another-secret')
  })

  test('takes nothing for lost when its bucket is', async () => {
    const elsewhere = s3Store({ ...s3.bucket, name: 'missing' }, systemClock, 1)
    await expect(elsewhere.read(newKey())).rejects.toEqual(unavailable)
    await expect(elsewhere.sizeOf(newKey())).rejects.toEqual(unavailable)
    await expect(elsewhere.list()[Symbol.asyncIterator]().next()).rejects.toEqual(unavailable)
    await expect(elsewhere.remove(newKey())).rejects.toEqual(unavailable)
  })

  test('aborts old uploads that a crash left, and spares recent ones', async () => {
    const begin = async (startedAt: Date) => {
      const id = newKey()
      s3.uploads.set(id, { name: `objects/${newKey()}`, parts: new Map(), startedAt })
      return id
    }
    for (let count = 0; count < 3; count++) await begin(new Date('2026-01-01'))
    const fresh = await begin(new Date('2026-01-03'))
    s3.uploads.set('other', { name: 'of-others', parts: new Map(), startedAt: new Date('2026-01-01') })
    expect(await store.removeUnfinished(new Date('2026-01-02'))).toBe(3)
    expect([...s3.uploads.keys()].sort()).toEqual([fresh, 'other'].sort())
  })

  test('takes no key that is a path', async () => {
    await expect(store.remove('../outside')).rejects.toThrow('not a key of the store')
    await expect(store.sizeOf('../outside')).rejects.toThrow('not a key of the store')
  })
})
