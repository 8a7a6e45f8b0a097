import type { Column, Relation } from '../../../database/catalog/model.ts'
import { parseSpatialModifier } from '../../../database/catalog/spatial.ts'
import { vectorDimensions } from '../../../database/catalog/vectors.ts'

/** Who reads the document: a caller sees what it may use, the administrator everything. */
export type Viewer = 'caller' | 'administrator'

/**
 * Describes a column of the schema document, which leaves out what is undefined. The SQL of a default is the
 * administrator's: it may name what callers must not know.
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
    isPrimaryKey: relation.primaryKey.includes(column),
    ...describeSpace(column),
    ...describeVector(column),
    enumValues: type.enumLabels,
  }
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
    // Empty where the column takes every kind.
    geometryType: typeName.endsWith(')') ? kind : '',
    // PostGIS's own defaults: an unknown plane, and the earth as GPS sees it.
    srid: srid ?? (isGeography ? 4326 : 0),
    coordDimension: 2 + axes.length,
  }
}

function describeVector(column: Column) {
  if (column.type.vectorSchema === undefined) return { isVector: false }
  const dimensions = vectorDimensions(column)
  return { isVector: true, ...(dimensions === undefined ? {} : { vectorDim: dimensions }) }
}
