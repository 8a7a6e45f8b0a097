import type { Column } from './model.ts'

/**
 * Returns the dimensions that pgvector appends to the type of a column, `vector(1536)`; undefined if any number
 * is accepted.
 */
export function vectorDimensions({ type, typeName }: Pick<Column, 'type' | 'typeName'>): number | undefined {
  const [, dimensions] = (type.vectorSchema !== undefined && /\((\d+)\)$/.exec(typeName)) || []
  return dimensions === undefined ? undefined : Number(dimensions)
}
