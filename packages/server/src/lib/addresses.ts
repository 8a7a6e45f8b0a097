import { BlockList, isIP } from 'node:net'

/** Whether a host name or address can only be reached from this machine. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '').toLowerCase()
  if (bare === 'localhost') return true
  const version = isIP(bare)
  return version !== 0 && loopback.check(bare, version === 6 ? 'ipv6' : 'ipv4')
}

/** However written: `::ffff:127.0.0.1` is one of them, too. */
const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/** The origin a server on this host and port is reached at from the same machine. */
export function httpOrigin(host: string, port: number): string {
  const reachable = host === '0.0.0.0' || host === '::' ? 'localhost' : host
  return `http://${isIP(reachable) === 6 ? `[${reachable}]` : reachable}:${port}`
}
