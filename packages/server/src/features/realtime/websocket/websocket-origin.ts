import type { FastifyRequest } from 'fastify'

export interface OriginRules {
  /** `server.cors_allowed_origins`. */
  readonly corsAllowedOrigins: readonly string[]
  readonly publicBaseUrl: () => string
}

/**
 * Whether a page of this origin may connect. Browsers let every page open a WebSocket anywhere, so the server has to
 * look (RFC 6455 §10.2): its own pages, those that are listed by name, and programs, which send no origin.
 */
export function isOriginAllowed(
  { host, headers: { origin } }: Pick<FastifyRequest, 'host' | 'headers'>,
  { corsAllowedOrigins, publicBaseUrl }: OriginRules,
): boolean {
  if (origin === undefined) return true
  const page = parseUrl(origin)
  if (page === undefined || !/^https?:$/.test(page.protocol)) return false
  // The origin leaves out the port of its scheme; the header of a request may name it.
  const own = [parseUrl(`${page.protocol}//${host}`), parseUrl(publicBaseUrl())]
  return (
    own.some((url) => url?.host === page.host) ||
    corsAllowedOrigins.some((listed) => listed !== '*' && parseUrl(listed)?.origin === page.origin)
  )
}

function parseUrl(text: string): URL | undefined {
  return URL.parse(text) ?? undefined
}
