import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * Reads an IP address; an IPv4-mapped one as the IPv4 address.
 *
 * @returns undefined for what the system does not accept either, such as `127.1`, and for deprecated IPv4-compatible
 * addresses (RFC 4291 §2.5.5.1), which the library takes for IPv4-mapped ones
 */
export function parseAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  return isIP(text) === 0 || /^::\d+\./.test(text) ? undefined : ipaddr.process(text)
}

/** Whether a host name or address, however written (`::ffff:127.0.0.1`), can only be reached from this machine. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '').toLowerCase()
  if (bare === 'localhost') return true
  return parseAddress(bare)?.range() === 'loopback'
}

/** The origin a server on this host and port is reached at from the same machine. */
export function httpOrigin(host: string, port: number): string {
  const reachable = host === '0.0.0.0' || host === '::' ? 'localhost' : host
  return `http://${isIP(reachable) === 6 ? `[${reachable}]` : reachable}:${port}`
}

/** Returns whether a text is an IP address or a CIDR range: `10.0.0.0/8`, `2001:db8::1`. */
export function isAddressRange(text: string): boolean {
  const { IPv4, IPv6 } = ipaddr
  if (text.includes(':')) return IPv6.isValid(text) || IPv6.isValidCIDR(text)
  return IPv4.isValidFourPartDecimal(text) || IPv4.isValidCIDRFourPartDecimal(text)
}
