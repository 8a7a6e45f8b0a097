import { notTheAnswer, readList } from '../answer.ts'
import { pathSegment, type RequestOptions, type Transport } from '../transport.ts'
import { type ImageOptions, pathOf, queryOf, type UrlOptions, urlOf } from './address.ts'
import type { Content, ObjectPage, StoredObject, UploadedObject } from './object.ts'
import { type ResumableOptions, uploadInParts } from './resumable.ts'
import { putContent, type UploadOptions } from './upload.ts'

export interface DownloadOptions extends RequestOptions, ImageOptions {
  /** First and last byte; without the last one all from the first. The status is 206 where the server sends a part. */
  readonly range?: readonly [first: number, last?: number] | undefined
}

export interface ListOptions extends RequestOptions {
  /** What the names begin with. */
  readonly prefix?: string | undefined
  /** What names share up to it is listed once, in `prefixes`: `/` for folders. */
  readonly delimiter?: string | undefined
  /** 1 to 500; 100 unless given. */
  readonly limit?: number | undefined
  /** `nextCursor` of the page before; empty for the first page. Each page costs the same, and nothing is counted. */
  readonly cursor?: string | undefined
  /** A page costs as much as all pages before it: prefer `cursor`. */
  readonly offset?: number | undefined
  /** Leaves the total out, which is then -1. */
  readonly skipTotal?: boolean | undefined
}

export interface SignOptions extends RequestOptions {
  /** Seconds; an hour unless given, at most a week. */
  readonly expiresIn?: number | undefined
}

export interface DeleteOptions extends RequestOptions {
  /** Deletes only the content with this `etag`; else `precondition_failed`. */
  readonly ifMatch?: string | undefined
}

export interface MoveOptions extends RequestOptions {
  /** The same bucket unless given. */
  readonly bucket?: string | undefined
}

/**
 * The objects of a bucket. Names may hold everything but empty segments, `.` and `..` between their slashes.
 *
 * Reading, signing and uploads without a condition are tried again where a connection breaks. All else is sent once: after a
 * `network_error` or `timeout` look whether it was done.
 */
export interface Bucket {
  /** Replaces the object of this name. For progress, and files of more than a few MB: `uploadResumable`. */
  upload(name: string, content: Content, options?: UploadOptions): Promise<UploadedObject>
  /** Uploads in parts, and resumes where it was cut off. */
  uploadResumable(name: string, content: Blob | BufferSource, options?: ResumableOptions): Promise<void>
  /** The answer, whose body is still to be read: `(await bucket.download(name)).blob()`. */
  download(name: string, options?: DownloadOptions): Promise<Response>
  /** Where everybody can read the object of a public bucket. */
  url(name: string, options?: UrlOptions): string
  /** An address that opens the object without a token, for a time. */
  sign(name: string, options?: SignOptions): Promise<string>
  /** An address for `uploadTo`, which uploads on behalf of this user. */
  signUpload(name: string, options?: SignOptions): Promise<string>
  /** Ends the addresses that this user had signed; an administrator ends all. */
  revoke(name: string, options?: RequestOptions): Promise<void>
  /** In the order of names. */
  list(options?: ListOptions): Promise<ObjectPage>
  delete(name: string, options?: DeleteOptions): Promise<void>
  /** Never replaces an object: `object_exists`. */
  move(name: string, to: string, options?: MoveOptions): Promise<StoredObject>
  /** Never replaces an object: `object_exists`. */
  copy(name: string, to: string, options?: MoveOptions): Promise<StoredObject>
}

export function createBucket(transport: Transport, bucket: string): Bucket {
  const at = (name: string) => pathOf({ bucket, name })

  async function sign(
    name: string,
    verb: 'sign' | 'sign-upload',
    { expiresIn, ...options }: SignOptions,
  ): Promise<string> {
    // An address that was lost with its answer opens nothing to anyone, and expires.
    const detail = { ...options, body: { expiresIn }, isRepeatable: true }
    const answer = (await transport.request('POST', `${at(name)}/${verb}`, detail)) as {
      url?: unknown
    } | null
    if (typeof answer?.url !== 'string') throw notTheAnswer('url')
    return `${transport.url}${answer.url}`
  }

  async function place(
    name: string,
    verb: 'move' | 'copy',
    to: string,
    { bucket: toBucket, ...options }: MoveOptions,
  ): Promise<StoredObject> {
    const detail = { ...options, body: { name: to, bucket: toBucket }, isRepeatable: false }
    // What the server answers to it.
    return (await transport.request('POST', `${at(name)}/${verb}`, detail)) as StoredObject
  }

  return {
    upload: async (name, content, options = {}) => putContent(transport, at(name), content, options),
    uploadResumable: async (name, content, options = {}) =>
      uploadInParts(transport, { bucket, name }, content, options),
    download: async (name, { range, signal, timeoutMs, ...image } = {}) => {
      const headers: Readonly<Record<string, string>> =
        range === undefined ? {} : { range: `bytes=${range[0]}-${range[1] ?? ''}` }
      const detail = { headers, query: queryOf(image), signal, timeoutMs, isRepeatable: true }
      return transport.exchange('GET', at(name), detail, (response) => response)
    },
    url: (name, options = {}) => urlOf(transport.url, { bucket, name }, options),
    sign: (name, options = {}) => sign(name, 'sign', options),
    signUpload: (name, options = {}) => sign(name, 'sign-upload', options),
    revoke: async (name, options = {}) => {
      await transport.request('POST', `${at(name)}/revoke`, { ...options, isRepeatable: true })
    },
    list: async ({ prefix, delimiter, limit, cursor, offset, skipTotal, ...options } = {}) => {
      const query = {
        ...{ prefix, delimiter, cursor },
        ...{ limit: limit?.toString(), offset: offset?.toString(), skipTotal: skipTotal?.toString() },
      }
      const detail = { ...options, query, isRepeatable: true }
      // What the server answers to it.
      const page = (await transport.request('GET', `storage/${pathSegment(bucket)}`, detail)) as ObjectPage
      readList(page?.items)
      return page
    },
    delete: async (name, { ifMatch, ...options } = {}) => {
      const headers: Readonly<Record<string, string>> = ifMatch === undefined ? {} : { 'if-match': ifMatch }
      await transport.request('DELETE', at(name), { ...options, headers, isRepeatable: false })
    },
    move: (name, to, options = {}) => place(name, 'move', to, options),
    copy: (name, to, options = {}) => place(name, 'copy', to, options),
  }
}
