import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Static, type TSchema, type TUnsafe, Type } from '../lib/type.ts'
import type { Identity } from './access/identity.ts'
import type { Permission } from './access/permissions.ts'
import { originOf, type RequestOrigin } from './requests/request-origin.ts'
import { isKnown, sendNotModified } from './responses/entity-tag.ts'
import type { AdmitsAnonymous, Guard, ProgramAccess, StepUp } from './route-config.ts'
import {
  type Answered,
  bearerSecurity,
  binary,
  type DocumentedBody,
  noContent as emptyBody,
  optionalSecurity,
  responses,
} from './schemas.ts'
import type { HttpServer } from './server.ts'

/** Successful response of an operation: its status and the schema of its body. */
export interface Success<Body extends TSchema = TSchema> {
  readonly status: 200 | 201 | 202 | 204
  readonly body: Body
  /** Content type, where it is not JSON. */
  readonly type?: string
}

/** Declares 200 with a body. */
export function ok<Body extends TSchema>(body: Body): Success<Body> {
  return { status: 200, body }
}

/** Declares 201 with the object that was created. */
export function created<Body extends TSchema>(body: Body): Success<Body> {
  return { status: 201, body }
}

/** Declares 202 with the state of work that continues. */
export function accepted<Body extends TSchema>(body: Body): Success<Body> {
  return { status: 202, body }
}

/** Response 204 without a body. */
export const noContent: Success<TUnsafe<undefined>> = {
  status: 204,
  body: Type.Unsafe<undefined>(emptyBody),
}

/** Body that is sent as it is. */
export type Content = string | Buffer | Readable

/** Declares 200 with a body that is not JSON. The handler may set another content type. */
export function content(
  type: string,
  description: string,
  schema: TSchema = binary,
): Success<TUnsafe<Content>> {
  return { status: 200, type, body: Type.Unsafe<Content>({ description, content: { [type]: { schema } } }) }
}

/** Returns the same response for a handler that returns its body as JSON text. */
export function asText({ status, body }: Success): Success<TUnsafe<string>> {
  return { status, type: 'application/json; charset=utf-8', body: Type.Unsafe<string>(body) }
}

/** Validated request of an operation, and its caller. */
export interface OperationRequest<Params extends TSchema, Query extends TSchema, Body extends TSchema> {
  readonly params: Static<Params>
  readonly query: Static<Query>
  readonly body: Static<Body>
  /** Undefined on operations with the guard `public`. */
  readonly identity: Identity | undefined
  /** Address and id of the request, for the audit. */
  readonly origin: RequestOrigin
  /** HTTP request, for headers and the connection. */
  readonly http: FastifyRequest
}

/** Callers that an operation admits. Administrative operations name the permission that they require. */
type Admission<Deps> =
  | {
      readonly guard: 'admin'
      readonly permission: Permission
      /** Requirement of a fresh second factor, for administrators with a factor. */
      readonly stepUp?: StepUp
      /** True if it admits administrators without a second factor while one is required of all. */
      readonly admitsUnenrolled?: true
    }
  | {
      readonly guard: Exclude<Guard, 'admin'>
      readonly stepUp?: never
      readonly admitsUnenrolled?: never
      readonly programs?: ProgramAccess | ((request: FastifyRequest, deps: Deps) => ProgramAccess | undefined)
      /** Permission of administrators, where it does not follow from `programs`. */
      readonly permission?: Permission
      /** Admits requests without a token; see {@link AdmitsAnonymous}. */
      admitsAnonymous?(request: FastifyRequest, deps: Deps): ReturnType<AdmitsAnonymous>
    }

/**
 * One endpoint: its address, its callers, its schemas and its handler. The route, the validation, the types of
 * the handler, the OpenAPI document and the types of the dashboard derive from it.
 */
export type Operation<
  Deps,
  Params extends TSchema = TSchema,
  Query extends TSchema = TSchema,
  Body extends TSchema = TSchema,
  Result extends TSchema = TSchema,
  Other extends TSchema = never,
> = Admission<Deps> & {
  /** Stable name in logs, metrics and the API document: `matviews.list`. */
  readonly id: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly tag: string
  /** One line, in the imperative. */
  readonly summary: string
  readonly description?: string
  readonly params?: Params
  readonly query?: Query
  /** Headers that the handler reads. */
  readonly headers?: TSchema
  readonly body?: Body
  /** Body that the handler itself reads from `http`, as in a scope of `acceptRaw`. */
  readonly documentedBody?: DocumentedBody
  /** Maximum body size in bytes, where it is not `server.body_limit`. */
  readonly bodyLimit?: number | ((deps: Deps) => number)
  /** True if it also accepts WebSocket handshakes, which the handler authenticates. */
  readonly upgrade?: true
  /** True if the handler counts the operations of a request, as a batch does. */
  readonly countsOperations?: true
  /** True if a response with an entity tag is a 304 for a client that has this representation (RFC 9110 §13.1.2). */
  readonly isConditional?: true
  readonly success: Success<Result>
  /** Bodies of other documented responses, by the status that the handler sets. */
  readonly otherResponses?: Readonly<Record<number, Other>>
  /**
   * Returns the body of the response. The reply is for headers.
   *
   * @throws AppError for every documented error
   */
  handle(
    deps: Deps,
    request: OperationRequest<Params, Query, Body>,
    reply: FastifyReply,
  ): Promise<Returned<Result | Other>> | Returned<Result | Other>
}

/** Body that a handler returns; undefined for a response without a body. */
type Returned<Result extends TSchema> = Result extends TSchema
  ? Static<Result> extends undefined
    ? // biome-ignore lint/suspicious/noConfusingVoidType: the handler returns nothing
      void
    : Static<Result> extends Content
      ? Content
      : Answered<Result>
  : never

/** Declares an operation and infers the types of its handler from its schemas. */
export function operation<
  Deps,
  Params extends TSchema,
  Query extends TSchema,
  Body extends TSchema,
  Result extends TSchema,
  Other extends TSchema = never,
>(description: Operation<Deps, Params, Query, Body, Result, Other>): Operation<Deps> {
  return description as unknown as Operation<Deps>
}

/** Adds the routes of operations whose handlers get the same dependencies. */
export function addOperations<Deps>(
  app: HttpServer,
  deps: Deps,
  operations: readonly Operation<Deps>[],
): void {
  for (const each of operations) addOperation(app, deps, each)
}

function addOperation<Deps>(app: HttpServer, deps: Deps, description: Operation<Deps>): void {
  const { method, path: url, success, bodyLimit, isConditional, handle } = description
  app.route({
    method,
    url,
    config: configOf(description, deps),
    schema: schemaOf(description),
    ...(bodyLimit === undefined
      ? {}
      : { bodyLimit: typeof bodyLimit === 'number' ? bodyLimit : bodyLimit(deps) }),
    async handler(request, reply) {
      void reply.code(success.status)
      if (success.type !== undefined) void reply.type(success.type)
      const body = await handle.call(description, deps, new ValidatedRequest(request), reply)
      return isConditional === true && isKnown(request, reply) ? sendNotModified(reply) : body
    },
  })
}

function configOf<Deps>(description: Operation<Deps>, deps: Deps) {
  const { guard, id: operation, upgrade, countsOperations } = description
  if (guard === 'admin') {
    const { permission, stepUp, admitsUnenrolled } = description
    return {
      guard,
      operation,
      permission,
      ...(stepUp === undefined ? {} : { stepUp }),
      ...(admitsUnenrolled === undefined ? {} : { admitsUnenrolled }),
    }
  }
  const { programs, permission } = description
  const admitsAnonymous =
    description.admitsAnonymous &&
    ((request: FastifyRequest) => description.admitsAnonymous?.(request, deps) ?? false)
  return {
    guard,
    operation,
    ...(programs === undefined
      ? {}
      : {
          programs:
            typeof programs === 'function' ? (request: FastifyRequest) => programs(request, deps) : programs,
        }),
    ...(permission === undefined ? {} : { permission }),
    ...(upgrade === undefined ? {} : { upgrade }),
    ...(countsOperations === undefined ? {} : { countsOperations }),
    ...(admitsAnonymous === undefined ? {} : { admitsAnonymous }),
  }
}

function schemaOf<Deps>(operation: Operation<Deps>) {
  const { guard, tag, summary, params, query, headers, body, documentedBody } = operation
  const description = descriptionOf(operation)
  const { success, otherResponses } = operation
  return {
    tags: [tag],
    ...(guard === 'public' ? {} : { security: guard === 'optional' ? optionalSecurity : bearerSecurity }),
    summary,
    ...(description === undefined ? {} : { description }),
    ...(params === undefined ? {} : { params }),
    ...(query === undefined ? {} : { querystring: query }),
    ...(headers === undefined ? {} : { headers }),
    ...(body === undefined ? {} : { body }),
    ...(documentedBody === undefined ? {} : { documentedBody }),
    response: responses({ [success.status]: success.body, ...otherResponses }),
  }
}

/** Returns the description, with the requirement of a fresh second factor. */
function descriptionOf<Deps>(operation: Operation<Deps>): string | undefined {
  const { description } = operation
  if (operation.guard !== 'admin' || operation.stepUp !== 'always') return description
  return [description, stepUpNote].filter((part) => part !== undefined).join(' ')
}

const stepUpNote =
  'Administrators with a second factor must have proved it within the last ten minutes: otherwise 403 `step_up_required`.'

/** Request whose parts have passed their schemas. */
class ValidatedRequest implements OperationRequest<TSchema, TSchema, TSchema> {
  readonly http: FastifyRequest

  constructor(http: FastifyRequest) {
    this.http = http
  }

  get params(): unknown {
    return this.http.params
  }

  get query(): unknown {
    return this.http.query
  }

  get body(): unknown {
    return this.http.body
  }

  get identity(): Identity | undefined {
    return this.http.identity
  }

  get origin(): RequestOrigin {
    return originOf(this.http)
  }
}
