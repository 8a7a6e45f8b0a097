import type { Column, Relation } from '../../../../database/catalog/model.ts'
import { requireJson } from '../../../../http/requests/body.ts'
import { isObject } from '../../../../lib/json.ts'
import { collectionErrors } from '../errors.ts'
import { requireFittingValue } from './values.ts'

/** A record as sent: the JSON text itself for Postgres, and which columns it writes. */
export interface RecordBody {
  readonly json: string
  /** In table order, so that the same set of keys gives the same statement. */
  readonly columns: readonly Column[]
}

/**
 * Reads the body of a create or an update.
 *
 * Members that a record of ours carries beside its columns (`expand`, names starting with `_`) and columns the
 * database computes are left out, so that a record can be sent back as it came.
 *
 * @throws AppError invalid_json, empty_body, body_not_object, unknown_column, no_recognized_columns, invalid_value,
 *   invalid_geometry
 */
export function parseRecordBody(relation: Relation, json: string, action: 'create' | 'update'): RecordBody {
  if (json.trim() === '') throw collectionErrors.emptyBody()
  return readRecord(relation, json, requireJson(json), action)
}

/** The same for a value that has been parsed already. */
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

/** Returns whether a row can be created without a value: every column that needs one has a default. */
export function isMadeOfDefaults({ columns }: Relation): boolean {
  return columns.every(
    (column) =>
      column.nullable || column.default !== undefined || column.identity !== undefined || column.isGenerated,
  )
}

/** An identity column that is always generated refuses a value on create; on update it can only stay. */
function isWritable(column: Column, action: 'create' | 'update'): boolean {
  return !column.isGenerated && !(action === 'update' && column.identity === 'always')
}
