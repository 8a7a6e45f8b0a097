import type { CallDatabase } from './database.ts'

/** Signed-in user. */
export interface User {
  readonly id: string
  /** Empty if the user has none. */
  readonly email: string
  readonly isEmailVerified: boolean
  readonly isAnonymous: boolean
}

/** Caller of a function. */
export interface Claims {
  /**
   * - `user`: a signed-in user, or a program of one
   * - `anonymous`: a request without a token
   * - `administrator`: an administrator, or any caller while `auth.enabled` is false. Policies do not apply.
   */
  readonly kind: 'user' | 'anonymous' | 'administrator'
  /** Assurance level: `aal2` after a second factor. */
  readonly aal: 'aal1' | 'aal2' | undefined
  readonly sessionId: string | undefined
}

/** Request that called the function. */
export interface CallRequest {
  /** Id of the request, as in `X-Request-Id` and in the log. */
  readonly id: string
  readonly method: string
  /** Path with the query string. */
  readonly url: string
  /** Headers without those that carry credentials. */
  readonly headers: Readonly<Record<string, string>>
}

type LogMethod = (message: string, fields?: Readonly<Record<string, unknown>>) => void

/** Log of the server. Each line has the id of the request. */
export interface Log {
  readonly debug: LogMethod
  readonly info: LogMethod
  readonly warn: LogMethod
  readonly error: LogMethod
}

/** Context of a call. */
export interface Context<Params = Readonly<Record<string, string>>> {
  /** User who calls; undefined for an administrator and for a request without a token. */
  readonly user: User | undefined
  readonly claims: Claims
  readonly request: CallRequest
  /** Parameters of the path. */
  readonly params: Params
  readonly db: CallDatabase
  /** Secrets of the project by name, as of the start of the call. Logs and errors have the name instead of the value. */
  readonly secrets: Readonly<Record<string, string | undefined>>
  readonly log: Log
  /** Signal that aborts when the time limit is reached or the client disconnects. */
  readonly signal: AbortSignal
}
