import { type Sql, sql } from '../../../../database/sql.ts'
import type { Cursor } from '../parse/cursor.ts'
import type { Operator } from '../parse/tokens.ts'
import type { OrderKey } from '../plan/order.ts'
import { compileComparison } from './comparison.ts'
import { bind, compileNullTest } from './filter.ts'

/** Rows of a sorted list by the values of their sort keys; the rows are those of `alias`. */

/** `order by …`; empty without keys. */
export function compileOrder(order: readonly OrderKey[], alias: string): Sql {
  const keys = order.map((key) => {
    const value = compileKey(key, alias)
    return key.descending ? sql`${value} desc` : value
  })
  return keys.length === 0 ? sql.empty : sql`order by ${sql.join(keys)}`
}

/** What a key sorts by. */
export function compileKey({ name, computed }: OrderKey, alias: string): Sql {
  return computed === undefined ? sql.id(alias, name) : computed.compile(alias)
}

/**
 * The rows after those key values in the order of the keys, where NULLs come last ascending and first
 * descending: the first key is after, or equal and the second is after, and so on.
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

/** A sort key with the value it had in the last row of the page before. */
interface KeyValue extends OrderKey {
  readonly source: Sql
  /** As a parameter; undefined stands for NULL. */
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

/** Follows from the alternatives, but only as one comparison can it be answered by an index. */
function compileBound([first]: readonly KeyValue[]): Sql | undefined {
  if (first?.value === undefined || (first.nullable && !first.descending)) return undefined
  return compare(first, first.descending ? '<=' : '>=', first.value)
}

/** Undefined when nothing can be after: NULLs come last. */
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
