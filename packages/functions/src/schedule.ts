import type { JobContext } from './context.ts'
import { createDatabase } from './database.ts'
import { definitionKey, type FunctionDefinition } from './definition.ts'
import { type AttemptOptions, requireAttempts } from './job.ts'

export interface ScheduleOptions extends AttemptOptions {
  /** IANA time zone, such as `Europe/Berlin`. Default: UTC. */
  readonly timezone?: string | undefined
}

/**
 * Defines work by the clock. Each run is a job, which happens once over all nodes, and again after a failure.
 *
 * @param expression minute, hour, day of the month, month and weekday, such as `0 3 * * mon-fri`
 * @throws TypeError if an argument is invalid
 */
export function schedule(
  expression: string,
  ...rest:
    | [handler: (context: JobContext) => unknown | Promise<unknown>]
    | [options: ScheduleOptions, handler: (context: JobContext) => unknown | Promise<unknown>]
): FunctionDefinition {
  const [options, handler] = rest.length === 1 ? [{}, rest[0]] : rest
  if (typeof expression !== 'string') throw new TypeError('expected a cron expression')
  if (typeof handler !== 'function') throw new TypeError('expected a function')
  const { timezone = 'UTC', retries, timeout }: ScheduleOptions = options
  if (typeof timezone !== 'string') throw new TypeError('timezone must be the name of a time zone')
  requireAttempts(options)
  return {
    [definitionKey]: {
      version: 1,
      kind: 'schedule',
      expression,
      timezone,
      retries,
      timeout,
      handler,
      openDatabase: createDatabase,
    },
  }
}
