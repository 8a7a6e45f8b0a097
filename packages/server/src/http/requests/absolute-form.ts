import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'

/**
 * Accepts targets in absolute form, whose host overrides the `Host` header (RFC 9112 §3.2.2). It runs before
 * routing.
 */
export function acceptAbsoluteForm(app: FastifyInstance): void {
  app.server.prependListener('request', (request: IncomingMessage) => {
    const [, host, path = ''] = /^https?:\/\/([^/?#]+)(.*)$/i.exec(request.url ?? '') ?? []
    if (host === undefined) return
    request.headers.host = host
    request.url = path.startsWith('/') ? path : `/${path}`
  })
}
