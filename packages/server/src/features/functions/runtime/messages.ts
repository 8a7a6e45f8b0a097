import { Compile } from 'typebox/schema'
import { isObject } from '../../../lib/json.ts'
import { type Static, type TSchema, Type } from '../../../lib/type.ts'

/** Messages of the child to the server. Code that runs in the child may have forged them. */

const text = Type.String()
/** Number that the child gives a request, for its reply. */
const id = Type.Integer({ minimum: 0 })
/** Token of a call. */
const call = Type.String({ maxLength: 64 })
const strict = { additionalProperties: false }

const FunctionDescription = Type.Object(
  {
    name: Type.String({ pattern: '^[A-Za-z0-9_.-]{1,100}$' }),
    file: text,
    method: Type.Enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
    path: Type.String({ pattern: '^/.', maxLength: 500 }),
    access: Type.Enum(['anonymous', 'user', 'admin']),
    timeout: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
    hasInput: Type.Boolean(),
    input: Type.Optional(Type.Object({}, { additionalProperties: true })),
    output: Type.Optional(Type.Object({}, { additionalProperties: true })),
  },
  strict,
)

/** Function as the child describes it. Schemas are those that the server validates itself. */
export type FunctionDescription = Omit<Static<typeof FunctionDescription>, 'method' | 'access'> & {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly access: 'anonymous' | 'user' | 'admin'
}

const Loaded = Type.Object({ type: text, functions: Type.Array(FunctionDescription) }, strict)
const Failed = Type.Object({ type: text, problems: Type.Array(text) }, strict)
const DataRequest = Type.Object(
  {
    type: text,
    call,
    id,
    method: text,
    path: text,
    query: text,
    body: Type.Optional(text),
    ifMatch: Type.Optional(text),
  },
  strict,
)
const SqlRequest = Type.Object(
  {
    type: text,
    call,
    id,
    text,
    values: Type.Array(Type.Union([text, Type.Null()]), { maxItems: 65_535 }),
  },
  strict,
)
const LogLine = Type.Object(
  {
    type: text,
    call: Type.Optional(call),
    level: Type.Enum(['debug', 'info', 'warn', 'error']),
    message: text,
    fields: Type.Optional(Type.Object({}, { additionalProperties: true })),
  },
  strict,
)
const Result = Type.Object({ type: text, call, value: Type.Optional(text) }, strict)
const Failure = Type.Object(
  {
    type: text,
    call,
    kind: Type.Enum(['refused', 'input', 'failed']),
    message: text,
    status: Type.Optional(Type.Integer({ minimum: 400, maximum: 499 })),
    error: Type.Optional(Type.String({ pattern: '^[a-z][a-z0-9_]{0,63}$' })),
    data: Type.Optional(Type.Object({}, { additionalProperties: true })),
    stack: Type.Optional(text),
  },
  strict,
)
const Pong = Type.Object({ type: text }, strict)

type Typed<Name extends string, Schema extends TSchema> = Omit<Static<Schema>, 'type'> & {
  readonly type: Name
}

export type DataRequest = Typed<'request', typeof DataRequest>
export type SqlRequest = Typed<'sql', typeof SqlRequest>
export type LogLine = Omit<Typed<'log', typeof LogLine>, 'level'> & {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
}
export type FailureMessage = Omit<Typed<'failure', typeof Failure>, 'kind'> & {
  readonly kind: 'refused' | 'input' | 'failed'
}
export type ResultMessage = Typed<'result', typeof Result>

export type FromChild =
  | { readonly type: 'loaded'; readonly functions: readonly FunctionDescription[] }
  | Typed<'unloadable', typeof Failed>
  | DataRequest
  | SqlRequest
  | LogLine
  | ResultMessage
  | FailureMessage
  | Typed<'pong', typeof Pong>

const schemas: Readonly<Record<FromChild['type'], TSchema>> = {
  loaded: Loaded,
  unloadable: Failed,
  request: DataRequest,
  sql: SqlRequest,
  log: LogLine,
  result: Result,
  failure: Failure,
  pong: Pong,
}

const compiled = new Map<string, ReturnType<typeof Compile>>()

/** Returns a message of the child. @throws Error if it is unknown or malformed */
export function readMessage(value: unknown): FromChild {
  const type = isObject(value) && typeof value.type === 'string' ? value.type : ''
  if (!Object.hasOwn(schemas, type)) throw new Error(`unknown message ${JSON.stringify(type.slice(0, 40))}`)
  let schema = compiled.get(type)
  if (schema === undefined) {
    schema = Compile(schemas[type as FromChild['type']])
    compiled.set(type, schema)
  }
  if (!schema.Check(value)) throw new Error(`malformed message ${JSON.stringify(type)}`)
  // The schema of its type has accepted it.
  return value as unknown as FromChild
}

/** Call as the child gets it. */
export interface CallMessage {
  readonly type: 'call'
  readonly call: string
  readonly name: string
  readonly user: object | undefined
  readonly claims: object
  readonly request: object
  readonly params: Readonly<Record<string, string>>
  readonly input: unknown
}

/** Reply to a request of the child. */
export type ReplyMessage =
  | {
      readonly type: 'reply'
      readonly id: number
      readonly status: number
      readonly body: string
      readonly etag?: string | undefined
    }
  | { readonly type: 'rows'; readonly id: number; readonly rows: string; readonly count: number }

export type ToChild =
  | { readonly type: 'load'; readonly folder: string }
  | { readonly type: 'secrets'; readonly values: Readonly<Record<string, string>> }
  | CallMessage
  | ReplyMessage
  | { readonly type: 'abort'; readonly call: string }
  | { readonly type: 'ping' }
