import type { Relation } from '../../../../database/catalog/model.ts'
import { collectionErrors } from '../errors.ts'
import { requireFittingValue } from './values.ts'

/**
 * Parses the primary key values of a path segment that is still percent-encoded. The values of a composite key are
 * joined by commas. An encoded comma belongs to a value, unless the whole id was encoded as one.
 *
 * @throws AppError no_primary_key, invalid_primary_key, invalid_value
 */
export function parsePathId(relation: Relation, segment: string): readonly string[] {
  return requireFittingId(relation, readPathId(relation, segment))
}

function readPathId(relation: Relation, segment: string): readonly string[] {
  const count = requirePrimaryKey(relation)
  if (count === 1) return [decode(segment, count)]
  const parts = segment.split(',')
  if (parts.length === count) return parts.map((part) => decode(part, count))
  return splitId(decode(segment, count), count)
}

/**
 * Parses the primary key values of an id in a body. A single value is used unchanged. The values of a composite key
 * are written as in a path, so that a value can hold a comma as `%2C`.
 */
export function parseBodyId(relation: Relation, id: string): readonly string[] {
  const count = requirePrimaryKey(relation)
  const values = count === 1 ? [id] : splitId(id, count).map((part) => tryDecode(part) ?? part)
  return requireFittingId(relation, values)
}

function requireFittingId({ primaryKey }: Relation, values: readonly string[]): readonly string[] {
  for (const [index, column] of primaryKey.entries()) requireFittingValue(column, values[index] ?? '')
  return values
}

function splitId(id: string, count: number): string[] {
  const parts = id.split(',')
  if (parts.length !== count) throw collectionErrors.invalidPrimaryKey(count)
  return parts
}

function requirePrimaryKey(relation: Relation): number {
  if (relation.primaryKey.length === 0) throw collectionErrors.noPrimaryKey()
  return relation.primaryKey.length
}

function decode(text: string, count: number): string {
  const decoded = tryDecode(text)
  if (decoded === undefined) throw collectionErrors.invalidPrimaryKey(count)
  return decoded
}

function tryDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
