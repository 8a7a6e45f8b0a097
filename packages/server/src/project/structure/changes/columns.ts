import { structureErrors } from '../errors.ts'
import type { ChangeOf, ColumnInput, ReferencesInput } from './schema.ts'
import { cascadeClause, expression, literal, name, names, qualified } from './text.ts'

/**
 * Compiles the definition of a column.
 *
 * @param isKey whether the column is the whole primary key if it is part of it
 */
export function clauseOfColumn(column: ColumnInput, member: string, isKey: boolean): string {
  if (column.identity !== undefined && column.default !== undefined) {
    throw structureErrors.invalidStructureChange(`${member}.default`, 'an identity column has no default')
  }
  const isPrimaryKey = column.isPrimaryKey === true && isKey
  return [
    name(column.name),
    expression(column.type, `${member}.type`),
    ...(column.identity === undefined ? [] : [`generated ${column.identity} as identity`]),
    // A primary key implies it.
    ...(column.isNullable === false && column.isPrimaryKey !== true ? ['not null'] : []),
    ...(column.default === undefined ? [] : [`default ${expression(column.default, `${member}.default`)}`]),
    ...(isPrimaryKey ? ['primary key'] : []),
    ...(column.isUnique === true && !isPrimaryKey ? ['unique'] : []),
    ...(column.references === undefined ? [] : [referencesClause(column.references)]),
  ].join(' ')
}

export function keyClause(columns: readonly string[]): string {
  return `primary key (${names(columns)})`
}

export function referencesClause({ columns, onDelete, onUpdate, ...table }: ReferencesInput): string {
  return [
    `references ${qualified(table)} (${names(columns)})`,
    ...(onDelete === undefined || onDelete === 'no action' ? [] : [`on delete ${onDelete}`]),
    ...(onUpdate === undefined || onUpdate === 'no action' ? [] : [`on update ${onUpdate}`]),
  ].join(' ')
}

export function addColumn(change: ChangeOf<'add_column'>): string[] {
  const { column } = change
  const table = qualified(change)
  return [
    `alter table ${table} add column ${clauseOfColumn(column, 'change.column', true)}`,
    ...(column.comment === undefined || column.comment === ''
      ? []
      : [commentOn(table, column.name, column.comment)]),
  ]
}

/** Compiles one statement per property; the new name comes last. */
export function alterColumn(change: ChangeOf<'alter_column'>): string[] {
  const table = qualified(change)
  const alter = `alter table ${table} alter column ${name(change.column)}`
  const statements = [
    ...(change.type === undefined ? [] : [`${alter} type ${typeClause(change.type, change.using)}`]),
    ...(change.default === undefined ? [] : [`${alter} ${defaultClause(change.default)}`]),
    ...(change.isNullable === undefined
      ? []
      : [`${alter} ${change.isNullable ? 'drop not null' : 'set not null'}`]),
    ...(change.comment === undefined ? [] : [commentOn(table, change.column, change.comment)]),
    ...(change.to === undefined
      ? []
      : [`alter table ${table} rename column ${name(change.column)} to ${name(change.to)}`]),
  ]
  if (statements.length > 0) return statements
  throw structureErrors.invalidStructureChange(
    'change',
    'expected at least one of to, type, default, isNullable, comment',
  )
}

function typeClause(type: string, using: string | undefined): string {
  const conversion = using === undefined ? '' : ` using ${expression(using, 'change.using')}`
  return `${expression(type, 'change.type')}${conversion}`
}

function defaultClause(value: string | null): string {
  return value === null ? 'drop default' : `set default ${expression(value, 'change.default')}`
}

export function dropColumn(change: ChangeOf<'drop_column'>): string[] {
  const { column, cascade } = change
  return [`alter table ${qualified(change)} drop column ${name(column)}${cascadeClause(cascade)}`]
}

function commentOn(table: string, column: string, comment: string): string {
  return `comment on column ${table}.${name(column)} is ${comment === '' ? 'null' : literal(comment)}`
}
