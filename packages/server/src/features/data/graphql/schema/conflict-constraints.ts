import type { Relation } from '../../../../database/catalog/model.ts'

/** Returns the columns of each unique index that `on conflict` can name, by the name of the index. */
export function conflictConstraints({
  indexes,
  conflictKeys,
}: Relation): ReadonlyMap<string, readonly string[]> {
  const isKey = (columns: readonly string[]) =>
    conflictKeys.some(
      (key) => key.length === columns.length && key.every(({ name }) => columns.includes(name)),
    )
  return new Map(
    indexes.flatMap(({ name, isUnique, isValid, isPartial, columns }) =>
      isUnique && isValid && !isPartial && columns !== undefined && isKey(columns) ? [[name, columns]] : [],
    ),
  )
}
