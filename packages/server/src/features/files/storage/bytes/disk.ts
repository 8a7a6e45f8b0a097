import { once } from 'node:events'
import { constants, createReadStream, fstat } from 'node:fs'
import { type FileHandle, mkdir, open, opendir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { codeOf } from '../../../../lib/errors.ts'
import { type ByteStore, isKey, type StoredBytes, StoreFailed } from './store.ts'

/** Bytes of a stream that are read from the disk at once: fewer, larger turns than the default of 64 KiB. */
const readBytes = 256 * 1024

/**
 * Returns a byte store in a directory of the local disk, or of a disk that all nodes have mounted. `ab/ab…` holds the stored
 * files, `unfinished/` the files being written. A file is renamed to its final path after its bytes are on the disk, so that
 * it exists whole or not at all.
 */
export function diskStore(directory: string): ByteStore {
  const unfinished = join(directory, 'unfinished')
  const pathOf = (key: string) => {
    if (!isKey(key)) throw new TypeError('not a key of the store')
    return join(directory, key.slice(0, 2), key)
  }

  async function writeWhole(path: string, source: AsyncIterable<Buffer>): Promise<number> {
    const file = await openNew(path)
    try {
      const size = await writeAll(file, source)
      await onDisk(file.sync())
      return size
    } finally {
      await file.close()
    }
  }

  return {
    async write(key, source) {
      const target = pathOf(key)
      const path = join(unfinished, key)
      try {
        const size = await writeWhole(path, source)
        await onDisk(moveDurably(path, target))
        return size
      } catch (error) {
        await rm(path, { force: true }).catch(() => undefined)
        throw error
      }
    },

    async read(key, span) {
      const stream = createReadStream(pathOf(key), { highWaterMark: readBytes, ...span })
      try {
        const opened = await onDisk(once(stream, 'open').catch(undefinedWhenMissing))
        if (opened === undefined) return undefined
        if (span !== undefined) await requireBytes(opened[0], span.end + 1)
      } catch (error) {
        stream.destroy()
        throw error
      }
      return stream
    },

    async sizeOf(key) {
      return (await onDisk(stat(pathOf(key)).catch(undefinedWhenMissing)))?.size
    },

    async remove(key) {
      for (const path of [pathOf(key), join(unfinished, key)]) await onDisk(rm(path, { force: true }))
    },

    async *list() {
      for await (const part of namesIn(directory)) {
        if (!/^[0-9a-f]{2}$/.test(part)) continue
        yield* filesIn(join(directory, part))
      }
    },

    async removeUnfinished(before) {
      let count = 0
      for await (const { key, modifiedAt } of filesIn(unfinished)) {
        if (modifiedAt >= before) continue
        await onDisk(rm(join(unfinished, key), { force: true }))
        count += 1
      }
      return count
    },
  }
}

/** Rejects a file that has lost bytes: a client would wait for them. */
async function requireBytes(descriptor: number, needed: number): Promise<void> {
  const { size } = await onDisk(promisify(fstat)(descriptor))
  if (size < needed) throw new StoreFailed('unavailable', new Error(`a file has ${size} bytes left`))
}

async function openNew(path: string): Promise<FileHandle> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL
  try {
    return await open(path, flags, 0o600)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw storeFailure(error)
    await onDisk(mkdir(dirname(path), { recursive: true, mode: 0o700 }))
    return await onDisk(open(path, flags, 0o600))
  }
}

/** Writes the source to the file. Only disk errors become a failure of the store; errors of the source stay as they are. */
async function writeAll(file: FileHandle, source: AsyncIterable<Buffer>): Promise<number> {
  let size = 0
  for await (const chunk of source) {
    for (let offset = 0; offset < chunk.length; ) {
      const { bytesWritten } = await onDisk(file.write(chunk, offset))
      offset += bytesWritten
    }
    size += chunk.length
  }
  return size
}

/** Renames a file durably: its name is durable only when its directory has been written, too (fsync(2)). */
async function moveDurably(from: string, to: string): Promise<void> {
  const directory = dirname(to)
  const created = await mkdir(directory, { recursive: true, mode: 0o700 })
  if (created !== undefined) await syncDirectory(dirname(created))
  await rename(from, to)
  await syncDirectory(directory)
}

async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function* namesIn(path: string): AsyncIterable<string> {
  const directory = await onDisk(opendir(path).catch(undefinedWhenMissing))
  if (directory === undefined) return
  for await (const { name } of directory) yield name
}

async function* filesIn(path: string): AsyncIterable<StoredBytes> {
  for await (const key of namesIn(path)) {
    // Removed in this moment, or not one of ours.
    const found = isKey(key) ? await onDisk(stat(join(path, key)).catch(undefinedWhenMissing)) : undefined
    if (found !== undefined) yield { key, size: found.size, modifiedAt: found.mtime }
  }
}

function undefinedWhenMissing(error: unknown): undefined {
  if (codeOf(error) !== 'ENOENT') throw error
}

async function onDisk<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    throw storeFailure(error)
  }
}

function storeFailure(cause: unknown): StoreFailed {
  const isFull = ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(codeOf(cause) ?? '')
  return new StoreFailed(isFull ? 'full' : 'unavailable', cause)
}
