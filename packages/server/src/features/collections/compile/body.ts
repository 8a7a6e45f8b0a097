import type { Attribute, Column, ColumnType } from '../../../database/catalog/model.ts'
import { type Sql, sql } from '../../../database/sql.ts'

/**
 * How values get from a JSON text into columns. `json_to_record` does it, but takes each array in an array for a
 * dimension, even one that is an element: a document, or a value of a domain over arrays. Types with such elements
 * are `json` to it, and are read element by element.
 */

/** What `json_to_record` makes of a body, only the columns that are written: `"a" integer, "docs" json`. */
export function compileBodyTypes(columns: readonly Column[]): Sql {
  return sql.join(columns.map(({ name, type }) => compileDefinition(name, type, type.name)))
}

/** The value of a column, where `alias` is a row of {@link compileBodyTypes}. */
export function compileBodyValue({ name, type }: Column, alias: string): Sql {
  return compileMember(name, type, alias)
}

function compileDefinition(name: string, type: ColumnType, typeName: ColumnType['name']): Sql {
  return sql`${sql.id(name)} ${isReadByParts(type) ? sql`json` : sql.type(typeName)}`
}

function compileMember(name: string, type: ColumnType, alias: string): Sql {
  const source = sql.id(alias, name)
  return isReadByParts(type) ? compileValue(type, source, `${alias}x`) : source
}

function isReadByParts({ element, attributes }: ColumnType): boolean {
  if (element !== undefined) return mayBeArray(element) || isReadByParts(element)
  return attributes?.some(({ type }) => isReadByParts(type)) === true
}

/** Whether a value of the type can be an array in JSON. */
function mayBeArray({ base, element }: ColumnType): boolean {
  return element !== undefined || base === 'json' || base === 'jsonb'
}

/** A value of the type from a `json`; `alias` is free for its parts. */
function compileValue(type: ColumnType, source: Sql, alias: string): Sql {
  const name = sql.type(type.name)
  const whole = sql`(select r.v from json_to_record(json_build_object('v', ${source})) r (v ${name}))`
  const { element, attributes } = type
  if (!isReadByParts(type)) return whole
  // What has no such parts, as a text or null, is read or refused as everywhere.
  return element === undefined
    ? sql`case json_typeof(${source}) when 'object' then ${compileRow(name, attributes ?? [], source, alias)} else ${whole} end`
    : sql`case when ${compileListTest(element, source)} then ${compileArray(element, source, alias)}::${name} else ${whole} end`
}

function compileArray(element: ColumnType, source: Sql, alias: string): Sql {
  const entry = sql.id(alias)
  return sql`array(
    select ${compileValue(element, sql.id(alias, 'value'), `${alias}x`)}
    from json_array_elements(${source}) with ordinality ${entry} (value, place)
    order by ${entry}.place)`
}

/** Rows are no arrays in JSON, so arrays in an array of them are dimensions. */
function compileListTest(element: ColumnType, source: Sql): Sql {
  const isArray = sql`json_typeof(${source}) = 'array'`
  return mayBeArray(element)
    ? isArray
    : sql`${isArray} and json_typeof(${source} -> 0) is distinct from 'array'`
}

function compileRow(name: Sql, attributes: readonly Attribute[], source: Sql, alias: string): Sql {
  const values = attributes.map((attribute) => compileMember(attribute.name, attribute.type, alias))
  const types = attributes.map((attribute) =>
    compileDefinition(attribute.name, attribute.type, attribute.typeName),
  )
  return sql`(
    select row(${sql.join(values)})::${name}
    from json_to_record(${source}) ${sql.id(alias)} (${sql.join(types)}))`
}
