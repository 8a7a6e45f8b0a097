import { isIPv6 } from 'node:net'
import type { FastifyRequest } from 'fastify'

/**
 * What stands for a client when attempts are counted: its IPv4 address, or the 64-bit prefix of its IPv6
 * address, within which one customer can choose freely. Forwarding headers count only from trusted proxies.
 */
export function addressKey(request: FastifyRequest): string {
  // Of a client that has gone the address is no longer known, whatever the type says.
  const known: string | undefined = request.ip
  const address = (known ?? '').replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '')
  return isIPv6(address) ? prefix64(address) : address
}

/** `2001:db8::1` → `2001:db8:0:0::/64`. */
function prefix64(address: string): string {
  const [head = '', tail] = (address.split('%')[0] ?? '').toLowerCase().split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length)
  const groups = [...left, ...Array<string>(zeros).fill('0'), ...right]
  const network = groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16))
  return `${network.join(':')}::/64`
}
