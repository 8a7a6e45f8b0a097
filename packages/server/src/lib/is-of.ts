import { type Schema, Validator } from '@cfworker/json-schema'
import type { Static, TSchema } from './type.ts'

/**
 * Whether a value is of a schema, for what every command does when it starts: the check of TypeBox takes a command ten times
 * as long to load. Text formats are not used.
 */
export function isOf<Of extends TSchema>(schema: Of, value: unknown): value is Static<Of> {
  return value !== undefined && new Validator(schema as Schema).validate(value).valid
}
