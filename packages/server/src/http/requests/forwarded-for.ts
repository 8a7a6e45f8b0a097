import type { FastifyInstance } from 'fastify'
import { parseAddress } from '../../lib/addresses.ts'

/**
 * Normalizes `X-Forwarded-For` to the form that `request.ip` reads: addresses alone. Some proxies add the
 * client's port (Azure Application Gateway: `198.51.100.7:50123`), which would turn every connection into
 * another client. Everything to the left of an entry that is no address is dropped, because no known hop wrote
 * it.
 */
export function addForwardedFor(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers } = request.raw
    const given = headers['x-forwarded-for']
    // Node merges repeated headers of this name into one text.
    if (typeof given === 'string') headers['x-forwarded-for'] = readableHops(given).join(', ')
    done()
  })
}

/** Returns the hops from the client to the nearest proxy. */
function readableHops(list: string): string[] {
  const hops = list
    .split(',')
    .map((hop) => hop.trim())
    .filter((hop) => hop !== '')
    .map(withoutPort)
  return hops.slice(hops.findLastIndex((hop) => parseAddress(hop) === undefined) + 1)
}

function withoutPort(hop: string): string {
  const [, ipv6, ipv4] = /^(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+)$/.exec(hop) ?? []
  return ipv6 ?? ipv4 ?? hop
}
