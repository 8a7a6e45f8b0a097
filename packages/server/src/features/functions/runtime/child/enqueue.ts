import { definitionOf } from './load.ts'
import type { NewJob } from './wire.ts'

interface Options {
  readonly key?: unknown
  readonly at?: unknown
}

/** Returns `ctx.enqueue` of a call. @param add sends the job */
export function createEnqueue(add: (job: NewJob) => Promise<string>) {
  return async (job: unknown, payload?: unknown, { key, at }: Options = {}): Promise<string> => {
    const definition = definitionOf(job)
    const name = definition?.kind === 'job' ? definition.job : job
    if (typeof name !== 'string') throw new TypeError('expected the name of a job, or what job(…) returns')
    if (key !== undefined && typeof key !== 'string') throw new TypeError('key: expected a text')
    const time = at === undefined ? undefined : new Date(at as Date | string).getTime()
    if (Number.isNaN(time)) throw new TypeError('at: expected a time')
    return await add({
      job: name,
      payload: JSON.stringify(payload ?? {}) ?? 'null',
      ...(key === undefined ? {} : { key }),
      ...(time === undefined ? {} : { at: time }),
    })
  }
}
