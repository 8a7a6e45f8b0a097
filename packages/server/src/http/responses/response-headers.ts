import type { FastifyInstance, FastifyReply, FastifyRequest, RawRequestDefaultExpression } from 'fastify'
import type { Clock } from '../../lib/clock.ts'
import { timedUuid } from '../../lib/uuid.ts'

/**
 * Pattern of our tokens, keys and secrets by their prefix, and of a JWT, which begins with `{"` in base64url.
 */
const credential = /basalt_[a-z]+_|eyJ[\w-]*\.[\w-]/i

/**
 * Returns the id of a request. It is the client's own if that looks like an id, so that the logs of both sides
 * match. A text that looks like a credential is rejected, because the id is in every log.
 */
export function createRequestIds(clock: Clock): (request: RawRequestDefaultExpression) => string {
  return ({ headers }) => {
    const given = headers['x-request-id']
    const isUsable =
      typeof given === 'string' && /^[\w.:=+/@-]{8,128}$/.test(given) && !credential.test(given)
    return isUsable ? given : timedUuid(clock.now().getTime())
  }
}

/** Returns the headers of every response. */
export function securityHeaders(isHttps: boolean): Readonly<Record<string, string>> {
  return {
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    ...(isHttps ? { 'strict-transport-security': 'max-age=31536000; includeSubDomains' } : {}),
  }
}

export type SetHeaders = (request: FastifyRequest, reply: FastifyReply) => void

/** Sets the headers of every response; pages replace the content policy by their own. */
export function createHeaderSetter(headers: Readonly<Record<string, string>>): SetHeaders {
  const entries = Object.entries(headers)
  return (request, reply) => {
    reply.header('x-request-id', request.id)
    for (const [name, value] of entries) reply.header(name, value)
  }
}

export function addResponseHeaders(app: FastifyInstance, setHeaders: SetHeaders): void {
  app.addHook('onRequest', (request, reply, done) => {
    setHeaders(request, reply)
    done()
  })
}
