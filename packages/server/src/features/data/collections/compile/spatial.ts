import { type Sql, sql } from '../../../../database/sql.ts'
import type { SpatialFilter } from '../parse/spatial.ts'
import type { DistancePlan, SpatialColumn, SpatialPlan } from '../plan/spatial.ts'
import { compileRegclass, compileTids } from './look-up.ts'

/**
 * Conditions and distances by PostGIS functions, which are named with their schema. Values are parameters. Each
 * condition has a form that an index of the column supports (PostGIS manual, Using Spatial Indexes).
 */

/** Compiles the condition that the geometry of the row matches the filter. */
export function compileSpatial({ target, filter, indexed }: SpatialPlan, alias: string): Sql {
  const { condition, area } = compileCriterion(target, filter, alias)
  // Where rows may have different reference systems, only the bounding-box operator uses an index, as it ignores the
  // systems.
  if (target.srid !== undefined || indexed !== undefined || area === undefined) return condition
  const { shape, distance } = area
  const box = distance === 0 ? shape : callsOf(target)('st_expand', shape, number(distance))
  return sql`(${source(target, alias)} ${sql.operator(target.schema, '&&')} ${box} and ${condition})`
}

/**
 * Compiles the shape that geometries are compared with, as a value of the column's type. Undefined for a box of the
 * whole earth.
 */
export function compileShape({ target, filter }: SpatialPlan): Sql | undefined {
  return compileCriterion(target, filter, 't').area?.shape
}

/** Compiles a query for the tuple identifiers of the rows that the column's index finds in the area or near it. */
export function compileSpatialLookUp({ target, filter, indexed }: SpatialPlan): Sql | undefined {
  if (indexed === undefined) return undefined
  const { area } = compileCriterion(target, filter, 't')
  if (area === undefined) return undefined
  const { column, isGeography } = target
  const type = sql.literal(isGeography ? 'geography' : 'geometry')
  // As text, a geometry has its reference system and all digits of its coordinates.
  const shape = sql`(${area.shape})::text`
  return compileTids(
    sql`basalt.nearby_rows(${compileRegclass(indexed)}, ${sql.literal(column.name)}, ${type}, ${shape}, ${number(area.distance)})`,
    indexed.kind !== 'partitioned_table',
  )
}

/**
 * Compiles the criterion of a filter. Functions refuse to compare different reference systems. Where rows may have
 * different ones, all of them are compared as if they were on one plane.
 */
function compileCriterion(target: SpatialColumn, filter: SpatialFilter, alias: string): Criterion {
  const call = callsOf(target)
  switch (filter.kind) {
    case 'near': {
      const area = { shape: compilePoint(target, filter.lng, filter.lat), distance: filter.distance }
      const condition = call('st_dwithin', comparable(target, alias), area.shape, number(area.distance))
      return { condition, area }
    }
    case 'bbox':
      return compileBox(target, filter, alias)
    case 'within':
    case 'intersects': {
      const shape = inColumnSystem(target, call('st_geomfromgeojson', sql`${filter.geometry.text}`))
      const name =
        filter.kind === 'intersects' ? 'st_intersects' : target.isGeography ? 'st_coveredby' : 'st_within'
      return { condition: call(name, comparable(target, alias), shape), area: { shape, distance: 0 } }
    }
  }
}

interface Criterion {
  /** Condition that decides about a row. */
  readonly condition: Sql
  /** Area of all matching rows; undefined if a match may be anywhere. */
  readonly area: SearchArea | undefined
}

/** Area around a shape, up to a distance. */
interface SearchArea {
  readonly shape: Sql
  /** Distance in metres for a geography, else in the units of the reference system. */
  readonly distance: number
}

/**
 * Compiles the distance in metres for a geography, else in the units of the column's reference system. It is null
 * without a geometry.
 */
export function compileDistance({ target, lng, lat }: DistancePlan, alias: string): Sql {
  return callsOf(target)('st_distance', comparable(target, alias), compilePoint(target, lng, lat))
}

/**
 * Compiles the distance to sort by. Where the column has one reference system, it is the operator that an index can
 * sort by.
 */
export function compileDistanceOrder(plan: DistancePlan, alias: string): Sql {
  const { target, lng, lat } = plan
  // The operator of geographies measures on a sphere, unlike their distance function.
  if (target.isGeography || target.srid === undefined) return compileDistance(plan, alias)
  return sql`(${source(target, alias)} ${sql.operator(target.schema, '<->')} ${compilePoint(target, lng, lat)})`
}

type Box = SpatialFilter & { readonly kind: 'bbox' }

/**
 * Compiles the criterion of a box. Its edges are parallels, on a geography too, whose lines are the shortest ones.
 */
function compileBox(target: SpatialColumn, box: Box, alias: string): Criterion {
  const call = callsOf(target)
  const corners = [box.minLng, box.minLat, box.maxLng, box.maxLat].map(number)
  const envelope = call('st_makeenvelope', ...corners, sql.integer(target.srid ?? 0))
  if (!target.isGeography) {
    const condition = call('st_intersects', comparable(target, alias), envelope)
    return { condition, area: { shape: envelope, distance: 0 } }
  }
  const isInside = call('st_intersects', call('geometry', source(target, alias)), envelope)
  const circle = circleAround(box)
  if (circle === undefined) return { condition: isInside, area: undefined }
  const area = { shape: compilePoint(target, circle.lng, circle.lat), distance: circle.radius }
  const isAround = call('st_dwithin', source(target, alias), area.shape, number(area.distance))
  return { condition: sql`(${isAround} and ${isInside})`, area }
}

/**
 * Returns the centre and radius in metres of a circle that contains the box. The corners are the farthest points as
 * long as the box spans at most half of the earth. Returns undefined for a larger box.
 */
function circleAround(
  box: Box,
): { readonly lng: number; readonly lat: number; readonly radius: number } | undefined {
  const [south, north] = [Math.max(-90, box.minLat), Math.min(90, box.maxLat)]
  const [west, east] = [Math.max(-180, box.minLng), Math.min(180, box.maxLng)]
  if (south > north || west > east || east - west > 180) return undefined
  const lng = (west + east) / 2
  const lat = (south + north) / 2
  const radius = Math.max(angle(lat, south, east - lng), angle(lat, north, east - lng)) * earthRadius
  return { lng, lat, radius }
}

/** Largest radius of the earth, with a margin for the difference between sphere and spheroid. */
const earthRadius = 6_378_137 * 1.01

/** Returns the angle between two points on a sphere, in radians. */
function angle(lat: number, otherLat: number, lngBetween: number): number {
  const [from, to, between] = [lat, otherLat, lngBetween].map((degrees) => (degrees * Math.PI) / 180)
  const cosine =
    Math.sin(from ?? 0) * Math.sin(to ?? 0) + Math.cos(from ?? 0) * Math.cos(to ?? 0) * Math.cos(between ?? 0)
  // Rounding can leave the range of a cosine, and the cosine of a small angle loses digits.
  return Math.acos(Math.min(1, Math.max(-1, cosine))) + 1e-6
}

function source({ column }: SpatialColumn, alias: string): Sql {
  return sql.id(alias, column.name)
}

function comparable(target: SpatialColumn, alias: string): Sql {
  const geometry = source(target, alias)
  return target.srid === undefined ? callsOf(target)('st_setsrid', geometry, sql.integer(0)) : geometry
}

function compilePoint(target: SpatialColumn, lng: number, lat: number): Sql {
  return inColumnSystem(target, callsOf(target)('st_makepoint', number(lng), number(lat)))
}

/** Assigns the column's reference system to a geometry. */
function inColumnSystem(target: SpatialColumn, geometry: Sql): Sql {
  const call = callsOf(target)
  const assigned = call('st_setsrid', geometry, sql.integer(target.srid ?? 0))
  return target.isGeography ? call('geography', assigned) : assigned
}

function callsOf({ schema }: SpatialColumn) {
  return (name: string, ...values: readonly Sql[]): Sql => sql`${sql.id(schema, name)}(${sql.join(values)})`
}

function number(value: number): Sql {
  return sql`${String(value)}::double precision`
}
