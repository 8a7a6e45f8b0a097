import { collectionErrors } from '../errors.ts'
import { type Cursor, parseCursor } from './cursor.ts'
import { type Filter, parseFilter } from './filter.ts'
import { parseNames, parsePaths, parsePrefixedNames } from './names.ts'
import { type Parameters, readParameters } from './parameters.ts'
import { parseSearch, type Search, searchParameters } from './search.ts'
import { parseVector, type VectorQuery, vectorParameters } from './vector.ts'

/** What a list asks for, as written; names are not resolved yet. */
export interface ListQuery extends RecordQuery {
  readonly filter: Filter | undefined
  readonly search: Search | undefined
  /** Undefined: sorted by columns. */
  readonly vector: VectorQuery | undefined
  readonly sort: readonly SortTerm[]
  readonly perPage: number
  readonly paging:
    | { readonly kind: 'offset'; readonly page: number; readonly total: 'exact' | 'estimated' | 'none' }
    | { readonly kind: 'cursor'; readonly after: Cursor | undefined }
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
const listParameters = [
  ...recordParameters,
  ...['filter', 'sort', 'page', 'perPage', 'cursor', 'skipTotal', 'total'],
  ...searchParameters,
  ...vectorParameters,
]

/** Parameters of features that this server does not have. */
const unsupportedParameters = [
  'facets',
  ...['near', 'within', 'intersects', 'bbox', 'aggregate', 'group', 'disjunctiveFacets'],
]

/**
 * Reads the query string of a list.
 *
 * @throws AppError naming the parameter and what was expected
 */
export function parseListQuery(queryString: string): ListQuery {
  const parameters = readParameters(queryString, [...listParameters, ...unsupportedParameters])
  const unsupported = unsupportedParameters.find((name) => parameters[name] !== undefined)
  if (unsupported !== undefined) throw collectionErrors.unsupportedParameter(unsupported)
  const { page: pageText, cursor } = parameters
  const page = pageText === undefined ? 1 : Math.max(1, parseInteger('page', pageText))
  const perPageText = parameters.perPage
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
  const { filter } = parameters
  const total = parseTotal(parameters)
  return {
    ...readRecordQuery(parameters),
    filter: filter === undefined || filter.trim() === '' ? undefined : parseFilter(filter),
    vector: parseVector(parameters),
    search: parseSearch(parameters),
    sort: parseSort(parameters.sort ?? ''),
    perPage,
    paging:
      cursor === undefined ? { kind: 'offset', page, total } : { kind: 'cursor', after: parseCursor(cursor) },
  }
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

function parseSort(text: string): SortTerm[] {
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
