import type { Column, Relation } from '../../../../database/catalog/model.ts'
import { requireJson } from '../../../../http/requests/body.ts'
import { isObject } from '../../../../lib/json.ts'
import { collectionErrors } from '../errors.ts'
import { requireFittingValue } from './values.ts'

/** Record as sent: the JSON text itself for PostgreSQL, and the columns that it writes. */
export interface RecordBody {
  readonly json: string
  /** Columns in table order, so that the same set of keys gives the same statement. */
  readonly columns: readonly Column[]
}

/**
 * Parses the body of a create or an update.
 *
 * Members that our records carry beside their columns (`expand`, names starting with `_`) are left out. So are
 * columns that the database computes. A record can therefore be sent back as it was received.
 *
 * @throws AppError invalid_json, empty_body, body_not_object, unknown_column, no_recognized_columns, invalid_value,
 * invalid_geometry
 */
export function parseRecordBody(relation: Relation, json: string, action: 'create' | 'update'): RecordBody {
  if (json.trim() === '') throw collectionErrors.emptyBody()
  return readRecord(relation, json, requireJson(json), action)
}

/** Reads a record from a value that has been parsed already. */
export function readRecord(
  relation: Relation,
  json: string,
  value: unknown,
  action: 'create' | 'update',
): RecordBody {
  if (!isObject(value)) throw collectionErrors.bodyNotObject()
  const names = new Set(Object.keys(value))
  for (const name of names) {
    if (!relation.column.has(name) && name !== 'expand' && !name.startsWith('_')) {
      throw collectionErrors.unknownColumn(name, 'request body')
    }
  }
  const columns = relation.columns.filter((column) => names.has(column.name) && isWritable(column, action))
  if (columns.length === 0 && !(action === 'create' && isMadeOfDefaults(relation))) {
    throw collectionErrors.noRecognizedColumns()
  }
  for (const column of columns) requireFittingValue(column, value[column.name])
  return { json, columns }
}

/** Returns whether a row can be created without values: every required column has a default. */
export function isMadeOfDefaults({ columns }: Relation): boolean {
  return columns.every(
    (column) =>
      column.nullable || column.default !== undefined || column.identity !== undefined || column.isGenerated,
  )
}

/**
 * Returns whether a column can be written. A column that is `generated always as identity` rejects a value on create.
 * On update it can only keep its value.
 */
function isWritable(column: Column, action: 'create' | 'update'): boolean {
  return !column.isGenerated && !(action === 'update' && column.identity === 'always')
}
