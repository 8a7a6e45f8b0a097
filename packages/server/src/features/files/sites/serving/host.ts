/**
 * The slug of the site that a `Host` header (RFC 9110 §7.2) names: the one label before the parent domain. Undefined for every
 * other host, which are the API's.
 */
export function slugOfHost(
  host: string | undefined,
  baseDomain: string,
  ownHost: string,
): string | undefined {
  if (host === undefined || baseDomain === '') return undefined
  const name = host.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '')
  const suffix = `.${baseDomain}`
  if (name === ownHost || !name.endsWith(suffix)) return undefined
  const label = name.slice(0, -suffix.length)
  return label === '' || label.includes('.') ? undefined : label
}
