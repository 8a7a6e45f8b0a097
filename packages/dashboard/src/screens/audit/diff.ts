import type { AuditEntry } from './api.ts'

export interface ChangedValue {
  readonly column: string
  /** Value as JSON; undefined if the row did not have the column. */
  readonly before: string | undefined
  readonly after: string | undefined
  readonly isChanged: boolean
}

/** Compares the columns of a row before and after a change, changed ones first. */
export function compareValues({
  old_values: before,
  new_values: after,
}: Pick<AuditEntry, 'old_values' | 'new_values'>): readonly ChangedValue[] {
  const columns = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  return columns
    .map((column) => {
      const isChanged = JSON.stringify(before?.[column]) !== JSON.stringify(after?.[column])
      return { column, before: textOf(before, column), after: textOf(after, column), isChanged }
    })
    .toSorted((one, other) => Number(other.isChanged) - Number(one.isChanged))
}

function textOf(values: AuditEntry['old_values'], column: string): string | undefined {
  if (values === null || !Object.hasOwn(values, column)) return undefined
  const value = values[column]
  return typeof value === 'string' ? value : JSON.stringify(value)
}
