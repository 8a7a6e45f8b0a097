import { splitStatements } from '../../../lib/sql-statements.ts'
import { structureErrors } from '../errors.ts'
import type { ChangeOf } from './schema.ts'
import { cascadeClause, name, qualified } from './text.ts'

export function dropTrigger(change: ChangeOf<'drop_trigger'>): string[] {
  return [`drop trigger ${name(change.trigger)} on ${qualified(change)}`]
}

export function setTrigger(change: ChangeOf<'set_trigger'>): string[] {
  const action = change.isEnabled ? 'enable' : 'disable'
  return [`alter table ${qualified(change)} ${action} trigger ${name(change.trigger)}`]
}

/**
 * Compiles the removal of a function. The arguments distinguish functions of one name, as
 * `pg_get_function_identity_arguments` prints them.
 */
export function dropFunction(change: ChangeOf<'drop_function'>): string[] {
  const { arguments: list, functionKind = 'function', cascade } = change
  const statement = `drop ${functionKind} ${qualified(change)}(${list})${cascadeClause(cascade)}`
  if (splitStatements(statement).length === 1) return [statement]
  throw structureErrors.invalidStructureChange('change.arguments', 'expected the types of the arguments')
}
