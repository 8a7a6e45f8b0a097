import { decodeParameter } from '../../../../http/requests/query-string.ts'
import { parseJson } from '../../../../lib/json.ts'
import { collectionErrors } from '../errors.ts'
import { type Parameters, parseFlag } from './parameters.ts'

export const vectorParameters = ['nearest', 'semantic_query', 'semantic', 'vector_column', 'distance']

/** List that is sorted by the distance of a column to a vector. */
export type VectorQuery = VectorTarget & VectorSource

interface VectorTarget {
  /** Vector column; undefined for the only one of the table. */
  readonly column: string | undefined
  readonly metric: DistanceMetric
}

/**
 * Source of the vector. That of `nearest` is passed separately from the query: {@link takeNearest}. `hybrid` fuses
 * with the full-text search.
 */
type VectorSource =
  | { readonly kind: 'nearest' }
  | { readonly kind: 'semantic'; readonly text: string }
  | { readonly kind: 'hybrid'; readonly text: string }

/**
 * Vector as pgvector reads it: `[0.5,2]`, or a sparse one `{1:0.5,7:2}/30000`. The text of a dense vector is passed
 * on as sent: parsing and printing 384 numbers takes longer than checking them.
 */
export interface QueryVector {
  readonly kind: 'dense' | 'sparse'
  readonly text: string
  readonly dimensions: number
}

export type DistanceMetric = 'cosine' | 'l2' | 'inner_product'

const metrics: readonly DistanceMetric[] = ['cosine', 'l2', 'inner_product']

/** Parameters of lists that no vector mode accepts. */
const unsupported = ['fuzzy', 'facets', 'disjunctiveFacets', 'typo_threshold', 'highlight']

const maxTextBytes = 8000

/**
 * Removes the vector from a query string. The vector is most of the text and differs between requests that are
 * otherwise the same; those are then planned once.
 */
export function takeNearest(queryString: string): { readonly rest: string; readonly nearest: string } {
  const found = /(?:^|&)nearest=([^&]*)/.exec(queryString)
  if (found === null) return { rest: queryString, nearest: '' }
  const [all, value = ''] = found
  const end = found.index + all.length
  const rest = queryString.slice(0, end - value.length) + queryString.slice(end)
  return { rest, nearest: decodeParameter(value) }
}

/**
 * Parses the vector mode. Returns undefined for a list that is sorted otherwise. @throws AppError invalid_parameter,
 * unsupported_parameter
 */
export function parseVector(parameters: Parameters): VectorQuery | undefined {
  const { nearest, semantic_query: semanticQuery, semantic, search = '' } = parameters
  if (nearest !== undefined && semanticQuery !== undefined) {
    throw collectionErrors.invalidParameter("cannot use both 'nearest' and 'semantic_query' parameters")
  }
  const isFused = parseFlag('semantic', semantic)
  const isVector = nearest !== undefined || semanticQuery !== undefined
  if (isFused && isVector) {
    throw collectionErrors.invalidParameter('cannot combine semantic=true with nearest or semantic_query')
  }
  if (!isVector && !isFused) {
    const stray = ['vector_column', 'distance'].find((name) => parameters[name] !== undefined)
    if (stray === undefined) return undefined
    throw collectionErrors.invalidParameter(`${stray} requires nearest, semantic_query or semantic=true`)
  }
  const metric = parseMetric(parameters.distance)
  // While nothing has been typed yet, a search shows the list.
  if (isFused && search.trim() === '') return undefined
  const refused = [...unsupported, ...(isVector ? ['search'] : [])].find(
    (name) => parameters[name] !== undefined,
  )
  if (refused !== undefined) throw collectionErrors.unsupportedParameter(refused)
  const target = { column: parameters.vector_column, metric }
  if (nearest !== undefined) return { ...target, kind: 'nearest' }
  if (semanticQuery === undefined) return { ...target, kind: 'hybrid', text: search.trim() }
  return { ...target, kind: 'semantic', text: parseText(semanticQuery) }
}

/** @throws AppError invalid_parameter */
export function parseMetric(name = 'cosine'): DistanceMetric {
  const metric = metrics.find((each) => each === name)
  if (metric !== undefined) return metric
  throw collectionErrors.invalidParameter(
    `unsupported distance metric ${JSON.stringify(name)}; valid: ${metrics.join(', ')}`,
  )
}

function parseText(text: string): string {
  const trimmed = text.trim()
  if (trimmed === '') throw collectionErrors.invalidParameter('semantic_query must not be empty')
  if (Buffer.byteLength(trimmed) > maxTextBytes) {
    throw collectionErrors.invalidParameter(`semantic_query too long: at most ${maxTextBytes} bytes`)
  }
  return trimmed
}

/**
 * Pattern of a JSON array with at most as many numbers as pgvector accepts. Their length keeps them in the range of
 * single precision.
 */
const plainNumbers =
  /^\[-?(?:0|[1-9]\d{0,36})(?:\.\d{1,30})?(?:,-?(?:0|[1-9]\d{0,36})(?:\.\d{1,30})?){0,15999}\]$/

/** @throws AppError invalid_parameter */
export function parseVectorValue(text: string): QueryVector {
  const sparse = text.trimStart().startsWith('{') ? parseSparse(text) : undefined
  if (sparse !== undefined) return sparse
  if (plainNumbers.test(text)) return { kind: 'dense', text, dimensions: countCommas(text) + 1 }
  const values = parseJson(text)
  if (!Array.isArray(values) || !values.every(isSinglePrecision)) {
    throw collectionErrors.invalidParameter('invalid nearest parameter: expected JSON array of numbers')
  }
  if (values.length === 0) throw collectionErrors.invalidParameter('nearest vector must not be empty')
  return denseVector(values)
}

export function denseVector(values: readonly number[]): QueryVector {
  return { kind: 'dense', text: `[${values.join()}]`, dimensions: values.length }
}

function countCommas(text: string): number {
  let count = 0
  for (let at = text.indexOf(','); at !== -1; at = text.indexOf(',', at + 1)) count += 1
  return count
}

/** Returns whether pgvector can store the value. JSON has no NaN, but numbers of any size. */
function isSinglePrecision(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(Math.fround(value))
}

const sparseForm = /^\{\s*(?:\d+\s*:\s*-?[\d.]+(?:e[+-]?\d+)?\s*(?:,\s*(?=\d)|(?=\})))*\}\/(\d{1,10})$/i

function parseSparse(text: string): QueryVector | undefined {
  const [, dimensions] = sparseForm.exec(text.trim()) ?? []
  return dimensions === undefined
    ? undefined
    : { kind: 'sparse', text: text.trim(), dimensions: Number(dimensions) }
}
