import type { Column, Relation } from '../../../../database/catalog/model.ts'
import { collectionErrors } from '../errors.ts'
import type { ConflictQuery } from '../parse/write-query.ts'

/** Treatment of a record whose key already exists. */
export interface UpsertPlan {
  readonly key: readonly Column[]
  readonly action: 'update' | 'ignore'
  /** Columns that are updated in the existing record. */
  readonly updated: readonly Column[]
}

/**
 * @param columns columns in the body
 * @throws AppError unknown_column, invalid_parameter
 */
export function planUpsert(
  relation: Relation,
  { columns: names, action }: ConflictQuery,
  columns: readonly Column[],
): UpsertPlan {
  const requested = new Set(names)
  const key = relation.conflictKeys.find(
    (each) => each.length === requested.size && each.every(({ name }) => requested.has(name)),
  )
  if (key === undefined) throw collectionErrors.invalidParameter(describeKeys(relation))
  const missing = key.find((column) => !columns.includes(column) && !column.isGenerated)
  if (missing !== undefined) {
    throw collectionErrors.invalidParameter(
      `onConflict: expected a value for "${missing.name}" in the request body`,
    )
  }
  const updated = columns.filter((column) => !key.includes(column) && column.identity !== 'always')
  // Without a change, the statement still returns the record.
  return { key, action, updated: updated.length === 0 ? key : updated }
}

function describeKeys({ conflictKeys, collection }: Relation): string {
  if (conflictKeys.length === 0) return `onConflict: "${collection}" has no unique key`
  const keys = conflictKeys.map((columns) => columns.map(({ name }) => name).join(','))
  return `onConflict: expected the columns of a unique key: ${[...new Set(keys)].join(' or ')}`
}
