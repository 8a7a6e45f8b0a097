import type { Column, Relation } from '../../../../database/catalog/model.ts'

/**
 * Returns the columns of each unique index that `on conflict` can name, by the name of the index. An index over a column
 * that the caller may not read is left out.
 */
export function conflictConstraints(
  { indexes, conflictKeys }: Relation,
  isReadable: (column: Column) => boolean,
): ReadonlyMap<string, readonly string[]> {
  const keys = conflictKeys.filter((key) => key.every(isReadable))
  const isKey = (columns: readonly string[]) =>
    keys.some((key) => key.length === columns.length && key.every(({ name }) => columns.includes(name)))
  return new Map(
    indexes.flatMap(({ name, isUnique, isValid, isPartial, columns }) =>
      isUnique && isValid && !isPartial && columns !== undefined && isKey(columns) ? [[name, columns]] : [],
    ),
  )
}
