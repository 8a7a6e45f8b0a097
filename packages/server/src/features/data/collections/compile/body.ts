import type { Attribute, ColumnType } from '../../../../database/catalog/model.ts'
import { type Sql, sql } from '../../../../database/sql.ts'

/**
 * How values get from a JSON text into columns. `json_to_record` does it, but takes each array in an array for a
 * dimension, even one that is an element: a document, or a value of a domain over arrays. Types with such elements
 * are `json` to it, and are read element by element. So are geographies, which PostGIS reads no GeoJSON for.
 */

/** What `json_to_record` makes of a body, only the columns that are written: `"a" integer, "docs" json`. */
export function compileBodyTypes(columns: readonly Member[]): Sql {
  // A list of columns is never empty; no column of a table has to have this name.
  if (columns.length === 0) return sql`"_" text`
  return sql.join(columns.map((column) => compileDefinition(column, column.type.name)))
}

/** The value of a column, where `alias` is a row of {@link compileBodyTypes}. */
export function compileBodyValue(column: Member, alias: string): Sql {
  return compileMember(column, alias)
}

/** A column, an attribute of a row, or a parameter of a function. */
interface Member {
  readonly name: string
  readonly type: ColumnType
  /** With what PostGIS and others write behind it. */
  readonly typeName: string
}

/** How many characters or bits a column takes, where more of them are refused. */
export function lengthLimit(typeName: string): number | undefined {
  const [, limit] = /^(?:character|character varying|bit|bit varying)\((\d+)\)$/.exec(typeName) ?? []
  return limit === undefined ? undefined : Number(limit)
}

function compileDefinition(member: Member, typeName: ColumnType['name']): Sql {
  return sql`${sql.id(member.name)} ${isReadByParts(member) ? sql`json` : sql.type(typeName)}`
}

function compileMember(member: Member, alias: string): Sql {
  const source = sql.id(alias, member.name)
  return isReadByParts(member) ? compileValue(member, source, `${alias}x`) : source
}

type Typed = Pick<Member, 'type' | 'typeName'>

function isReadByParts({ type, typeName }: Typed): boolean {
  const { element, attributes, spatialSchema, base } = type
  if (element !== undefined) return mayBeArray(element) || isReadByParts(elementOf(element, typeName))
  if (spatialSchema !== undefined) return base === 'geography' || takesEverySrid(typeName)
  return attributes?.some(isReadByParts) === true
}

function elementOf(type: ColumnType, typeName: string): Typed {
  return { type, typeName: typeName.replace(/(\[\])+$/, '') }
}

/** Whether a value of the type can be an array in JSON. */
function mayBeArray({ base, element }: ColumnType): boolean {
  return element !== undefined || ['json', 'jsonb', 'vector', 'halfvec'].includes(base)
}

/** Whether a geometry column names no reference system. Where one does, PostGIS takes GeoJSON to be in that. */
function takesEverySrid(typeName: string): boolean {
  return /\bgeometry"?(\(\w+\))?$/.test(typeName)
}

/** A value of the type from a `json`; `alias` is free for its parts. */
function compileValue(member: Typed, source: Sql, alias: string): Sql {
  const { type } = member
  const name = sql.type(type.name)
  const whole = compileWhole(name, source)
  if (!isReadByParts(member)) return whole
  const { element, attributes, spatialSchema } = type
  if (spatialSchema !== undefined) {
    return sql`${compileGeometry(spatialSchema, type, source)}::${name}`
  }
  // What has no such parts, as a text or null, is read or refused as everywhere.
  return element === undefined
    ? sql`case json_typeof(${source}) when 'object' then ${compileRow(name, attributes ?? [], source, alias)} else ${whole} end`
    : sql`case when ${compileListTest(element, source)} then ${compileArray(elementOf(element, member.typeName), source, alias)}::${name} else ${whole} end`
}

function compileWhole(type: Sql, source: Sql): Sql {
  return sql`(select r.v from json_to_record(json_build_object('v', ${source})) r (v ${type}))`
}

/**
 * GeoJSON, or any other text that PostGIS reads. It reads GeoJSON for geometries only, and without `crs` as one of an
 * unknown reference system; RFC 7946 §4 says it is WGS 84.
 */
function compileGeometry(schema: string, { base }: ColumnType, source: Sql): Sql {
  const geometry = compileWhole(sql.id(schema, 'geometry'), source)
  // The cast of a geometry to a geography does that by itself.
  if (base === 'geography') return geometry
  return sql`case when json_typeof(${source}) = 'object' and ${source} -> 'crs' is null
    then ${sql.id(schema, 'st_setsrid')}(${geometry}, 4326) else ${geometry} end`
}

function compileArray(element: Typed, source: Sql, alias: string): Sql {
  const entry = sql.id(alias)
  return sql`array(
    select ${compileValue(element, sql.id(alias, 'value'), `${alias}x`)}
    from json_array_elements(${source}) with ordinality ${entry} (value, ordinal)
    order by ${entry}.ordinal)`
}

/** Rows are no arrays in JSON, so arrays in an array of them are dimensions. */
function compileListTest(element: ColumnType, source: Sql): Sql {
  const isArray = sql`json_typeof(${source}) = 'array'`
  return mayBeArray(element)
    ? isArray
    : sql`${isArray} and json_typeof(${source} -> 0) is distinct from 'array'`
}

function compileRow(name: Sql, attributes: readonly Attribute[], source: Sql, alias: string): Sql {
  const values = attributes.map((attribute) => compileMember(attribute, alias))
  const types = attributes.map((attribute) => compileDefinition(attribute, attribute.typeName))
  return sql`(
    select row(${sql.join(values)})::${name}
    from json_to_record(${source}) ${sql.id(alias)} (${sql.join(types)}))`
}
