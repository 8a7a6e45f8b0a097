import { randomBytes } from 'node:crypto'
import type { Readable } from 'node:stream'
import { messageOf } from '../../../../lib/errors.ts'

/** A part of what is stored; the last byte belongs to it. */
export interface ByteSpan {
  readonly start: number
  readonly end: number
}

export interface StoredBytes {
  readonly key: string
  readonly size: number
  readonly modifiedAt: Date
}

/**
 * Byte store of objects, on a disk or in an S3 bucket. It knows neither names nor users: a row in PostgreSQL says what a key
 * is for. The bytes under a key never change.
 */
export interface ByteStore {
  /**
   * Stores a stream under a new key. Its bytes are durable when it resolves; when it rejects, nothing is stored.
   * The stream is read as fast as it is written.
   *
   * @returns how many bytes there were
   * @throws StoreFailed, and whatever the source throws
   */
  write(key: string, source: AsyncIterable<Buffer>): Promise<number>
  /**
   * Returns the bytes stored under a key, or a part that lies within them. The caller reads the stream to its end or destroys it.
   *
   * @returns undefined when nothing is stored there
   * @throws StoreFailed
   */
  read(key: string, span?: ByteSpan): Promise<Readable | undefined>
  /** Returns undefined when nothing is stored under the key. @throws StoreFailed */
  sizeOf(key: string): Promise<number | undefined>
  /** Removes what is stored under a key, or was begun to be, if anything is. @throws StoreFailed */
  remove(key: string): Promise<void>
  /** Lists all stored bytes. @throws StoreFailed */
  list(): AsyncIterable<StoredBytes>
  /**
   * Removes the remains of writes that a crash cut off: files without new bytes since the time.
   *
   * @returns how many
   * @throws StoreFailed
   */
  removeUnfinished(before: Date): Promise<number>
}

/** Failure of the byte store. The same call may succeed later. The message is for operators. */
export class StoreFailed extends Error {
  override readonly name = 'StoreFailed'
  /** `full`: there is no space left for more. */
  readonly reason: 'full' | 'unavailable'

  constructor(reason: StoreFailed['reason'], cause: unknown) {
    super(`storage is ${reason}: ${messageOf(cause)}`, { cause })
    this.reason = reason
  }
}

/** Returns a key that was never used. It contains nothing of a name, so no name can reach another path. */
export function newKey(): string {
  return randomBytes(16).toString('hex')
}

export function isKey(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text)
}
