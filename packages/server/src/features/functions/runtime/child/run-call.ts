import type { Bridges } from './bridges.ts'
import { isStandard, type LoadedFunction } from './load.ts'
import type { CallMessage, ResultMessage } from './wire.ts'

type WriteLog = (level: 'debug' | 'info' | 'warn' | 'error', message: string, fields?: object) => void

/** Parts of the process that a call uses. */
export interface CallTools {
  readonly secrets: Readonly<Record<string, string>>
  readonly bridges: Bridges
  readonly signal: AbortSignal
  readonly log: WriteLog
}

/** Error of an input that a schema rejects. */
class InvalidInput extends Error {}

/** Runs a function. It never rejects. */
export async function runCall(
  found: LoadedFunction | undefined,
  { call, user, claims, request, params, input }: CallMessage,
  { secrets, bridges, signal, log }: CallTools,
): Promise<ResultMessage> {
  try {
    if (found === undefined) throw new Error('the function is not loaded')
    const { definition } = found
    let database: object | undefined
    const write = (level: Parameters<WriteLog>[0]) => (message: unknown, fields?: unknown) =>
      log(level, String(message), fields === undefined ? undefined : plainObject(fields))
    const context = {
      user,
      claims,
      request,
      params,
      secrets,
      signal,
      log: { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') },
      get db() {
        database ??= definition.openDatabase(bridges.open(call))
        return database
      },
    }
    const given = definition.input === undefined ? undefined : await readInput(definition.input, input)
    const result = await definition.handler(context, given)
    const value = JSON.stringify(await readOutput(definition.output, result)) as string | undefined
    return { type: 'result', call, ...(value === undefined ? {} : { value }) }
  } catch (error) {
    return { type: 'failure', call, ...describeError(error) }
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

async function readInput(schema: object, input: unknown): Promise<unknown> {
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
function describeError(thrown: unknown): Failure {
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
