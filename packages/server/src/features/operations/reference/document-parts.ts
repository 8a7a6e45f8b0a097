import type { JsonSchema } from './column-schema.ts'

/** Parts of an OpenAPI document that this feature reads. */

/** Name and value of an object that is built from entries. */
export type Entry = readonly [name: string, value: object]

export type Content = Readonly<Record<string, { readonly schema: object }>>

export interface Parameter {
  readonly $ref?: string
  readonly name?: string
  readonly in?: string
}

export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags?: readonly string[]
  readonly security?: readonly object[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly required?: boolean; readonly content: Content }
  readonly responses: Readonly<Record<string, object>>
}

/** Document of the static routes, as OpenAPI 3.1. */
export interface StaticDocument {
  readonly info: { readonly description?: string }
  readonly tags: readonly object[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>
    readonly parameters: Readonly<Record<string, Parameter>>
  }
}

export function json(schema: object): Content {
  return { 'application/json': { schema } }
}

export function reference(name: string): object {
  return { $ref: `#/components/schemas/${name}` }
}

/** Returns a member of an object, or none for undefined and an empty list. */
export function optional(name: string, value: string | readonly string[] | undefined): object {
  return value === undefined || value.length === 0 ? {} : { [name]: value }
}
