import { collectionErrors } from '../errors.ts'
import { parseInteger, readParameters } from './parameters.ts'
import { type RowsQuery, readRowsQuery, rowsParameters } from './rows.ts'

/** Search among the values of a column. */
export interface FacetSearchQuery extends RowsQuery {
  readonly prefix: string
  readonly maxHits: number
}

const lengthLimit = 1000
const defaultHits = 10
const maxHits = 100

/** @throws AppError invalid_parameter */
export function parseFacetSearch(queryString: string): FacetSearchQuery {
  const parameters = readParameters(queryString, [...rowsParameters, 'q', 'maxFacetHits'])
  const { q = '', maxFacetHits } = parameters
  if (q.length > lengthLimit) throw collectionErrors.invalidParameter('facet prefix too long')
  return {
    ...readRowsQuery(parameters),
    prefix: q,
    maxHits: maxFacetHits === undefined ? defaultHits : parseMaxHits(maxFacetHits),
  }
}

function parseMaxHits(text: string): number {
  const hits = parseInteger('maxFacetHits', text)
  if (hits <= 0) throw collectionErrors.invalidParameter('maxFacetHits must be greater than 0')
  if (hits > maxHits) {
    throw collectionErrors.invalidParameter(`maxFacetHits must be less than or equal to ${maxHits}`)
  }
  return hits
}
