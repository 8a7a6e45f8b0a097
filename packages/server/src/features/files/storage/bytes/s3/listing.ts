import type { SendToS3 } from './requests.ts'
import { elementsOf, textOf } from './xml.ts'

export interface ListedObject {
  readonly name: string
  readonly size: number
  readonly modifiedAt: Date
}

export interface UnfinishedUpload {
  readonly name: string
  readonly id: string
  readonly startedAt: Date
}

/** Lists all objects whose names begin with the prefix, a thousand per response (Amazon S3, ListObjectsV2). */
export async function* listObjects(send: SendToS3, prefix: string): AsyncIterable<ListedObject> {
  for (let token: string | undefined, isFirst = true; isFirst || token !== undefined; isFirst = false) {
    const query = {
      'list-type': '2',
      prefix,
      ...(token === undefined ? {} : { 'continuation-token': token }),
    }
    const answer = await (await send({ method: 'GET', query })).text()
    for (const content of elementsOf(answer, 'Contents')) {
      yield {
        name: textOf(content, 'Key') ?? '',
        size: Number(textOf(content, 'Size')),
        modifiedAt: new Date(textOf(content, 'LastModified') ?? Number.NaN),
      }
    }
    token = textOf(answer, 'NextContinuationToken')
  }
}

/**
 * Returns the size of an object, undefined when it is missing. It sends a list request, which fails when the bucket is missing.
 * A HEAD request for the object could not distinguish a missing bucket from a missing object.
 */
export async function findSize(send: SendToS3, name: string): Promise<number | undefined> {
  for await (const found of listObjects(send, name)) if (found.name === name) return found.size
}

/** Lists multipart uploads that have neither ended nor been aborted (Amazon S3, ListMultipartUploads). */
export async function* listUnfinished(send: SendToS3, prefix: string): AsyncIterable<UnfinishedUpload> {
  let marker: Readonly<Record<string, string>> = {}
  for (;;) {
    const answer = await (await send({ method: 'GET', query: { uploads: '', prefix, ...marker } })).text()
    for (const upload of elementsOf(answer, 'Upload')) {
      yield {
        name: textOf(upload, 'Key') ?? '',
        id: textOf(upload, 'UploadId') ?? '',
        startedAt: new Date(textOf(upload, 'Initiated') ?? Number.NaN),
      }
    }
    const next = textOf(answer, 'NextKeyMarker')
    if (textOf(answer, 'IsTruncated') !== 'true' || next === undefined) return
    marker = { 'key-marker': next, 'upload-id-marker': textOf(answer, 'NextUploadIdMarker') ?? '' }
  }
}
