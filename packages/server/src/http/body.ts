import { isUtf8 } from 'node:buffer'
import type { FastifyInstance } from 'fastify'
import { httpErrors } from './errors.ts'

/** JSON bodies as values. An empty body is accepted: routes that need one say so in their schema. */
export function acceptJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      const text = decodeBody(body)
      done(null, text === '' ? undefined : JSON.parse(text, dropPrototype))
    } catch {
      done(httpErrors.invalidJson())
    }
  })
}

/** JSON bodies as the text that was sent, for Postgres to read: no digit is lost on the way. */
export function acceptJsonText(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, decodeBody(body))
    } catch (error) {
      done(error as Error)
    }
  })
}

/** @throws AppError when the bytes are not UTF-8 (RFC 8259 §8.1). */
function decodeBody(body: string | Buffer): string {
  if (typeof body === 'string') return body
  if (!isUtf8(body)) throw httpErrors.invalidJson()
  return body.toString('utf8')
}

/** A member named `__proto__` must not become a prototype when the value is copied. */
function dropPrototype(key: string, value: unknown): unknown {
  return key === '__proto__' ? undefined : value
}
