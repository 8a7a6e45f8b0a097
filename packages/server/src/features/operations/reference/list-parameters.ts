import type { Column, ColumnType } from '../../../database/catalog/model.ts'

/** List parameters that only tables with columns of a kind accept. */
const kinds: readonly { readonly names: readonly string[]; isOf(type: ColumnType): boolean }[] = [
  { names: ['search', 'fuzzy', 'typo_threshold', 'highlight'], isOf: ({ isText }) => isText },
  {
    names: ['near', 'within', 'intersects', 'bbox'],
    isOf: ({ spatialSchema }) => spatialSchema !== undefined,
  },
  {
    names: ['nearest', 'semantic_query', 'semantic', 'vector_column', 'distance'],
    isOf: ({ vectorSchema }) => vectorSchema !== undefined,
  },
]

/** Returns the parameters that requests for a table with these columns cannot use. */
export function uselessParameters(columns: readonly Column[]): ReadonlySet<string> {
  const useless = kinds.filter(({ isOf }) => !columns.some(({ type }) => isOf(type)))
  return new Set(useless.flatMap(({ names }) => names))
}
