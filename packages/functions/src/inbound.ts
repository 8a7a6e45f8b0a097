import type { CallRequest, Context, WithAdmin } from './context.ts'
import { createDatabase } from './database.ts'
import { definitionKey, type FunctionDefinition } from './definition.ts'

/** Message as it arrives, before it is verified. */
export interface InboundRequest {
  /** Path with the query string. */
  readonly url: string
  /** All headers, with names in small letters. */
  readonly headers: Readonly<Record<string, string>>
  /** Body as it was sent. */
  readonly body: Uint8Array
}

/** Id and time of a message that its sender has signed. */
export interface VerifiedMessage {
  /** Id of the message: 1 to 255 characters. A message with an id is handled once. */
  readonly id: string
  /** Time at which the message was sent. */
  readonly time: Date
}

/** Context of a verification, which has no database. */
export type VerifyContext = Pick<Context, 'secrets' | 'log' | 'signal' | 'fetch'>

/** Verifies the sender of a message. Undefined refuses it. An error that it throws is a 500. */
export type Verify = (
  request: InboundRequest,
  context: VerifyContext,
) => VerifiedMessage | undefined | Promise<VerifiedMessage | undefined>

/** Verified message. */
export interface InboundMessage extends VerifiedMessage, InboundRequest {
  /** Returns the body as text. */
  text(): string
  /** Returns the body as JSON. @throws SyntaxError */
  json<Value = unknown>(): Value
}

/** Context of an inbound function. */
export interface InboundContext extends Omit<Context, 'request' | 'params' | 'user'> {
  readonly request: Pick<CallRequest, 'id'>
}

export interface InboundOptions<Admin extends boolean | undefined = boolean | undefined> {
  /**
   * Identity of the function in the database.
   * - `anonymous`: policies apply, and see no user. This is the default.
   * - `admin`: the administrator. Policies do not apply.
   */
  readonly as?: 'anonymous' | 'admin' | undefined
  /**
   * True if the context has `asAdmin`. Its transaction then uses the login of administrators: text that reaches `execute` in a SQL
   * function can become the administrator.
   */
  readonly admin?: Admin
  /** Maximum age of a message in seconds, at most 86400. Default: 300. */
  readonly tolerance?: number | undefined
  /** Time limit in seconds, at most `functions.timeout`, which is the default. */
  readonly timeout?: number | undefined
}

type Handler<Admin> = (context: WithAdmin<InboundContext, Admin>, message: InboundMessage) => unknown
type AnyHandler = (context: never, message: InboundMessage) => unknown

/**
 * Defines the receiver of messages of another service, at `POST /api/functions/inbound/{name}`. Each message is handled once.
 *
 * @throws TypeError if an argument is invalid
 */
export function inbound(name: string, verify: Verify, handler: Handler<undefined>): FunctionDefinition
export function inbound<const Admin extends boolean | undefined = undefined>(
  name: string,
  verify: Verify,
  options: InboundOptions<Admin>,
  handler: Handler<Admin>,
): FunctionDefinition
export function inbound(
  name: string,
  verify: Verify,
  ...rest: [handler: AnyHandler] | [options: InboundOptions, handler: AnyHandler]
): FunctionDefinition {
  const [options, handler] = rest.length === 1 ? [{}, rest[0]] : rest
  if (typeof name !== 'string' || !/^[a-z0-9][a-z0-9_-]{0,62}$/.test(name))
    throw new TypeError(`${JSON.stringify(name)}: expected a name of small letters, digits, - and _`)
  if (typeof verify !== 'function' || typeof handler !== 'function')
    throw new TypeError('expected a function that verifies, and one that handles')
  const { as = 'anonymous', tolerance = 300, timeout, admin }: InboundOptions = options
  if (as !== 'anonymous' && as !== 'admin')
    throw new TypeError(`as is ${JSON.stringify(as)}; expected anonymous or admin`)
  if (!Number.isInteger(tolerance) || tolerance < 1 || tolerance > 86_400)
    throw new TypeError('tolerance must be an integer from 1 to 86400')
  return {
    [definitionKey]: {
      version: 1,
      kind: 'inbound',
      inbound: name,
      as,
      tolerance,
      admin: admin === true,
      timeout,
      verify,
      // The server passes `asAdmin` to functions that are declared for it.
      handler: handler as (context: InboundContext, message: InboundMessage) => unknown,
      openDatabase: createDatabase,
    },
  }
}
