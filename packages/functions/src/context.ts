import type { CallDatabase } from './database.ts'
import type { Enqueue } from './enqueue.ts'
import type { Mail, PushMessage } from './messages.ts'
import type { CallStorage } from './storage.ts'

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
   * - `user`: a signed-in user, or a program
   * - `anonymous`: a request without a token
   * - `administrator`: an administrator, or any caller while `auth.enabled` is false. Policies do not apply.
   */
  readonly kind: 'user' | 'anonymous' | 'administrator'
  /** Assurance level: `aal2` after a second factor. */
  readonly aal: 'aal1' | 'aal2' | undefined
  readonly sessionId: string | undefined
  /** Claims that the function `claims` has added to the token; undefined for other callers. */
  readonly custom: Readonly<Record<string, unknown>> | undefined
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

/** Options of `ctx.fetch`. Other members of a `RequestInit` have no effect. */
export interface FetchInit extends Pick<RequestInit, 'method' | 'headers' | 'body' | 'signal'> {
  /** Time limit of the whole exchange in seconds, at most 300. Default: 30. */
  readonly timeout?: number | undefined
}

/** Context of a call. */
export interface Context<Params = Readonly<Record<string, string>>> {
  /** User of the call; undefined for an administrator, a request without a token, and an OAuth client that acts for itself. */
  readonly user: User | undefined
  readonly claims: Claims
  readonly request: CallRequest
  /** Parameters of the path. */
  readonly params: Params
  readonly db: CallDatabase
  /** Files in the transaction of the call, as its caller. */
  readonly storage: CallStorage
  /** Secrets of the project by name, as of the start of the call. Logs and errors have the name instead of the value. */
  readonly secrets: Readonly<Record<string, string | undefined>>
  readonly log: Log
  /**
   * Sends an HTTP request, unless its address is one that requests of the server may not be sent to. It follows no redirects,
   * and ends with {@link signal}. Call it before the first write of {@link db}: an open transaction holds a connection.
   *
   * @throws Error without a response, and for a body of more than 10 MiB
   */
  readonly fetch: (url: string | URL, init?: FetchInit) => Promise<Response>
  /** Adds a job in the transaction of the call: if that is undone, there is no job. */
  readonly enqueue: Enqueue
  /** Sends a mail by a job of the transaction. It counts for the limit of the user who calls. @throws BasaltError */
  readonly mail: (mail: Mail) => Promise<void>
  /** Sends a message to devices by a job of the transaction. It counts for the limit of the user who calls. @throws BasaltError */
  readonly push: (message: PushMessage) => Promise<void>
  /** Sends a broadcast to the members of a channel, when the transaction is committed. @throws BasaltError */
  readonly emit: (channel: string, event: string, payload?: unknown) => Promise<void>
  /** Signal that aborts when the time limit is reached or the client disconnects. */
  readonly signal: AbortSignal
}

/** Handle of the administrator, in the transaction of a call. */
export interface AdminHandle {
  /**
   * Database without policies, in the same transaction. It has no user: `basalt.user_id()` is null there. `before` hooks run as for
   * an administrator.
   */
  readonly db: CallDatabase
  /** Files without policies and quotas of users, in the same transaction. */
  readonly storage: CallStorage
}

/** Part of the context of functions that are declared with `admin: true`. */
export interface AdminContext {
  /**
   * Returns the database as the administrator. The audit log records the function, the caller and the reason at its first statement.
   *
   * @param reason 1 to 200 characters, such as `reserve the stock`
   * @throws TypeError if the reason is invalid
   */
  readonly asAdmin: (reason: string) => AdminHandle
}

/** Context of a function, with `asAdmin` if it is declared with `admin: true`. */
export type WithAdmin<OwnContext, Admin> = Admin extends true ? OwnContext & AdminContext : OwnContext

/** Context of a job. */
export interface JobContext extends Omit<Context, 'request' | 'params' | 'user'> {
  /**
   * User in whose transaction the job was added, as information: the job does not run as this user. Undefined for a job of an
   * administrator, a schedule or a request without a token.
   */
  readonly user: Pick<User, 'id'> | undefined
  /** Job of the queue. Each attempt has the same id, so it serves as an idempotency key. */
  readonly job: { readonly id: string }
  /** Number of the attempt, from 1. */
  readonly attempt: number
}

/** Context of a hook, which runs within the write of a caller. */
export interface HookContext extends Omit<Context, 'request' | 'params' | 'storage'> {
  readonly request: Pick<CallRequest, 'id'>
}

/** Context of a function for a committed change. */
export interface AfterContext extends Omit<Context, 'request' | 'params' | 'user'> {
  /** User who made the change, as information: the function does not run as this user. Undefined for other writers. */
  readonly user: Pick<User, 'id'> | undefined
  /** Change in the log. Each attempt has the same id, so it serves as an idempotency key. */
  readonly event: { readonly id: string }
  /** Number of the attempt, from 1. */
  readonly attempt: number
}
