import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ErrorEnvelope } from '../../../http/errors/error-handler.ts'
import { AppError, errorKind } from '../../../lib/errors.ts'
import { parseJson } from '../../../lib/json.ts'
import { graphqlErrorTable } from './errors.ts'
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

/** Failure of an operation as streams send it. */
export interface Failure {
  readonly errors: readonly unknown[]
  /** True if nothing was run, because the request is wrong by itself. */
  readonly isOfRequest: boolean
  /** Whole result; without `data` if nothing was run. */
  readonly result: { readonly data?: null; readonly errors: readonly unknown[] }
  readonly status: number
}

/** Errors of requests that no document can be read from. */
const unreadableKinds: ReadonlySet<string> = new Set(['invalid_graphql_request', 'json_too_deep'])

/** Errors of requests that are not run. */
const requestKinds: ReadonlySet<string> = new Set([
  ...Object.keys(graphqlErrorTable).map(errorKind),
  ...unreadableKinds,
])

/** Returns what streams send of a failure; undefined for an error that is no fault of the request. */
export function describeFailure(error: unknown): Failure | undefined {
  const faults = describeRequestErrors(error)
  if (faults !== undefined)
    return { errors: faults, isOfRequest: true, result: { errors: faults }, status: 400 }
  if (!(error instanceof AppError)) return undefined
  const errors = [describeError(error)]
  const isOfRequest = requestKinds.has(error.kind)
  const result = isOfRequest ? { errors } : { data: null, errors }
  return { errors, isOfRequest, result, status: error.status }
}

/** Returns true if an event stream sends the error as a result. Clients repeat the request after other errors. */
export function isInStream(error: unknown): boolean {
  if (describeRequestErrors(error) !== undefined) return true
  return error instanceof AppError && error.status < 500 && ![401, 405, 429].includes(error.status)
}

/** Statuses of errors that clients act on without reading the body. */
const transportStatuses: ReadonlySet<number> = new Set([403, 405, 429])

/** Returns the status of an error. Errors of the operation itself are 200 in `application/json`. */
export function statusOf({ kind, status }: AppError, isGraphql: boolean): number {
  if (unreadableKinds.has(kind)) return 400
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
