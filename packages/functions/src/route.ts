import type { Context } from './context.ts'
import { createDatabase } from './database.ts'
import { type Access, definitionKey, type FunctionDefinition } from './definition.ts'
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

export interface RouteOptions<Input extends Schema | undefined, Output extends Schema | undefined> {
  /** Callers that the route admits. */
  readonly access: Access
  /** Schema of the JSON body; of the query parameters for GET and DELETE. Without it the function gets no input. */
  readonly input?: Input
  /** Schema of the result. A result that does not match is a 500. */
  readonly output?: Output
  /** Time limit in seconds, at most `functions.timeout`, which is the default. */
  readonly timeout?: number | undefined
}

/** Result that a handler may return. */
type ResultOf<Output> = Output extends Schema ? ValueOf<Output> : unknown

/**
 * Defines an endpoint below `/api/functions`. The result is sent as JSON; no result is a 204.
 *
 * @throws TypeError if the address is malformed
 */
export function route<
  const Address extends RouteAddress,
  const Input extends Schema | undefined = undefined,
  const Output extends Schema | undefined = undefined,
>(
  address: Address,
  options: RouteOptions<Input, Output>,
  handler: (
    context: Context<ParamsOf<Address>>,
    input: Input extends Schema ? ValueOf<Input> : undefined,
  ) => ResultOf<Output> | Promise<ResultOf<Output>>,
): FunctionDefinition {
  const [, method, path] = /^(GET|POST|PUT|PATCH|DELETE) (\/\S+)$/.exec(address) ?? []
  if (method === undefined || path === undefined)
    throw new TypeError(`${JSON.stringify(address)}: expected a method and a path, such as POST /orders/:id`)
  const { access, input, output, timeout } = options
  return {
    [definitionKey]: {
      version: 1,
      kind: 'route',
      method,
      path,
      access,
      input,
      output,
      timeout,
      // The server passes the parameters of the path and the validated input.
      handler: handler as (context: Context<never>, input: never) => unknown,
      openDatabase: createDatabase,
    },
  }
}
