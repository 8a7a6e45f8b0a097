import type { ErrorSlug } from './error-slugs.ts'

/** Errors that the client itself reports. */
export type LocalErrorSlug =
  | 'network_error'
  | 'timeout'
  | 'invalid_response'
  | 'channel_refused'
  | 'captcha_unsolved'
  | 'passkey_cancelled'
  | 'passkey_exists'
  | 'passkey_unsupported'
  | 'passkey_wrong_site'
  | 'popup_blocked'
  | 'popup_closed'
  | 'provider_sign_in_failed'
  | 'storage_denied'

/** Error of a request. Every failed request rejects with it, except an aborted request, which rejects with its abort reason. */
export class BasaltError extends Error {
  override readonly name = 'BasaltError'
  /** Stable error code. Branch on it, not on the message. Later servers may add codes. */
  readonly error: ErrorSlug | LocalErrorSlug | (string & Record<never, never>)
  /** HTTP status; 0 if there was no response. */
  readonly status: number
  /** Id of the request in the server log. */
  readonly requestId: string | undefined
  /** Details that depend on the error, such as the name of the violated constraint. */
  readonly data: Readonly<Record<string, unknown>> | undefined
  /** Operation that failed, if the request was a batch. */
  readonly operation: { readonly index: number; readonly method: string } | undefined
  /** All errors of a GraphQL response. The first of them has the message, the code and the data of this error. */
  readonly errors: readonly GraphqlError[] | undefined
  /** Path of the GraphQL field that failed, such as `['insert_task']`. */
  readonly path: readonly (string | number)[] | undefined
  /** Seconds to wait before the next attempt, if the server sent a time. */
  readonly retryAfterSeconds: number | undefined

  constructor(message: string, detail: ErrorDetail) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause })
    this.error = detail.error
    this.status = detail.status
    this.requestId = detail.requestId
    this.data = detail.data
    this.operation = detail.operation
    this.errors = detail.errors
    this.path = detail.errors?.[0]?.path
    this.retryAfterSeconds = detail.retryAfterSeconds
  }
}

/** Error of a write with `ifMatch` whose record has changed since it was read. Nothing was written. */
export class ConflictError<Row = unknown> extends BasaltError {
  /** Record as it is now, with its entity tag; undefined if it was deleted, or a policy hides it. */
  readonly current: Row | undefined

  constructor(failure: BasaltError, current: Row | undefined) {
    super(failure.message, { ...failure, cause: failure })
    this.current = current
  }
}

/** Error of a GraphQL response (GraphQL specification, Errors). */
export interface GraphqlError {
  readonly message: string
  readonly path?: readonly (string | number)[] | undefined
  readonly locations?: readonly { readonly line: number; readonly column: number }[] | undefined
  /** Members of this server: `code` is the stable error code, `data` are its details. */
  readonly extensions?: Readonly<Record<string, unknown>> | undefined
}

/** Members of a {@link BasaltError}. */
export interface ErrorDetail {
  readonly error: string
  readonly status: number
  readonly requestId?: string | undefined
  readonly data?: Readonly<Record<string, unknown>> | undefined
  readonly operation?: { readonly index: number; readonly method: string } | undefined
  readonly errors?: readonly GraphqlError[] | undefined
  readonly retryAfterSeconds?: number | undefined
  readonly cause?: unknown
}

/**
 * Returns true if a caught value is a {@link BasaltError} and has one of these codes. Without codes, any `BasaltError` matches.
 */
export function isBasaltError(
  thrown: unknown,
  ...kinds: readonly (ErrorSlug | LocalErrorSlug)[]
): thrown is BasaltError {
  return thrown instanceof BasaltError && (kinds.length === 0 || kinds.some((kind) => kind === thrown.error))
}

/** Returns the caught value as an error. Code outside of this package may throw any value. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown), { cause: thrown })
}
