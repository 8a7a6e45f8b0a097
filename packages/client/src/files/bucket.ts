import { invalidResponse, readList } from '../response.ts'
import { formatQuery, pathSegment, type RequestOptions, type Transport } from '../transport.ts'
import { type ImageOptions, pathOf, queryOf, type UrlOptions, urlOf } from './address.ts'
import type { Content, ObjectPage, StoredObject, UploadedObject } from './object.ts'
import { type ResumableOptions, uploadInParts } from './resumable.ts'
import { putContent, type UploadOptions } from './upload.ts'

/** Options of a download. */
export interface DownloadOptions extends RequestOptions, ImageOptions {
  /**
   * First and last byte, both inclusive; up to the end without the last one. The response has status 206 if the server sends a
   * part.
   */
  readonly range?: readonly [first: number, last?: number] | undefined
}

/** Options of an object list. */
export interface ListOptions extends RequestOptions {
  /** Prefix of the object names. */
  readonly prefix?: string | undefined
  /** Delimiter of folders, such as `/`. Names that share a prefix up to the delimiter are listed once, in `prefixes`. */
  readonly delimiter?: string | undefined
  /** Objects on each page: 1 to 500; 100 unless set. */
  readonly limit?: number | undefined
  /**
   * Empty string for the first page, then the `nextCursor` of the previous page. Each page costs the same, and nothing is
   * counted.
   */
  readonly cursor?: string | undefined
  /** Number of objects to skip. A page costs as much as all pages before it, so prefer `cursor`. */
  readonly offset?: number | undefined
  /** True to skip the count. `totalItems` is then -1. */
  readonly skipTotal?: boolean | undefined
}

/** Options of a signed URL for an upload. */
export interface SignUploadOptions extends RequestOptions {
  /** Lifetime in seconds, at most a week; 3600 unless set. */
  readonly expiresIn?: number | undefined
}

/** Options of a signed URL: its lifetime, and the size and format of an image. */
export interface SignOptions extends SignUploadOptions, UrlOptions {}

/** Options of a deletion. */
export interface DeleteOptions extends RequestOptions {
  /** Deletes the object only if its content has this `etag`. Otherwise the call rejects with `precondition_failed`. */
  readonly ifMatch?: string | undefined
}

/** Options of a move or copy. */
export interface MoveOptions extends RequestOptions {
  /** Destination bucket; the same bucket unless set. */
  readonly bucket?: string | undefined
}

/**
 * Objects of a bucket. Object names may contain any characters. Segments between slashes must not be empty, `.` or `..`.
 *
 * Reads, signing and uploads without a condition are retried after a broken connection. All other requests are sent once. After
 * a `network_error` or `timeout`, check whether the request took effect.
 */
export interface Bucket {
  /**
   * Uploads an object and replaces an existing one with this name. For progress, or more than a few MB, use `uploadResumable`.
   */
  upload(name: string, content: Content, options?: UploadOptions): Promise<UploadedObject>
  /** Uploads an object in parts (tus), and resumes after a broken connection. */
  uploadResumable(name: string, content: Blob | BufferSource, options?: ResumableOptions): Promise<void>
  /**
   * Downloads an object. The caller reads the body of the response: `(await bucket.download(name)).blob()`.
   * @throws BasaltError `file_not_found`
   */
  download(name: string, options?: DownloadOptions): Promise<Response>
  /** Returns the public URL of an object in a public bucket. Sends no request. */
  url(name: string, options?: UrlOptions): string
  /**
   * Returns a signed URL that opens the object without a token until it expires, and an image in the given size and format. The
   * signature is for the object: the URL also opens it in another size.
   */
  sign(name: string, options?: SignOptions): Promise<string>
  /** Returns a signed URL for `uploadTo`, which uploads on behalf of this user. */
  signUpload(name: string, options?: SignUploadOptions): Promise<string>
  /** Revokes the signed URLs that this user created for the object. An administrator revokes those of all users. */
  revoke(name: string, options?: RequestOptions): Promise<void>
  /** Lists objects in the order of their names. */
  list(options?: ListOptions): Promise<ObjectPage>
  /** Deletes an object. */
  delete(name: string, options?: DeleteOptions): Promise<void>
  /** Moves an object. Never replaces another one. @throws BasaltError `object_exists` */
  move(name: string, to: string, options?: MoveOptions): Promise<StoredObject>
  /** Copies an object. Never replaces another one. @throws BasaltError `object_exists` */
  copy(name: string, to: string, options?: MoveOptions): Promise<StoredObject>
}

export function createBucket(transport: Transport, bucket: string): Bucket {
  const at = (name: string) => pathOf({ bucket, name })

  async function sign(
    name: string,
    verb: 'sign' | 'sign-upload',
    { expiresIn, signal, timeoutMs, retryForMs, ...image }: SignOptions,
  ): Promise<string> {
    // A signed URL whose response was lost stays unused and expires.
    const detail = { signal, timeoutMs, retryForMs, body: { expiresIn }, isRepeatable: true }
    const response = (await transport.request('POST', `${at(name)}/${verb}`, detail)) as {
      url?: unknown
    } | null
    if (typeof response?.url !== 'string') throw invalidResponse('url')
    // The URL has a query, which holds the signature.
    return `${transport.url}${response.url}${formatQuery(queryOf(image)).replace('?', '&')}`
  }

  async function relocate(
    name: string,
    verb: 'move' | 'copy',
    to: string,
    { bucket: toBucket, ...options }: MoveOptions,
  ): Promise<StoredObject> {
    const detail = { ...options, body: { name: to, bucket: toBucket }, isRepeatable: false }
    // The server responds with the object.
    return (await transport.request('POST', `${at(name)}/${verb}`, detail)) as StoredObject
  }

  return {
    upload: async (name, content, options = {}) => putContent(transport, at(name), content, options),
    uploadResumable: async (name, content, options = {}) =>
      uploadInParts(transport, { bucket, name }, content, options),
    download: async (name, { range, signal, timeoutMs, retryForMs, ...image } = {}) => {
      const headers: Readonly<Record<string, string>> =
        range === undefined ? {} : { range: `bytes=${range[0]}-${range[1] ?? ''}` }
      const detail = { headers, query: queryOf(image), signal, timeoutMs, retryForMs, isRepeatable: true }
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
      // The server responds with a page.
      const page = (await transport.request('GET', `storage/${pathSegment(bucket)}`, detail)) as ObjectPage
      readList(page?.items)
      return page
    },
    delete: async (name, { ifMatch, ...options } = {}) => {
      const headers: Readonly<Record<string, string>> = ifMatch === undefined ? {} : { 'if-match': ifMatch }
      await transport.request('DELETE', at(name), { ...options, headers, isRepeatable: false })
    },
    move: (name, to, options = {}) => relocate(name, 'move', to, options),
    copy: (name, to, options = {}) => relocate(name, 'copy', to, options),
  }
}
