import type { FunctionDefinition } from './definition.ts'
import type { Schema, StandardSchema, ValueOf } from './schema.ts'

/** Member that only exists in the type: the payload of a job. */
declare const payload: unique symbol

/** Function that is no job. */
export interface NoJob {
  readonly [payload]?: never
}

/** Job of the project, as an export of a file. */
export interface JobFunction<Payload = unknown> extends FunctionDefinition {
  readonly [payload]: (value: Payload) => void
}

/** Payload that `ctx.enqueue` accepts: the value that the schema of the job reads. */
export type PayloadOf<Input extends Schema | undefined> = Input extends {
  readonly '~standard': { readonly types?: { readonly input: infer Given } | undefined }
}
  ? Given
  : Input extends StandardSchema
    ? unknown
    : Input extends Schema
      ? ValueOf<Input>
      : undefined

export interface EnqueueOptions {
  /** Key of at most 200 characters. While a job with it waits for its first attempt, that one gets the payload and the time instead. */
  readonly key?: string | undefined
  /** Earliest time of the first attempt. Default: at once. */
  readonly at?: Date | string | undefined
}

/** Parameters after the job. A job without a payload needs none. */
type Parameters<Payload> = undefined extends Payload
  ? [payload?: Payload, options?: EnqueueOptions]
  : [payload: Payload, options?: EnqueueOptions]

export interface Enqueue {
  /**
   * Adds a job that `job(…)` has defined.
   *
   * @returns the id of the job
   * @throws BasaltError `invalid_enqueue` if the payload does not match the schema
   */
  <Payload>(job: JobFunction<Payload>, ...rest: Parameters<Payload>): Promise<string>
  /** Adds a job by its name, such as one that imports the file of the caller. */
  (job: string, payload?: object, options?: EnqueueOptions): Promise<string>
}
