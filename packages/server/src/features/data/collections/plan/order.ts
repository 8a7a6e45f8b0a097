import type { Catalog, Column, Relation } from '../../../../database/catalog/model.ts'
import type { Sql } from '../../../../database/sql.ts'
import { compileRank } from '../compile/search.ts'
import { compileDistanceOrder } from '../compile/spatial.ts'
import { collectionErrors } from '../errors.ts'
import type { Cursor } from '../parse/cursor.ts'
import type { SortTerm } from '../parse/list-query.ts'
import { mayReadSystemColumns, type Reader, readableRowKey } from './reader.ts'
import { requireColumn } from './references.ts'
import { planRelatedColumn, type RelatedColumn } from './related-column.ts'
import type { SearchPlan } from './search.ts'
import type { DistancePlan } from './spatial.ts'

/** Sort key of rows. */
export interface OrderKey {
  readonly name: string
  /**
   * Column of the key, of the sorted relation or of a related one. Undefined for a computed value, and for a system
   * column where nothing else distinguishes rows.
   */
  readonly column: Column | undefined
  /** Way to the related row that has the column; undefined for a column of the sorted relation. */
  readonly related?: RelatedColumn
  /** Computed value of the key; undefined for a column. */
  readonly computed?: ComputedKey
  readonly nullable: boolean
  readonly descending: boolean
}

/** Sort value that no column holds. */
export interface ComputedKey {
  readonly type: 'real' | 'double precision'
  compile(alias: string): Sql
}

export interface OrderPlan {
  readonly keys: readonly OrderKey[]
  /** True if no two rows are equal in all keys. */
  readonly isTotal: boolean
}

/** Values that a list can be sorted by beside its own columns. */
export interface OrderContext {
  /** Catalog with the related tables; undefined if sorts have no paths. */
  readonly catalog?: Catalog | undefined
  readonly search?: SearchPlan | undefined
  readonly distance?: DistancePlan | undefined
}

/** @throws AppError naming the parameter */
export function planOrder(
  relation: Relation,
  sort: readonly SortTerm[],
  reader: Reader,
  context: OrderContext = {},
): OrderPlan {
  const terms = planTerms(relation, sort, reader, context)
  const key = readableRowKey(relation, reader)
  const isKeyReadable = key.length > 0 && key.length === relation.rowKey.length
  const isPositioned = mayReadSystemColumns(relation, reader) && (!isKeyReadable || relation.hasDescendants)
  const position = isPositioned ? rowPosition(relation) : []
  const ties = tieBreak(relation, terms, [...key.map(({ name }) => name), ...position])
  return { keys: [...terms, ...ties], isTotal: isKeyReadable || position.length > 0 }
}

/** Plans the sort terms. A search sorts by rank when no other order is requested. */
function planTerms(
  relation: Relation,
  sort: readonly SortTerm[],
  reader: Reader,
  { catalog, search, distance }: OrderContext,
): OrderKey[] {
  const named = sort.map((term) => planSortTerm(relation, term, reader, catalog))
  if (distance !== undefined) return [distanceKey(distance), ...named]
  return sort.length === 0 && search !== undefined ? rankOrder(relation, search, reader) : named
}

/** Returns the key that sorts the nearest first; rows without a geometry come last. */
function distanceKey(distance: DistancePlan): OrderKey {
  const { target, lng, lat } = distance
  return {
    // The name includes the point, so that a cursor belongs to it.
    name: `${target.column.name}.distance(${lng},${lat})`,
    column: undefined,
    computed: { type: 'double precision', compile: (alias) => compileDistanceOrder(distance, alias) },
    nullable: true,
    descending: false,
  }
}

/** Returns the keys that sort the best matches first. */
function rankOrder(relation: Relation, search: SearchPlan, reader: Reader): OrderKey[] {
  const rank: OrderKey = {
    name: '_rank',
    column: undefined,
    computed: { type: 'real', compile: (alias) => compileRank(search, alias) },
    nullable: false,
    descending: true,
  }
  return [rank, ...search.ranking.map((term) => planSortTerm(relation, term, reader))]
}

/** Returns true if the key is a column of the sorted relation, a system column included. */
export function isOwnColumn({ computed, related }: OrderKey): boolean {
  return computed === undefined && related === undefined
}

/** Returns the relations that the keys read beside the sorted one. */
export function relationsOfOrder(order: readonly OrderKey[]): readonly Relation[] {
  return order.flatMap(({ related }) => related?.joins.map(({ target }) => target) ?? [])
}

/** Returns the name of a key in a {@link Cursor}. */
export function describeKey({ name, descending }: OrderKey): string {
  return descending ? `-${name}` : name
}

/**
 * Rejects a cursor of another sort, whose values would be compared with the wrong columns.
 *
 * @throws AppError invalid_cursor
 */
export function requireSameOrder(order: readonly OrderKey[], after: Cursor): void {
  if (after.length !== order.length) {
    throw collectionErrors.invalidCursor(
      `cursor has ${after.length} values but sort has ${order.length} fields`,
    )
  }
  const isSame = order.every((key, index) => describeKey(key) === after[index]?.key)
  if (!isSame) throw collectionErrors.invalidCursor('it belongs to another sort')
}

function planSortTerm(
  relation: Relation,
  { column: name, path, isPath = false, descending }: SortTerm,
  reader: Reader,
  catalog?: Catalog,
): OrderKey {
  if (path !== undefined && catalog !== undefined && (isPath || !relation.column.has(name))) {
    const { column, ...related } = planRelatedColumn({ catalog, reader }, relation, path)
    requireOrdered(column, name)
    // The related row may be missing, or hidden by its policies.
    return { name: path.join('.'), column, related, nullable: true, descending }
  }
  const column = requireColumn(relation, name, 'sort', reader)
  requireOrdered(column, name)
  return { name, column, nullable: column.nullable, descending }
}

function requireOrdered({ type, typeName }: Column, name: string): void {
  if (type.hasOrder) return
  throw collectionErrors.invalidParameter(`sort: ${typeName} of column "${name}" has no order`)
}

/** Returns the keys that distinguish rows and are not sorted by yet. */
function tieBreak(relation: Relation, sort: readonly OrderKey[], names: readonly string[]): OrderKey[] {
  const sorted = new Set(sort.filter(isOwnColumn).map(({ name }) => name))
  return names
    .filter((name) => !sorted.has(name))
    .map((name) => ({ name, column: relation.column.get(name), nullable: false, descending: false }))
}

/**
 * Returns the system columns that locate a row. Rows of a table have a position in the file of their table; rows of a
 * view keep the view's order. Rows in different shards have equal positions.
 */
function rowPosition({ kind, isOnWorkers }: Relation): readonly string[] {
  const isStored = kind === 'table' || kind === 'partitioned_table' || kind === 'materialized_view'
  return isStored && !isOnWorkers ? ['tableoid', 'ctid'] : []
}
