import { readHost, slugOfName } from './host.ts'
import type { LiveSites } from './live-sites.ts'

/** Target of requests to a host that is not the API's. */
export type HostTarget =
  /** Slug of the site. Undefined if the domain has no site. */
  | { readonly kind: 'site'; readonly slug: string | undefined }
  /** The site has its own domain, to which the response redirects. */
  | { readonly kind: 'moved'; readonly slug: string; readonly hostname: string; readonly status: 307 | 308 }
  /** Custom domain that was deleted or has lapsed. */
  | { readonly kind: 'inactive' }

export interface SiteHosts {
  /** Finds the target of a `Host` header. Undefined for every API host. */
  find(host: string | undefined): HostTarget | undefined
  /** Returns whether the name is the host of a site that visitors can reach. */
  hasSite(name: string): boolean
  /** Returns whether the name is reserved, so that no custom domain may use it. */
  isOwn(hostname: string): boolean
}

export function createSiteHosts(
  sites: Pick<LiveSites, 'has' | 'findDomain' | 'domainOf'>,
  baseDomain: string,
  ownHost: string,
): SiteHosts {
  function find(host: string | undefined): HostTarget | undefined {
    const name = readHost(host)
    if (name === undefined || name === ownHost) return undefined
    const slug = slugOfName(name, baseDomain)
    if (slug !== undefined) {
      const domain = sites.domainOf(slug)
      const mode = domain?.redirectMode ?? null
      if (domain === undefined || mode === null) return { kind: 'site', slug }
      return { kind: 'moved', slug, hostname: domain.hostname, status: mode === 'permanent' ? 308 : 307 }
    }
    const domain = sites.findDomain(name)
    if (domain === undefined) return undefined
    return domain.isActive ? { kind: 'site', slug: domain.slug ?? undefined } : { kind: 'inactive' }
  }

  return {
    find,
    hasSite(name) {
      const target = find(name)
      if (target?.kind === 'site' && target.slug !== undefined) {
        return sites.findDomain(readHost(name) ?? '') !== undefined || sites.has(target.slug)
      }
      return target?.kind === 'moved'
    },
    isOwn: (hostname) =>
      hostname === ownHost ||
      hostname === baseDomain ||
      (baseDomain !== '' && hostname.endsWith(`.${baseDomain}`)),
  }
}
