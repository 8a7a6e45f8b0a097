import { hasFileExtension } from '../content-type.ts'
import type { RedirectMatch } from '../rules/redirect-table.ts'
import { fileOf, locationOf, type RedirectStatus } from '../rules/redirects.ts'
import type { SiteRules } from '../rules/site-rules.ts'
import { isHashedName } from './file-name.ts'

/** File of a deploy. */
export interface StoredFile {
  readonly path: string
  /** SHA-256 of the content, in hexadecimal. */
  readonly sha256: string
  readonly size: number
  readonly contentType: string
}

export type SiteResult =
  | {
      readonly kind: 'file'
      readonly file: StoredFile
      readonly status: 200 | 404
      readonly isImmutable: boolean
    }
  /** The response adds the query of the request, unless the location has one. */
  | { readonly kind: 'redirect'; readonly location: string; readonly status: RedirectStatus }
  | { readonly kind: 'missing' }

export interface SiteRequest {
  readonly path: string
  /** True if a browser navigates to the address, rather than loading a part of a page. */
  readonly isNavigation: boolean
}

export interface SiteFiles {
  /** Finds a file of the deploy that is live on this node. */
  find(path: string): StoredFile | undefined
  /** Finds a file of the other kept deploys, for open pages and for pages from other nodes. */
  findInOtherDeploys(path: string): Promise<StoredFile | undefined>
  readonly rules: SiteRules
  readonly isSpa: boolean
}

/**
 * Finds the file or redirect for a path, as static hosts do: `/about` is `about.html`, and `/docs/` is
 * `docs/index.html`.
 */
export async function findFile(site: SiteFiles, request: SiteRequest): Promise<SiteResult> {
  const { path, isNavigation } = request
  const result =
    applyRules(site, request, site.rules.forced.matches(path)) ??
    findOwn(site, path) ??
    (await findInOtherDeploys(site, path)) ??
    applyRules(site, request, site.rules.redirects.matches(path))
  if (result !== undefined) return result
  const index = findAppPage(site, request)
  if (index !== undefined) return index
  const page = isNavigation ? site.find('404.html') : undefined
  return page === undefined ? { kind: 'missing' } : { ...fileResult(page), status: 404, isImmutable: false }
}

function fileResult(file: StoredFile) {
  return { kind: 'file', file, status: 200, isImmutable: isHashedName(file.path) } as const
}

/** Returns the page of a single-page site. Its script handles the path. */
export function findAppPage(site: SiteFiles, request: SiteRequest): SiteResult | undefined {
  const index = site.isSpa && isPage(request) ? site.find('index.html') : undefined
  return index && fileResult(index)
}

/** Returns false for assets: a page instead of a missing asset would break the page that loads it, and be cached. */
function isPage({ path, isNavigation }: SiteRequest): boolean {
  return isNavigation && !hasFileExtension(path)
}

function findOwn(site: SiteFiles, path: string): SiteResult | undefined {
  if (path === '' || path.endsWith('/')) {
    const index = site.find(`${path}index.html`)
    if (index !== undefined) return fileResult(index)
    const bare = path.slice(0, -1)
    const isFile = bare !== '' && (site.find(`${bare}.html`) ?? site.find(bare)) !== undefined
    return isFile ? redirectTo(bare) : undefined
  }
  const file = site.find(path) ?? site.find(`${path}.html`)
  if (file !== undefined) return fileResult(file)
  return site.find(`${path}/index.html`) === undefined ? undefined : redirectTo(`${path}/`)
}

/** Returns a redirect to a path. The path begins with a name, so the location stays on this host. */
function redirectTo(path: string): SiteResult {
  return { kind: 'redirect', location: encodePath(path), status: 308 }
}

function encodePath(path: string): string {
  return `/${path.split('/').map(encodeURIComponent).join('/')}`
}

async function findInOtherDeploys(site: SiteFiles, path: string): Promise<SiteResult | undefined> {
  const file = isHashedName(path) ? await site.findInOtherDeploys(path) : undefined
  return file === undefined ? undefined : fileResult(file)
}

/** Applies the first rule whose target is not the request itself. */
function applyRules(
  site: SiteFiles,
  request: SiteRequest,
  matches: Iterable<RedirectMatch>,
): SiteResult | undefined {
  for (const match of matches) {
    const { status } = match.rule
    if (status !== 200 && status !== 404) {
      const location = locationOf(match.rule, match.values)
      if (location !== encodePath(request.path)) return { kind: 'redirect', location, status }
    } else {
      const file = findTarget(site, fileOf(match.rule, match.values))
      const isForAll = match.rule.pattern.splat === undefined || !file?.contentType.startsWith('text/html')
      // The file of a rewritten address may change with the next deploy.
      if (file !== undefined && (isForAll || isPage(request))) {
        return { ...fileResult(file), status, isImmutable: false }
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
