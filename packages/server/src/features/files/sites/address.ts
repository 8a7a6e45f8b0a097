/** Where visitors reach a site: at its own domain, else below the parent domain. Undefined when it is not served. */
export type SiteAddress = (slug: string, hostname?: string | null) => string | undefined

export function createSiteAddress(publicBaseUrl: () => string, baseDomain: string): SiteAddress {
  return (slug, hostname) => {
    const host = hostname ?? (baseDomain === '' ? undefined : `${slug}.${baseDomain}`)
    if (host === undefined) return undefined
    // A proxy, or this server itself, answers for sites where it does for the API.
    const { protocol, port } = new URL(publicBaseUrl())
    return `${protocol}//${host}${port === '' ? '' : `:${port}`}`
  }
}
