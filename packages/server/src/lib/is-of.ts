import { type Schema, Validator } from '@cfworker/json-schema'
import type { Static, TSchema } from './type.ts'

/**
 * Returns true if a value matches a schema. It is for the start of every command, because TypeBox's own check
 * takes ten times as long to load. Text formats are not used.
 */
export function isOf<Of extends TSchema>(schema: Of, value: unknown): value is Static<Of> {
  return value !== undefined && new Validator(schema as Schema).validate(value).valid
}

/** Returns the name of the first member that does not match its schema. Missing members match. */
export function findMismatch(schemas: Readonly<Record<string, TSchema>>, value: object): string | undefined {
  const members = value as Readonly<Record<string, unknown>>
  return Object.entries(schemas).find(
    ([name, schema]) => members[name] !== undefined && !isOf(schema, members[name]),
  )?.[0]
}
