import { isIPv4 } from 'node:net'
import type { FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import { parseAddress } from '../../lib/addresses.ts'

/**
 * Returns the key that identifies a client when attempts are counted. It is the IPv4 address, or the 64-bit
 * prefix of the IPv6 address, within which one customer can choose freely. Forwarding headers count only from
 * trusted proxies.
 */
export function addressKey(request: FastifyRequest): string {
  // The address of a disconnected client is no longer known, whatever the type says.
  const known: string | undefined = request.ip
  // IPv4 is the most frequent case and has one spelling.
  if (known === undefined || isIPv4(known)) return known ?? ''
  const address = parseAddress(known)
  if (address === undefined) return known
  if (address instanceof ipaddr.IPv4) return address.toString()
  const network = address.parts.slice(0, 4).map((group) => group.toString(16))
  return `${network.join(':')}::/64`
}
