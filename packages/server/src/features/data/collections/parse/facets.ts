import { collectionErrors } from '../errors.ts'
import { parseNames } from './names.ts'
import type { Parameters } from './parameters.ts'

/** Facets of a list, as written. Columns are not resolved yet. */
export interface FacetsQuery {
  readonly columns: readonly string[]
  /** Facets that are counted as if the filter did not choose among their values. */
  readonly disjunctive: readonly string[]
}

export const facetParameters = ['facets', 'disjunctiveFacets']

const maxFacets = 20

/** @throws AppError invalid_parameter */
export function parseFacets(parameters: Parameters): FacetsQuery | undefined {
  const columns = [...new Set(parseNames(parameters.facets ?? '', 'facets'))]
  if (columns.length > maxFacets) {
    throw collectionErrors.invalidParameter(`facets: expected at most ${maxFacets} columns`)
  }
  const disjunctive = [...new Set(parseNames(parameters.disjunctiveFacets ?? '', 'disjunctiveFacets'))]
  if (columns.length === 0 && disjunctive.length === 0) return undefined
  return { columns, disjunctive }
}
