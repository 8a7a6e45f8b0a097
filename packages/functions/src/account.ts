import type { CallRequest, Context } from './context.ts'
import { type CallDatabase, createDatabase } from './database.ts'
import { definitionKey, type FunctionDefinition, type SingleKind } from './definition.ts'

/** Account of a user, as functions of accounts get it. */
export interface Account {
  readonly id: string
  /** Empty if there is none. */
  readonly email: string
  readonly isEmailVerified: boolean
  /** Phone number in E.164 form; empty if there is none. */
  readonly phone: string
  readonly isAnonymous: boolean
  readonly appMetadata: Readonly<Record<string, unknown>>
}

/** Way in which an account is created. */
export type SignUpMethod = 'password' | 'magic_link' | 'sms' | 'oauth' | 'anonymous' | 'admin'

/** Account that is being created. */
export interface NewAccount extends Account {
  /** `admin` if an administrator creates or invites the user. */
  readonly method: SignUpMethod
  /** Provider of the method `oauth`; otherwise empty. */
  readonly provider: string
  /** True if an anonymous account becomes a permanent one. */
  readonly wasAnonymous: boolean
}

/** Result of `onSignUp`. */
export interface SignUp {
  /** Facts about the user that the user cannot set, at most 8192 bytes. They replace earlier ones. */
  readonly app_metadata?: Readonly<Record<string, unknown>> | undefined
}

/** Context of a function in the transaction of a sign-up or sign-in. Its statements run as the administrator. */
export interface AccountContext extends Omit<Context, 'request' | 'params' | 'user' | 'db' | 'storage'> {
  readonly request: Pick<CallRequest, 'id'>
  /** Database without `sql`, because the session belongs to the owner of the database. */
  readonly db: Omit<CallDatabase, 'sql'>
}

/** Mail that the server sends. */
export interface OutgoingMail {
  /** Id of the mail. Each attempt has the same one, so it serves as an idempotency key. */
  readonly id: string
  readonly to: string
  /** Sender, such as `Shop <shop@example.com>`. */
  readonly from: string
  readonly replyTo: string | undefined
  readonly subject: string
  readonly html: string
  readonly text: string
}

/** Context of `sendMail`. Its statements run as the administrator. */
export interface MailContext extends Omit<Context, 'request' | 'params' | 'user' | 'storage'> {
  readonly request: Pick<CallRequest, 'id'>
}

/** Options of a function of which a project has one. */
export interface SingleOptions {
  /** Time limit in seconds, at most `functions.timeout`, which is the default. */
  readonly timeout?: number | undefined
}

type Arguments<Handler> = [handler: Handler] | [options: SingleOptions, handler: Handler]

/**
 * Defines the function for each new account. It runs in the transaction that creates the account. An error of it undoes everything,
 * and one with a `status` from 400 to 499 is the response.
 *
 * @throws TypeError if an argument is invalid
 */
export function onSignUp(
  ...rest: Arguments<
    (context: AccountContext, account: NewAccount) => SignUp | undefined | Promise<SignUp | undefined>
  >
): FunctionDefinition {
  return define('onSignUp', rest)
}

/**
 * Defines the function that adds claims to each access token: at most 1024 bytes of JSON. An error of it fails the sign-in.
 *
 * @throws TypeError if an argument is invalid
 */
export function claims(
  ...rest: Arguments<
    (
      context: AccountContext,
      account: Account,
    ) => Readonly<Record<string, unknown>> | Promise<Readonly<Record<string, unknown>>>
  >
): FunctionDefinition {
  return define('claims', rest)
}

/**
 * Defines the function that sends all mail of the server, instead of `email.backend`. Jobs repeat it after an error, unless that has
 * a `status` from 400 to 499 other than 408, 409, 425 and 429.
 *
 * @throws TypeError if an argument is invalid
 */
export function sendMail(
  ...rest: Arguments<(context: MailContext, mail: OutgoingMail) => unknown>
): FunctionDefinition {
  return define('sendMail', rest)
}

function define(kind: SingleKind, rest: Arguments<(context: never, value: never) => unknown>) {
  const [options, handler] = rest.length === 1 ? [{}, rest[0]] : rest
  if (typeof handler !== 'function') throw new TypeError('expected a function')
  const { timeout }: SingleOptions = options
  return {
    [definitionKey]: { version: 1 as const, kind, timeout, handler, openDatabase: createDatabase },
  }
}
