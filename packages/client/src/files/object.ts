/** Object of a bucket. */
export interface StoredObject {
  readonly id: string
  readonly bucket: string
  readonly name: string
  /** Size in bytes. */
  readonly size: number
  /** Media type that the server detected in the content. The declared type of the upload is ignored. */
  readonly contentType: string
  /** User who created the object. */
  readonly userId?: string
  readonly createdAt: string
  readonly updatedAt: string
  /** Public URL; only in a public bucket. */
  readonly url?: string
}

/** Object after an upload. */
export interface UploadedObject extends StoredObject {
  /** Entity tag of the content, for `ifMatch`. */
  readonly etag: string
}

/** Page of an object list. */
export interface ObjectPage {
  readonly items: readonly StoredObject[]
  /** Prefixes that names share up to the `delimiter`: with a slash, the folders. Only with a `delimiter`. */
  readonly prefixes?: readonly string[]
  /** Number of objects and prefixes on all pages, up to 10,000, or 1,000 with a `delimiter`; -1 if they were not counted. */
  readonly totalItems: number
  /** True if there are more than `totalItems`. */
  readonly isTotalBounded?: boolean
  /** Cursor of the next page; absent on the last page. */
  readonly nextCursor?: string
}

/**
 * Content of an upload. It can be read more than once, so that the upload can be retried. In Node, `openAsBlob` opens a file
 * without reading it.
 */
export type Content = Blob | BufferSource | string

/** Returns true if a value has one of these class names. Classes differ between realms, such as a test with its own window. */
const isOfKind = (content: unknown, ...kinds: readonly string[]) =>
  kinds.some((kind) => Object.prototype.toString.call(content) === `[object ${kind}]`)

/** @internal Returns true for a `Blob` or `File`, also for one of another realm. */
export const isBlob = (content: unknown): content is Blob => isOfKind(content, 'Blob', 'File')

/**
 * @internal Checks upload content. Without the check, `fetch` would send `[object Object]` for an object.
 * @throws TypeError
 */
export function checkContent(content: unknown): void {
  if (ArrayBuffer.isView(content) || isBlob(content) || isOfKind(content, 'ArrayBuffer', 'String')) return
  throw new TypeError('content is a Blob, an ArrayBuffer, a view of one, or a text')
}
