import { type Filter, parseFilter } from './filter.ts'
import type { Parameters } from './parameters.ts'
import { parseSearch, type Search } from './search.ts'
import { parseSpatial, type SpatialFilter, spatialParameters } from './spatial.ts'

/** Conditions of a query string that restrict the rows, as written. */
export interface RowsQuery {
  readonly filter: Filter | undefined
  readonly search: Search | undefined
  readonly spatial?: readonly SpatialFilter[]
}

/** Parameters of every endpoint that reads more than one record; they say which rows are read. */
export const rowsParameters = ['filter', 'search', 'fuzzy', 'typo_threshold', ...spatialParameters]

/** @throws AppError naming the parameter and what was expected */
export function readRowsQuery(parameters: Parameters): RowsQuery {
  return { ...readConditions(parameters), search: parseSearch(parameters) }
}

/** Parses the conditions beside a search. @throws AppError naming the parameter and what was expected */
export function readConditions(parameters: Parameters): Pick<RowsQuery, 'filter' | 'spatial'> {
  const { filter } = parameters
  return {
    filter: filter === undefined || filter.trim() === '' ? undefined : parseFilter(filter),
    spatial: parseSpatial(parameters),
  }
}
