import { hasFileExtension } from '../content-type.ts'
import type { RedirectMatch } from '../rules/redirect-table.ts'
import { fileOf, locationOf, type RedirectStatus } from '../rules/redirects.ts'
import type { SiteRules } from '../rules/site-rules.ts'
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
  /** The query of the request goes with it, unless the location has one. */
  | { readonly kind: 'redirect'; readonly location: string; readonly status: RedirectStatus }
  | { readonly kind: 'missing' }

export interface SiteRequest {
  readonly path: string
  /** Whether a browser goes to the address, rather than loading a part of a page. */
  readonly isNavigation: boolean
}

export interface SiteFiles {
  /** Of the deploy that this node has as the live one. */
  find(path: string): StoredFile | undefined
  /** Of the other kept deploys: pages that are open, or come from another node, ask for their assets. */
  findOther(path: string): Promise<StoredFile | undefined>
  readonly rules: SiteRules
  readonly isSpa: boolean
}

/** What a site answers for a path: as static hosts do, `/about` is `about.html`, and `/docs/` is `docs/index.html`. */
export async function findFile(site: SiteFiles, request: SiteRequest): Promise<SiteAnswer> {
  const { path, isNavigation } = request
  const own =
    applyRules(site, request, site.rules.forced.matches(path)) ??
    findOwn(site, path) ??
    (await findOther(site, path)) ??
    applyRules(site, request, site.rules.redirects.matches(path))
  if (own !== undefined) return own
  const index = findAppPage(site, request)
  if (index !== undefined) return index
  const page = isNavigation ? site.find('404.html') : undefined
  return page === undefined ? { kind: 'missing' } : { ...answerWith(page), status: 404, isImmutable: false }
}

function answerWith(file: StoredFile) {
  return { kind: 'file', file, status: 200, isImmutable: isHashedName(file.path) } as const
}

/** The page of a single-page site, whose own script knows the path. */
export function findAppPage(site: SiteFiles, request: SiteRequest): SiteAnswer | undefined {
  const index = site.isSpa && isPage(request) ? site.find('index.html') : undefined
  return index && answerWith(index)
}

/** A missing asset is missing: a page in its place would break the page that loads it, and be kept. */
function isPage({ path, isNavigation }: SiteRequest): boolean {
  return isNavigation && !hasFileExtension(path)
}

function findOwn(site: SiteFiles, path: string): SiteAnswer | undefined {
  if (path === '' || path.endsWith('/')) {
    const index = site.find(`${path}index.html`)
    if (index !== undefined) return answerWith(index)
    const bare = path.slice(0, -1)
    const isFile = bare !== '' && (site.find(`${bare}.html`) ?? site.find(bare)) !== undefined
    return isFile ? redirectTo(bare) : undefined
  }
  const file = site.find(path) ?? site.find(`${path}.html`)
  if (file !== undefined) return answerWith(file)
  return site.find(`${path}/index.html`) === undefined ? undefined : redirectTo(`${path}/`)
}

/** The path begins with a name, so that the location stays on this host. */
function redirectTo(path: string): SiteAnswer {
  return { kind: 'redirect', location: encodePath(path), status: 308 }
}

function encodePath(path: string): string {
  return `/${path.split('/').map(encodeURIComponent).join('/')}`
}

async function findOther(site: SiteFiles, path: string): Promise<SiteAnswer | undefined> {
  const file = isHashedName(path) ? await site.findOther(path) : undefined
  return file === undefined ? undefined : answerWith(file)
}

/** The first rule that leads to something else than the request itself. */
function applyRules(
  site: SiteFiles,
  request: SiteRequest,
  matches: Iterable<RedirectMatch>,
): SiteAnswer | undefined {
  for (const match of matches) {
    const { status } = match.rule
    if (status !== 200 && status !== 404) {
      const location = locationOf(match.rule, match.values)
      if (location !== encodePath(request.path)) return { kind: 'redirect', location, status }
    } else {
      const file = findTarget(site, fileOf(match.rule, match.values))
      const isForAll = match.rule.pattern.splat === undefined || !file?.contentType.startsWith('text/html')
      // Under an address that is not its own a file may be another one tomorrow.
      if (file !== undefined && (isForAll || isPage(request))) {
        return { ...answerWith(file), status, isImmutable: false }
      }
    }
  }
  return undefined
}

function findTarget(site: SiteFiles, path: string): StoredFile | undefined {
  const bare = path.replace(/\/$/, '')
  const index = site.find(bare === '' ? 'index.html' : `${bare}/index.html`)
  return path.endsWith('/') ? index : (site.find(path) ?? site.find(`${path}.html`) ?? index)
}
