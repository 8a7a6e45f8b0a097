import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ErrorEnvelope } from '../../../http/errors/error-handler.ts'
import type { AppError } from '../../../lib/errors.ts'
import { parseJson } from '../../../lib/json.ts'
import { showNumbers } from './raw-number.ts'
import { RequestErrors } from './request-errors.ts'

/** Responses of a GraphQL endpoint (GraphQL over HTTP, Response). */

interface ResponseError {
  readonly message: string
  readonly locations?: unknown
  readonly path?: unknown
  readonly extensions: Readonly<Record<string, unknown>>
}

/** Returns whether the client accepts `application/graphql-response+json`. */
export function isGraphqlResponse({ headers }: FastifyRequest): boolean {
  return headers.accept?.toLowerCase().includes('application/graphql-response+json') === true
}

/** Returns the errors of a request that is wrong by itself; undefined for any other error. */
export function describeRequestErrors(error: unknown): readonly unknown[] | undefined {
  if (!(error instanceof RequestErrors)) return undefined
  return error.errors.map((each) => {
    const { message, locations, path } = each.toJSON()
    return {
      message: showNumbers(message),
      ...(locations === undefined ? {} : { locations }),
      ...(path === undefined ? {} : { path }),
      extensions: { code: 'invalid_graphql_document' },
    }
  })
}

/** Returns an error as GraphQL has it; its slug is `extensions.code`. */
export function describeError({ kind, message, extras }: AppError): ResponseError {
  const { path, locations, ...members } = extras.members ?? {}
  const { field: _field, ...others } = members
  return {
    message,
    ...(locations === undefined ? {} : { locations }),
    ...(path === undefined ? {} : { path }),
    extensions: { code: kind, ...(extras.data === undefined ? {} : { data: extras.data }), ...others },
  }
}

/** Statuses of errors that clients act on without reading the body. */
const transportStatuses: ReadonlySet<number> = new Set([403, 405, 429])

/** Errors of requests that no document can be read from. */
const requestKinds: ReadonlySet<string> = new Set(['invalid_graphql_request', 'json_too_deep'])

/** Returns the status of an error. Errors of the operation itself are 200 in `application/json`. */
export function statusOf({ kind, status }: AppError, isGraphql: boolean): number {
  if (requestKinds.has(kind)) return 400
  if (transportStatuses.has(status) && kind !== 'insufficient_permissions') return status
  return isGraphql && status === 400 ? 400 : 200
}

/**
 * Rewrites the error envelope of the API as that of GraphQL. A missing or invalid token keeps the envelope of the API in
 * `application/json`, as on every endpoint.
 */
export function rewriteEnvelope(request: FastifyRequest, reply: FastifyReply, payload: unknown): unknown {
  const isGraphql = isGraphqlResponse(request)
  if (reply.statusCode < 400 || typeof payload !== 'string') return payload
  if (reply.statusCode === 401 && !isGraphql) return payload
  const envelope = parseJson(payload) as Partial<ErrorEnvelope> | undefined
  if (typeof envelope?.error !== 'string') return payload
  const { message = '', error: code, data } = envelope
  const errors = [{ message, extensions: { code, ...(data === undefined ? {} : { data }) } }]
  if (isGraphql) void reply.type('application/graphql-response+json; charset=utf-8')
  return JSON.stringify(isGraphql ? { errors } : { data: null, errors })
}
