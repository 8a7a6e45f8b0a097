import type { Column, Privileges, Relation } from '../../../../database/catalog/model.ts'
import { databaseErrors } from '../../../../database/errors/errors.ts'

/**
 * Whose privileges decide which columns and relations are shown: `caller` works as `basalt_authenticated`, `anonymous`
 * as `basalt_anonymous`, `unrestricted` as the login role.
 */
export type Reader = 'caller' | 'anonymous' | 'unrestricted'

const every: Privileges = { select: true, insert: true, update: true, delete: true }

export function privilegesOf(relation: Relation, reader: Reader): Privileges {
  switch (reader) {
    case 'caller':
      return relation.callers
    case 'anonymous':
      return relation.anonymous
    case 'unrestricted':
      return every
  }
}

export function maySelect(column: Column, reader: Reader): boolean {
  switch (reader) {
    case 'caller':
      return column.callersMaySelect
    case 'anonymous':
      return column.anonymousMaySelect
    case 'unrestricted':
      return true
  }
}

/**
 * PostgreSQL would refuse it as well, but only after a statement has been made for it: what is wrong with that tells the
 * type of the column.
 *
 * @throws AppError insufficient_permissions
 */
export function requireReadable(column: Column, reader: Reader): Column {
  if (!maySelect(column, reader)) throw databaseErrors.insufficientPermissions()
  return column
}

/** Columns of the row key that may be sorted by, with the same exception as {@link visibleColumns}. */
export function readableRowKey(relation: Relation, reader: Reader): readonly Column[] {
  const { rowKey } = relation
  return privilegesOf(relation, reader).select ? rowKey.filter((column) => maySelect(column, reader)) : rowKey
}

/** Columns shown when none are named. Where there are none, all: Postgres then refuses with its own reason. */
export function visibleColumns(relation: Relation, reader: Reader): readonly Column[] {
  if (reader === 'unrestricted') return relation.columns
  const visible = relation.columns.filter((column) => maySelect(column, reader))
  return visible.length === 0 ? relation.columns : visible
}

/** Returns whether a record, as the reader sees it, lacks columns of the row. */
export function lacksColumns(relation: Relation, reader: Reader): boolean {
  return visibleColumns(relation, reader).length < relation.columns.length
}

/**
 * Whether an index may be asked for rows past the policies, which then decide about those alone. The login role has to
 * bypass them, and the statement has to see the system columns it names. A request without a token reads no index past the
 * policies: its role is granted nothing but what the operator says. Tables that inherit have indexes of their own.
 */
export function mayLookUpRows(relation: Relation, reader: Reader): boolean {
  if (reader === 'anonymous') return false
  return relation.isBypassed && !relation.hasDescendants && mayReadSystemColumns(relation, reader)
}

/** Whether a statement may ask which table a row is in, and where. */
export function mayReadSystemColumns(relation: Relation, reader: Reader): boolean {
  switch (reader) {
    case 'caller':
      return relation.callersMayReadSystemColumns
    case 'anonymous':
      return relation.anonymousMayReadSystemColumns
    case 'unrestricted':
      return true
  }
}
