import type { FastifyRequest } from 'fastify'

const names: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

/**
 * Returns where a browser begins that has opened this server under another name of the loopback address than its callbacks have: the
 * cookie of the start would not come along to a callback on the other name.
 */
export function findLoopbackDetour(
  { headers, url }: Pick<FastifyRequest, 'headers' | 'url'>,
  publicBaseUrl: string,
): string | undefined {
  const at = URL.parse(`http://${headers.host ?? ''}`)
  const own = new URL(publicBaseUrl)
  if (at === null || at.hostname === own.hostname) return undefined
  return names.includes(at.hostname) && names.includes(own.hostname) ? `${own.origin}${url}` : undefined
}
