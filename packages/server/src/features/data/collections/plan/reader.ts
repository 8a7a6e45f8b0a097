import type { Column, Relation } from '../../../../database/catalog/model.ts'

/**
 * Whose privileges decide which columns and relations are shown: `caller` works as `basalt_authenticated`,
 * `unrestricted` as the login role.
 */
export type Reader = 'caller' | 'unrestricted'

/** Columns shown when none are named. Where there are none, all: Postgres then refuses with its own reason. */
export function visibleColumns(relation: Relation, reader: Reader): readonly Column[] {
  if (reader === 'unrestricted') return relation.columns
  const visible = relation.columns.filter((column) => column.callersMaySelect)
  return visible.length === 0 ? relation.columns : visible
}
