import type { Attribute, ColumnType } from '../../../../database/catalog/model.ts'
import { type Sql, sql } from '../../../../database/sql.ts'

/**
 * Conversion of JSON values into columns. `json_to_record` does it, but treats each array in an array as a dimension,
 * even when it is an element: a document, or a value of a domain over arrays. Types with such elements are declared
 * as `json` and read element by element. So are geographies, because PostGIS reads no GeoJSON for them.
 */

/** Compiles the column list of `json_to_record` for the written columns: `"a" integer, "docs" json`. */
export function compileBodyTypes(columns: readonly Member[]): Sql {
  // A column list cannot be empty. No column of a table needs to have this name.
  if (columns.length === 0) return sql`"_" text`
  return sql.join(columns.map((column) => compileDefinition(column, column.type.name)))
}

/** Compiles the value of a column; `alias` is a row of {@link compileBodyTypes}. */
export function compileBodyValue(column: Member, alias: string): Sql {
  return compileMember(column, alias)
}

/** Column, attribute of a row, or function parameter. */
interface Member {
  readonly name: string
  readonly type: ColumnType
  /** Type name with its modifiers, such as those of PostGIS. */
  readonly typeName: string
}

/** Returns how many characters or bits a column accepts, if it rejects longer values. */
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

type TypedMember = Pick<Member, 'type' | 'typeName'>

function isReadByParts({ type, typeName }: TypedMember): boolean {
  const { element, attributes, spatialSchema, base } = type
  if (element !== undefined) return mayBeArray(element) || isReadByParts(elementOf(element, typeName))
  if (spatialSchema !== undefined) return base === 'geography' || takesEverySrid(typeName)
  return attributes?.some(isReadByParts) === true
}

function elementOf(type: ColumnType, typeName: string): TypedMember {
  return { type, typeName: typeName.replace(/(\[\])+$/, '') }
}

/** Returns whether a value of the type can be an array in JSON. */
function mayBeArray({ base, element }: ColumnType): boolean {
  return element !== undefined || ['json', 'jsonb', 'vector', 'halfvec'].includes(base)
}

/**
 * Returns whether a geometry column names no reference system. If it names one, PostGIS assumes that GeoJSON is in
 * that system.
 */
function takesEverySrid(typeName: string): boolean {
  return /\bgeometry"?(\(\w+\))?$/.test(typeName)
}

/** Compiles a value of the type from a `json`; `alias` is free for its parts. */
function compileValue(member: TypedMember, source: Sql, alias: string): Sql {
  const { type } = member
  const name = sql.type(type.name)
  const whole = compileWhole(name, source)
  if (!isReadByParts(member)) return whole
  const { element, attributes, spatialSchema } = type
  if (spatialSchema !== undefined) {
    return sql`${compileGeometry(spatialSchema, type, source)}::${name}`
  }
  // A value without such parts, as text or null, is read or rejected as everywhere else.
  return element === undefined
    ? sql`case json_typeof(${source}) when 'object' then ${compileRow(name, attributes ?? [], source, alias)} else ${whole} end`
    : sql`case when ${compileListTest(element, source)} then ${compileArray(elementOf(element, member.typeName), source, alias)}::${name} else ${whole} end`
}

function compileWhole(type: Sql, source: Sql): Sql {
  return sql`(select r.v from json_to_record(json_build_object('v', ${source})) r (v ${type}))`
}

/**
 * Compiles a geometry from GeoJSON, or from any other text that PostGIS reads. PostGIS reads GeoJSON for geometries
 * only. Without `crs` it assigns an unknown reference system, although RFC 7946 §4 says that it is WGS 84.
 */
function compileGeometry(schema: string, { base }: ColumnType, source: Sql): Sql {
  const geometry = compileWhole(sql.id(schema, 'geometry'), source)
  // The cast of a geometry to a geography sets the system by itself.
  if (base === 'geography') return geometry
  return sql`case when json_typeof(${source}) = 'object' and ${source} -> 'crs' is null
    then ${sql.id(schema, 'st_setsrid')}(${geometry}, 4326) else ${geometry} end`
}

function compileArray(element: TypedMember, source: Sql, alias: string): Sql {
  const entry = sql.id(alias)
  return sql`array(
    select ${compileValue(element, sql.id(alias, 'value'), `${alias}x`)}
    from json_array_elements(${source}) with ordinality ${entry} (value, ordinal)
    order by ${entry}.ordinal)`
}

/**
 * Compiles the test whether a JSON value is a list of elements. Rows are no arrays in JSON, so arrays in an array of
 * rows are dimensions.
 */
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
