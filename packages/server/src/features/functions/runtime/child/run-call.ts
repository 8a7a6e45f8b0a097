import type { Bridges, CallBridge } from './bridges.ts'
import { createEnqueue } from './enqueue.ts'
import { createFetch } from './fetch.ts'
import { isStandard, type LoadedFunction, type RouteDefinition } from './load.ts'
import { createStorage } from './storage.ts'
import { type BodyStreams, responseOf } from './streams.ts'
import type { CallMessage, ResultMessage } from './wire.ts'

type WriteLog = (level: 'debug' | 'info' | 'warn' | 'error', message: string, fields?: object) => void

/** Parts of the process that a call uses. */
export interface CallTools {
  readonly secrets: Readonly<Record<string, string>>
  readonly bridges: Bridges
  readonly streams: BodyStreams
  readonly signal: AbortSignal
  readonly log: WriteLog
}

/** Error of an input that a schema rejects. */
class InvalidInput extends Error {}

/** Runs a route. It never rejects. */
export async function runCall(
  found: LoadedFunction | undefined,
  { call, user, claims, request, params, input }: CallMessage,
  tools: CallTools,
): Promise<ResultMessage> {
  try {
    const definition = found?.definition
    if (definition?.kind !== 'route') throw new Error('the function is not loaded')
    const bridge = tools.bridges.open(call)
    const openDatabase = () => definition.openDatabase(bridge)
    const asAdmin = createAsAdmin(definition, call, tools)
    const context = createContext({ user, claims, request, params, asAdmin }, bridge, openDatabase, tools)
    const given = definition.input === undefined ? undefined : await readInput(definition.input, input)
    const result = await definition.handler(context, given)
    const response = responseOf(result)
    if (response !== undefined) {
      if (definition.output !== undefined)
        throw new Error('a route with a schema of its output returns neither a Response nor a stream')
      const { status, headers, body } = response
      if (body !== null) tools.streams.open(call, body)
      return { type: 'head', call, status, headers, hasBody: body !== null }
    }
    const value = JSON.stringify(await readOutput(definition.output, result)) as string | undefined
    return { type: 'result', call, ...(value === undefined ? {} : { value }) }
  } catch (error) {
    return { type: 'failure', call, ...describeError(error) }
  }
}

/** Creates the context of a function. @param members those that its kind has */
export function createContext(
  members: object,
  bridge: CallBridge,
  openDatabase: () => object,
  { secrets, signal, log }: CallTools,
): object {
  let database: object | undefined
  const write = (level: Parameters<WriteLog>[0]) => (message: unknown, fields?: unknown) =>
    log(level, String(message), fields === undefined ? undefined : plainObject(fields))
  return {
    ...members,
    secrets,
    signal,
    fetch: createFetch(bridge.addressesOf, signal),
    enqueue: createEnqueue(bridge.enqueue),
    storage: createStorage(bridge.storage),
    mail: (message: unknown) => bridge.send('mail', message),
    push: (message: unknown) => bridge.send('push', message),
    emit: (channel: unknown, event: unknown, payload: unknown = null) =>
      bridge.send('broadcast', { channel, event, payload }),
    log: { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') },
    get db() {
      database ??= openDatabase()
      return database
    },
  }
}

/** Maximum length of the reason of `ctx.asAdmin`. */
const reasonLimit = 200

/** Creates `ctx.asAdmin` of a call. The server refuses it for other functions, too. */
export function createAsAdmin(
  { admin, openDatabase }: Pick<RouteDefinition, 'admin' | 'openDatabase'>,
  call: string,
  { bridges }: Pick<CallTools, 'bridges'>,
) {
  return (reason: unknown): { readonly db: object; readonly storage: object } => {
    if (admin !== true) throw new Error('ctx.asAdmin: the function is not declared with admin: true')
    if (typeof reason !== 'string' || reason.trim() === '' || reason.length > reasonLimit)
      throw new TypeError(`ctx.asAdmin: expected a reason of 1 to ${reasonLimit} characters`)
    if (/\p{Cc}/u.test(reason) || !reason.isWellFormed())
      throw new TypeError('ctx.asAdmin: the reason has a control character')
    const bridge = bridges.open(call, reason)
    return { db: openDatabase(bridge), storage: createStorage(bridge.storage) }
  }
}

/**
 * Returns a value as an object of JSON, which the log and the response require. Another value becomes the member
 * `value`. What JSON cannot write, such as a cycle, becomes a text.
 */
function plainObject(value: unknown): object {
  let copy: unknown
  try {
    copy = JSON.parse(JSON.stringify(value) ?? 'null')
  } catch {
    copy = String(value)
  }
  return typeof copy === 'object' && copy !== null && !Array.isArray(copy) ? copy : { value: copy }
}

export async function readInput(schema: object, input: unknown): Promise<unknown> {
  if (!isStandard(schema)) return input
  const { value, issues } = await schema['~standard'].validate(input)
  const [issue] = issues ?? []
  if (issue !== undefined) throw new InvalidInput(describeIssue(issue))
  return value
}

async function readOutput(schema: object | undefined, result: unknown): Promise<unknown> {
  if (!isStandard(schema)) return result
  const { value, issues } = await schema['~standard'].validate(result)
  const [issue] = issues ?? []
  if (issue !== undefined) throw new Error(`the result is invalid: ${describeIssue(issue)}`)
  return value
}

function describeIssue({
  message,
  path = [],
}: {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[]
}): string {
  const names = path.map((part) => String(typeof part === 'object' ? part.key : part))
  return `${names.length === 0 ? 'input' : names.join('.')}: ${message}`
}

type Failure = Omit<Extract<ResultMessage, { readonly type: 'failure' }>, 'type' | 'call'>

/** Describes what a function has thrown. A status from 400 to 499 makes it the response. */
export function describeError(thrown: unknown): Failure {
  if (thrown instanceof InvalidInput) return { kind: 'input', message: thrown.message }
  if (!(thrown instanceof Error))
    return { kind: 'failed', message: `thrown: ${String(thrown).slice(0, 1000)}` }
  const { status, error, data } = thrown as { status?: unknown; error?: unknown; data?: unknown }
  const message = String(thrown.message)
  const stack = String(thrown.stack ?? message)
  if (typeof status !== 'number' || !Number.isInteger(status) || status < 400 || status > 499)
    return { kind: 'failed', message, stack }
  return {
    kind: 'refused',
    message,
    status,
    ...(typeof error === 'string' && /^[a-z][a-z0-9_]{0,63}$/.test(error) ? { error } : {}),
    ...(typeof data === 'object' && data !== null && !Array.isArray(data) ? { data: plainObject(data) } : {}),
  }
}
