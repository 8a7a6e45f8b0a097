import { isHashedName } from './file-name.ts'

/** A file of a deploy. */
export interface StoredFile {
  readonly path: string
  /** In hexadecimal. */
  readonly sha256: string
  readonly size: number
  readonly contentType: string
}

export type SiteAnswer =
  | {
      readonly kind: 'file'
      readonly file: StoredFile
      readonly status: 200 | 404
      readonly isImmutable: boolean
    }
  | { readonly kind: 'redirect'; readonly path: string }
  | { readonly kind: 'missing' }

export interface SiteRequest {
  readonly path: string
  /** Whether a browser goes to the address, rather than loading a part of a page. */
  readonly isNavigation: boolean
}

export interface SiteFiles {
  /** Of the live deploy. */
  find(path: string): StoredFile | undefined
  /** Of the kept deploys before it: pages that are open still ask for their assets. */
  findEarlier(path: string): Promise<StoredFile | undefined>
  readonly isSpa: boolean
}

/** What a site answers for a path: as static hosts do, `/about` is `about.html`, and `/docs/` is `docs/index.html`. */
export async function findFile(site: SiteFiles, { path, isNavigation }: SiteRequest): Promise<SiteAnswer> {
  const serve = (file: StoredFile): SiteAnswer => ({
    kind: 'file',
    file,
    status: 200,
    isImmutable: isHashedName(file.path),
  })
  if (path === '' || path.endsWith('/')) {
    const index = site.find(`${path}index.html`)
    if (index !== undefined) return serve(index)
    const bare = path.slice(0, -1)
    if (bare !== '' && (site.find(`${bare}.html`) ?? site.find(bare)) !== undefined) {
      return { kind: 'redirect', path: bare }
    }
  } else {
    const file = site.find(path) ?? site.find(`${path}.html`)
    if (file !== undefined) return serve(file)
    if (site.find(`${path}/index.html`) !== undefined) return { kind: 'redirect', path: `${path}/` }
    const earlier = isHashedName(path) ? await site.findEarlier(path) : undefined
    if (earlier !== undefined) return serve(earlier)
  }
  const isPage = isNavigation && !/\.[^/]+$/.test(path)
  const index = site.isSpa && isPage ? site.find('index.html') : undefined
  if (index !== undefined) return serve(index)
  const page = isNavigation ? site.find('404.html') : undefined
  return page === undefined
    ? { kind: 'missing' }
    : { kind: 'file', file: page, status: 404, isImmutable: false }
}
