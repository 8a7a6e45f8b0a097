import type { Clock } from '../../../../../lib/clock.ts'
import { type ByteStore, isKey, StoreFailed } from '../store.ts'
import { download } from './download.ts'
import { findSize, listObjects, listUnfinished } from './listing.ts'
import { createS3Sender, type S3Bucket, S3Refusal } from './requests.ts'
import { abortUpload, partBytesFor, uploadStream } from './upload.ts'

/** Names in the bucket, which others may use, too. */
const prefix = 'objects/'

/**
 * Returns a byte store in a bucket of Amazon S3, or of a service with its protocol. All nodes share the bucket.
 *
 * @param largestFile in bytes; it decides about the size of parts
 */
export function s3Store(bucket: S3Bucket, clock: Clock, largestFile: number): ByteStore {
  const send = createS3Sender(bucket, clock)
  const partBytes = partBytesFor(largestFile)

  return {
    write: async (key, source) => await reported(uploadStream(send, nameOf(key), source, partBytes)),
    read: async (key, span) => await reported(download(send, nameOf(key), span)),
    sizeOf: async (key) => await reported(findSize(send, nameOf(key))),

    async remove(key) {
      await reported(send({ method: 'DELETE', name: nameOf(key) })).catch(ignoreMissing)
    },

    async *list() {
      try {
        for await (const { name, ...found } of listObjects(send, prefix)) {
          const key = name.slice(prefix.length)
          if (isKey(key)) yield { key, ...found }
        }
      } catch (error) {
        throw report(error)
      }
    },

    async removeUnfinished(before) {
      let count = 0
      try {
        for await (const { name, id, startedAt } of listUnfinished(send, prefix)) {
          if (!isKey(name.slice(prefix.length)) || !(startedAt < before)) continue
          await abortUpload(send, name, id)
          count += 1
        }
      } catch (error) {
        throw report(error)
      }
      return count
    },
  }
}

function nameOf(key: string): string {
  if (!isKey(key)) throw new TypeError('not a key of the store')
  return prefix + key
}

async function reported<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    throw report(error)
  }
}

/** Reports a permanent refusal as unavailable: the operator has to fix its cause, for example a wrong key. */
function report(error: unknown): unknown {
  return error instanceof S3Refusal ? new StoreFailed('unavailable', error) : error
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof StoreFailed && error.cause instanceof S3Refusal && error.cause.isMissing))
    throw error
}
