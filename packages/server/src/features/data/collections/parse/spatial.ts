import { isObject, parseJson } from '../../../../lib/json.ts'
import { collectionErrors } from '../errors.ts'
import { parseNumber } from './numbers.ts'
import type { Parameters } from './parameters.ts'

/** Spatial condition as written. The column is not resolved yet. */
export type SpatialFilter = { readonly column: string } & (
  | { readonly kind: 'near'; readonly lng: number; readonly lat: number; readonly distance: number }
  | { readonly kind: 'within' | 'intersects'; readonly geometry: GeoJsonGeometry }
  | {
      readonly kind: 'bbox'
      readonly minLng: number
      readonly minLat: number
      readonly maxLng: number
      readonly maxLat: number
    }
)

/** Object with a type of RFC 7946 and a member for its coordinates; no more is known of it. */
export interface GeoJsonGeometry {
  readonly value: object
  /** Text as sent. */
  readonly text: string
}

export const spatialParameters = ['near', 'within', 'intersects', 'bbox'] as const

/** Parses the spatial filters. Each parameter is a condition of its own. @throws AppError invalid_parameter */
export function parseSpatial(parameters: Parameters): readonly SpatialFilter[] {
  return spatialParameters.flatMap((name) => {
    const text = parameters[name]
    return text === undefined ? [] : [parsers[name](text)]
  })
}

const parsers: Readonly<Record<(typeof spatialParameters)[number], (text: string) => SpatialFilter>> = {
  near(text) {
    const parts = parseNumbers(text, 3)
    if (parts === undefined) throw fault('near must use format: near=column,lng,lat,distance')
    const [lng = 0, lat = 0, distance = 0] = parts.numbers
    if (distance <= 0) throw fault('near distance must be greater than 0')
    return { kind: 'near', column: parts.column, lng, lat, distance }
  },
  within(text) {
    const { column, geometry } = parseGeometry(text, 'within')
    const { type } = geometry.value as { readonly type?: unknown }
    if (type !== 'Polygon' && type !== 'MultiPolygon') {
      throw fault('within only supports Polygon and MultiPolygon')
    }
    return { kind: 'within', column, geometry }
  },
  intersects: (text) => ({ kind: 'intersects', ...parseGeometry(text, 'intersects') }),
  bbox(text) {
    const parts = parseNumbers(text, 4)
    if (parts === undefined) throw fault('bbox must use format: bbox=column,minLng,minLat,maxLng,maxLat')
    const [minLng = 0, minLat = 0, maxLng = 0, maxLat = 0] = parts.numbers
    if (minLng >= maxLng) throw fault('bbox minLng must be less than maxLng')
    if (minLat >= maxLat) throw fault('bbox minLat must be less than maxLat')
    return { kind: 'bbox', column: parts.column, minLng, minLat, maxLng, maxLat }
  },
}

/** Splits a column, plain or in double quotes, from the text after the comma. */
function splitColumn(text: string): { readonly column: string; readonly rest: string } | undefined {
  const [, quoted, plain, rest] = /^(?:"((?:[^"]|"")+)"\s*|([^",]+)),(.*)$/s.exec(text.trimStart()) ?? []
  const column = quoted?.replaceAll('""', '"') ?? plain?.trim() ?? ''
  return column === '' || rest === undefined ? undefined : { column, rest }
}

function parseNumbers(
  text: string,
  count: number,
): { readonly column: string; readonly numbers: readonly number[] } | undefined {
  const split = splitColumn(text)
  const numbers = split?.rest.split(',').map(parseNumber) ?? []
  if (split === undefined || numbers.length !== count) return undefined
  const found = numbers.filter((number) => number !== undefined)
  return found.length === count ? { column: split.column, numbers: found } : undefined
}

function parseGeometry(
  text: string,
  name: 'within' | 'intersects',
): { readonly column: string; readonly geometry: GeoJsonGeometry } {
  const split = splitColumn(text)
  if (split === undefined) throw fault(`${name} must use format: ${name}=column,{geojson}`)
  const value = parseJson(split.rest)
  const problem = findProblem(value)
  if (problem !== undefined) throw geometryFault(name, problem)
  // findProblem returns a problem for every other value.
  return { column: split.column, geometry: { value: value as object, text: split.rest } }
}

export function geometryFault(name: string, problem: string): Error {
  return fault(`invalid ${name} geometry: ${problem}`)
}

/** Returns why a value cannot be a geometry at all (RFC 7946 §3.1). */
function findProblem(value: unknown): string | undefined {
  if (value === undefined) return 'invalid GeoJSON: expected JSON'
  if (!isObject(value)) return 'invalid GeoJSON: expected an object'
  const { type } = value
  if (typeof type !== 'string' || type === '') return 'GeoJSON geometry must include a type field'
  if (type === 'Feature' || type === 'FeatureCollection') {
    return 'GeoJSON Feature and FeatureCollection are not supported; pass geometry directly'
  }
  if (!geometryTypes.includes(type)) return `unsupported GeoJSON geometry type ${JSON.stringify(type)}`
  const member = type === 'GeometryCollection' ? 'geometries' : 'coordinates'
  if (value[member] === undefined || value[member] === null) {
    return `${type} geometry requires a ${member} field`
  }
  return value.crs === undefined ? undefined : 'crs is not supported; coordinates are those of the column'
}

const geometryTypes = [
  ...['Point', 'MultiPoint', 'LineString', 'MultiLineString', 'Polygon', 'MultiPolygon'],
  'GeometryCollection',
]

function fault(problem: string): Error {
  return collectionErrors.invalidParameter(problem)
}
