/**
 * Function that returns the address of a site for visitors: its own domain, else a host below the parent domain. It
 * returns undefined if the site is not served.
 */
export type SiteAddress = (slug: string, hostname?: string | null) => string | undefined

export function createSiteAddress(publicBaseUrl: () => string, baseDomain: string): SiteAddress {
  return (slug, hostname) => {
    const host = hostname ?? (baseDomain === '' ? undefined : `${slug}.${baseDomain}`)
    if (host === undefined) return undefined
    // Sites are reached by the protocol and port of the API: the same proxy or this server responds for both.
    const { protocol, port } = new URL(publicBaseUrl())
    return `${protocol}//${host}${port === '' ? '' : `:${port}`}`
  }
}
