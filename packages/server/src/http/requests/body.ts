import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../../lib/errors.ts'
import { nestsDeeperThan } from '../../lib/json-slices.ts'
import { httpErrors } from '../errors/errors.ts'

export const jsonType = 'application/json'
export const formType = 'application/x-www-form-urlencoded'

declare module 'fastify' {
  interface FastifyInstance {
    /** The content type that the routes of this scope take. */
    acceptedType: string
  }
}

/** Writing a value as JSON again takes stack by its depth: V8 gives up below 5,000 levels, PostgreSQL below 20,000. */
const mostLevels = 1000

/** JSON bodies as values. An empty body is accepted: routes that need one say so in their schema. */
export function acceptJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(jsonType, { parseAs: 'buffer' }, (request, body, done) => {
    try {
      const text = decodeBody(request, body)
      done(null, text === '' ? undefined : parseJson(text))
    } catch (error) {
      done(error instanceof AppError ? error : httpErrors.invalidJson())
    }
  })
  acceptNothingElse(app, jsonType)
}

/** JSON bodies as the text that was sent, for Postgres to read: no digit is lost on the way. */
export function acceptJsonText(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(jsonType, { parseAs: 'buffer' }, (request, body, done) => {
    try {
      done(null, decodeBody(request, body))
    } catch (error) {
      done(error as Error)
    }
  })
  acceptNothingElse(app, jsonType)
}

/** Of a form. `URLSearchParams` takes the square of the number of names without a value: 4 s for a mebibyte of them. */
const formLimit = 64 * 1024

/** What a form without a script sends (WHATWG URL Standard §5), to the routes that are added afterwards. */
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

/** Bodies as the bytes that were sent, whatever their type: for routes that check a signature before they read. */
export function acceptRaw(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
}

/** Without content its type does not matter: `fetch` names `text/plain` for an empty text. */
function acceptNothingElse(app: FastifyInstance, expected: string): void {
  app.decorate('acceptedType', expected)
  app.addContentTypeParser('*', (request, _payload, done) => {
    const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers
    const isEmpty = length === '0' && coding === undefined
    done(isEmpty || request.is404 ? null : httpErrors.unsupportedMediaType(expected))
  })
}

/** @throws AppError when the bytes are not UTF-8 (RFC 8259 §8.1), or encoded in a way that is not undone here. */
function decodeBody({ headers }: FastifyRequest, body: string | Buffer): string {
  const coding = headers['content-encoding']?.trim().toLowerCase() ?? ''
  if (body.length > 0 && coding !== '' && coding !== 'identity') {
    // RFC 9110 §15.5.16: the answer names what would have been accepted.
    throw httpErrors.unsupportedContentEncoding().with({ headers: { 'accept-encoding': 'identity' } })
  }
  if (typeof body === 'string') return body
  if (!isUtf8(body)) throw httpErrors.invalidJson()
  return body.toString('utf8')
}

/** The slow way is taken only where a member may have that name, in plain letters or in escapes. */
function parseJson(text: string): unknown {
  const isSuspect = text.includes('__proto__') || text.includes('\\u')
  const value: unknown = isSuspect ? JSON.parse(text, dropPrototype) : JSON.parse(text)
  if (nestsDeeperThan(mostLevels, text)) throw httpErrors.jsonTooDeep(mostLevels)
  return value
}

/** A member named `__proto__` must not become a prototype when the value is copied. */
function dropPrototype(key: string, value: unknown): unknown {
  return key === '__proto__' ? undefined : value
}
