import { storageErrors } from '../errors.ts'

/** @throws AppError resumable_upload_exceeded */
export async function* limit(source: AsyncIterable<Buffer>, limitBytes: number): AsyncIterable<Buffer> {
  let size = 0
  for await (const chunk of source) {
    size += chunk.length
    if (size > limitBytes) throw storageErrors.resumableUploadExceeded()
    if (chunk.length > 0) yield chunk
  }
}

export async function* startingWith(first: Buffer, rest: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  yield first
  yield* rest
}
