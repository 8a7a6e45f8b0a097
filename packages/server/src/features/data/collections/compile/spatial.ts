import { type Sql, sql } from '../../../../database/sql.ts'
import type { SpatialFilter } from '../parse/spatial.ts'
import type { DistancePlan, SpatialColumn, SpatialPlan } from '../plan/spatial.ts'
import { compileRegclass, compileTids } from './look-up.ts'

/**
 * Conditions and distances by the functions of PostGIS, which are named with their schema. Values are parameters. Each
 * condition has a form that an index of the column answers (PostGIS manual, Using Spatial Indexes).
 */

/** Whether the place of the row is where the filter says. */
export function compileSpatial({ target, filter, indexed }: SpatialPlan, alias: string): Sql {
  const { condition, area } = compileCriterion(target, filter, alias)
  // Where rows may have different reference systems, only the operator for boxes has an index: it does not look at them.
  if (target.srid !== undefined || indexed !== undefined || area === undefined) return condition
  const { shape, distance } = area
  const box = distance === 0 ? shape : callsOf(target)('st_expand', shape, number(distance))
  return sql`(${source(target, alias)} ${sql.operator(target.schema, '&&')} ${box} and ${condition})`
}

/** The shape that places are compared with, as a value of the column's type; undefined for a box of the whole earth. */
export function compileShape({ target, filter }: SpatialPlan): Sql | undefined {
  return compileCriterion(target, filter, 't').area?.shape
}

/** A query for the tuple identifiers of the rows that the index of the column knows to be there, or near. */
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
 * Where rows may have different reference systems, which functions refuse to compare, all of them are compared as places
 * of one plane.
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
  /** What decides about a row. */
  readonly condition: Sql
  /** Where all rows are for which it holds; undefined where one may be anywhere. */
  readonly area: SearchArea | undefined
}

/** What is no farther from a shape than a distance. */
interface SearchArea {
  readonly shape: Sql
  /** In metres for a geography, else in the units of the reference system. */
  readonly distance: number
}

/** In metres for a geography, else in the units of the column's reference system; null without a place. */
export function compileDistance({ target, lng, lat }: DistancePlan, alias: string): Sql {
  return callsOf(target)('st_distance', comparable(target, alias), compilePoint(target, lng, lat))
}

/** The same to sort by: where the column has one reference system, by the operator that an index sorts by. */
export function compileDistanceOrder(plan: DistancePlan, alias: string): Sql {
  const { target, lng, lat } = plan
  // That of geographies is measured on a sphere, unlike their distance.
  if (target.isGeography || target.srid === undefined) return compileDistance(plan, alias)
  return sql`(${source(target, alias)} ${sql.operator(target.schema, '<->')} ${compilePoint(target, lng, lat)})`
}

type Box = SpatialFilter & { readonly kind: 'bbox' }

/** A box has parallels for edges, on a geography too, whose lines are the shortest ones. */
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
 * Metres around the middle of a box that all of it is in: the corners are the farthest, as long as the box spans no more
 * than half of the earth. Undefined for a larger one.
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

/** The largest radius, and what a sphere can differ from the spheroid. */
const earthRadius = 6_378_137 * 1.01

/** Between two places on a sphere, in radians. */
function angle(lat: number, otherLat: number, lngBetween: number): number {
  const [from, to, between] = [lat, otherLat, lngBetween].map((degrees) => (degrees * Math.PI) / 180)
  const cosine =
    Math.sin(from ?? 0) * Math.sin(to ?? 0) + Math.cos(from ?? 0) * Math.cos(to ?? 0) * Math.cos(between ?? 0)
  // Rounding can lead beyond the range of a cosine, and that of a small angle loses digits.
  return Math.acos(Math.min(1, Math.max(-1, cosine))) + 1e-6
}

function source({ column }: SpatialColumn, alias: string): Sql {
  return sql.id(alias, column.name)
}

function comparable(target: SpatialColumn, alias: string): Sql {
  const place = source(target, alias)
  return target.srid === undefined ? callsOf(target)('st_setsrid', place, sql.integer(0)) : place
}

function compilePoint(target: SpatialColumn, lng: number, lat: number): Sql {
  return inColumnSystem(target, callsOf(target)('st_makepoint', number(lng), number(lat)))
}

/** Coordinates are those of the column's reference system. */
function inColumnSystem(target: SpatialColumn, geometry: Sql): Sql {
  const call = callsOf(target)
  const placed = call('st_setsrid', geometry, sql.integer(target.srid ?? 0))
  return target.isGeography ? call('geography', placed) : placed
}

function callsOf({ schema }: SpatialColumn) {
  return (name: string, ...values: readonly Sql[]): Sql => sql`${sql.id(schema, name)}(${sql.join(values)})`
}

function number(value: number): Sql {
  return sql`${String(value)}::double precision`
}
