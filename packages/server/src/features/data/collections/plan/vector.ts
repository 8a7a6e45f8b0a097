import type { Column, Relation } from '../../../../database/catalog/model.ts'
import { vectorDimensions } from '../../../../database/catalog/vectors.ts'
import { collectionErrors } from '../errors.ts'
import type { ListQuery } from '../parse/list-query.ts'
import type { DistanceMetric, QueryVector, VectorQuery } from '../parse/vector.ts'
import { maySelect, type Reader, requireReadable } from './reader.ts'
import { planRecord, type RecordPlan } from './record.ts'
import { type PlanContext, planRows, type RowsPlan } from './rows.ts'

/** Records nearest to a vector, which is a value of the statement. */
export interface NearestPlan {
  readonly record: RecordPlan
  readonly rows: RowsPlan
  readonly vector: VectorPlan
  readonly limit: number
}

/** Column that is compared with the vector, and how. */
export interface VectorPlan {
  readonly column: VectorColumn
  readonly metric: DistanceMetric
  /** Number of dimensions of the vector, which the vectors of the column must have. */
  readonly dimensions: number | undefined
  /**
   * True if an index may be used. It finds some of the nearest rows, before policies and filters leave out others.
   */
  readonly isApproximate: boolean
  /** True if pgvector scans until it has found enough rows (iterative scans, 0.8). */
  readonly iterates: boolean
}

/** pgvector column, and the schema of its operators. */
export interface VectorColumn extends Column {
  readonly vectorSchema: string
}

/** Name of the distance in a record. */
export const distanceName = '_distance'

/** @throws AppError naming the parameter */
export function planNearest(
  context: PlanContext,
  relation: Relation,
  query: ListQuery & { readonly vector: VectorQuery },
): NearestPlan {
  requireNoColumn(relation, distanceName, query.vector.kind === 'nearest' ? 'nearest' : 'semantic_query')
  return {
    record: planRecord(context.catalog, relation, query, context.reader),
    rows: planRows(context, relation, query),
    vector: planVector(context, relation, query.vector),
    limit: query.perPage,
  }
}

/** @throws AppError vector_column_not_found, not_vector_column, no_vector_columns, several_vector_columns */
export function planVector(
  { catalog, reader }: Pick<PlanContext, 'catalog' | 'reader'>,
  relation: Relation,
  { column: name, metric }: Pick<VectorQuery, 'column' | 'metric'>,
): VectorPlan {
  const column = findVectorColumn(relation, name, reader)
  const isApproximate = mayUseIndex(relation, column)
  return {
    column,
    metric,
    dimensions: vectorDimensions(column),
    isApproximate,
    iterates: isApproximate && isAtLeast(catalog.extensions.get('vector'), 0, 8),
  }
}

/** @throws AppError vector_column_not_found, not_vector_column, no_vector_columns, several_vector_columns */
export function findVectorColumn(relation: Relation, name: string | undefined, reader: Reader): VectorColumn {
  const { collection } = relation
  if (name !== undefined) {
    const column = relation.column.get(name)
    if (column === undefined) throw collectionErrors.vectorColumnNotFound(name, collection)
    requireReadable(column, reader)
    if (!isVector(column)) throw collectionErrors.notVectorColumn(name, column.typeName)
    return asVectorColumn(column)
  }
  const all = relation.columns.filter(isVector)
  const readable = all.filter((column) => maySelect(column, reader))
  const [first, second] = readable.length === 0 ? all : readable
  if (first === undefined) throw collectionErrors.noVectorColumns(collection)
  requireReadable(first, reader)
  if (second === undefined) return asVectorColumn(first)
  const names = readable.map((column) => column.name)
  throw collectionErrors.severalVectorColumns(collection, names.join(', '))
}

function isVector({ type }: Column): boolean {
  return type.vectorSchema !== undefined
}

function asVectorColumn(column: Column): VectorColumn {
  return { ...column, vectorSchema: column.type.vectorSchema ?? '' }
}

/**
 * Returns whether an index of the column may be used. A view or foreign table may reach an index of its underlying
 * table.
 */
function mayUseIndex({ kind, indexes }: Relation, { name }: Column): boolean {
  if (kind === 'view' || kind === 'foreign_table') return true
  return indexes.some(
    ({ method, columns }) => (method === 'hnsw' || method === 'ivfflat') && columns?.includes(name) === true,
  )
}

/** Returns whether a version such as `0.8.0` is at least the given one. */
function isAtLeast(version: string | undefined, major: number, minor: number): boolean {
  const [first = 0, second = 0] = version?.split('.').map(Number) ?? []
  return first > major || (first === major && second >= minor)
}

/** Rejects a name that would hide a column. @throws AppError invalid_parameter */
export function requireNoColumn({ collection, column }: Relation, name: string, parameter: string): void {
  if (!column.has(name)) return
  throw collectionErrors.invalidParameter(
    `${parameter} cannot be used on table "${collection}" because it has a "${name}" column`,
  )
}

/** Maximum number of dimensions in pgvector for all types but `sparsevec`. */
const maxDimensions = 16_000

/**
 * Formats the vector as pgvector reads it.
 *
 * @throws AppError invalid_parameter, dimension_mismatch
 */
export function formatVector(
  { column, dimensions, metric }: Pick<VectorPlan, 'column' | 'dimensions' | 'metric'>,
  vector: QueryVector,
): string {
  const isSparse = column.type.base === 'sparsevec'
  const actual = vector.dimensions
  if (dimensions !== undefined && dimensions !== actual) {
    throw collectionErrors.dimensionMismatch(actual, column.name, dimensions)
  }
  if (vector.kind === 'sparse') {
    if (isSparse) return vector.text
    throw collectionErrors.invalidParameter('invalid nearest parameter: expected JSON array of numbers')
  }
  if (actual > maxDimensions) {
    throw collectionErrors.invalidParameter(
      `invalid nearest parameter: expected at most ${maxDimensions} dimensions`,
    )
  }
  if (metric === 'cosine' && !/[1-9]/.test(vector.text)) {
    throw collectionErrors.invalidParameter(
      'nearest vector must not be all zeros with cosine distance, which compares directions',
    )
  }
  return isSparse ? formatSparse(JSON.parse(vector.text)) : vector.text
}

function formatSparse(values: readonly number[]): string {
  const entries = values.flatMap((value, index) => (value === 0 ? [] : [`${index + 1}:${value}`]))
  return `{${entries.join()}}/${values.length}`
}
