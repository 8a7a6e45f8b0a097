import * as columns from './columns.ts'
import * as constraints from './constraints.ts'
import * as indexes from './indexes.ts'
import * as policies from './policies.ts'
import * as routines from './routines.ts'
import type { Change, ChangeKind, ChangeOf } from './schema.ts'
import * as tables from './tables.ts'
import * as types from './types.ts'

/** Compilers by kind of change. */
const compilers: { readonly [Kind in ChangeKind]: (change: ChangeOf<Kind>) => string[] } = {
  create_table: tables.createTable,
  rename_table: tables.renameTable,
  comment_table: tables.commentTable,
  drop_relation: tables.dropRelation,
  set_grants: tables.setGrants,
  add_column: columns.addColumn,
  alter_column: columns.alterColumn,
  drop_column: columns.dropColumn,
  create_index: indexes.createIndex,
  drop_index: indexes.dropIndex,
  add_primary_key: constraints.addPrimaryKey,
  add_unique: constraints.addUnique,
  add_check: constraints.addCheck,
  add_foreign_key: constraints.addForeignKey,
  validate_constraint: constraints.validateConstraint,
  rename_constraint: constraints.renameConstraint,
  drop_constraint: constraints.dropConstraint,
  create_enum: types.createEnum,
  add_enum_value: types.addEnumValue,
  rename_enum_value: types.renameEnumValue,
  rename_type: types.renameType,
  drop_type: types.dropType,
  set_row_level_security: policies.setRowLevelSecurity,
  apply_template: policies.applyTemplate,
  create_policy: policies.createPolicy,
  alter_policy: policies.alterPolicy,
  drop_policy: policies.dropPolicy,
  drop_trigger: routines.dropTrigger,
  set_trigger: routines.setTrigger,
  drop_function: routines.dropFunction,
}

/**
 * Compiles the SQL of a change, as a person would write it. Pure.
 *
 * @throws AppError that names the invalid member
 */
export function compileChange(change: Change): string {
  // The union does not express that a compiler gets the change of its own kind, as the table above ensures.
  const compile = compilers[change.kind] as (change: Change) => string[]
  return `${compile(change).join(';\n')};\n`
}
