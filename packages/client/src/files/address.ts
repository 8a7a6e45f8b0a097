import { formatQuery, pathSegment } from '../transport.ts'

/** Location of an object. */
export interface ObjectLocation {
  readonly bucket: string
  readonly name: string
}

/** Image transformation of a JPEG, PNG or WebP object. Requires `w` or `h`. Images are never enlarged. */
export interface ImageOptions {
  /** Width in pixels, 1 to 4096. */
  readonly w?: number | undefined
  /** Height in pixels, 1 to 4096. */
  readonly h?: number | undefined
  /** Fit into width and height; `contain` unless set. */
  readonly fit?: 'contain' | 'cover' | 'fill' | undefined
  /** Part that `cover` keeps; `center` unless set. */
  readonly crop?: 'center' | 'smart' | undefined
  /** Quality, 1 to 100. */
  readonly q?: number | undefined
  /** Format of the result; that of the object unless set. `auto` selects one that the browser accepts. */
  readonly format?: 'jpeg' | 'png' | 'webp' | 'avif' | 'auto' | undefined
}

/** Options of an object URL. */
export interface UrlOptions extends ImageOptions {
  /** File name under which the browser saves the object, instead of showing it. */
  readonly download?: string | undefined
}

/**
 * Returns the path of an object below `/api/`, with each segment encoded. @throws TypeError for a name that a URL cannot
 * contain
 */
export function pathOf({ bucket, name }: ObjectLocation): string {
  return `storage/${pathSegment(bucket)}/${name.split('/').map(pathSegment).join('/')}`
}

export function queryOf({ w, h, fit, crop, q, format, download }: UrlOptions) {
  return { w: w?.toString(), h: h?.toString(), fit, crop, q: q?.toString(), format, download }
}

export function urlOf(server: string, location: ObjectLocation, options: UrlOptions): string {
  return `${server}/api/${pathOf(location)}${formatQuery(queryOf(options))}`
}

/** Returns the part of a signed URL below `/api/`. It is only used on the server of this client. @throws TypeError */
export function pathOfSigned(address: string): string {
  const [, path] = /\/api\/(storage\/[^?#]+\?[^#]+)$/.exec(address) ?? []
  if (path === undefined) throw new TypeError('not a signed address of a file')
  return path
}
