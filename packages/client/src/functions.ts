import type { AnyDatabase } from './database-types.ts'
import { readJson } from './response.ts'
import { pathSegment, type RequestOptions, type Transport } from './transport.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Functions of a client without generated types: any address, with any input. */
interface UntypedFunctions {
  // biome-ignore lint/suspicious/noExplicitAny: nothing is known of the functions
  [address: `${Method} /${string}`]: { Input: any; Output: any }
}

type FunctionsOf<DB extends AnyDatabase> = DB extends { readonly functions: infer Functions extends object }
  ? Functions
  : UntypedFunctions

/** Method and path of a function, such as `POST /orders/:id`. */
export type FunctionAddress<DB extends AnyDatabase> = keyof FunctionsOf<DB> & string

type Member<Type, Name extends string> = Type extends { [key in Name]: infer Value } ? Value : never

/** Input of a function, as it is sent. */
export type FunctionInput<DB extends AnyDatabase, A extends FunctionAddress<DB>> = Member<
  FunctionsOf<DB>[A],
  'Input'
>

/** Result of a function. */
export type FunctionOutput<DB extends AnyDatabase, A extends FunctionAddress<DB>> = Member<
  FunctionsOf<DB>[A],
  'Output'
>

type ParameterNames<Path extends string> = Path extends `${infer Segment}/${infer Rest}`
  ? ParameterName<Segment> | ParameterNames<Rest>
  : ParameterName<Path>

type ParameterName<Segment extends string> = Segment extends `:${infer Name}` ? Name : never

type ParamsMember<Address extends string> = [ParameterNames<Address>] extends [never]
  ? { readonly params?: undefined }
  : { readonly params: { readonly [Name in ParameterNames<Address>]: string | number | bigint } }

// biome-ignore lint/complexity/noBannedTypes: an object without required members
type Empty = {}

type InputMember<Address extends string, Input> = 0 extends 1 & Input
  ? { readonly input?: unknown }
  : [Input] extends [undefined]
    ? { readonly input?: undefined }
    : Address extends `${'GET' | 'DELETE'} ${string}`
      ? Empty extends Input
        ? { readonly input?: Input }
        : { readonly input: Input }
      : { readonly input: Input }

/** Options of a call of a function. */
export interface FunctionOptions extends RequestOptions {
  /**
   * Key that the function gets as the header `Idempotency-Key`. A call other than GET is repeated only with a key, so that the
   * function can recognize the repetition.
   */
  readonly idempotencyKey?: string | undefined
  /** Further headers of the request. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** Parameters, input and options of a call. */
export type FunctionCall<DB extends AnyDatabase, A extends FunctionAddress<DB>> = FunctionOptions &
  ParamsMember<A> &
  InputMember<A, FunctionInput<DB, A>>

type CallArguments<DB extends AnyDatabase, A extends FunctionAddress<DB>> =
  Empty extends FunctionCall<DB, A> ? [call?: FunctionCall<DB, A>] : [call: FunctionCall<DB, A>]

/** Functions of the project. */
export interface Functions<DB extends AnyDatabase> {
  /**
   * Calls a function and returns its result: `call('POST /orders/:id', { params: { id }, input: { quantity: 1 } })`.
   *
   * @throws BasaltError with the error of the function or of the server
   * @throws TypeError if the address, a parameter or the input cannot be sent
   */
  call<A extends FunctionAddress<DB>>(
    address: A,
    ...args: CallArguments<DB, A>
  ): Promise<FunctionOutput<DB, A>>
  /**
   * Calls a function and returns the response, for streams and files. The time limit ends with its first bytes.
   *
   * @throws BasaltError for a response that is not successful
   */
  fetch<A extends FunctionAddress<DB>>(address: A, ...args: CallArguments<DB, A>): Promise<Response>
}

/** Call without the types of its function. */
interface UntypedCall extends FunctionOptions {
  readonly params?: Readonly<Record<string, unknown>> | undefined
  readonly input?: unknown
}

export function createFunctions<DB extends AnyDatabase>(transport: Transport): Functions<DB> {
  async function send<Result>(
    address: string,
    { params = {}, input, idempotencyKey, headers, ...options }: UntypedCall = {},
    read: (response: Response) => Result | Promise<Result>,
  ): Promise<Result> {
    const [, method, path] = /^(GET|POST|PUT|PATCH|DELETE) (\/\S*)$/.exec(address) ?? []
    if (method === undefined || path === undefined) throw new TypeError(`not a function: ${address}`)
    const isQuery = /^[GD]/.test(method)
    const key: Record<string, string> =
      idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }
    return await transport.exchange(
      method,
      `functions${formatPath(path, params)}${isQuery ? formatInput(input) : ''}`,
      {
        ...options,
        body: isQuery ? undefined : input,
        headers: { ...headers, ...key },
        isRepeatable: method === 'GET' || idempotencyKey !== undefined,
      },
      read,
    )
  }
  return {
    call: async (address, ...[call]) =>
      // The generated types describe the result of the function.
      (await send(address, call, readJson)) as FunctionOutput<DB, typeof address>,
    fetch: (address, ...[call]) => send(address, call, (response) => response),
  }
}

/** Replaces the parameters of a path. @throws TypeError for one that is missing, or that a path cannot contain */
function formatPath(path: string, params: Readonly<Record<string, unknown>>): string {
  return path.replaceAll(/\/+([^/]*)/g, (_, segment: string) => {
    if (!segment.startsWith(':')) return `/${encodeURIComponent(segment)}`
    // An inherited member is a function or an object.
    const name = segment.slice(1)
    return `/${pathSegment(textOf(`params.${name}`, params[name]))}`
  })
}

/** Formats an input as a query. A list becomes one parameter for each item. @throws TypeError for other objects */
function formatInput(input: unknown): string {
  const pairs = Object.entries(input ?? {}).flatMap(([name, value]) =>
    [value]
      .flat()
      .flatMap((item) =>
        item === undefined || item === null ? [] : [[name, textOf(`input.${name}`, item)]],
      ),
  )
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`
}

/** Returns a value as text. @throws TypeError for null, undefined, objects and functions, which an address cannot contain */
function textOf(name: string, value: unknown): string {
  if (/^[fou]/.test(typeof value)) throw new TypeError(`${name} is not text`)
  return String(value)
}
