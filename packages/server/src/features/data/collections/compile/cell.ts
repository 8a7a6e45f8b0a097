import type { Column, ColumnType } from '../../../../database/catalog/model.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import { compileJsonValue } from './json-value.ts'

/**
 * Cells as text. A long value is not read in full just to be cut. Text and bytes are read only as far as they are
 * returned (PostgreSQL, Storage: TOAST, slices). Other types have to be read and printed whole, so their large values
 * are left out.
 */

/** Stored size in bytes from which a value is not printed, unless it can be read in part. */
const printedBytes = 65_536
const printedPrefixBytes = 32

/**
 * Compiles the text of a cell, at most one character longer than `width`. It is empty where the value is too large to
 * be printed.
 */
export function compileCell({ name, type }: Column, alias: string, width: number): Sql {
  const source = sql.id(alias, name)
  const characters = sql.integer(width + 1)
  if (type.base === 'bytea') {
    return sql`'\\x' || encode(substring(${source} from 1 for ${sql.integer(printedPrefixBytes)}), 'hex')`
  }
  if (type.isText) return sql`left(${source}::text, ${characters})`
  if (isShort(type)) return sql`${source}::text`
  return sql`case
    when ${source} is null then null
    when pg_column_size(${source}) > ${sql.integer(printedBytes)} then ''
    else left(${compileWhole(type, source)}, ${characters}) end`
}

/** Compiles the size in bytes of a cell that may be cut, else null. */
export function compileSize({ name, type }: Column, alias: string, width: number): Sql {
  const source = sql.id(alias, name)
  if (isShort(type)) return sql`null`
  if (type.base === 'bytea') return sql`octet_length(${source})::text`
  const size = type.isText ? sql`octet_length(${source}::text)` : sql`pg_column_size(${source})`
  if (type.isText) return sql`case when ${size} > ${sql.integer(width)} then (${size})::text end`
  // The stored value may be compressed, so its size does not show whether the text is cut.
  return sql`case
    when ${size} > ${sql.integer(printedBytes)}
      or length(${compileWhole(type, source)}) > ${sql.integer(width)} then (${size})::text end`
}

/** Compiles the whole value as text. */
export function compileWhole(type: ColumnType, source: Sql): Sql {
  // GeoJSON can be read and drawn, while PostGIS's own text is its bytes.
  const json = type.spatialSchema === undefined ? undefined : compileJsonValue(type, source, 'v')
  return sql`(${json ?? source})::text`
}

/** Types whose values are never long. */
const shortTypes: ReadonlySet<string> = new Set([
  ...['bool', 'int2', 'int4', 'int8', 'float4', 'float8', 'oid', 'uuid', 'date', 'time', 'timetz'],
  ...['timestamp', 'timestamptz', 'interval', 'inet', 'cidr', 'macaddr', 'macaddr8', 'money'],
])

/** Returns whether no value of the type is long. */
export function isShort({ base, element, attributes, enumLabels }: ColumnType): boolean {
  if (element !== undefined || attributes !== undefined) return false
  return shortTypes.has(base) || enumLabels !== undefined
}
