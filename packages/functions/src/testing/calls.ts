import { type Definition, definitionKey, type FunctionDefinition } from '../definition.ts'
import type { JobFunction, NoJob } from '../enqueue.ts'
import type { NoRoute, RouteFunction } from '../route.ts'
import type { TestFetch } from './fetch-stub.ts'
import type { Outcome } from './outcome.ts'

/** User by id, as `createUser` returns it. */
export interface TestUser {
  readonly id: string
  readonly email: string | undefined
}

/** Caller: a user, the id or address of one, a request without a token, or an administrator. */
export type TestCaller = TestUser | 'anonymous' | 'admin' | (string & Record<never, never>)

/** Options of every call. */
export interface CallOptions {
  /** Function that serves the requests of `ctx.fetch`. Default: that of the database; without one they fail. */
  readonly fetch?: TestFetch | undefined
}

export type RouteCall<Params, Input> = CallOptions & {
  /** Default: `anonymous`. */
  readonly as?: TestCaller | undefined
  /** Headers, with names in small letters. */
  readonly headers?: Readonly<Record<string, string>> | undefined
} & ([keyof Params] extends [never] ? { readonly params?: Params } : { readonly params: Params }) &
  (undefined extends Input ? { readonly input?: Input } : { readonly input: Input })

export type JobCall<Payload> = CallOptions & {
  /** Number of the attempt. Default: 1. */
  readonly attempt?: number | undefined
} & (undefined extends Payload ? { readonly payload?: Payload } : { readonly payload: Payload })

/** Call of a function by its name, or of one without parameters of its own. */
export interface AnyCall extends CallOptions {
  readonly as?: TestCaller | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly params?: Readonly<Record<string, string>> | undefined
  readonly input?: unknown
  readonly payload?: object | undefined
  readonly attempt?: number | undefined
  /** Change for an `after` function. */
  readonly change?:
    | {
        readonly operation: 'create' | 'update' | 'delete'
        readonly record: object
        readonly previous?: object | undefined
      }
    | undefined
  /** Message for an `inbound` function, which is verified. A body other than text or bytes is sent as JSON. */
  readonly message?:
    | { readonly headers: Readonly<Record<string, string>>; readonly body: unknown }
    | undefined
}

/** Arguments after the function: options are optional if all of their members are. */
type Arguments<Options> = Record<never, never> extends Options ? [options?: Options] : [options: Options]

/** Value as JSON carries it. */
export type Json<Value> = Value extends Response | ReadableStream
  ? Response
  : Value extends { toJSON(): infer Written }
    ? Written
    : Value extends readonly (infer Item)[]
      ? readonly Json<Item>[]
      : Value extends object
        ? { readonly [Member in keyof Value]: Json<Value[Member]> }
        : Value

/** Calls a function. */
export interface Call {
  /**
   * Calls a route.
   *
   * @throws BasaltError with the status and the code of the response; for an error of the function with its message and stack
   */
  <Params, Input, Result>(
    fn: RouteFunction<Params, Input, Result> & NoJob,
    ...rest: Arguments<RouteCall<Params, Input>>
  ): Promise<Outcome<Json<Result>>>
  /** Makes an attempt of a job. @throws BasaltError */
  <Payload>(
    fn: JobFunction<Payload> & NoRoute,
    ...rest: Arguments<JobCall<Payload>>
  ): Promise<Outcome<undefined>>
  /** Calls a function by its name, a schedule, or a function that gets a change or a message. @throws BasaltError */
  <Result = unknown>(
    fn: string | (FunctionDefinition & NoRoute & NoJob),
    options?: AnyCall,
  ): Promise<Outcome<Result>>
}

/** Returns the name of a function, or the members of its definition by which the server finds it. */
export function referenceOf(fn: string | FunctionDefinition): string | object {
  if (typeof fn === 'string') return fn
  const definition = Object(fn)[definitionKey] as Definition | undefined
  if (definition === undefined)
    throw new TypeError('expected the name of a function, or what route(…), job(…) and the like return')
  const { kind } = definition
  switch (kind) {
    case 'route':
      return { kind, method: definition.method, path: definition.path }
    case 'job':
      return { kind, job: definition.job }
    case 'inbound':
      return { kind, inbound: definition.inbound }
    case 'schedule':
      return { kind, expression: definition.expression, timezone: definition.timezone }
    case 'onSignUp':
    case 'claims':
    case 'sendMail':
      return { kind }
    default:
      return { kind, table: definition.table, operations: definition.operations }
  }
}

/** Returns the name of a caller in the requests of a test. */
export function nameOf(caller: TestCaller | undefined): string | undefined {
  return typeof caller === 'object' ? caller.id : caller
}

/** Returns the options as the server reads them. */
export function sentOptions({ fetch: _, as, message, ...options }: AnyCall): object {
  return {
    ...options,
    as: nameOf(as),
    ...(message === undefined
      ? {}
      : { message: { headers: lowered(message.headers), body: encode(message.body) } }),
  }
}

function lowered(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

function encode(body: unknown): string {
  const bytes = body instanceof Uint8Array || typeof body === 'string' ? body : (JSON.stringify(body) ?? '')
  return Buffer.from(bytes as string).toString('base64')
}
