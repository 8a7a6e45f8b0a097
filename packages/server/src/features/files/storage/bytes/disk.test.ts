import { mkdtemp, readdir, readFile, rm, truncate, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { diskStore } from './disk.ts'
import { type ByteStore, newKey, StoreFailed } from './store.ts'

async function* chunks(...texts: readonly string[]) {
  for (const text of texts) yield Buffer.from(text)
}

describe('storage › bytes on the disk', () => {
  let directory: string
  let store: ByteStore

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'basalt-bytes-'))
    store = diskStore(join(directory, 'objects'))
  })
  afterEach(() => rm(directory, { recursive: true }))

  const read = async (key: string, span?: { start: number; end: number }) => {
    const stream = await store.read(key, span)
    return stream === undefined ? undefined : (await buffer(stream)).toString()
  }
  const listed = async () => {
    const found: { key: string; size: number }[] = []
    for await (const { key, size } of store.list()) found.push({ key, size })
    return found
  }

  test('stores a stream under a key and reads it whole and in part', async () => {
    const key = newKey()
    expect(await store.write(key, chunks('hello', ', ', 'world'))).toBe(12)
    expect(await read(key)).toBe('hello, world')
    expect(await read(key, { start: 7, end: 11 })).toBe('world')
    expect(await store.sizeOf(key)).toBe(12)
    expect(await listed()).toEqual([{ key, size: 12 }])
    expect(await readFile(join(directory, 'objects', key.slice(0, 2), key), 'utf8')).toBe('hello, world')
  })

  test('knows nothing of a key that was never written or was removed, however often', async () => {
    const key = newKey()
    expect([await read(key), await store.sizeOf(key), await listed()]).toEqual([undefined, undefined, []])
    await store.write(key, chunks('x'))
    await store.remove(key)
    await store.remove(key)
    expect([await read(key), await store.sizeOf(key), await listed()]).toEqual([undefined, undefined, []])
  })

  test('leaves nothing of a stream that breaks off, and rethrows the error of the stream', async () => {
    const key = newKey()
    const broken = async function* () {
      yield Buffer.from('half')
      throw new RangeError('broken off')
    }
    await expect(store.write(key, broken())).rejects.toThrow(new RangeError('broken off'))
    expect([await read(key), await readdir(join(directory, 'objects', 'unfinished'))]).toEqual([
      undefined,
      [],
    ])
  })

  test('removes what a crash left unfinished, and only what is old enough', async () => {
    await store.write(newKey(), chunks('whole'))
    const unfinished = join(directory, 'objects', 'unfinished')
    const [old, fresh] = [newKey(), newKey()]
    for (const key of [old, fresh]) await writeFile(join(unfinished, key), 'half')
    await utimes(join(unfinished, old), 1000, 1000)
    expect(await store.removeUnfinished(new Date(2_000_000))).toBe(1)
    expect(await readdir(unfinished)).toEqual([fresh])
    expect(await listed()).toHaveLength(1)
  })

  test('reads no part of a file that has lost its end', async () => {
    const key = newKey()
    await store.write(key, chunks('whole'))
    await truncate(join(directory, 'objects', key.slice(0, 2), key), 3)
    for (const span of [
      { start: 0, end: 4 },
      { start: 1, end: 3 },
    ]) {
      await expect(read(key, span)).rejects.toMatchObject({
        reason: 'unavailable',
        message: 'storage is unavailable: a file has 3 bytes left',
      })
    }
    expect(await read(key, { start: 1, end: 2 })).toBe('ho')
  })

  test('takes no key that is a path', async () => {
    await expect(store.write('../../outside', chunks('x'))).rejects.toThrow('not a key of the store')
    await expect(store.read('../../outside')).rejects.toThrow('not a key of the store')
  })

  test('says that it is unavailable when its directory cannot be made', async () => {
    await writeFile(join(directory, 'file'), '')
    const failure = await diskStore(join(directory, 'file'))
      .write(newKey(), chunks('x'))
      .catch((error) => error)
    expect(failure).toBeInstanceOf(StoreFailed)
    expect(failure).toMatchObject({
      reason: 'unavailable',
      message: expect.stringMatching(/^storage is unavailable: E\w+: /),
    })
  })
})
