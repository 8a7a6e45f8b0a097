import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'

/** A target in absolute form names its host, whatever the header says (RFC 9112 §3.2.2). Read before anything is routed. */
export function acceptAbsoluteForm(app: FastifyInstance): void {
  app.server.prependListener('request', (request: IncomingMessage) => {
    const [, host, path = ''] = /^https?:\/\/([^/?#]+)(.*)$/i.exec(request.url ?? '') ?? []
    if (host === undefined) return
    request.headers.host = host
    request.url = path.startsWith('/') ? path : `/${path}`
  })
}
