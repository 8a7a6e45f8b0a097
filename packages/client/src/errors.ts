import type { ErrorSlug } from './error-slugs.ts'

/** Errors that come from no server. */
export type LocalErrorSlug =
  | 'network_error'
  | 'timeout'
  | 'invalid_response'
  | 'channel_refused'
  | 'passkey_cancelled'
  | 'passkey_exists'
  | 'passkey_unsupported'
  | 'passkey_wrong_site'
  | 'popup_blocked'
  | 'popup_closed'
  | 'provider_sign_in_failed'
  | 'storage_denied'

/** Everything that a request can fail with, its abortion aside. `error` says what it was. */
export class BasaltError extends Error {
  override readonly name = 'BasaltError'
  /** Stable: branch on this, never on the message. Later servers may have others. */
  readonly error: ErrorSlug | LocalErrorSlug | (string & Record<never, never>)
  /** HTTP status; 0 without an answer. */
  readonly status: number
  /** For the server's log. */
  readonly requestId: string | undefined
  /** Detail by kind of error: violated constraints by name, for instance. */
  readonly data: Readonly<Record<string, unknown>> | undefined
  /** Of a batch, the operation that failed. */
  readonly operation: { readonly index: number; readonly method: string } | undefined
  /** When the server would like to be asked again. */
  readonly retryAfterSeconds: number | undefined

  constructor(message: string, detail: ErrorDetail) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause })
    this.error = detail.error
    this.status = detail.status
    this.requestId = detail.requestId
    this.data = detail.data
    this.operation = detail.operation
    this.retryAfterSeconds = detail.retryAfterSeconds
  }
}

export interface ErrorDetail {
  readonly error: string
  readonly status: number
  readonly requestId?: string | undefined
  readonly data?: Readonly<Record<string, unknown>> | undefined
  readonly operation?: { readonly index: number; readonly method: string } | undefined
  readonly retryAfterSeconds?: number | undefined
  readonly cause?: unknown
}

/** Whether something thrown is an error of the server, or of one of these kinds. */
export function isBasaltError(
  thrown: unknown,
  ...kinds: readonly (ErrorSlug | LocalErrorSlug)[]
): thrown is BasaltError {
  return thrown instanceof BasaltError && (kinds.length === 0 || kinds.some((kind) => kind === thrown.error))
}
