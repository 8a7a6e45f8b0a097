import type { Catalog, Column, Relation } from '../../../../database/catalog/model.ts'
import { parseSpatialModifier } from '../../../../database/catalog/spatial.ts'
import { collectionErrors } from '../errors.ts'
import type { DistanceSort } from '../parse/distance-sort.ts'
import { findGeometryFault } from '../parse/geojson.ts'
import { geometryFault, type SpatialFilter } from '../parse/spatial.ts'
import { mayLookUpRows, type Reader } from './reader.ts'
import { requireColumn } from './references.ts'

/** PostGIS column, and how geometries are compared with it. */
export interface SpatialColumn {
  readonly column: Column
  /** Schema of PostGIS. */
  readonly schema: string
  /**
   * True if geometries are on the earth and distances are metres. Otherwise they are on the plane of the reference
   * system.
   */
  readonly isGeography: boolean
  /** Reference system; undefined where the rows may have different ones. */
  readonly srid: number | undefined
}

/** Spatial filter whose column is resolved. */
export interface SpatialPlan {
  readonly target: SpatialColumn
  readonly filter: SpatialFilter
  /**
   * Table whose index is looked up apart from the statement's conditions. PostgreSQL uses an index of PostGIS only
   * after it has evaluated the policies on every row (PostgreSQL, Row Security Policies: only LEAKPROOF functions go
   * before them). Undefined where the planner finds the index by itself, or there is none.
   */
  readonly indexed: Pick<Relation, 'schema' | 'name' | 'kind'> | undefined
}

export interface DistancePlan {
  readonly target: SpatialColumn
  readonly lng: number
  readonly lat: number
}

/** Context in which spatial conditions are planned. */
interface SpatialContext {
  readonly catalog: Pick<Catalog, 'extensions'>
  readonly reader: Reader
}

/** @throws AppError invalid_parameter, unknown_column, insufficient_permissions */
export function planSpatial(
  { catalog: { extensions }, reader }: SpatialContext,
  relation: Relation,
  filters: readonly SpatialFilter[],
): readonly SpatialPlan[] {
  if (filters.length > 0 && !extensions.has('postgis')) {
    throw collectionErrors.invalidParameter('spatial filters require PostGIS extension')
  }
  return filters.map((filter) => {
    const target = requireSpatialColumn(relation, filter.column, filter.kind, reader)
    requireFit(target, filter)
    return { target, filter, indexed: hasHiddenIndex(relation, target, reader) ? relation : undefined }
  })
}

/** @throws AppError invalid_parameter, unknown_column, insufficient_permissions */
export function planDistance(
  { catalog: { extensions }, reader }: SpatialContext,
  relation: Relation,
  { column, lng, lat }: DistanceSort,
): DistancePlan {
  if (!extensions.has('postgis')) {
    throw collectionErrors.invalidParameter('distance sort requires PostGIS extension')
  }
  if (relation.column.has('_distance')) {
    throw collectionErrors.invalidParameter(
      `distance sort cannot be used on "${relation.collection}" because it has a "_distance" column`,
    )
  }
  const target = requireSpatialColumn(relation, column, 'sort', reader)
  requirePoint(target, lng, lat, 'distance sort')
  return { target, lng, lat }
}

function requireSpatialColumn(
  relation: Relation,
  name: string,
  parameter: string,
  reader: Reader,
): SpatialColumn {
  const column = requireColumn(relation, name, parameter, reader)
  const { base, spatialSchema, element } = column.type
  if (spatialSchema === undefined || element !== undefined || (base !== 'geometry' && base !== 'geography')) {
    throw collectionErrors.invalidParameter(`column "${name}" is not a spatial column`)
  }
  const isGeography = base === 'geography'
  const { srid } = parseSpatialModifier(column.typeName)
  return { column, schema: spatialSchema, isGeography, srid: srid ?? (isGeography ? wgs84 : undefined) }
}

function hasHiddenIndex(relation: Relation, { column }: SpatialColumn, reader: Reader): boolean {
  if (reader === 'unrestricted' || !relation.rlsEnabled || !mayLookUpRows(relation, reader)) return false
  return relation.indexes.some(
    ({ method, columns, isValid, isPartial }) =>
      spatialMethods.has(method) && columns?.[0] === column.name && isValid && !isPartial,
  )
}

/** Index methods for which PostGIS has operator classes. */
const spatialMethods: ReadonlySet<string> = new Set(['gist', 'spgist', 'brin'])

function requireFit(target: SpatialColumn, filter: SpatialFilter): void {
  if (filter.kind === 'near') requirePoint(target, filter.lng, filter.lat, 'near')
  if (filter.kind !== 'within' && filter.kind !== 'intersects') return
  const problem = findGeometryFault(filter.geometry.value, target.isGeography)
  if (problem !== undefined) throw geometryFault(filter.kind, problem)
}

/** Rejects a point that is not on the earth. Columns of other reference systems have other coordinates. */
function requirePoint({ srid = wgs84 }: SpatialColumn, lng: number, lat: number, what: string): void {
  if (srid !== wgs84) return
  if (Math.abs(lng) > 180 || Math.abs(lat) > 90) {
    throw collectionErrors.invalidParameter(
      `${what} requires valid WGS84 coordinates: expected a longitude from -180 to 180 and a latitude from -90 to 90`,
    )
  }
}

const wgs84 = 4326
