import type { ColumnType } from '../../../../database/catalog/model.ts'
import { type Sql, sql } from '../../../../database/sql.ts'

/** Compiles the smallest or greatest non-NULL value of any type that has an order. */
export function compileExtreme(name: 'min' | 'max', type: ColumnType, source: Sql): Sql {
  const isSmallest = name === 'min'
  if (type.base === 'bool') return isSmallest ? sql`bool_and(${source})` : sql`bool_or(${source})`
  if (ownAggregate.has(type.base) || type.enumLabels !== undefined) {
    return isSmallest ? sql`min(${source})` : sql`max(${source})`
  }
  // The other types have no such aggregate in PostgreSQL 15, or one that converts the value to another type. Sorting
  // spills to disk where it must.
  const fraction = isSmallest ? sql`0` : sql`1`
  return sql`percentile_disc(${fraction}) within group (order by ${source})`
}

/** Types with `min` and `max` of their own (PostgreSQL, Aggregate Functions). */
const ownAggregate: ReadonlySet<string> = new Set([
  ...['int2', 'int4', 'int8', 'numeric', 'float4', 'float8', 'money', 'oid'],
  ...['text', 'varchar', 'bpchar', 'inet', 'pg_lsn'],
  ...['date', 'time', 'timetz', 'timestamp', 'timestamptz', 'interval'],
])
