/** Returns the address of the plain page for a page of the site; undefined if there is none. */
export function plainAddressOf(path: string): string | undefined {
  if (path === '' || path === 'start' || path === 'guides') return '/api/docs/guides'
  if (path === 'errors') return '/api/docs/errors'
  if (path === 'reference/configuration') return '/api/docs/guides/configuration'
  if (path === 'reference/api' || path.startsWith('reference/api/')) return '/api/docs'
  const [, error] = /^errors\/([a-z0-9_]+)$/.exec(path) ?? []
  if (error !== undefined) return `/api/docs/errors#${error}`
  const [, guide] = /^guides\/([\w-]+)$/.exec(path) ?? []
  return guide === undefined ? undefined : `/api/docs/guides/${guide}`
}

/** Returns the address on the site of a plain guide. */
export function siteAddressOf(guide: string): string {
  return guide === 'configuration' ? '/docs/reference/configuration' : `/docs/guides/${guide}`
}
