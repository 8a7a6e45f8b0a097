/**
 * Row of an error table. Each feature declares its table once. The envelope, the error reference and the
 * client's union of errors derive from these tables.
 */
export interface ErrorSpec {
  /** HTTP status. */
  readonly status: number
  /** Public message, or a function that builds it. It never contains SQL, a stack or a secret. */
  readonly message: string | ((...args: never[]) => string)
  /** Sentence for the error reference: when the error occurs and what to do. */
  readonly help: string
}

export type ErrorTable = Readonly<Record<string, ErrorSpec>>

/** Details of an error beyond its table row. */
export interface ErrorExtras {
  /** Public, structured details (`data` of the envelope). */
  readonly data?: Readonly<Record<string, unknown>>
  /** Members merged into the envelope beside `code` and `message`, such as `operation` of a batch. */
  readonly members?: Readonly<Record<string, unknown>>
  /** Response headers, such as `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>>
  /** Private key: failures with the same key are logged once a minute, in one line. */
  readonly logKey?: string
  /** Private detail, only for the log. */
  readonly detail?: string
  /** Private cause, only for the log. */
  readonly cause?: unknown
}

/**
 * Error with a stable `kind`, on which callers branch, and a public message. It is the only error class of the
 * API.
 */
export class AppError extends Error {
  override readonly name = 'AppError'
  /** Stable machine-readable slug, the envelope's `error`: `collection_not_found`. */
  readonly kind: string
  readonly status: number
  readonly extras: ErrorExtras

  constructor(kind: string, status: number, message: string, extras: ErrorExtras = {}) {
    super(message, extras.cause === undefined ? undefined : { cause: extras.cause })
    this.kind = kind
    this.status = status
    this.extras = extras
  }

  /** Returns the same error with more details; later extras override. */
  with(extras: ErrorExtras): AppError {
    return new AppError(this.kind, this.status, this.message, { ...this.extras, ...extras })
  }

  /** Returns the same error with the header `Retry-After` (RFC 9110 §10.2.3). */
  retryAfter(seconds: number): AppError {
    return this.with({ headers: { ...this.extras.headers, 'retry-after': String(seconds) } })
  }
}

type Arguments<Spec extends ErrorSpec> = Spec['message'] extends (...args: infer Args) => string ? Args : []

export type ErrorConstructors<Table extends ErrorTable> = {
  readonly [Key in keyof Table]: (...args: Arguments<Table[Key]>) => AppError
}

/** Converts a table to typed constructors: `errors.recordNotFound()`. */
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

/** Converts a key to a slug: `collectionNotFound` → `collection_not_found`. */
export function errorKind(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** Returns the `message` of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Returns the `code` of a Node or Postgres error (`ECONNREFUSED`, `23505`), if it has one. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

/**
 * Mistake of the operator, such as bad configuration, a port in use or an unreachable database. It ends the
 * command with one readable line and no stack.
 */
export class OperatorError extends Error {
  override readonly name = 'OperatorError'
  /** Exit code: 1 failed, 2 wrong usage. */
  readonly exitCode: 1 | 2

  constructor(message: string, options: { exitCode?: 1 | 2; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.exitCode = options.exitCode ?? 1
  }
}
