import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * Parses an IP address; an IPv4-mapped one is converted to IPv4.
 *
 * @returns undefined for spellings that the system rejects, too, such as `127.1`. The same applies to
 * deprecated IPv4-compatible addresses (RFC 4291 §2.5.5.1), which the library confuses with IPv4-mapped ones
 */
export function parseAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  return isIP(text) === 0 || /^::\d+\./.test(text) ? undefined : ipaddr.process(text)
}

/**
 * Returns true if a host name or address in any spelling (`::ffff:127.0.0.1`) can only be reached from this
 * machine.
 */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '').toLowerCase()
  if (bare === 'localhost') return true
  return parseAddress(bare)?.range() === 'loopback'
}

/** Returns the origin of a server on this host and port, for clients on the same machine. */
export function httpOrigin(host: string, port: number): string {
  const reachable = host === '0.0.0.0' || host === '::' ? 'localhost' : host
  return `http://${isIP(reachable) === 6 ? `[${reachable}]` : reachable}:${port}`
}

/** Returns true if a text is an IP address or a CIDR range: `10.0.0.0/8`, `2001:db8::1`. */
export function isAddressRange(text: string): boolean {
  const { IPv4, IPv6 } = ipaddr
  if (text.includes(':')) return IPv6.isValid(text) || IPv6.isValidCIDR(text)
  return IPv4.isValidFourPartDecimal(text) || IPv4.isValidCIDRFourPartDecimal(text)
}

/** Creates a test whether an address is in one of the ranges. Without ranges, every address is. */
export function createAllowlist(ranges: readonly string[]): (address: string | undefined) => boolean {
  if (ranges.length === 0) return () => true
  const networks = ranges.map((range) => {
    const [text = '', given] = range.split('/')
    // An IPv4-mapped range is converted to IPv4, as are the addresses that are compared with it (RFC 4291
    // §2.5.5.2).
    const address = ipaddr.process(text)
    const isMapped = address.kind() === 'ipv4' && text.includes(':')
    const bits = given === undefined ? undefined : Number(given)
    // The range is wider than all of IPv4.
    if (isMapped && bits !== undefined && bits < 96) return [ipaddr.parse('0.0.0.0'), 0] as const
    const most = address.kind() === 'ipv4' ? 32 : 128
    return [address, bits === undefined ? most : isMapped ? bits - 96 : bits] as const
  })
  return (text) => {
    // The address of a disconnected client is no longer known.
    const address = text === undefined ? undefined : parseAddress(text)
    return (
      address !== undefined &&
      networks.some(
        // The library compares addresses of the same family only.
        ([network, bits]) =>
          network.kind() === address.kind() && (address as ipaddr.IPv4).match(network as ipaddr.IPv4, bits),
      )
    )
  }
}
