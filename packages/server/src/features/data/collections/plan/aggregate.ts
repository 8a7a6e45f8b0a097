import type { Column, ColumnType, Relation } from '../../../../database/catalog/model.ts'
import { collectionErrors } from '../errors.ts'
import type { AggregateFunction, AggregateQuery, AggregateTerm } from '../parse/aggregate.ts'
import { type Reader, requireReadable } from './reader.ts'
import type { RowsPlan } from './rows.ts'

/** Plan of an aggregate: one result for each group of the rows, or one over all of them. */
export interface AggregatePlan {
  readonly rows: RowsPlan
  readonly group: readonly Column[]
  readonly results: readonly AggregateResult[]
  readonly order: readonly AggregateOrder[]
  /** Maximum number of returned groups. */
  readonly limit: number
}

export interface AggregateResult {
  /** Name of the result in the response: `sum_milliseconds`. */
  readonly key: string
  readonly function: AggregateFunction
  /** Column of the function. Undefined: rows are counted. */
  readonly column: Column | undefined
}

export interface AggregateOrder {
  /** Position of a column of the group, or of a result. */
  readonly by: { readonly group: number } | { readonly result: number }
  readonly descending: boolean
}

/**
 * Maximum number of results. With the columns of the group they are at most as many values as a PostgreSQL function
 * accepts.
 */
const maxResults = 40

/** @throws AppError invalid_aggregate, invalid_group, unknown_aggregate_column, unknown_group_column, invalid_parameter */
export function planAggregate(
  rows: RowsPlan,
  query: AggregateQuery,
  reader: Reader,
  maxGroups: number,
): AggregatePlan {
  const { relation } = rows
  const group = query.group.map((name) => requireGroupColumn(relation, name, reader))
  const results = planResults(relation, query.terms, reader)
  requireDistinctKeys([...group.map(({ name }) => name), ...results.map(({ key }) => key)])
  return {
    rows,
    group,
    results,
    order: planOrder(group, results, query.sort),
    limit: Math.min(query.limit ?? maxGroups, maxGroups),
  }
}

function requireGroupColumn(relation: Relation, name: string, reader: Reader): Column {
  const column = relation.column.get(name)
  if (column === undefined) throw collectionErrors.unknownGroupColumn(name)
  requireReadable(column, reader)
  if (!isGroupable(column.type)) {
    throw collectionErrors.invalidGroup(`unsupported group column "${name}" with type "${column.typeName}"`)
  }
  return column
}

/** Returns whether equal values can be found and sorted. */
export function isGroupable({ hasEquality, hasOrder }: ColumnType): boolean {
  return hasEquality && hasOrder
}

function planResults(relation: Relation, terms: readonly AggregateTerm[], reader: Reader): AggregateResult[] {
  const results = new Map<string, AggregateResult>()
  for (const term of terms) {
    const column =
      term.column === undefined ? undefined : requireAggregateColumn(relation, term.column, reader)
    if (column !== undefined) requireFunction(term.function, column)
    const key = column === undefined ? term.function : `${term.function}_${column.name}`
    const same = results.get(key)
    if (same === undefined) results.set(key, { key, function: term.function, column })
    else if (same.function !== term.function) throw duplicateKey(key)
  }
  if (results.size > maxResults)
    throw collectionErrors.invalidAggregate(`expected at most ${maxResults} functions`)
  return [...results.values()]
}

function requireAggregateColumn(relation: Relation, name: string, reader: Reader): Column {
  const column = relation.column.get(name)
  if (column === undefined) throw collectionErrors.unknownAggregateColumn(name)
  return requireReadable(column, reader)
}

function requireFunction(name: AggregateFunction, { name: column, type, typeName }: Column): void {
  const { takes, test } = requirements[name]
  if (test(type)) return
  throw collectionErrors.invalidAggregate(`${name} requires ${takes}, but "${column}" has type "${typeName}"`)
}

interface Requirement {
  readonly takes: string
  readonly test: (type: ColumnType) => boolean
}

const any: Requirement = { takes: 'a column', test: () => true }
const numeric: Requirement = {
  takes: 'a numeric column',
  test: (type) => isNumeric(type) || type.base === 'interval',
}
const ordered: Requirement = { takes: 'a column with an order', test: ({ hasOrder }) => hasOrder }
const spatial: Requirement = {
  takes: 'a spatial column',
  test: ({ spatialSchema }) => spatialSchema !== undefined,
}

const requirements: Readonly<Record<AggregateFunction, Requirement>> = {
  count: any,
  count_distinct: ordered,
  sum: numeric,
  avg: numeric,
  min: ordered,
  max: ordered,
  bbox: spatial,
  centroid: spatial,
}

const numericTypes: ReadonlySet<string> = new Set(['int2', 'int4', 'int8', 'numeric', 'float4', 'float8'])

export function isNumeric({ base }: ColumnType): boolean {
  return numericTypes.has(base)
}

function requireDistinctKeys(keys: readonly string[]): void {
  const twice = keys.find((key, index) => keys.indexOf(key) !== index)
  if (twice !== undefined) throw duplicateKey(twice)
}

function duplicateKey(key: string): Error {
  return collectionErrors.invalidAggregate(`two values of a result would be named "${key}"`)
}

/** Plans the requested order. The columns of the group follow, so that the order is total. */
function planOrder(
  group: readonly Column[],
  results: readonly AggregateResult[],
  sort: AggregateQuery['sort'],
): AggregateOrder[] {
  const order = sort.map(({ key, descending }) => ({ by: findKey(key, group, results), descending }))
  const sorted = new Set(order.flatMap(({ by }) => ('group' in by ? [by.group] : [])))
  const ties = group.flatMap((_, index) =>
    sorted.has(index) ? [] : [{ by: { group: index }, descending: false }],
  )
  return [...order, ...ties]
}

function findKey(
  key: string,
  group: readonly Column[],
  results: readonly AggregateResult[],
): AggregateOrder['by'] {
  const column = group.findIndex(({ name }) => name === key)
  if (column !== -1) return { group: column }
  const result = results.findIndex((each) => each.key === key)
  const found = results[result]
  if (found === undefined) {
    const known = [...group.map(({ name }) => name), ...results.map((each) => each.key)]
    throw collectionErrors.invalidParameter(`groupSort: unknown key "${key}"; expected ${known.join(', ')}`)
  }
  if (found.function === 'bbox' || found.function === 'centroid') {
    throw collectionErrors.invalidParameter(`groupSort: ${key} has no order`)
  }
  return { result }
}
