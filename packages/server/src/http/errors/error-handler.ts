import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { withText } from '../../database/errors/definition-faults.ts'
import { translateDatabaseFailure } from '../../database/errors/error-translation.ts'
import { AppError, codeOf } from '../../lib/errors.ts'
import { isBodyAwaited } from '../requests/expectation.ts'
import { hasDisconnected } from '../responses/disconnection.ts'
import { sendEarly } from '../responses/linger.ts'
import { refuseForNow } from '../responses/stream-refusal.ts'
import { httpErrors } from './errors.ts'
import type { FailureLog } from './failure-log.ts'

export interface ErrorHandlerOptions {
  readonly failures: FailureLog
  /** Base URL of `doc_url`: the errors of the server's own documentation. */
  readonly referenceUrl: () => string
  readonly bodyLimit: number
  /** True if definition faults carry the text of PostgreSQL. */
  readonly isDevelopment?: boolean | undefined
  /** Returns the methods of a path, for 405. */
  readonly allowedMethods: (path: string) => readonly string[]
}

/** Error envelope of every response. */
export interface ErrorEnvelope {
  readonly code: number
  readonly message: string
  /** Stable slug. */
  readonly error: string
  readonly data?: Readonly<Record<string, unknown>>
  readonly doc_url?: string
}

/** Converts everything thrown into a response. No other code does. */
export function addErrorHandling(app: FastifyInstance, options: ErrorHandlerOptions): void {
  app.setErrorHandler((thrown: FastifyError, request, reply) => {
    // Fastify checks the content type of a QUERY before it checks whether a route exists.
    if (request.is404 && codeOf(thrown) === 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE') {
      answerUnrouted(request, reply, options)
      return
    }
    const known = toAppError(thrown, {
      bodyLimit: request.routeOptions.bodyLimit ?? options.bodyLimit,
      acceptedType: request.server.acceptedType,
    })
    const error = options.isDevelopment === true ? withText(known) : known
    // When the client has disconnected, its statement was cancelled and fails like one of an unavailable
    // database.
    const isCancelled = error.status !== 500 && hasDisconnected(reply)
    if (error.status >= 500 && !isCancelled) options.failures.add(request, error, thrown)
    if (refuseForNow(request, reply, error)) return
    sendError(error, { request, reply, referenceUrl: options.referenceUrl(), bodyLimit: options.bodyLimit })
  })
  // Fastify reads a body before it checks whether a route exists.
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (request.is404 && isBodyAwaited(request.raw)) answerUnrouted(request, reply, options)
    else done(null, payload)
  })
  app.setNotFoundHandler((request, reply) => answerUnrouted(request, reply, options))
}

/** Responds to a request without a route for its path or method, or whose handler found nothing. */
function answerUnrouted(request: FastifyRequest, reply: FastifyReply, options: ErrorHandlerOptions): void {
  const [path = ''] = request.url.split('?', 1)
  const allowed = options.allowedMethods(path)
  if (request.method === 'OPTIONS' && allowed.length > 0) {
    // RFC 9110 §9.3.7.
    void reply
      .code(204)
      .header('allow', [...allowed, 'OPTIONS'].join(', '))
      .send()
    return
  }
  const error =
    allowed.length === 0 || allowed.includes(request.method)
      ? httpErrors.routeNotFound(request.method, path)
      : httpErrors
          .methodNotAllowed(request.method, allowed.join(', '))
          .with({ headers: { allow: allowed.join(', ') } })
  sendError(error, { request, reply, referenceUrl: options.referenceUrl(), bodyLimit: options.bodyLimit })
}

export function errorEnvelope(error: AppError, referenceUrl: string): ErrorEnvelope {
  return {
    code: error.status,
    message: shorten(error.message),
    error: error.kind,
    ...(error.extras.data === undefined ? {} : { data: error.extras.data }),
    ...error.extras.members,
    doc_url: `${referenceUrl}/${error.kind}`,
  }
}

/** Shortens a message, which may quote a long text of the client. */
function shorten(message: string): string {
  return message.length <= messageLimit ? message : `${message.slice(0, messageLimit)}…`
}

const messageLimit = 1000

export interface ErrorReply {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly referenceUrl: string
  readonly bodyLimit: number
}

export function sendError(error: AppError, { request, reply, referenceUrl, bodyLimit }: ErrorReply): void {
  void reply
    .code(error.status)
    .headers(error.extras.headers ?? {})
    .header('content-type', 'application/json; charset=utf-8')
  sendEarly(request, reply, JSON.stringify(errorEnvelope(error, referenceUrl)), bodyLimit)
}

interface BodyRules {
  /** Maximum body size of the route, in bytes. */
  readonly bodyLimit: number
  /** Content type that the route accepts. */
  readonly acceptedType: string
}

function toAppError(thrown: FastifyError, { bodyLimit, acceptedType }: BodyRules): AppError {
  if (thrown instanceof AppError) return thrown
  const database = translateDatabaseFailure(thrown)
  if (database !== undefined) return database
  if (thrown.validation !== undefined) return httpErrors.invalidRequest(describeValidation(thrown))
  switch (codeOf(thrown)) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return httpErrors.unsupportedMediaType(acceptedType)
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return httpErrors.bodyTooLarge(bodyLimit)
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
    case 'FST_ERR_BAD_URL':
    case 'ECONNRESET':
      return httpErrors.malformedRequest()
    default:
      return httpErrors.internalError().with({ cause: thrown })
  }
}

/**
 * Formats validation errors as `email: must be string`. A field has its name, the body itself that of its part
 * of the request.
 */
export function describeValidation({
  validation = [],
  validationContext,
}: Pick<FastifyError, 'validation' | 'validationContext'>): string {
  const [first] = validation
  const path = first?.instancePath ?? ''
  const field = path.slice(1).replaceAll('/', '.')
  // A choice produces one error for each of its values.
  const texts = validation
    .filter(({ keyword, instancePath }) => keyword === 'const' && instancePath === path)
    .map(({ params }) => params.allowedValue)
  const problem =
    first?.keyword === 'boolean'
      ? 'is not a known member'
      : texts.length > 0
        ? `expected one of ${texts.join(', ')}`
        : (first?.message ?? 'is not valid')
  return field === '' ? `${validationContext ?? 'request'} ${problem}` : `${field}: ${problem}`
}
