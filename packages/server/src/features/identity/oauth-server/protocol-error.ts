import type { FastifyError, FastifyReply } from 'fastify'
import { describeValidation } from '../../../http/errors/error-handler.ts'
import { formType, jsonType } from '../../../http/requests/body.ts'
import { component } from '../../../http/schemas.ts'
import { AppError, codeOf } from '../../../lib/errors.ts'
import { Type } from '../../../lib/type.ts'

export const OAuthError = component(
  'OAuthError',
  Type.Object({ error: Type.String(), error_description: Type.String() }, { description: 'RFC 6749 §5.2.' }),
)

/** Headers of every response with tokens or credentials (RFC 6749 §5.1), and of every error. */
export const uncached = { 'cache-control': 'no-store', pragma: 'no-cache' } as const

/** Supported error codes of RFC 6749 §4.1.2.1 and §5.2, RFC 7591 §3.2.2 and RFC 8707 §2. */
export type ProtocolErrorCode =
  | 'access_denied'
  | 'invalid_client'
  | 'invalid_client_metadata'
  | 'invalid_grant'
  | 'invalid_redirect_uri'
  | 'invalid_request'
  | 'invalid_scope'
  | 'invalid_target'
  | 'unauthorized_client'
  | 'unsupported_grant_type'

/** Error in the format of RFC 6749 §5.2, which differs from the common format of the API. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError'
  readonly code: ProtocolErrorCode
  readonly status: 400 | 401
  readonly headers: Readonly<Record<string, string>>

  constructor(code: ProtocolErrorCode, description: string, headers: Readonly<Record<string, string>> = {}) {
    super(description)
    this.code = code
    this.status = code === 'invalid_client' ? 401 : 400
    this.headers = headers
  }
}

/** Errors of an endpoint for bodies that the platform rejects. */
export interface BodyErrors {
  readonly contentType: string
  /** Code for a malformed body. */
  readonly code: ProtocolErrorCode
}

const ofForms: BodyErrors = { contentType: formType, code: 'invalid_request' }
const ofJson: BodyErrors = { ...ofForms, contentType: jsonType }
const ofRegistration: BodyErrors = { ...ofJson, code: 'invalid_client_metadata' }
export const bodyErrors = { ofForms, ofJson, ofRegistration } as const

/** Sends an error in the protocol's format. It throws other errors, which get the common format. */
export function answerProtocolError(thrown: unknown, reply: FastifyReply, errors: BodyErrors): void {
  const error = translate(thrown, errors)
  if (!(error instanceof ProtocolError)) throw error
  void reply
    .code(error.status)
    .headers({ ...uncached, ...error.headers })
    .send({ error: error.code, error_description: error.message })
}

export function formExpected(): ProtocolError {
  return new ProtocolError(ofForms.code, `Content-Type must be ${ofForms.contentType}`)
}

/** Translates a platform error into a protocol error. */
function translate(thrown: unknown, { contentType, code }: BodyErrors): unknown {
  const isOtherType = thrown instanceof AppError && thrown.status === 415
  if (isOtherType || codeOf(thrown) === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return new ProtocolError(code, `Content-Type must be ${contentType}`)
  }
  if (thrown instanceof AppError && thrown.kind === 'invalid_json') {
    return new ProtocolError(code, thrown.message)
  }
  return isInvalid(thrown) ? new ProtocolError(code, describeValidation(thrown)) : thrown
}

function isInvalid(thrown: unknown): thrown is FastifyError {
  return thrown instanceof Error && 'validation' in thrown
}
