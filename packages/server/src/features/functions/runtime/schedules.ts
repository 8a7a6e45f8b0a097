import { type FunctionSchedule, functionPrefix } from '../../events/schedules/index.ts'
import type { FunctionDescription, JobDescription, ScheduleDescription } from './messages.ts'

const defaultRetries = 4

/** Returns the number of attempts of a job. */
export function attemptsOf(retries = defaultRetries): number {
  return retries + 1
}

/** Returns true for the type of the jobs of a schedule. No other type has such a name. */
export function isOfSchedule(type: string): boolean {
  return type.startsWith(functionPrefix)
}

/** Returns the job that a function defines: a job, or the runs of a schedule. */
export function jobOf(description: FunctionDescription): readonly JobDescription[] {
  if (description.kind === 'job') return [description]
  if (description.kind !== 'schedule') return []
  const { name, file, retries, timeout } = description
  return [
    {
      ...{ kind: 'job', name, file, job: functionPrefix + name, hasInput: false },
      ...(retries === undefined ? {} : { retries }),
      ...(timeout === undefined ? {} : { timeout }),
    },
  ]
}

/** Returns the rows of the schedules. */
export function rowsOf(schedules: readonly ScheduleDescription[]): readonly FunctionSchedule[] {
  return schedules.map(({ name, expression: cronExpr, timezone, retries }) => ({
    ...{ name: functionPrefix + name, jobType: functionPrefix + name, cronExpr, timezone },
    maxAttempts: attemptsOf(retries),
  }))
}
