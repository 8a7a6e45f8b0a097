/** An object of a bucket. */
export interface StoredObject {
  readonly id: string
  readonly bucket: string
  readonly name: string
  /** Bytes. */
  readonly size: number
  /** Of the content, whatever the upload said. */
  readonly contentType: string
  /** The user who made it. */
  readonly userId?: string
  readonly createdAt: string
  readonly updatedAt: string
  /** In a public bucket: where everybody can read it. */
  readonly url?: string
}

/** One that was uploaded. */
export interface UploadedObject extends StoredObject {
  /** Of this content, for `ifMatch`. */
  readonly etag: string
}

export interface ObjectPage {
  readonly items: readonly StoredObject[]
  /** With a `delimiter`: what names share up to it. Folders, where it is a slash. */
  readonly prefixes?: readonly string[]
  /** Objects and prefixes of all pages, up to 10,000, or 1,000 with a `delimiter`; -1 where they are not counted. */
  readonly totalItems: number
  /** There are more than `totalItems`. */
  readonly isTotalBounded?: boolean
  /** Where there are more: `cursor` of the next page. */
  readonly nextCursor?: string
}

/** What can be read more than once, so that it can be sent again. In Node `openAsBlob` opens a file without reading it. */
export type Content = Blob | BufferSource | string

/** By its tag: classes differ between realms, as in tests that have a window of their own. */
const isOfKind = (content: unknown, ...kinds: readonly string[]) =>
  kinds.some((kind) => Object.prototype.toString.call(content) === `[object ${kind}]`)

/** @internal */
export const isBlob = (content: unknown): content is Blob => isOfKind(content, 'Blob', 'File')

/** @internal Without types, fetch sends `[object Object]` of an object. @throws TypeError */
export function checkContent(content: unknown): void {
  if (ArrayBuffer.isView(content) || isBlob(content) || isOfKind(content, 'ArrayBuffer', 'String')) return
  throw new TypeError('content is a Blob, an ArrayBuffer, a view of one, or a text')
}
