import { isIPv4 } from 'node:net'
import type { FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import { parseAddress } from '../../lib/addresses.ts'

/**
 * What stands for a client when attempts are counted: its IPv4 address, or the 64-bit prefix of its IPv6
 * address, within which one customer can choose freely. Forwarding headers count only from trusted proxies.
 */
export function addressKey(request: FastifyRequest): string {
  // Of a disconnected client the address is no longer known, whatever the type says.
  const known: string | undefined = request.ip
  // The most frequent kind; there is one way to write it.
  if (known === undefined || isIPv4(known)) return known ?? ''
  const address = parseAddress(known)
  if (address === undefined) return known
  if (address instanceof ipaddr.IPv4) return address.toString()
  const network = address.parts.slice(0, 4).map((group) => group.toString(16))
  return `${network.join(':')}::/64`
}
