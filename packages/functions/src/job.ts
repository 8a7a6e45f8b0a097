import type { JobContext } from './context.ts'
import { createDatabase } from './database.ts'
import { definitionKey, type FunctionDefinition } from './definition.ts'
import type { JobFunction, PayloadOf } from './enqueue.ts'
import type { Schema, ValueOf } from './schema.ts'

/** Options of everything that is attempted again after a failure. */
export interface AttemptOptions {
  /** Number of attempts after the first one, at most 99. Default: 4. */
  readonly retries?: number | undefined
  /** Time limit of an attempt in seconds, at most 3600. Default: 60. */
  readonly timeout?: number | undefined
}

export interface JobOptions<Input extends Schema | undefined> extends AttemptOptions {
  /** Schema of the payload. Without it the function gets no payload. */
  readonly input?: Input
  /** Maximum number of its jobs in flight on a node. Default: `jobs.concurrency`, which is the limit. */
  readonly concurrency?: number | undefined
}

/**
 * Defines the work of a type of job. It may run again after a crash, so its effects must be safe to repeat.
 *
 * @param name type of the jobs, as in `basalt.enqueue('resize', …)`
 * @throws TypeError if an argument is invalid
 */
export function job<const Input extends Schema | undefined = undefined>(
  name: string,
  options: JobOptions<Input>,
  handler: (
    context: JobContext,
    payload: Input extends Schema ? ValueOf<Input> : undefined,
  ) => unknown | Promise<unknown>,
): JobFunction<PayloadOf<Input>> {
  if (typeof name !== 'string' || !/^[a-z][a-z0-9_]{0,62}$/.test(name))
    throw new TypeError(`${JSON.stringify(name)}: expected a name of small letters, digits and _`)
  if (typeof handler !== 'function') throw new TypeError('expected a function')
  const { input, retries, timeout, concurrency } = options
  requireAttempts(options)
  requireInteger('concurrency', concurrency, 1, 1000)
  const definition: FunctionDefinition = {
    [definitionKey]: {
      version: 1,
      kind: 'job',
      job: name,
      input,
      retries,
      timeout,
      concurrency,
      // The server passes the validated payload.
      handler: handler as (context: JobContext, payload: never) => unknown,
      openDatabase: createDatabase,
    },
  }
  // The payload is a member of the type only.
  return definition as JobFunction<PayloadOf<Input>>
}

/** @throws TypeError if an option is invalid */
export function requireAttempts({ retries, timeout }: AttemptOptions): void {
  requireInteger('retries', retries, 0, 99)
  requireInteger('timeout', timeout, 1, 3600)
}

function requireInteger(name: string, value: number | undefined, least: number, most: number): void {
  if (value !== undefined && !(Number.isInteger(value) && value >= least && value <= most))
    throw new TypeError(`${name} must be an integer from ${least} to ${most}`)
}
