import type { Context, WithAdmin } from './context.ts'
import { createDatabase } from './database.ts'
import { type Access, definitionKey, type FunctionDefinition } from './definition.ts'
import type { PayloadOf } from './enqueue.ts'
import type { Schema, ValueOf } from './schema.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Method and path, such as `POST /orders/:id`. The path is below `/api/functions`. */
export type RouteAddress = `${Method} /${string}`

type ParameterNames<Path extends string> = Path extends `${infer Segment}/${infer Rest}`
  ? ParameterName<Segment> | ParameterNames<Rest>
  : ParameterName<Path>

type ParameterName<Segment extends string> = Segment extends `:${infer Name}` ? Name : never

/** Parameters of the path. */
export type ParamsOf<Address extends string> = { readonly [Name in ParameterNames<Address>]: string }

export interface RouteOptions<
  Input extends Schema | undefined,
  Output extends Schema | undefined,
  Admin extends boolean | undefined = boolean | undefined,
> {
  /** Callers that the route admits. */
  readonly access: Access
  /** Schema of the JSON body; of the query parameters for GET and DELETE. Without it the function gets no input. */
  readonly input?: Input
  /** Schema of the result, which is JSON then. A result that does not match is a 500. */
  readonly output?: Output
  /**
   * True if the context has `asAdmin`. Its transaction then uses the login of administrators: text that reaches `execute` in a SQL
   * function can become the administrator.
   */
  readonly admin?: Admin
  /** Time limit in seconds, at most `functions.timeout`, which is the default. */
  readonly timeout?: number | undefined
}

/** Result that a handler may return. */
type ResultOf<Output> = Output extends Schema ? ValueOf<Output> : unknown

/** Member that only exists in the type: what callers of a route send and get. */
declare const exchange: unique symbol

/** Function that is no route. */
export interface NoRoute {
  readonly [exchange]?: never
}

/** Route of the project, as an export of a file. */
export interface RouteFunction<Params = unknown, Input = unknown, Result = unknown>
  extends FunctionDefinition {
  readonly [exchange]?: (params: Params, input: Input) => Result
}

/**
 * Defines an endpoint below `/api/functions`. The result is sent as JSON; no result is a 204. A `Response`, or a
 * `ReadableStream` of texts or bytes, is sent as it is, after the transaction has been committed.
 *
 * @throws TypeError if the address is malformed
 */
export function route<
  const Address extends RouteAddress,
  const Input extends Schema | undefined = undefined,
  const Output extends Schema | undefined = undefined,
  const Admin extends boolean | undefined = undefined,
  Result extends ResultOf<Output> = ResultOf<Output>,
>(
  address: Address,
  options: RouteOptions<Input, Output, Admin>,
  handler: (
    context: WithAdmin<Context<ParamsOf<Address>>, Admin>,
    input: Input extends Schema ? ValueOf<Input> : undefined,
  ) => Result | Promise<Result>,
): RouteFunction<ParamsOf<Address>, PayloadOf<Input>, Output extends Schema ? ValueOf<Output> : Result> {
  const [, method, path] = /^(GET|POST|PUT|PATCH|DELETE) (\/\S+)$/.exec(address) ?? []
  if (method === undefined || path === undefined)
    throw new TypeError(`${JSON.stringify(address)}: expected a method and a path, such as POST /orders/:id`)
  const { access, input, output, timeout, admin } = options
  return {
    [definitionKey]: {
      version: 1,
      kind: 'route',
      method,
      path,
      access,
      admin: admin === true,
      input,
      output,
      timeout,
      // The server passes the parameters of the path, the validated input, and `asAdmin` where it is declared.
      handler: handler as unknown as (context: Context<never>, input: never) => unknown,
      openDatabase: createDatabase,
    },
  }
}
