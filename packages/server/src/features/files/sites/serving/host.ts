/** Returns the name in a `Host` header (RFC 9110 §7.2), without its port and a trailing dot. */
export function readHost(host: string | undefined): string | undefined {
  return host?.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '')
}

/** Returns the slug in a host name: the only label before the parent domain. */
export function slugOfName(name: string, baseDomain: string): string | undefined {
  const suffix = `.${baseDomain}`
  if (baseDomain === '' || !name.endsWith(suffix)) return undefined
  const label = name.slice(0, -suffix.length)
  return label === '' || label.includes('.') ? undefined : label
}
