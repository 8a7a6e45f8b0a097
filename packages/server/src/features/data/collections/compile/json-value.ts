import type { ColumnType } from '../../../../database/catalog/model.ts'
import { type Sql, sql } from '../../../../database/sql.ts'

/**
 * Member of an exported record. It names the columns whose `null` is a JSON null and not NULL. Its name begins with
 * `_`, so every other reader ignores it.
 */
export const jsonNullMember = '_jsonNull'

/** Returns whether a column can hold the `null` of JSON beside NULL. */
export function isJson({ type: { base } }: { readonly type: Pick<ColumnType, 'base'> }): boolean {
  return base === 'json' || base === 'jsonb'
}

type ValueType = Pick<ColumnType, 'element' | 'attributes' | 'base' | 'spatialSchema'>

/**
 * Compiles a value in its JSON form. Returns undefined if `row_to_json` makes that form by itself. `alias` is free
 * for the value's parts.
 */
export function compileJsonValue(type: ValueType, source: Sql, alias: string): Sql | undefined {
  const { element, attributes, base, spatialSchema } = type
  if (element !== undefined) return compileList(element, source, alias)
  if (attributes !== undefined) return compileRow(type, source, alias)
  if (spatialSchema !== undefined) return compileGeoJson(base, spatialSchema, source)
  switch (base) {
    case 'hstore':
      // The type has a cast to JSON but none back. Its text converts both ways.
      return sql`${source}::text`
    case 'vector':
    case 'halfvec':
      // The text `[1,2,3]` is written like a JSON list.
      return sql`${source}::text::json`
    default:
      return undefined
  }
}

/** Compiles an array of one dimension. JSON cannot distinguish further dimensions from elements that are arrays. */
function compileList(element: ColumnType, source: Sql, alias: string): Sql | undefined {
  const entry = sql.id(alias)
  const json = compileJsonValue(element, sql.id(alias, 'value'), `${alias}v`)
  if (json === undefined) return undefined
  return sql`case when ${source} is not null then (
    select coalesce(json_agg(${json} order by ${entry}.ordinal), '[]')
    from unnest(${source}) with ordinality ${entry} (value, ordinal)) end`
}

function compileRow({ attributes = [] }: ValueType, source: Sql, alias: string): Sql | undefined {
  const members = attributes.map(({ name, type }) => {
    const member = sql`(${source}).${sql.id(name)}`
    return { name, member, json: compileJsonValue(type, member, alias) }
  })
  if (members.every(({ json }) => json === undefined)) return undefined
  const list = members.map(({ name, member, json }) => sql`${json ?? member} as ${sql.id(name)}`)
  // A row of NULLs is not NULL, although it "is null".
  return sql`case when ${source} is distinct from null then (
    select row_to_json(${sql.id(alias)}.*) from (select ${sql.join(list)}) ${sql.id(alias)}) end`
}

/**
 * Compiles GeoJSON without `crs` (RFC 7946 §4), with as many decimals as PostGIS writes. `ST_AsGeoJSON` rejects
 * shapes that GeoJSON has no form for: curves become lines, surfaces become collections of polygons. It also writes
 * NaN, which JSON does not have.
 */
function compileGeoJson(base: string, schema: string, source: Sql): Sql {
  const call = (name: string, ...values: readonly Sql[]) => sql`${sql.id(schema, name)}(${sql.join(values)})`
  const plain =
    base === 'geography'
      ? source
      : sql`case ${call('st_geometrytype', source)}
          when 'ST_PolyhedralSurface' then ${call('st_forcecollection', source)}
          else ${call('st_curvetoline', source)} end`
  const text = call('st_asgeojson', plain, sql`15`, sql`0`)
  return sql`replace(replace(replace(${text}, 'NaN', 'null'), '-Infinity', 'null'), 'Infinity', 'null')::json`
}
