/**
 * Errors as data: each feature declares its table once, and everything that leaves the server as an error
 * (envelope, error reference, SDK union) comes from these tables.
 */

/** One row of an error table. */
export interface ErrorSpec {
  /** HTTP status. */
  readonly status: number
  /** Public message, or a function that builds it. Never carries SQL, a stack or a secret. */
  readonly message: string | ((...args: never[]) => string)
  /** One sentence for the error reference: when it happens and what to do. */
  readonly help: string
}

export type ErrorTable = Readonly<Record<string, ErrorSpec>>

/** What an error may carry beyond its table row. */
export interface ErrorExtras {
  /** Public, structured detail (`data` of the envelope). */
  readonly data?: Readonly<Record<string, unknown>>
  /** Members merged into the envelope beside `code` and `message`, such as `operation` of a batch. */
  readonly members?: Readonly<Record<string, unknown>>
  /** Response headers, such as `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>>
  /** Private: failures with the same key are logged once a minute, in one line. */
  readonly logKey?: string
  /** Private: only for the log. */
  readonly detail?: string
  /** Private: only for the log. */
  readonly cause?: unknown
}

/** The one error class: a fault with a stable `kind` that callers branch on and a public message. */
export class AppError extends Error {
  override readonly name = 'AppError'
  /** Stable machine slug, the envelope's `error`: `collection_not_found`. */
  readonly kind: string
  readonly status: number
  readonly extras: ErrorExtras

  constructor(kind: string, status: number, message: string, extras: ErrorExtras = {}) {
    super(message, extras.cause === undefined ? undefined : { cause: extras.cause })
    this.kind = kind
    this.status = status
    this.extras = extras
  }

  /** The same error with more detail; later extras win. */
  with(extras: ErrorExtras): AppError {
    return new AppError(this.kind, this.status, this.message, { ...this.extras, ...extras })
  }

  /** The same error with the header `Retry-After` (RFC 9110 §10.2.3). */
  retryAfter(seconds: number): AppError {
    return this.with({ headers: { ...this.extras.headers, 'retry-after': String(seconds) } })
  }
}

type Arguments<Spec extends ErrorSpec> = Spec['message'] extends (...args: infer Args) => string ? Args : []

export type ErrorConstructors<Table extends ErrorTable> = {
  readonly [Key in keyof Table]: (...args: Arguments<Table[Key]>) => AppError
}

/** Turns a table into typed constructors: `errors.recordNotFound()`. */
export function defineErrors<const Table extends ErrorTable>(table: Table): ErrorConstructors<Table> {
  const constructors: Record<string, (...args: never[]) => AppError> = {}
  for (const [key, spec] of Object.entries(table)) {
    const kind = errorKind(key)
    constructors[key] = (...args: never[]) =>
      new AppError(kind, spec.status, typeof spec.message === 'string' ? spec.message : spec.message(...args))
  }
  // Object.entries loses the keys' types; every key of the table was filled above.
  return constructors as ErrorConstructors<Table>
}

/** `collectionNotFound` → `collection_not_found`. */
export function errorKind(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** The `message` of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The `code` of a Node or Postgres error (`ECONNREFUSED`, `23505`), if it has one. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

/**
 * A mistake of the operator (bad configuration, taken port, unreachable database): ends the command with one
 * readable line and no stack.
 */
export class OperatorError extends Error {
  override readonly name = 'OperatorError'
  /** 1 failed, 2 wrong usage. */
  readonly exitCode: 1 | 2

  constructor(message: string, options: { exitCode?: 1 | 2; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.exitCode = options.exitCode ?? 1
  }
}
