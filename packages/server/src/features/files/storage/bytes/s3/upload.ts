import { StoreFailed } from '../store.ts'
import { findSize } from './listing.ts'
import { S3Refusal, type SendToS3 } from './requests.ts'
import { textOf } from './xml.ts'

/** The most parts that an upload can have (Amazon S3, multipart upload limits). */
const maxParts = 10_000
/** The least that a part other than the last can have is 5 MiB; more makes fewer requests. */
const usualPartBytes = 8 * 1024 * 1024

/** Returns the size of the parts. All but the last have the same size, as some services require. */
export function partBytesFor(largestFile: number): number {
  return Math.max(usualPartBytes, Math.ceil(largestFile / maxParts))
}

/**
 * Stores a stream: in one request when it is short, else in parts of which one is sent while the next is gathered. So two
 * parts are in memory at most, whatever the size.
 *
 * @returns how many bytes there were
 */
export async function uploadStream(
  send: SendToS3,
  name: string,
  source: AsyncIterable<Buffer>,
  partBytes: number,
): Promise<number> {
  const parts = gather(source, partBytes)
  const first = await parts.next()
  if (first.done === true || first.value.length < partBytes) {
    const body = first.value ?? Buffer.alloc(0)
    tagOf(await send({ method: 'PUT', name, body }))
    return body.length
  }
  const id = await begin(send, name)
  try {
    return await sendParts(send, name, id, chain(first.value, parts))
  } catch (error) {
    // An incomplete upload costs money until it is aborted. If aborting fails now, the clean-up aborts it later.
    await abortUpload(send, name, id).catch(() => undefined)
    throw error
  }
}

/** Ends an upload in parts without storing anything. One that has ended already is left as it is. */
export async function abortUpload(send: SendToS3, name: string, id: string): Promise<void> {
  try {
    await send({ method: 'DELETE', name, query: { uploadId: id } })
  } catch (error) {
    if (!(error instanceof S3Refusal && error.isMissing)) throw error
  }
}

async function begin(send: SendToS3, name: string): Promise<string> {
  const response = await send({ method: 'POST', name, query: { uploads: '' } })
  const id = textOf(await response.text(), 'UploadId')
  if (id === undefined)
    throw new StoreFailed('unavailable', new Error('S3 began an upload without naming it'))
  return id
}

async function sendParts(
  send: SendToS3,
  name: string,
  id: string,
  parts: AsyncIterable<Buffer>,
): Promise<number> {
  const tags: string[] = []
  let size = 0
  let sending: Promise<string> | undefined
  for await (const body of parts) {
    if (sending !== undefined) tags.push(await sending)
    sending = sendPart(send, name, id, tags.length + 1, body)
    // The promise is awaited when the next part is ready. This handler keeps an earlier rejection from being unhandled.
    sending.catch(() => undefined)
    size += body.length
  }
  if (sending !== undefined) tags.push(await sending)
  try {
    await complete(send, name, id, tags)
  } catch (error) {
    // The response to a first attempt may have been lost after the upload had ended.
    const mayHaveEnded = error instanceof S3Refusal && error.isMissing
    if (!mayHaveEnded || (await findSize(send, name)) !== size) throw error
  }
  return size
}

async function sendPart(
  send: SendToS3,
  name: string,
  id: string,
  number: number,
  body: Buffer,
): Promise<string> {
  const query = { partNumber: String(number), uploadId: id }
  return tagOf(await send({ method: 'PUT', name, query, body }))
}

/**
 * Returns the tag of the stored bytes. A response without a tag is not from the service: a proxy may send its own page
 * with 200.
 */
function tagOf({ headers }: Response): string {
  const tag = headers.get('etag')
  if (tag === null) throw new StoreFailed('unavailable', new Error('S3 answered a write without an ETag'))
  return tag
}

/** Completes an upload in parts. The service may fail after it has sent status 200 (Amazon S3, CompleteMultipartUpload). */
async function complete(send: SendToS3, name: string, id: string, tags: readonly string[]): Promise<void> {
  const parts = tags.map(
    (tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escapeXml(tag)}</ETag></Part>`,
  )
  const body = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`
  const request = { method: 'POST', name, query: { uploadId: id }, body } as const
  const answer = await (await send(request)).text()
  if (!answer.includes('<CompleteMultipartUploadResult')) {
    throw new StoreFailed('unavailable', new S3Refusal(request, 200, textOf(answer, 'Code') ?? ''))
  }
}

async function* gather(source: AsyncIterable<Buffer>, partBytes: number): AsyncGenerator<Buffer, undefined> {
  let chunks: Buffer[] = []
  let size = 0
  for await (const chunk of source) {
    let rest = chunk
    while (size + rest.length >= partBytes) {
      const taken = partBytes - size
      yield Buffer.concat([...chunks, rest.subarray(0, taken)])
      rest = rest.subarray(taken)
      chunks = []
      size = 0
    }
    chunks.push(rest)
    size += rest.length
  }
  if (size > 0) yield Buffer.concat(chunks)
}

async function* chain(first: Buffer, rest: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  yield first
  yield* rest
}

function escapeXml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
