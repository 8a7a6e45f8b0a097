/** Shapes of GeoJSON as lines and dots to draw. Pure. */

export type Point = readonly [number, number]

export interface Shape {
  readonly points: readonly Point[]
  readonly kind: 'dot' | 'line' | 'ring'
}

interface GeoJson {
  readonly type?: unknown
  readonly coordinates?: unknown
  readonly geometries?: unknown
}

/** Returns the shapes, or undefined for invalid GeoJSON. */
export function shapesOf(text: string): readonly Shape[] | undefined {
  try {
    return collect(JSON.parse(text))
  } catch {
    return undefined
  }
}

function collect(value: GeoJson): Shape[] {
  const { type, coordinates, geometries } = value
  const lists = (kind: Shape['kind'], of: unknown) =>
    asArray(of).map((points): Shape => ({ kind, points: asArray(points).map(asPoint) }))
  switch (type) {
    case 'Point':
      return [{ kind: 'dot', points: [asPoint(coordinates)] }]
    case 'MultiPoint':
      return asArray(coordinates).map((each) => ({ kind: 'dot', points: [asPoint(each)] }))
    case 'LineString':
      return [{ kind: 'line', points: asArray(coordinates).map(asPoint) }]
    case 'MultiLineString':
      return lists('line', coordinates)
    case 'Polygon':
      return lists('ring', coordinates)
    case 'MultiPolygon':
      return asArray(coordinates).flatMap((each) => lists('ring', each))
    case 'GeometryCollection':
      // Members of a collection are geometries. Anything else throws below.
      return asArray(geometries).flatMap((each) => collect(each as GeoJson))
    default:
      throw new TypeError('not a geometry')
  }
}

function asArray(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new TypeError('not a list')
  return value
}

function asPoint(value: unknown): Point {
  const [x, y] = asArray(value)
  if (typeof x !== 'number' || typeof y !== 'number') throw new TypeError('not a position')
  return [x, y]
}

export interface Frame {
  readonly left: number
  readonly bottom: number
  readonly width: number
  readonly height: number
}

/** Returns a frame around all points, with a margin. Around a single point it measures one degree. */
export function frameOf(shapes: readonly Shape[]): Frame {
  let [left, bottom, right, top] = [Infinity, Infinity, -Infinity, -Infinity]
  for (const [x, y] of shapes.flatMap(({ points }) => points)) {
    left = Math.min(left, x)
    right = Math.max(right, x)
    bottom = Math.min(bottom, y)
    top = Math.max(top, y)
  }
  if (left > right) return { left: -180, bottom: -90, width: 360, height: 180 }
  const room = Math.max(right - left, top - bottom, 1e-9) * 0.1
  const margin = right === left && top === bottom ? 0.5 : room
  return {
    left: left - margin,
    bottom: bottom - margin,
    width: right - left + 2 * margin,
    height: top - bottom + 2 * margin,
  }
}
