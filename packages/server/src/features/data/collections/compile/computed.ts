import type { Column } from '../../../../database/catalog/model.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import type { ListPlan } from '../plan/list.ts'
import { searchedColumns } from '../plan/search-vector.ts'
import type { RowValue } from '../plan/selection.ts'
import { compileHighlight, compileHighlightResult } from './highlight.ts'
import { compileDistance } from './spatial.ts'

/** Value that records have beside their columns. It is evaluated only for the records of the page. */
export interface ComputedValue {
  /** Name of the value in the record. */
  readonly name: string
  readonly value: Sql
  /** Columns that the value reads. */
  readonly columns: readonly Column[]
}

/** Returns the computed values of a list whose rows have this alias. */
export function computedValues(
  { distance, highlight }: Pick<ListPlan, 'distance' | 'highlight'>,
  alias: string,
): readonly ComputedValue[] {
  return [...distanceValues(distance, alias), ...highlightValues(highlight, alias)]
}

/** Returns the computed values of a list by their names, for records whose members the client names. */
export function rowValues(plan: Pick<ListPlan, 'distance' | 'highlight'>): ReadonlyMap<string, RowValue> {
  const compileNamed = (wanted: string, alias: string) =>
    computedValues(plan, alias).find(({ name }) => name === wanted)?.value ?? sql`null`
  // The names and the columns do not depend on the alias.
  return new Map(
    computedValues(plan, 't').map(({ name, columns }) => [
      name,
      { columns, compile: (alias) => compileNamed(name, alias) },
    ]),
  )
}

function distanceValues(distance: ListPlan['distance'], alias: string): readonly ComputedValue[] {
  if (distance === undefined) return []
  return [{ name: '_distance', value: compileDistance(distance, alias), columns: [distance.target.column] }]
}

function highlightValues(highlight: ListPlan['highlight'], alias: string): readonly ComputedValue[] {
  if (highlight === undefined) return []
  const columns = searchedColumns(highlight.vector)
  return [
    { name: '_highlight', value: compileHighlight(highlight, alias), columns },
    { name: '_highlightResult', value: compileHighlightResult(highlight, alias), columns },
  ]
}
