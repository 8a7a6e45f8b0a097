import { structureErrors } from '../errors.ts'
import { clauseOfColumn, keyClause } from './columns.ts'
import { templateStatements } from './policies.ts'
import type { ChangeOf } from './schema.ts'
import { cascadeClause, literal, name, qualified } from './text.ts'

/** Compiles a new table. Row-level security is on unless the change explicitly disables it. */
export function createTable(change: ChangeOf<'create_table'>): string[] {
  const table = qualified(change)
  const keys = change.columns.filter(({ isPrimaryKey }) => isPrimaryKey === true)
  const lines = [
    ...change.columns.map((column, index) =>
      clauseOfColumn(column, `change.columns.${index}`, keys.length === 1),
    ),
    ...(keys.length > 1 ? [keyClause(keys.map((column) => column.name))] : []),
  ]
  const template = change.template
  const indexed = template?.column
  const owner = change.columns.find((column) => column.name === indexed)
  if (indexed !== undefined && owner === undefined) {
    throw structureErrors.invalidStructureChange('change.template.column', `there is no column ${indexed}`)
  }
  const isSought = owner !== undefined && owner.isUnique !== true && keys[0] !== owner
  return [
    lines.length === 0 ? `create table ${table} ()` : `create table ${table} (\n  ${lines.join(',\n  ')}\n)`,
    ...(isSought ? [`create index on ${table} (${name(owner.name)})`] : []),
    ...(change.comment === undefined || change.comment === ''
      ? []
      : [`comment on table ${table} is ${literal(change.comment)}`]),
    ...change.columns.flatMap((column) =>
      column.comment === undefined || column.comment === ''
        ? []
        : [`comment on column ${table}.${name(column.name)} is ${literal(column.comment)}`],
    ),
    ...(change.hasRowLevelSecurity === false ? [] : [`alter table ${table} enable row level security`]),
    ...(template === undefined ? [] : templateStatements(change, template)),
  ]
}

export function renameTable(change: ChangeOf<'rename_table'>): string[] {
  return [`alter table ${qualified(change)} rename to ${name(change.to)}`]
}

export function commentTable(change: ChangeOf<'comment_table'>): string[] {
  const comment = change.comment === '' ? 'null' : literal(change.comment)
  return [`comment on table ${qualified(change)} is ${comment}`]
}

export function dropRelation(change: ChangeOf<'drop_relation'>): string[] {
  return [`drop ${change.relationKind} ${qualified(change)}${cascadeClause(change.cascade)}`]
}

export function setGrants({ role, privileges, ...change }: ChangeOf<'set_grants'>): string[] {
  const table = qualified(change)
  const all = ['select', 'insert', 'update', 'delete'] as const
  const revoked = all.filter((privilege) => !privileges.includes(privilege))
  return [
    ...(privileges.length === 0 ? [] : [`grant ${privileges.join(', ')} on ${table} to ${name(role)}`]),
    ...(revoked.length === 0 ? [] : [`revoke ${revoked.join(', ')} on ${table} from ${name(role)}`]),
  ]
}
