import { collectionErrors } from '../errors.ts'
import { type AggregateQuery, aggregateParameters, parseAggregate } from './aggregate.ts'
import { type Cursor, parseCursor } from './cursor.ts'
import { type DistanceSort, takeDistanceSort } from './distance-sort.ts'
import { type FacetsQuery, facetParameters, parseFacets } from './facets.ts'
import { parseNames, parsePaths, parsePrefixedNames } from './names.ts'
import { type Parameters, readParameters } from './parameters.ts'
import { type RowsQuery, readRowsQuery, rowsParameters } from './rows.ts'
import { parseVector, type VectorQuery, vectorParameters } from './vector.ts'

/** What a list asks for, as written; names are not resolved yet. */
export interface ListQuery extends RecordQuery, RowsQuery {
  /** Undefined: sorted by columns. */
  readonly vector: VectorQuery | undefined
  /** Sorts before the terms of `sort`. */
  readonly distance: DistanceSort | undefined
  readonly sort: readonly SortTerm[]
  readonly perPage: number
  readonly paging:
    | { readonly kind: 'offset'; readonly page: number; readonly total: 'exact' | 'estimated' | 'none' }
    | { readonly kind: 'cursor'; readonly after: Cursor | undefined }
  readonly facets: FacetsQuery | undefined
}

/** What an aggregate asks for in place of a list. */
export interface AggregateListQuery extends RowsQuery {
  readonly aggregate: AggregateQuery
}

/** What a single record can be asked for. */
export interface RecordQuery {
  /** Undefined: every column. */
  readonly fields: readonly string[] | undefined
  /** Paths of relation names: `album.artist` is `['album', 'artist']`. */
  readonly expand: readonly (readonly string[])[]
}

export interface SortTerm {
  readonly column: string
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
 * Reads the query string of a list, or of an aggregate over its rows.
 *
 * @throws AppError naming the parameter and what was expected
 */
export function parseListQuery(queryString: string): ListQuery | AggregateListQuery {
  const parameters = readParameters(queryString, listParameters)
  const aggregate = parseAggregate(parameters)
  const vector = aggregate === undefined ? parseVector(parameters) : undefined
  const rows = readRowsQuery(parameters)
  if (aggregate !== undefined) {
    requireCombinable(parameters)
    return { ...rows, aggregate }
  }
  const facets = parseFacets(parameters)
  const { distance, rest } = takeDistanceSort(parameters.sort ?? '')
  return {
    ...readRecordQuery(parameters),
    ...rows,
    vector,
    distance,
    sort: parseSort(rest),
    ...parsePage(parameters),
    facets,
  }
}

/** An aggregate is no list of records: what says which are shown, and how, would be ignored. */
function requireCombinable(parameters: Parameters): void {
  for (const name of Object.keys(parameters)) {
    if (name.startsWith('_') || rowsParameters.includes(name) || aggregateParameters.includes(name)) continue
    if (name === 'sort' || recordParameters.includes(name) || pageParameters.includes(name)) {
      throw collectionErrors.invalidParameter(`aggregate cannot be combined with ${name}`)
    }
    throw collectionErrors.unsupportedParameter(name)
  }
}

function parsePage(parameters: Parameters): Pick<ListQuery, 'perPage' | 'paging'> {
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
  const total = parseTotal(parameters)
  if (cursor !== undefined) return { perPage, paging: { kind: 'cursor', after: parseCursor(cursor) } }
  return { perPage, paging: { kind: 'offset', page, total } }
}

/** Reads the query string of a single record. */
export function parseRecordQuery(queryString: string): RecordQuery {
  return readRecordQuery(readParameters(queryString, recordParameters))
}

/** What `fields` and `expand` say. */
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

/** @throws AppError invalid_parameter */
export function parseSort(text: string): SortTerm[] {
  // In a query string "+" means a blank; parsePrefixedNames skips it, which is what "+" asks for.
  const terms = parsePrefixedNames(text, 'sort').map(({ prefix, name }) => ({
    column: name,
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

function parseInteger(name: string, text: string): number {
  if (!/^[+-]?\d+$/.test(text.trim())) throw collectionErrors.invalidParameter(`${name}: expected an integer`)
  return Number(text)
}
