import type { Column, Privileges, Relation } from '../../../../database/catalog/model.ts'
import { databaseErrors } from '../../../../database/errors/errors.ts'

/**
 * Reader whose privileges decide which columns and relations are returned. `caller` works as `basalt_authenticated`,
 * `anonymous` as `basalt_anonymous`, `unrestricted` as the login role.
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

/** Returns true if the reader may set the column in new rows, or change it. */
export function mayWriteColumn(column: Column, reader: Reader, action: 'insert' | 'update'): boolean {
  switch (reader) {
    case 'caller':
      return action === 'insert' ? column.callersMayInsert : column.callersMayUpdate
    case 'anonymous':
      return action === 'insert' ? column.anonymousMayInsert : column.anonymousMayUpdate
    case 'unrestricted':
      return true
  }
}

/**
 * Requires the privilege to read a column. PostgreSQL would reject the read as well, but only after a statement has
 * been prepared for it. A fault of that statement would reveal the type of the column.
 *
 * @throws AppError insufficient_permissions
 */
export function requireReadable(column: Column, reader: Reader): Column {
  if (!maySelect(column, reader)) throw databaseErrors.insufficientPermissions()
  return column
}

/**
 * Returns the columns of the row key that the reader may sort by, with the same exception as {@link visibleColumns}.
 */
export function readableRowKey(relation: Relation, reader: Reader): readonly Column[] {
  const { rowKey } = relation
  return privilegesOf(relation, reader).select ? rowKey.filter((column) => maySelect(column, reader)) : rowKey
}

/**
 * Returns the columns of a record when none are named. If the reader may read none, all are returned: PostgreSQL then
 * rejects the read with its own reason.
 */
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
 * Returns whether rows may be looked up in an index without the policies, which then check only those rows. The login
 * role has to bypass the policies, and the statement has to read the system columns that it names. A request without
 * a token never reads an index that way, since its role has only the operator's grants. Inheriting tables have
 * indexes of their own, and so have the workers of a distributed database.
 */
export function mayLookUpRows(relation: Relation, reader: Reader): boolean {
  if (reader === 'anonymous' || relation.isOnWorkers) return false
  return relation.isBypassed && !relation.hasDescendants && mayReadSystemColumns(relation, reader)
}

/** Returns whether a statement may read the table and the position of a row. */
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
