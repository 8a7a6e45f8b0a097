import { isObject } from '../../../../lib/json.ts'

/**
 * Returns why a JSON object is no geometry (RFC 7946 §3.1), or undefined when it is one. PostGIS is lenient: it reads
 * a text coordinate as 0, accepts open rings, and moves positions outside the earth back onto it.
 */
export function findGeometryFault(value: object, isOnEarth: boolean): string | undefined {
  // JSON.parse may give an object members of any kind.
  const { type, coordinates, geometries, crs } = value as Readonly<Record<string, unknown>>
  if (crs !== undefined && crs !== null && !isNamedCrs(crs)) {
    return 'crs: expected none, or a name such as EPSG:4326 in its properties'
  }
  if (type === 'GeometryCollection') {
    if (!Array.isArray(geometries)) return 'geometries: expected an array'
    return findAny(geometries, (member) =>
      isObject(member) ? findGeometryFault(member, isOnEarth) : 'geometries: expected geometries',
    )
  }
  const read = typeof type === 'string' && Object.hasOwn(shapes, type) ? shapes[type] : undefined
  if (read === undefined) return `type: expected ${[...Object.keys(shapes), 'GeometryCollection'].join(', ')}`
  // An empty geometry is valid for every type (RFC 7946 §3.1).
  if (Array.isArray(coordinates) && coordinates.length === 0) return undefined
  return read(coordinates, isOnEarth)
}

/**
 * Returns whether it is a named CRS of GeoJSON 2008, which PostGIS still reads. PostGIS ignores one that it does not
 * know.
 */
function isNamedCrs(crs: unknown): boolean {
  if (!isObject(crs) || !('properties' in crs) || !isObject(crs.properties)) return false
  const { properties } = crs
  const name = 'name' in properties ? properties.name : undefined
  return typeof name === 'string' && /(^|:)(EPSG:([\d.]*:)?\d+|OGC:[\d.]*:?CRS84)$/i.test(name)
}

type FindFault = (coordinates: unknown, isOnEarth: boolean) => string | undefined

function findPositionFault(position: unknown, isOnEarth: boolean): string | undefined {
  if (!Array.isArray(position) || position.length < 2 || position.length > 4) {
    return 'coordinates: expected positions of two to four numbers'
  }
  if (!position.every(Number.isFinite)) return 'coordinates: expected positions of numbers'
  if (isOnEarth && (Math.abs(position[0]) > 180 || Math.abs(position[1]) > 90)) {
    return 'coordinates: expected a longitude from -180 to 180 and a latitude from -90 to 90'
  }
  return undefined
}

/** @param fewest minimum number of elements */
function arrayOf(findFault: FindFault, fewest = 0): FindFault {
  return (elements, isOnEarth) => {
    if (!Array.isArray(elements)) return 'coordinates: expected an array for this type'
    if (elements.length < fewest) return `coordinates: expected at least ${fewest} positions`
    return findAny(elements, (element) => findFault(element, isOnEarth))
  }
}

const findLineFault = arrayOf(findPositionFault, 2)
const findRingPositionsFault = arrayOf(findPositionFault, 4)

/** Checks a linear ring (RFC 7946 §3.1.6). */
const findRingFault: FindFault = (ring, isOnEarth) => {
  const fault = findRingPositionsFault(ring, isOnEarth)
  if (fault !== undefined || !Array.isArray(ring)) return fault
  const [first, last] = [ring[0], ring.at(-1)]
  const isClosed =
    first.length === last.length && first.every((number: unknown, axis: number) => number === last[axis])
  return isClosed ? undefined : 'coordinates: expected a ring to end where it begins'
}

const shapes: Readonly<Record<string, FindFault>> = {
  Point: findPositionFault,
  MultiPoint: arrayOf(findPositionFault),
  LineString: findLineFault,
  MultiLineString: arrayOf(findLineFault),
  Polygon: arrayOf(findRingFault),
  MultiPolygon: arrayOf(arrayOf(findRingFault)),
}

function findAny(
  values: readonly unknown[],
  findFault: (value: unknown) => string | undefined,
): string | undefined {
  for (const value of values) {
    const fault = findFault(value)
    if (fault !== undefined) return fault
  }
  return undefined
}
