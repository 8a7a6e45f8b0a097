import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { translateDatabaseFailure } from '../database/errors.ts'
import { AppError, codeOf } from '../lib/errors.ts'
import { httpErrors } from './errors.ts'

export interface ErrorHandlerOptions {
  readonly log: Logger
  /** Base of `doc_url`; the server's own error reference. */
  readonly referenceUrl: () => string
  readonly bodyLimit: number
  /** Methods that the path of a request has, for 405. */
  readonly allowedMethods: (path: string) => readonly string[]
}

/** The error envelope of every response (interface, Errors; decisions, Every response). */
export interface ErrorEnvelope {
  readonly code: number
  readonly message: string
  /** Stable slug. */
  readonly error: string
  readonly data?: Readonly<Record<string, unknown>>
  readonly doc_url?: string
}

/** The one place where anything thrown becomes a response. */
export function addErrorHandling(app: FastifyInstance, options: ErrorHandlerOptions): void {
  app.setErrorHandler((thrown: FastifyError, request, reply) => {
    const error = toAppError(thrown, options)
    if (error.status >= 500) logFailure(options.log, request, error, thrown)
    sendError(reply, error, options.referenceUrl())
  })
  app.setNotFoundHandler((request, reply) => {
    const [path = ''] = request.url.split('?', 1)
    const allowed = options.allowedMethods(path)
    const error =
      allowed.length === 0
        ? httpErrors.routeNotFound(request.method, path)
        : httpErrors
            .methodNotAllowed(request.method, allowed.join(', '))
            .with({ headers: { allow: allowed.join(', ') } })
    sendError(reply, error, options.referenceUrl())
  })
}

export function errorEnvelope(error: AppError, referenceUrl: string): ErrorEnvelope {
  return {
    code: error.status,
    message: error.message,
    error: error.kind,
    ...(error.extras.data === undefined ? {} : { data: error.extras.data }),
    ...error.extras.members,
    doc_url: `${referenceUrl}#${error.kind}`,
  }
}

export function sendError(reply: FastifyReply, error: AppError, referenceUrl: string): void {
  void reply
    .code(error.status)
    .headers(error.extras.headers ?? {})
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify(errorEnvelope(error, referenceUrl)))
}

function toAppError(thrown: FastifyError, { bodyLimit }: ErrorHandlerOptions): AppError {
  if (thrown instanceof AppError) return thrown
  const database = translateDatabaseFailure(thrown)
  if (database !== undefined) return database
  if (thrown.validation !== undefined) return httpErrors.invalidRequest(describeValidation(thrown))
  switch (codeOf(thrown)) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return httpErrors.unsupportedMediaType()
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

/** `email: must be string` — the field by its name, the body itself by its part of the request. */
function describeValidation(error: FastifyError): string {
  const [first] = error.validation ?? []
  const field = (first?.instancePath ?? '').slice(1).replaceAll('/', '.')
  const problem = first?.message ?? 'is not valid'
  return field === '' ? `${error.validationContext ?? 'request'} ${problem}` : `${field}: ${problem}`
}

function logFailure(log: Logger, request: FastifyRequest, error: AppError, thrown: Error): void {
  const fields = {
    requestId: request.id,
    operation: request.routeOptions.config.operation,
    kind: error.kind,
    detail: error.extras.detail,
  }
  // A database that is away or slow is no fault of the code: no stack.
  if (error.status === 500) log.error({ ...fields, err: error.extras.cause ?? thrown }, 'request failed')
  else log.warn({ ...fields, reason: String(error.extras.cause ?? error.message) }, 'request failed')
}
