import { isUtf8 } from 'node:buffer'
import type { FastifyInstance } from 'fastify'
import { AppError } from '../../lib/errors.ts'
import { parseJson } from '../../lib/json.ts'
import { nestsDeeperThan } from '../../lib/json-slices.ts'
import { httpErrors } from '../errors/errors.ts'
import { decodeGzip } from './gzip-body.ts'

export const jsonType = 'application/json'
export const formType = 'application/x-www-form-urlencoded'
const anyType = '*/*'

declare module 'fastify' {
  interface FastifyInstance {
    /** Content type that the routes of this scope accept. */
    acceptedType: string
  }
}

/**
 * Maximum nesting depth of a body. Serializing a value takes stack by its depth: V8 fails below 5,000 levels,
 * PostgreSQL below 20,000.
 */
const mostLevels = 1000

/**
 * Accepts JSON bodies as values. An empty body is accepted; routes that need a body require it in their schema.
 */
export function acceptJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(jsonType, { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      const text = decodeBody(body)
      done(null, text === '' ? undefined : parseBody(text))
    } catch (error) {
      done(error instanceof AppError ? error : httpErrors.invalidJson())
    }
  })
  acceptNothingElse(app, jsonType)
}

/** Accepts JSON bodies as the text that was sent. Postgres parses it, so numbers lose no digit. */
export function acceptJsonText(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(jsonType, { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, decodeBody(body))
    } catch (error) {
      done(error as Error)
    }
  })
  acceptNothingElse(app, jsonType)
}

/**
 * Maximum size of a form. `URLSearchParams` takes quadratic time for names without a value: 4 s for a mebibyte
 * of them.
 */
const formLimit = 64 * 1024

/** Accepts bodies of HTML forms (WHATWG URL Standard §5) on the routes that are added afterwards. */
export function acceptForms(app: FastifyInstance): void {
  const { bodyLimit = formLimit } = app.initialConfig
  app.addHook('onRoute', (route) => {
    route.bodyLimit ??= Math.min(formLimit, bodyLimit)
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(formType, { parseAs: 'string' }, (_request, body, done) =>
    done(null, new URLSearchParams(String(body))),
  )
  acceptNothingElse(app, formType)
}

/** Accepts bodies of every type as raw bytes, for routes that check a signature before they parse. */
export function acceptRaw(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.decorate('acceptedType', anyType)
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
}

/**
 * Accepts bodies of every type as streams. Without a content type there is no body, and the handler reads the
 * request.
 */
export function acceptStreams(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.decorate('acceptedType', anyType)
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
}

/** Leaves bodies of every type to the handlers, which read the request. */
export function acceptUnread(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.decorate('acceptedType', anyType)
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
}

/**
 * Rejects other content types. An empty body may have any type: `fetch` names `text/plain` for an empty text.
 */
function acceptNothingElse(app: FastifyInstance, expected: string): void {
  app.decorate('acceptedType', expected)
  app.addContentTypeParser('*', (request, _payload, done) => {
    const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers
    const isEmpty = length === '0' && coding === undefined
    done(isEmpty || request.is404 ? null : httpErrors.unsupportedMediaType(expected))
  })
}

/**
 * Decodes JSON bodies in gzip. Rejects other codings by the headers, and reads none of the body. Files, forms and signed
 * bodies are accepted only as they are.
 */
export function decodeBodies(app: FastifyInstance): void {
  app.addHook('preParsing', ({ headers, is404, server, routeOptions }, _reply, payload, done) => {
    const coding = headers['content-encoding']?.trim().toLowerCase() ?? ''
    const { 'content-length': length = '0', 'transfer-encoding': transfer } = headers
    const isEmpty = length === '0' && transfer === undefined
    const accepted = server.acceptedType === jsonType ? ['gzip', 'identity'] : ['identity']
    if (is404 || isEmpty || coding === '' || coding === 'identity') done(null, payload)
    else if (accepted.includes(coding)) done(null, decodeGzip(payload, routeOptions.bodyLimit))
    // RFC 9110 §15.5.16: the response names the accepted codings.
    else {
      const refusal = httpErrors.unsupportedContentEncoding(accepted.join(' or '))
      done(refusal.with({ headers: { 'accept-encoding': accepted.join(', ') } }))
    }
  })
}

/** Decodes the body. @throws AppError when the bytes are not UTF-8 (RFC 8259 §8.1) */
function decodeBody(body: string | Buffer): string {
  if (typeof body === 'string') return body
  if (!isUtf8(body)) throw httpErrors.invalidJson()
  return body.toString('utf8')
}

/** Returns the value of a JSON text. @throws AppError invalid_json */
export function requireJson(text: string): unknown {
  const value = parseJson(text)
  if (value === undefined) throw httpErrors.invalidJson()
  return value
}

/**
 * Parses a body. It takes the slow path only where a member may have that name, in plain letters or in escapes.
 */
function parseBody(text: string): unknown {
  const isSuspect = text.includes('__proto__') || text.includes('\\u')
  const value: unknown = isSuspect ? JSON.parse(text, dropPrototype) : JSON.parse(text)
  requireFewLevels(text)
  return value
}

/**
 * Rejects JSON that is nested too deeply for recursive code.
 *
 * @throws AppError json_too_deep
 */
export function requireFewLevels(text: string): void {
  if (nestsDeeperThan(mostLevels, text)) throw httpErrors.jsonTooDeep(mostLevels)
}

/** Drops a member named `__proto__`, which would become a prototype when the value is copied. */
function dropPrototype(key: string, value: unknown): unknown {
  return key === '__proto__' ? undefined : value
}
