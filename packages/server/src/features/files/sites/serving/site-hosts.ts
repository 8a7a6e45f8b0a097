import { readHost, slugOfName } from './host.ts'
import type { LiveSites } from './live-sites.ts'

/** What a host that is not the API's stands for. */
export type HostTarget =
  /** Without a slug when the domain has no site. */
  | { readonly kind: 'site'; readonly slug: string | undefined }
  /** Its site has a domain of its own, to which it leads. */
  | { readonly kind: 'moved'; readonly slug: string; readonly hostname: string; readonly status: 307 | 308 }
  /** A custom domain that was deleted or has lapsed. */
  | { readonly kind: 'inactive' }

export interface SiteHosts {
  /** By the `Host` header; undefined for every host that is the API's. */
  find(host: string | undefined): HostTarget | undefined
  /** Whether visitors reach a site under this name. */
  hasSite(name: string): boolean
  /** Whether no custom domain may have the name. */
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
