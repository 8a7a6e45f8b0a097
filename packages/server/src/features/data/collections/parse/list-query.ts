import { collectionErrors } from '../errors.ts'
import { type AggregateQuery, aggregateParameters, parseAggregate, requireAggregate } from './aggregate.ts'
import { type Cursor, parseCursor } from './cursor.ts'
import { type DistanceSort, takeDistanceSort } from './distance-sort.ts'
import { type FacetsQuery, facetParameters, parseFacets } from './facets.ts'
import { parseNames, parsePaths, parsePrefixedPaths } from './names.ts'
import { type Parameters, parseInteger, readParameters } from './parameters.ts'
import { type RowsQuery, readConditions, rowsParameters } from './rows.ts'
import { parseSearch } from './search.ts'
import { parseVector, type VectorQuery, vectorParameters } from './vector.ts'

/** List request as written. Names are not resolved yet. */
export interface ListQuery extends RecordQuery, RowsQuery {
  /** Vector to sort by; undefined when columns sort the list. */
  readonly vector: VectorQuery | undefined
  /** Distance that sorts before the terms of `sort`. */
  readonly distance: DistanceSort | undefined
  readonly sort: readonly SortTerm[]
  readonly perPage: number
  readonly paging:
    | { readonly kind: 'offset'; readonly page: number; readonly total: 'exact' | 'estimated' | 'none' }
    | { readonly kind: 'cursor'; readonly after: Cursor | undefined }
  readonly facets: FacetsQuery | undefined
}

/** Aggregate request in place of a list. */
export interface AggregateListQuery extends RowsQuery {
  readonly aggregate: AggregateQuery
}

/** Parameters of a single record. */
export interface RecordQuery {
  /** Columns to return; undefined for every column. */
  readonly fields: readonly string[] | undefined
  /** Paths of relation names: `album.artist` is `['album', 'artist']`. */
  readonly expand: readonly (readonly string[])[]
}

export interface SortTerm {
  readonly column: string
  /** Names of many-to-one relations and of a column, if the name can be read as a path. */
  readonly path?: readonly string[] | undefined
  /** True if the name is no column, whatever columns there are. */
  readonly isPath?: boolean
  readonly descending: boolean
}

const defaultPerPage = 20
const maxPerPage = 500
const maxSortTerms = 10
const maxExpandPaths = 10
const maxExpandDepth = 4

export const recordParameters = ['fields', 'expand']
const pageParameters = ['page', 'perPage', 'cursor', 'skipTotal', 'total']
const listParameters = [
  ...rowsParameters,
  ...recordParameters,
  'sort',
  'highlight',
  ...pageParameters,
  ...vectorParameters,
  ...facetParameters,
  ...aggregateParameters,
]

/**
 * Parses the query string of a list, or of an aggregate over its rows. If there are several faults, the first in the
 * order below is reported.
 *
 * @throws AppError naming the parameter and what was expected
 */
export function parseListQuery(queryString: string): ListQuery | AggregateListQuery {
  const parameters = readParameters(queryString, listParameters)
  requireAggregate(parameters)
  const conditions = readConditions(parameters)
  const aggregate = parseAggregate(parameters)
  if (aggregate !== undefined) {
    requireCombinable(parameters)
    return { ...conditions, search: parseSearch(parameters), aggregate }
  }
  const page = parsePage(parameters)
  // The vector comes before the search, because a mode rejects unsupported parameters whatever their value.
  const vector = parseVector(parameters)
  const search = parseSearch(parameters)
  const facets = parseFacets(parameters)
  const order = parseOrder(parameters.sort)
  const { cursor } = parameters
  const paging =
    cursor === undefined ? page.paging : ({ kind: 'cursor', after: parseCursor(cursor) } as const)
  const { perPage } = page
  return { ...readRecordQuery(parameters), ...conditions, ...order, vector, search, facets, perPage, paging }
}

/** Rejects an aggregate with parameters that say which records are returned and how, since they would be ignored. */
function requireCombinable(parameters: Parameters): void {
  for (const name of Object.keys(parameters)) {
    if (name.startsWith('_') || rowsParameters.includes(name) || aggregateParameters.includes(name)) continue
    if (name === 'sort' || recordParameters.includes(name) || pageParameters.includes(name)) {
      throw collectionErrors.invalidParameter(`aggregate cannot be combined with ${name}`)
    }
    throw collectionErrors.unsupportedParameter(name)
  }
}

interface Page {
  readonly perPage: number
  /** Paging that applies without a cursor. */
  readonly paging: Extract<ListQuery['paging'], { readonly kind: 'offset' }>
}

function parsePage(parameters: Parameters): Page {
  const { page: pageText, perPage: perPageText, cursor } = parameters
  const page = pageText === undefined ? 1 : Math.max(1, parseInteger('page', pageText))
  const perPage =
    perPageText === undefined
      ? defaultPerPage
      : Math.min(maxPerPage, Math.max(1, parseInteger('perPage', perPageText)))
  if (cursor !== undefined && page > 1) {
    throw collectionErrors.invalidParameter('cursor and page parameters are mutually exclusive')
  }
  if (!Number.isSafeInteger(page * perPage)) {
    throw collectionErrors.invalidParameter('page: expected a smaller number')
  }
  return { perPage, paging: { kind: 'offset', page, total: parseTotal(parameters) } }
}

/** Parses the query string of a single record. */
export function parseRecordQuery(queryString: string): RecordQuery {
  return readRecordQuery(readParameters(queryString, recordParameters))
}

/** Parses `fields` and `expand`. */
export function readRecordQuery(parameters: Parameters): RecordQuery {
  const fields = parseNames(parameters.fields ?? '', 'fields')
  const expand = parsePaths(parameters.expand ?? '', 'expand')
  if (expand.length > maxExpandPaths) {
    throw collectionErrors.invalidParameter(`expand: expected at most ${maxExpandPaths} relations`)
  }
  if (expand.some((path) => path.length > maxExpandDepth)) {
    throw collectionErrors.invalidParameter(`expand: expected at most ${maxExpandDepth} levels`)
  }
  return { fields: fields.length === 0 ? undefined : fields, expand }
}

/** Parses `sort`. @throws AppError invalid_parameter */
export function parseOrder(text = ''): Pick<ListQuery, 'distance' | 'sort'> {
  const { distance, rest } = takeDistanceSort(text)
  return { distance, sort: parseSort(rest) }
}

function parseSort(text: string): SortTerm[] {
  // In a query string "+" means a blank. parsePrefixedPaths skips blanks, which gives the meaning of "+": ascending.
  const terms = parsePrefixedPaths(text, 'sort').map(({ prefix, name, path, isPath }) => ({
    column: name,
    ...(path === undefined ? {} : { path, isPath }),
    descending: prefix === '-',
  }))
  if (terms.length > maxSortTerms) {
    throw collectionErrors.invalidParameter(`sort: expected at most ${maxSortTerms} fields`)
  }
  return terms
}

function parseTotal(parameters: Parameters): 'exact' | 'estimated' | 'none' {
  const { skipTotal, total } = parameters
  if (total !== undefined && total !== 'estimated') {
    throw collectionErrors.invalidParameter('total: expected "estimated"')
  }
  if (skipTotal === 'true') return 'none'
  if (skipTotal !== undefined && skipTotal !== 'false') {
    throw collectionErrors.invalidParameter('skipTotal: expected true or false')
  }
  return total ?? 'exact'
}
