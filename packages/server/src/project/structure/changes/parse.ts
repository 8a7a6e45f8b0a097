import { Errors } from 'typebox/schema'
import { suggestion } from '../../../lib/suggestion.ts'
import { structureErrors } from '../errors.ts'
import { type Change, changeKinds, changeSchemas } from './schema.ts'

/** Parses a change. @throws AppError that names the member and the expected value */
export function parseChange(value: unknown): Change {
  const kind = typeof value === 'object' && value !== null && 'kind' in value ? value.kind : undefined
  const schema =
    typeof kind === 'string' && Object.hasOwn(changeSchemas, kind) ? changeSchemas[kind] : undefined
  if (schema === undefined) {
    const near = typeof kind === 'string' ? suggestion(kind, changeKinds) : ''
    throw refuse('change.kind', `expected one of ${changeKinds.join(', ')}${near}`)
  }
  const [, [problem]] = Errors(schema, value)
  if (problem !== undefined) {
    const member = `change${problem.instancePath.replaceAll('/', '.')}`
    const { requiredProperties, allowedValues } = problem.params as {
      readonly requiredProperties?: readonly string[]
      readonly allowedValues?: readonly unknown[]
    }
    if (requiredProperties !== undefined) throw refuse(`${member}.${requiredProperties[0]}`, 'is required')
    if (allowedValues !== undefined) throw refuse(member, `expected one of ${allowedValues.join(', ')}`)
    // This is TypeBox's message for a member that is not in the schema.
    throw refuse(
      member,
      problem.message === 'schema is false' ? 'is no member of this change' : problem.message,
    )
  }
  if (hasNul(value)) throw refuse('change', 'a text cannot have the character NUL')
  // The schema of its kind has just checked it.
  return value as Change
}

const refuse = structureErrors.invalidStructureChange

function hasNul(value: unknown): boolean {
  if (typeof value === 'string') return value.includes('\0')
  return typeof value === 'object' && value !== null && Object.values(value).some(hasNul)
}
