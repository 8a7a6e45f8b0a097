import { Compile } from 'typebox/schema'
import { isObject } from '../../../lib/json.ts'
import { type Static, type TSchema, Type } from '../../../lib/type.ts'
import type { RecordChange } from '../../data/collections/index.ts'
import { storageActions } from '../../files/storage/index.ts'
import { type SingleKind, singleKinds } from './single-kinds.ts'

/** Messages of the child to the server. Code that runs in the child may have forged them. */

const text = Type.String()
/** Number that the child gives a request, for its reply. */
const id = Type.Integer({ minimum: 0 })
/** Token of a call. */
const call = Type.String({ maxLength: 64 })
const strict = { additionalProperties: false }

const name = Type.String({ pattern: '^[A-Za-z0-9_.-]{1,100}$' })
/** True if the function may act as the administrator. */
const admin = Type.Optional(Type.Boolean())
/** Reason why a statement is made as the administrator. */
const reason = Type.Optional(Type.String({ minLength: 1, maxLength: 200 }))
const timeout = Type.Optional(Type.Number({ exclusiveMinimum: 0 }))

const RouteDescription = Type.Object(
  {
    kind: Type.Literal('route'),
    name,
    file: text,
    method: Type.Enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
    path: Type.String({ pattern: '^/.', maxLength: 500 }),
    access: Type.Enum(['anonymous', 'user', 'admin']),
    admin,
    timeout,
    hasInput: Type.Boolean(),
    hasOutput: Type.Boolean(),
    input: Type.Optional(Type.Object({}, { additionalProperties: true })),
    output: Type.Optional(Type.Object({}, { additionalProperties: true })),
    /** Schemas for documents, of a library by which the child validates. */
    documentedInput: Type.Optional(Type.Object({}, { additionalProperties: true })),
    documentedOutput: Type.Optional(Type.Object({}, { additionalProperties: true })),
  },
  strict,
)

const BeforeDescription = Type.Object(
  {
    kind: Type.Literal('before'),
    name,
    file: text,
    table: Type.String({ minLength: 1, maxLength: 200 }),
    operations: Type.Array(Type.Enum(['create', 'update', 'delete']), { minItems: 1, maxItems: 3 }),
    previous: Type.Boolean(),
    timeout,
  },
  strict,
)

const JobDescription = Type.Object(
  {
    kind: Type.Literal('job'),
    name,
    file: text,
    job: Type.String({ pattern: '^[a-z][a-z0-9_]{0,62}$' }),
    retries: Type.Optional(Type.Integer({ minimum: 0, maximum: 99 })),
    timeout: Type.Optional(Type.Integer({ minimum: 1, maximum: 3600 })),
    concurrency: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
    hasInput: Type.Boolean(),
    input: Type.Optional(Type.Object({}, { additionalProperties: true })),
  },
  strict,
)

const ScheduleDescription = Type.Object(
  {
    kind: Type.Literal('schedule'),
    name,
    file: text,
    expression: Type.String({ maxLength: 256 }),
    timezone: Type.String({ maxLength: 100 }),
    retries: Type.Optional(Type.Integer({ minimum: 0, maximum: 99 })),
    timeout: Type.Optional(Type.Integer({ minimum: 1, maximum: 3600 })),
  },
  strict,
)

const AfterDescription = Type.Object(
  {
    kind: Type.Literal('after'),
    name,
    file: text,
    table: Type.String({ minLength: 1, maxLength: 200 }),
    operations: Type.Array(Type.Enum(['create', 'update', 'delete']), { minItems: 1, maxItems: 3 }),
    retries: Type.Optional(Type.Integer({ minimum: 0, maximum: 99 })),
    timeout: Type.Optional(Type.Integer({ minimum: 1, maximum: 3600 })),
  },
  strict,
)

/** Function for changes as the child describes it. */
export type AfterDescription = Omit<Static<typeof AfterDescription>, 'operations'> & {
  readonly operations: BeforeDescription['operations']
}

/** Schedule as the child describes it. */
export type ScheduleDescription = Static<typeof ScheduleDescription>

const InboundDescription = Type.Object(
  {
    kind: Type.Literal('inbound'),
    name,
    file: text,
    inbound: Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,62}$' }),
    as: Type.Enum(['anonymous', 'admin']),
    tolerance: Type.Integer({ minimum: 1, maximum: 86_400 }),
    admin,
    timeout,
  },
  strict,
)

/** Receiver of messages as the child describes it. */
export type InboundDescription = Omit<Static<typeof InboundDescription>, 'as'> & {
  readonly as: 'anonymous' | 'admin'
}

const SingleDescription = Type.Object(
  { kind: Type.Enum([...singleKinds]), name, file: text, timeout },
  strict,
)

/** Function of which there is one, as the child describes it. */
export type SingleDescription = Omit<Static<typeof SingleDescription>, 'kind'> & { readonly kind: SingleKind }

/** Job as the child describes it. */
export type JobDescription = Static<typeof JobDescription>

/** Route as the child describes it. Schemas are those that the server validates itself. */
export type RouteDescription = Omit<Static<typeof RouteDescription>, 'method' | 'access'> & {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly access: 'anonymous' | 'user' | 'admin'
}

/** Hook as the child describes it. */
export type BeforeDescription = Omit<Static<typeof BeforeDescription>, 'operations'> & {
  readonly operations: readonly ('create' | 'update' | 'delete')[]
}

/** Function as the child describes it. */
export type FunctionDescription =
  | RouteDescription
  | BeforeDescription
  | AfterDescription
  | JobDescription
  | ScheduleDescription
  | InboundDescription
  | SingleDescription

const Loaded = Type.Object(
  {
    type: text,
    functions: Type.Array(
      Type.Union([
        RouteDescription,
        BeforeDescription,
        AfterDescription,
        JobDescription,
        ScheduleDescription,
        InboundDescription,
        SingleDescription,
      ]),
    ),
  },
  strict,
)
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
    reason,
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
    reason,
  },
  strict,
)
const TargetRequest = Type.Object({ type: text, call, id, host: Type.String({ maxLength: 300 }) }, strict)
const SendRequest = Type.Object(
  { type: text, call, id, kind: Type.Enum(['mail', 'push', 'broadcast']), body: text },
  strict,
)
const StorageMessage = Type.Object(
  {
    type: text,
    call,
    id,
    action: Type.Enum([...storageActions]),
    bucket: text,
    /** Name of the object; empty for a list. */
    name: text,
    /** JSON. */
    options: text,
    /** Bytes of an upload as base64. */
    content: Type.Optional(text),
    reason,
  },
  strict,
)
const EnqueueRequest = Type.Object(
  {
    type: text,
    call,
    id,
    job: text,
    payload: text,
    key: Type.Optional(text),
    /** Time of the first attempt in milliseconds. */
    at: Type.Optional(Type.Number()),
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
const Head = Type.Object(
  {
    type: text,
    call,
    status: Type.Integer(),
    /** Names and values. */
    headers: Type.Array(Type.Array(text, { minItems: 2, maxItems: 2 })),
    hasBody: Type.Boolean(),
  },
  strict,
)
/** Bytes of a body as base64. */
const Chunk = Type.Object({ type: text, call, bytes: text }, strict)
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
const End = Type.Object(
  {
    type: text,
    call,
    failure: Type.Optional(Type.Object({ message: text, stack: Type.Optional(text) }, strict)),
  },
  strict,
)
const Verified = Type.Object(
  { id: Type.String({ minLength: 1, maxLength: 255, pattern: '^[^\\u0000]*$' }), time: Type.Number() },
  strict,
)

/** Id of a verified message, and the time in seconds at which it was sent. */
export type Verified = Static<typeof Verified>

/** Result of a hook for each change, in order. */
const HookOutcomes = Type.Array(
  Type.Object(
    {
      values: Type.Optional(text),
      refusal: Type.Optional(
        Type.Object(
          {
            kind: Type.Literal('refused'),
            message: text,
            status: Type.Integer({ minimum: 400, maximum: 499 }),
            error: Type.Optional(Type.String({ pattern: '^[a-z][a-z0-9_]{0,63}$' })),
            data: Type.Optional(Type.Object({}, { additionalProperties: true })),
            stack: Type.Optional(text),
          },
          strict,
        ),
      ),
    },
    strict,
  ),
)

/** Result of a hook for one change, as the child sends it. */
export type HookOutcome = Omit<Static<typeof HookOutcomes>[number], 'refusal'> & {
  readonly refusal?: Omit<FailureMessage, 'type' | 'call'> | undefined
}

const Pong = Type.Object({ type: text }, strict)

type Typed<Name extends string, Schema extends TSchema> = Omit<Static<Schema>, 'type'> & {
  readonly type: Name
}

export type DataRequest = Typed<'request', typeof DataRequest>
export type SqlRequest = Typed<'sql', typeof SqlRequest>
export type TargetRequest = Typed<'target', typeof TargetRequest>
export type SendRequest = Omit<Typed<'send', typeof SendRequest>, 'kind'> & {
  readonly kind: 'mail' | 'push' | 'broadcast'
}
export type StorageMessage = Omit<Typed<'storage', typeof StorageMessage>, 'action'> & {
  readonly action: (typeof storageActions)[number]
}
export type EnqueueRequest = Typed<'enqueue', typeof EnqueueRequest>
export type LogLine = Omit<Typed<'log', typeof LogLine>, 'level'> & {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
}
export type FailureMessage = Omit<Typed<'failure', typeof Failure>, 'kind'> & {
  readonly kind: 'refused' | 'input' | 'failed'
}
export type ResultMessage = Typed<'result', typeof Result>
/** Head of a response with a body of its own, which follows in chunks. */
export type HeadMessage = Omit<Typed<'head', typeof Head>, 'headers'> & {
  readonly headers: readonly (readonly [name: string, value: string])[]
}
export type ChunkMessage = Typed<'chunk', typeof Chunk>
/** End of a body. */
export type EndMessage = Typed<'end', typeof End>

export type FromChild =
  | { readonly type: 'loaded'; readonly functions: readonly FunctionDescription[] }
  | Typed<'unloadable', typeof Failed>
  | DataRequest
  | SqlRequest
  | TargetRequest
  | EnqueueRequest
  | SendRequest
  | StorageMessage
  | LogLine
  | ResultMessage
  | HeadMessage
  | ChunkMessage
  | EndMessage
  | FailureMessage
  | Typed<'pong', typeof Pong>

const schemas: Readonly<Record<FromChild['type'], TSchema>> = {
  loaded: Loaded,
  unloadable: Failed,
  request: DataRequest,
  sql: SqlRequest,
  target: TargetRequest,
  enqueue: EnqueueRequest,
  send: SendRequest,
  storage: StorageMessage,
  log: LogLine,
  result: Result,
  head: Head,
  chunk: Chunk,
  end: End,
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

/** Returns the outcomes of a hook. @throws Error if they are malformed, or not one for each change */
export function readHookOutcomes(
  json: string | undefined,
  changes: number,
  isCollecting: boolean,
): readonly HookOutcome[] {
  let schema = compiled.get('outcomes')
  if (schema === undefined) {
    schema = Compile(HookOutcomes)
    compiled.set('outcomes', schema)
  }
  const value: unknown = JSON.parse(json ?? 'null')
  if (!schema.Check(value)) throw new Error('malformed outcomes of a hook')
  // The schema has accepted them.
  const outcomes = value as unknown as readonly HookOutcome[]
  // A change without an outcome would be written without the hook.
  const isRefused = !isCollecting && outcomes.at(-1)?.refusal !== undefined
  if (outcomes.length > changes || (outcomes.length < changes && !isRefused)) {
    throw new Error(`a hook has ${outcomes.length} outcomes for ${changes} changes`)
  }
  return outcomes
}

/** Returns the result of a verification; undefined for a refusal. @throws Error if it is malformed */
export function readVerified(json: string | undefined): Verified | undefined {
  if (json === undefined) return undefined
  let schema = compiled.get('verified')
  if (schema === undefined) {
    schema = Compile(Verified)
    compiled.set('verified', schema)
  }
  const value: unknown = JSON.parse(json)
  if (!schema.Check(value))
    throw new Error('a verification returns an id of at most 255 characters, and a time')
  return value as unknown as Verified
}

/** Call of a hook as the child gets it. */
export interface HookMessage {
  readonly type: 'changes'
  readonly call: string
  readonly name: string
  readonly user: object | undefined
  readonly claims: object
  readonly request: object
  readonly changes: readonly RecordChange[]
  /** True if the hook is called for the other changes after a refusal. */
  readonly isCollecting: boolean
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

/** Message of another service as it arrived. The body is base64. */
export interface ArrivedMessage {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Verification of a message, as the child gets it. */
export interface VerifyMessage {
  readonly type: 'verify'
  readonly call: string
  readonly name: string
  readonly arrived: ArrivedMessage
}

/** Verified message, as the child gets it. */
export interface InboundMessage {
  readonly type: 'inbound'
  readonly call: string
  readonly name: string
  readonly claims: object
  readonly request: object
  readonly arrived: ArrivedMessage
  readonly verified: Verified
}

/** Call of a function of which there is one, as the child gets it. */
export interface SingleMessage {
  readonly type: 'single'
  readonly call: string
  readonly name: string
  readonly claims: object
  readonly request: object
  readonly value: object
}

/** Attempt of a job as the child gets it. */
export interface JobMessage {
  readonly type: 'job'
  readonly call: string
  readonly name: string
  readonly user: object | undefined
  readonly claims: object
  readonly job: { readonly id: string }
  readonly attempt: number
  readonly payload: unknown
}

/** Call for a committed change as the child gets it. */
export interface AfterMessage {
  readonly type: 'after'
  readonly call: string
  readonly name: string
  readonly user: object | undefined
  readonly claims: object
  readonly event: { readonly id: string }
  readonly attempt: number
  /** JSON with the action, the record and the old record. */
  readonly body: string
}

/** Reply to a request of the child. */
export type ReplyMessage =
  | {
      readonly type: 'reply'
      readonly id: number
      readonly status: number
      readonly body: string
      readonly etag?: string | undefined
      /** Bytes of a download as base64. */
      readonly content?: string | undefined
    }
  | { readonly type: 'rows'; readonly id: number; readonly rows: string; readonly count: number }
  | {
      readonly type: 'addresses'
      readonly id: number
      readonly addresses: readonly { readonly address: string; readonly family: number }[]
      /** Reason why there are none. */
      readonly error?: string | undefined
      /** Server of a test that receives the request instead. */
      readonly stub?: FetchStub | undefined
    }

/** HTTP server on a loopback port that stands for all services in a test. */
export interface FetchStub {
  readonly port: number
  /** Key of the test's function that serves the request. */
  readonly key: string
}

export type ToChild =
  | { readonly type: 'load'; readonly folder: string }
  | { readonly type: 'secrets'; readonly values: Readonly<Record<string, string>> }
  | CallMessage
  | HookMessage
  | JobMessage
  | AfterMessage
  | VerifyMessage
  | InboundMessage
  | SingleMessage
  | ReplyMessage
  /** Grants bytes of the body of a response. The first one follows the commit. */
  | { readonly type: 'grant'; readonly call: string; readonly bytes: number }
  | { readonly type: 'abort'; readonly call: string }
  | { readonly type: 'ping' }
