import { keyClause, referencesClause } from './columns.ts'
import type { ChangeOf } from './schema.ts'
import { cascadeClause, expression, name, names, qualified } from './text.ts'

export function addPrimaryKey(change: ChangeOf<'add_primary_key'>): string[] {
  return [`alter table ${qualified(change)} add ${keyClause(change.columns)}`]
}

export function addUnique(change: ChangeOf<'add_unique'>): string[] {
  return [`${addTo(change)} unique (${names(change.columns)})`]
}

export function addCheck(change: ChangeOf<'add_check'>): string[] {
  const check = expression(change.check, 'change.check')
  return [`${addTo(change)} check (${check})${validity(change.isValidated)}`]
}

export function addForeignKey(change: ChangeOf<'add_foreign_key'>): string[] {
  const columns = names(change.columns)
  return [
    `${addTo(change)} foreign key (${columns}) ${referencesClause(change.references)}${validity(change.isValidated)}`,
  ]
}

export function validateConstraint(change: ChangeOf<'validate_constraint'>): string[] {
  return [`alter table ${qualified(change)} validate constraint ${name(change.constraint)}`]
}

export function renameConstraint(change: ChangeOf<'rename_constraint'>): string[] {
  const [from, to] = [name(change.constraint), name(change.to)]
  return [`alter table ${qualified(change)} rename constraint ${from} to ${to}`]
}

export function dropConstraint(change: ChangeOf<'drop_constraint'>): string[] {
  const { constraint, cascade } = change
  return [`alter table ${qualified(change)} drop constraint ${name(constraint)}${cascadeClause(cascade)}`]
}

function addTo(change: ChangeOf<'add_unique' | 'add_check' | 'add_foreign_key'>): string {
  const named = change.constraint === undefined ? '' : ` constraint ${name(change.constraint)}`
  return `alter table ${qualified(change)} add${named}`
}

/**
 * Compiles the validity clause. `validate constraint` checks existing rows later, while others read and write.
 */
function validity(isValidated: boolean | undefined): string {
  return isValidated === false ? ' not valid' : ''
}
