import type { Column, Relation } from '../../../../database/catalog/model.ts'
import { collectionErrors } from '../errors.ts'
import type { FacetsQuery } from '../parse/facets.ts'
import { isGroupable, isNumeric } from './aggregate.ts'
import type { FilterPlan, Operand } from './filter-plan.ts'
import type { Reader } from './reader.ts'
import { requireColumn } from './references.ts'
import type { RowCondition, RowsPlan } from './rows.ts'
import type { SelectedColumn } from './selection.ts'

/** Plan of how often the values of columns occur among rows. */
export interface FacetsPlan {
  /** Row sets that facets are counted over. Each set is read once. */
  readonly scopes: readonly RowsPlan[]
  readonly facets: readonly Facet[]
  /** Maximum number of returned values per column. */
  readonly maxBuckets: number
}

/** Facets with members that the client names. */
export interface SelectedFacets {
  readonly plan: FacetsPlan
  /** Rows of the list, with all conditions. */
  readonly rows: RowsPlan
  /** Form of the values of each facet. */
  readonly columns: readonly SelectedColumn[]
  /** Members of each facet, in the order of the response. */
  readonly members: readonly (readonly FacetMember[])[]
}

export type FacetMember = { readonly key: string } & (
  | { readonly kind: 'constant'; readonly value: string }
  | { readonly kind: 'values'; readonly members: readonly FacetValueMember[] }
  /** True if no value was left out. */
  | { readonly kind: 'exhaustive' }
  /** Figure over the values, null where they are no numbers. */
  | { readonly kind: 'figure'; readonly function: 'min' | 'max' }
)

export type FacetValueMember = { readonly key: string } & (
  | { readonly kind: 'constant'; readonly value: string }
  | { readonly kind: 'value' | 'count' }
)

export interface Facet {
  readonly column: Column
  /** Index of the scope. */
  readonly scope: number
  /** True if the smallest and the greatest value are returned, too. */
  readonly hasStats: boolean
}

/**
 * Plans the facets, or returns undefined when there are none. Facets are counted over the rows of the list. A
 * disjunctive facet is counted over the rows that the list would have without the filter's conditions on the column.
 *
 * @throws AppError unknown_column, unsupported_facet
 */
export function planFacets(
  rows: RowsPlan,
  query: FacetsQuery,
  reader: Reader,
  maxBuckets: number,
): FacetsPlan | undefined {
  const { relation } = rows
  const columns = query.columns.map((name) => requireFacetColumn(relation, name, 'facets', reader))
  const disjunctive = new Set(
    query.disjunctive.map((name) => requireFacetColumn(relation, name, 'disjunctiveFacets', reader)),
  )
  if (columns.length === 0) return undefined
  const scopes: RowsPlan[] = []
  const facets = columns.map((column) => {
    const counted = disjunctive.has(column) ? withoutChoice(rows, column) : rows
    const known = scopes.indexOf(counted)
    const scope = known === -1 ? scopes.push(counted) - 1 : known
    return { column, scope, hasStats: isNumeric(column.type) }
  })
  return { scopes, facets, maxBuckets }
}

function requireFacetColumn(relation: Relation, name: string, parameter: string, reader: Reader): Column {
  const column = requireColumn(relation, name, `${parameter} parameter`, reader)
  if (!isFacetable(column)) throw collectionErrors.unsupportedFacet(name, column.typeName)
  return column
}

/** Returns true if the values of the column can be counted. */
export function isFacetable({ type }: Column): boolean {
  return isGroupable(type) && type.json !== 'object' && type.json !== 'array'
}

/** Returns the rows without the filter's choice among the values of the column. */
function withoutChoice(rows: RowsPlan, column: Column): RowsPlan {
  const conditions = rows.conditions.flatMap((condition): RowCondition[] => {
    if (condition.kind !== 'filter') return [condition]
    const filter = dropChoice(condition.filter, column)
    if (filter === condition.filter) return [condition]
    return filter === undefined ? [] : [{ ...condition, filter }]
  })
  const isSame =
    conditions.length === rows.conditions.length &&
    conditions.every((condition, index) => condition === rows.conditions[index])
  return isSame ? rows : { ...rows, conditions }
}

/** Removes the top-level AND terms that choose values of the column. Returns undefined when no term is left. */
function dropChoice(filter: FilterPlan, column: Column): FilterPlan | undefined {
  if (filter.kind !== 'and') return isChoice(filter, column) ? undefined : filter
  const terms = filter.terms.flatMap((term) => dropChoice(term, column) ?? [])
  if (terms.length === 0) return undefined
  const isSame =
    terms.length === filter.terms.length && terms.every((term, index) => term === filter.terms[index])
  return isSame ? filter : { ...filter, terms }
}

function isChoice(filter: FilterPlan, column: Column): boolean {
  switch (filter.kind) {
    case 'compare':
      return isColumn(filter.operand, column) && filter.operator === '='
    case 'in':
      return isColumn(filter.operand, column)
    case 'null':
      return isColumn(filter.operand, column) && !filter.isNegated
    default:
      return false
  }
}

function isColumn(operand: Operand, column: Column): boolean {
  return operand.column === column && operand.as === 'column'
}
