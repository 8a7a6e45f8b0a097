import type { Queryable } from '../../../../database/system-database.ts'
import { type Blob, readBlob } from './serving-queries.ts'

/** Bytes of files that a node keeps in memory; others are read from the database each time. */
const memoryBytes = 64 * 1024 * 1024

/** Content of files by its hash, which never changes: the least recently used go first. */
export class BlobCache {
  readonly #database: Queryable
  readonly #blobs = new Map<string, Blob>()
  readonly #reading = new Map<string, Promise<Blob | undefined>>()
  #size = 0

  constructor(database: Queryable) {
    this.#database = database
  }

  /** Requests for the same blob share one read. */
  async get(sha256: string): Promise<Blob | undefined> {
    const known = this.#blobs.get(sha256)
    if (known !== undefined) {
      this.#blobs.delete(sha256)
      this.#blobs.set(sha256, known)
      return known
    }
    const reading = this.#reading.get(sha256)
    if (reading !== undefined) return await reading
    const read = this.#read(sha256).finally(() => this.#reading.delete(sha256))
    this.#reading.set(sha256, read)
    return await read
  }

  async #read(sha256: string): Promise<Blob | undefined> {
    const blob = await readBlob(this.#database, sha256)
    // One that would push out a quarter of the others is not worth it.
    if (blob === undefined || sizeOf(blob) > memoryBytes / 4) return blob
    this.#blobs.set(sha256, blob)
    this.#size += sizeOf(blob)
    for (const [oldest, each] of this.#blobs) {
      if (this.#size <= memoryBytes) break
      this.#blobs.delete(oldest)
      this.#size -= sizeOf(each)
    }
    return blob
  }
}

function sizeOf({ bytes, br, gzip }: Blob): number {
  return bytes.length + (br?.length ?? 0) + (gzip?.length ?? 0)
}
