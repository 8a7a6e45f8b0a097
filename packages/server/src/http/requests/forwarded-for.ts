import type { FastifyInstance } from 'fastify'
import { parseAddress } from '../../lib/addresses.ts'

/**
 * Brings `X-Forwarded-For` into the form that `request.ip` is read from: addresses alone. Some proxies add the client's
 * port (Azure Application Gateway: `198.51.100.7:50123`), which would make another client of every connection.
 * Nothing to the left of what is no address is believed: no hop that is known wrote it.
 */
export function addForwardedFor(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers } = request.raw
    const given = headers['x-forwarded-for']
    // Node joins repeated headers of this name into one text.
    if (typeof given === 'string') headers['x-forwarded-for'] = readableHops(given).join(', ')
    done()
  })
}

/** From the client to the nearest hop. */
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
