/** Modifier that PostGIS appends to the type of a column: `geometry(PointZ,4326)`. */
export interface SpatialModifier {
  /** Kind such as `Point`, without its axes; `Geometry` accepts every kind. */
  readonly kind: string
  /** `Z`, `M`, `ZM` or empty. */
  readonly axes: string
  /** Undefined where the column accepts every one, or its type the usual one. */
  readonly srid: number | undefined
}

export function parseSpatialModifier(typeName: string): SpatialModifier {
  const [, kind = 'Geometry', srid] = /\((\w+)(?:,(\d+))?\)$/.exec(typeName) ?? []
  const axes = /Z?M?$/.exec(kind)?.[0] ?? ''
  return {
    kind: kind.slice(0, kind.length - axes.length),
    axes,
    srid: srid === undefined ? undefined : Number(srid),
  }
}
