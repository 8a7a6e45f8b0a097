import { structureErrors } from '../errors.ts'
import type { ChangeOf } from './schema.ts'
import { cascadeClause, literal, name, qualified } from './text.ts'

export function createEnum(change: ChangeOf<'create_enum'>): string[] {
  return [`create type ${qualified(change)} as enum (${change.values.map(literal).join(', ')})`]
}

export function addEnumValue({ value, before, after, ...change }: ChangeOf<'add_enum_value'>): string[] {
  if (before !== undefined && after !== undefined) {
    throw structureErrors.invalidStructureChange('change.after', 'expected one of before and after, not both')
  }
  const position =
    before === undefined
      ? after === undefined
        ? ''
        : ` after ${literal(after)}`
      : ` before ${literal(before)}`
  return [`alter type ${qualified(change)} add value ${literal(value)}${position}`]
}

export function renameEnumValue(change: ChangeOf<'rename_enum_value'>): string[] {
  return [`alter type ${qualified(change)} rename value ${literal(change.value)} to ${literal(change.to)}`]
}

export function renameType(change: ChangeOf<'rename_type'>): string[] {
  return [`alter type ${qualified(change)} rename to ${name(change.to)}`]
}

export function dropType(change: ChangeOf<'drop_type'>): string[] {
  return [`drop type ${qualified(change)}${cascadeClause(change.cascade)}`]
}
