import type { Column } from './model.ts'

/** Dimensions that pgvector writes behind the type of a column, `vector(1536)`; undefined where it takes any number. */
export function vectorDimensions({ type, typeName }: Pick<Column, 'type' | 'typeName'>): number | undefined {
  const [, dimensions] = (type.vectorSchema !== undefined && /\((\d+)\)$/.exec(typeName)) || []
  return dimensions === undefined ? undefined : Number(dimensions)
}
