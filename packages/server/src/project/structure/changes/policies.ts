import { anonymousRole, callerRole } from '../../../database/caller/caller-scope.ts'
import { structureErrors } from '../errors.ts'
import type { ChangeOf, TemplateInput } from './schema.ts'
import { expression, type Named, name, names, qualified } from './text.ts'

export function createPolicy(change: ChangeOf<'create_policy'>): string[] {
  const { command = 'all', roles = [] } = change
  if (change.using === undefined && change.check === undefined) {
    throw structureErrors.invalidStructureChange(
      'change.using',
      'expected a condition here or in change.check',
    )
  }
  return [
    [
      `create policy ${name(change.policy)} on ${qualified(change)}`,
      ...(change.isPermissive === false ? ['as restrictive'] : []),
      ...(command === 'all' ? [] : [`for ${command}`]),
      ...(roles.length === 0 ? [] : [`to ${rolesOf(roles)}`]),
      ...conditions(change),
    ].join('\n  '),
  ]
}

/** Compiles a change of a policy. PostgreSQL can change neither its command nor whether it is permissive. */
export function alterPolicy(change: ChangeOf<'alter_policy'>): string[] {
  const policy = `alter policy ${name(change.policy)} on ${qualified(change)}`
  const parts = [
    ...(change.roles === undefined ? [] : [`to ${rolesOf(change.roles)}`]),
    ...conditions(change),
  ]
  const statements = [
    ...(parts.length === 0 ? [] : [[policy, ...parts].join('\n  ')]),
    ...(change.to === undefined ? [] : [`${policy} rename to ${name(change.to)}`]),
  ]
  if (statements.length > 0) return statements
  throw structureErrors.invalidStructureChange('change', 'expected at least one of to, roles, using, check')
}

export function dropPolicy(change: ChangeOf<'drop_policy'>): string[] {
  return [`drop policy ${name(change.policy)} on ${qualified(change)}`]
}

export function setRowLevelSecurity(change: ChangeOf<'set_row_level_security'>): string[] {
  const table = `alter table ${qualified(change)}`
  return [
    `${table} ${change.isEnabled ? 'enable' : 'disable'} row level security`,
    ...(change.isForced === undefined
      ? []
      : [`${table} ${change.isForced ? 'force' : 'no force'} row level security`]),
  ]
}

export function applyTemplate(change: ChangeOf<'apply_template'>): string[] {
  return [
    `alter table ${qualified(change)} enable row level security`,
    ...templateStatements(change, change.template),
  ]
}

/**
 * Compiles a template for a table with row-level security. The guide says what each template permits callers.
 */
export function templateStatements(table: Named, template: TemplateInput): string[] {
  const on = qualified(table)
  switch (template.name) {
    case 'owner': {
      const condition = `${name(columnOf(template))} = basalt.user_id()`
      return [ruled('own', on, callerRole, condition, condition)]
    }
    case 'members': {
      const { through } = template
      if (through === undefined) throw missing('through', 'the table that has who belongs to which team')
      const column = name(columnOf(template))
      const team = `m.${name(through.teamColumn)}`
      const from = `from ${qualified(through)} m where m.${name(through.userColumn)} = basalt.user_id()`
      // An index finds rows by an array. For a row that is written, its own team is looked up.
      const rows = `${column} = any (array(select ${team} ${from}))`
      const row = `exists (select ${from} and ${team} = ${on}.${column})`
      return [ruled('members', on, callerRole, rows, row)]
    }
    case 'signed in':
      return [`create policy read on ${on} for select to ${callerRole}\n  using (true)`]
    case 'public':
      return [
        `create policy read on ${on} for select to ${anonymousRole}, ${callerRole}\n  using (true)`,
        `grant select on ${on} to ${anonymousRole}`,
      ]
    // Without a policy no caller sees a row.
    case 'administrators':
      return []
  }
}

function ruled(policy: string, on: string, role: string, rows: string, row: string): string {
  return `create policy ${policy} on ${on} to ${role}\n  using (${rows})\n  with check (${row})`
}

function columnOf({ column }: TemplateInput): string {
  if (column === undefined) throw missing('column', 'a column of the table')
  return column
}

function missing(member: string, expected: string) {
  return structureErrors.invalidStructureChange(`change.template.${member}`, `expected ${expected}`)
}

function rolesOf(roles: readonly string[]): string {
  return roles.length === 0 ? 'public' : names(roles).replaceAll('"public"', 'public')
}

function conditions({ using, check }: { readonly using?: string; readonly check?: string }): string[] {
  return [
    ...(using === undefined ? [] : [`using (${expression(using, 'change.using')})`]),
    ...(check === undefined ? [] : [`with check (${expression(check, 'change.check')})`]),
  ]
}
