import type { Static, TSchema } from 'typebox'

/** Schema of a library that implements Standard Schema (https://standardschema.dev), such as Zod or Valibot. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
  }
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** Schema of an input or output: one of TypeBox, a plain JSON Schema, or a Standard Schema. */
export type Schema = StandardSchema | TSchema

/** Type of the values that a schema accepts; `unknown` for a plain JSON Schema and without a schema. */
export type ValueOf<S> =
  S extends StandardSchema<infer Output>
    ? Output
    : S extends { readonly '~kind': string }
      ? S extends TSchema
        ? Static<S>
        : unknown
      : unknown
