/** Members of a {@link FunctionError} beside its message. */
export interface FunctionErrorDetail {
  /** Stable code of the response, such as `out_of_stock`. Default: `function_refused`. */
  readonly error?: string | undefined
  /** Details for the client. */
  readonly data?: Readonly<Record<string, unknown>> | undefined
}

/**
 * Error that becomes the response. The transaction is rolled back. Any error with a `status` from 400 to 499 does the same; others
 * become a 500 without details.
 */
export class FunctionError extends Error {
  override readonly name = 'FunctionError'
  readonly status: number
  readonly error: string | undefined
  readonly data: Readonly<Record<string, unknown>> | undefined

  /** @throws RangeError if the status is not from 400 to 499 */
  constructor(status: number, message: string, { error, data }: FunctionErrorDetail = {}) {
    if (!Number.isInteger(status) || status < 400 || status > 499)
      throw new RangeError('the status is an integer from 400 to 499')
    super(message)
    this.status = status
    this.error = error
    this.data = data
  }
}
