import { parseColumnTags } from '../../../database/catalog/column-tags.ts'
import type { Column, Relation } from '../../../database/catalog/model.ts'
import { parseSpatialModifier } from '../../../database/catalog/spatial.ts'
import { vectorDimensions } from '../../../database/catalog/vectors.ts'

/** Reader of the document: a caller sees what it may use, the administrator sees everything. */
export type Viewer = 'caller' | 'administrator'

/**
 * Describes a column of the schema document, which leaves out undefined values. Only the administrator sees the SQL
 * of a default, as it may name objects that are hidden from callers.
 */
export function describeColumn(relation: Pick<Relation, 'primaryKey'>, column: Column, viewer: Viewer) {
  const { type } = column
  return {
    name: column.name,
    position: column.position,
    type: column.typeName,
    jsonType: type.json,
    nullable: column.nullable,
    hasDefault: column.default !== undefined || undefined,
    default: viewer === 'administrator' ? column.default : undefined,
    identity: column.identity,
    isGenerated: column.isGenerated || undefined,
    comment: column.comment,
    ...describeText(column),
    isPrimaryKey: relation.primaryKey.includes(column),
    ...describeSpace(column),
    ...describeVector(column),
    enumValues: type.enumLabels,
  }
}

/** Describes the kind of a text, which the comment declares. */
function describeText({ type, comment }: Column) {
  if (!type.isText) return {}
  const { format, bucket } = parseColumnTags(comment)
  return { format, bucket }
}

function describeSpace({ type, typeName }: Column) {
  const isGeography = type.base === 'geography'
  if (type.base !== 'geometry' && !isGeography) {
    return { isGeometry: false, isGeography: false, ...(type.base === 'raster' ? { isRaster: true } : {}) }
  }
  const { kind, axes, srid } = parseSpatialModifier(typeName)
  return {
    isGeometry: true,
    isGeography,
    // The name is empty where the column accepts every kind.
    geometryType: typeName.endsWith(')') ? kind : '',
    // PostGIS's own defaults: an unknown plane, and the earth by GPS coordinates.
    srid: srid ?? (isGeography ? 4326 : 0),
    coordDimension: 2 + axes.length,
  }
}

function describeVector(column: Column) {
  if (column.type.vectorSchema === undefined) return { isVector: false }
  const dimensions = vectorDimensions(column)
  return { isVector: true, ...(dimensions === undefined ? {} : { vectorDim: dimensions }) }
}
