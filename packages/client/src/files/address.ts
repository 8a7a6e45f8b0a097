import { formatQuery, pathSegment } from '../transport.ts'

/** Where an object is. */
export interface Place {
  readonly bucket: string
  readonly name: string
}

/** What is made of a JPEG, PNG or WebP image; `w` or `h` is needed. Nothing is enlarged. */
export interface ImageOptions {
  /** In pixels, 1 to 4096. */
  readonly w?: number | undefined
  readonly h?: number | undefined
  /** `contain` unless given. */
  readonly fit?: 'contain' | 'cover' | 'fill' | undefined
  /** What `cover` keeps; `center` unless given. */
  readonly crop?: 'center' | 'smart' | undefined
  /** 1 to 100. */
  readonly q?: number | undefined
  /** That of the object unless given; `auto`: what the browser accepts. */
  readonly format?: 'jpeg' | 'png' | 'webp' | 'avif' | 'auto' | undefined
}

export interface UrlOptions extends ImageOptions {
  /** Has the browser save it, under this name. */
  readonly download?: string | undefined
}

/** Its path below `/api/`, encoded segment by segment. @throws TypeError for what an address cannot hold */
export function pathOf({ bucket, name }: Place): string {
  return `storage/${pathSegment(bucket)}/${name.split('/').map(pathSegment).join('/')}`
}

export function queryOf({ w, h, fit, crop, q, format, download }: UrlOptions) {
  return { w: w?.toString(), h: h?.toString(), fit, crop, q: q?.toString(), format, download }
}

export function urlOf(server: string, place: Place, options: UrlOptions): string {
  return `${server}/api/${pathOf(place)}${formatQuery(queryOf(options))}`
}

/** Of a signed address, the part below `/api/`: it is used on the server of the client, and no other. @throws TypeError */
export function pathOfSigned(address: string): string {
  const [, path] = /\/api\/(storage\/[^?#]+\?[^#]+)$/.exec(address) ?? []
  if (path === undefined) throw new TypeError('not a signed address of a file')
  return path
}
