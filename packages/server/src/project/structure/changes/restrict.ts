import { insufficientRole } from '../../../http/access/grants.ts'
import { structureErrors } from '../errors.ts'
import { requireSafe, requireType } from './safe-expression.ts'
import type { Change, ColumnInput, ReferencesInput, TemplateInput } from './schema.ts'

/**
 * Returns a change as the role `developer` may make it: of tables, columns, indexes, constraints, policies and enums
 * of the operator. Its expressions are in parentheses, so that none continues the statement.
 *
 * @throws AppError insufficient_role, invalid_structure_change
 */
export function restrictChange(change: Change): Change {
  requireOwnSchema(change.schema, 'change.schema')
  if ('cascade' in change && change.cascade === true) throw insufficientRole('owner')
  switch (change.kind) {
    case 'set_grants':
    case 'drop_trigger':
    case 'set_trigger':
    case 'drop_function':
      throw insufficientRole('owner')
    case 'drop_relation':
      if (change.relationKind !== 'table') throw insufficientRole('owner')
      return change
    case 'create_table': {
      const columns = change.columns.map((column, index) => restrictColumn(column, `change.columns.${index}`))
      requireOwnTemplate(change.template)
      return { ...change, columns }
    }
    case 'apply_template':
      requireOwnTemplate(change.template)
      return change
    case 'add_column':
      return { ...change, column: restrictColumn(change.column, 'change.column') }
    case 'alter_column': {
      const { type, using, default: value } = change
      return {
        ...change,
        ...(type === undefined ? {} : { type: requireType(type, 'change.type') }),
        ...(using === undefined ? {} : { using: enclosed(using, 'change.using') }),
        ...(typeof value === 'string' ? { default: enclosed(value, 'change.default') } : {}),
      }
    }
    case 'create_index': {
      const { where, keys } = change
      return {
        ...change,
        keys: keys.map((key, index) => requireSafe(key, `change.keys.${index}`)),
        ...(where === undefined ? {} : { where: enclosed(where, 'change.where') }),
      }
    }
    case 'add_check':
      return { ...change, check: requireSafe(change.check, 'change.check') }
    case 'add_foreign_key':
      requireOwnTarget(change.references, 'change.references')
      return change
    case 'create_policy':
    case 'alter_policy': {
      const { using, check } = change
      return {
        ...change,
        ...(using === undefined ? {} : { using: requireSafe(using, 'change.using') }),
        ...(check === undefined ? {} : { check: requireSafe(check, 'change.check') }),
      }
    }
    default:
      return change
  }
}

function restrictColumn(column: ColumnInput, member: string): ColumnInput {
  const { type, default: value, references } = column
  if (references !== undefined) requireOwnTarget(references, `${member}.references`)
  return {
    ...column,
    type: requireType(type, `${member}.type`),
    ...(value === undefined ? {} : { default: enclosed(value, `${member}.default`) }),
  }
}

const enclosed = (text: string, member: string) => `(${requireSafe(text, member)})`

/** @throws AppError for a schema of Basalt or PostgreSQL */
function requireOwnSchema(schema: string, member: string): void {
  if (schema !== 'basalt' && schema !== 'information_schema' && !schema.startsWith('pg_')) return
  throw structureErrors.invalidStructureChange(member, `${schema} is not a schema of your tables`)
}

/** Rejects other tables of the schema `basalt`, because a key would show whether they hold a value. @throws AppError */
function requireOwnTarget({ schema, name, columns }: ReferencesInput, member: string): void {
  const isUser = schema === 'basalt' && name === 'users' && columns.join() === 'id'
  if (!isUser) requireOwnSchema(schema, `${member}.schema`)
}

/** Rejects the template that grants rows to requests without a token, as grants are. @throws AppError */
function requireOwnTemplate(template: TemplateInput | undefined): void {
  if (template?.name === 'public') throw insufficientRole('owner')
  if (template?.through !== undefined)
    requireOwnSchema(template.through.schema, 'change.template.through.schema')
}
