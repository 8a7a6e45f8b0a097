import { Readable } from 'node:stream'
import { type ByteSpan, StoreFailed } from '../store.ts'
import { S3Refusal, type SendToS3 } from './requests.ts'
import { untilIdle } from './until-idle.ts'

/** Number of times that a broken stream is resumed at the byte after its last one. */
const resumptions = 3

/**
 * Returns the bytes of an object, or a part of them. A broken or stalled connection is replaced by another that starts at the
 * first missing byte: the bytes stored under a name never change.
 *
 * @returns undefined when there is no such object
 */
export async function download(send: SendToS3, name: string, span?: ByteSpan): Promise<Readable | undefined> {
  const first = await request(send, name, span?.start ?? 0, span?.end).catch(undefinedWhenMissing)
  return first === undefined ? undefined : Readable.from(follow(send, name, first), { objectMode: false })
}

/** S3 response with the byte range that it should bring. */
interface Answer {
  readonly body: ReadableStream<Uint8Array>
  readonly start: number
  /** Offset of the first byte after the range. */
  readonly end: number
}

async function request(send: SendToS3, name: string, start: number, end?: number): Promise<Answer> {
  const isPart = start > 0 || end !== undefined
  const headers = isPart ? { range: `bytes=${start}-${end ?? ''}` } : {}
  const { status, headers: answered, body } = await send({ method: 'GET', name, headers, isStreamed: true })
  const length = Number(answered.get('content-length') ?? Number.NaN)
  const isWhole = end === undefined ? !Number.isNaN(length) : length === end - start + 1
  // Some services respond with 200 to a range that is all of the object.
  const isExpected = status === (isPart ? 206 : 200) || (status === 200 && start === 0)
  if (body === null || !isWhole || !isExpected) {
    await body?.cancel()
    throw new StoreFailed('unavailable', new Error(`S3 answered a read with ${status} of ${length} bytes`))
  }
  return { body, start, end: start + length }
}

async function* follow(send: SendToS3, name: string, first: Answer): AsyncIterable<Uint8Array> {
  let answer = first
  let position = first.start
  for (let left = resumptions; ; left--) {
    try {
      for await (const chunk of untilIdle(answer.body)) {
        position += chunk.byteLength
        yield chunk
      }
    } catch (error) {
      if (left === 0) throw new StoreFailed('unavailable', error)
    }
    if (position >= first.end) return
    if (left === 0) throw new StoreFailed('unavailable', new Error('S3 sent less than it announced'))
    answer = await request(send, name, position, first.end - 1).catch(asFailure)
  }
}

function asFailure(error: unknown): never {
  throw error instanceof S3Refusal ? new StoreFailed('unavailable', error) : error
}

function undefinedWhenMissing(error: unknown): undefined {
  if (!(error instanceof S3Refusal && error.isMissing)) throw error
}
