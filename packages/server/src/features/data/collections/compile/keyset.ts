import { type Sql, sql } from '../../../../database/sql.ts'
import type { Cursor } from '../parse/cursor.ts'
import type { Operator } from '../parse/tokens.ts'
import type { OrderKey } from '../plan/order.ts'
import { compileComparison } from './comparison.ts'
import { bind, compileNullTest } from './filter.ts'
import { compileRelated } from './related-joins.ts'

/** Keyset pagination: rows of a sorted list by the values of their sort keys. The rows are those of `alias`. */

/** Compiles `order by …`; empty without keys. */
export function compileOrder(order: readonly OrderKey[], alias: string): Sql {
  const keys = order.map((key) => {
    const value = compileKey(key, alias)
    return key.descending ? sql`${value} desc` : value
  })
  return keys.length === 0 ? sql.empty : sql`order by ${sql.join(keys)}`
}

/** Compiles the expression that a key sorts by. Related rows are those of {@link compileJoins}. */
export function compileKey({ name, column, computed, related }: OrderKey, alias: string): Sql {
  if (computed !== undefined) return computed.compile(alias)
  return related === undefined
    ? sql.id(alias, name)
    : compileRelated(related.joins, column?.name ?? name, alias)
}

/**
 * Compiles the condition for the rows after those key values in the order of the keys. NULLs come last ascending and
 * first descending. The first key is after, or it is equal and the second is after, and so on.
 */
export function compileAfter(order: readonly OrderKey[], cursor: Cursor, alias: string): Sql {
  const keys = pairKeys(order, cursor, alias)
  const alternatives = keys.flatMap((key, index) => {
    const after = compileKeyAfter(key)
    if (after === undefined) return []
    return [sql`(${sql.join([...keys.slice(0, index).map(compileEqual), after], sql` and `)})`]
  })
  if (alternatives.length === 0) return sql`false`
  const condition = sql`(${sql.join(alternatives, sql` or `)})`
  const bound = compileBound(keys)
  return bound === undefined ? condition : sql`${bound} and ${condition}`
}

/** Sort key with its value in the last row of the previous page. */
interface KeyValue extends OrderKey {
  readonly source: Sql
  /** Value as a parameter; undefined for NULL. */
  readonly value: Sql | undefined
}

function pairKeys(order: readonly OrderKey[], cursor: Cursor, alias: string): KeyValue[] {
  return order.map((key, index) => {
    const source = compileKey(key, alias)
    const value = cursor[index]?.value ?? null
    if (value === null) return { ...key, source, value: undefined }
    return { ...key, source, value: bindKey(key, value) }
  })
}

function bindKey({ column, computed }: OrderKey, value: string): Sql {
  if (computed !== undefined)
    return sql`${value}::${computed.type === 'real' ? sql`real` : sql`double precision`}`
  return column === undefined ? sql`${value}` : bind(column, value)
}

/**
 * Compiles a bound on the first key. It follows from the alternatives, but an index can use it only as a single
 * comparison.
 */
function compileBound([first]: readonly KeyValue[]): Sql | undefined {
  if (first?.value === undefined || (first.nullable && !first.descending)) return undefined
  return compare(first, first.descending ? '<=' : '>=', first.value)
}

/**
 * Compiles the condition that a key is after its value. Returns undefined when nothing can be after: NULLs come last.
 */
function compileKeyAfter(key: KeyValue): Sql | undefined {
  if (key.descending) {
    return key.value === undefined ? nullTest(key, true) : compare(key, '<', key.value)
  }
  if (key.value === undefined) return undefined
  const isGreater = compare(key, '>', key.value)
  return key.nullable ? sql`(${isGreater} or ${nullTest(key, false)})` : isGreater
}

function compileEqual(key: KeyValue): Sql {
  return key.value === undefined ? nullTest(key, false) : compare(key, '=', key.value)
}

function compare(key: KeyValue, operator: Operator, value: Sql): Sql {
  return compileComparison(key.column?.type, key.source, operator, value)
}

function nullTest(key: KeyValue, isNegated: boolean): Sql {
  return compileNullTest(key.source, key.column, isNegated)
}
