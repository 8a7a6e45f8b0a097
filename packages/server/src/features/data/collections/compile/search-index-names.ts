import { createHash } from 'node:crypto'
import type { Relation } from '../../../../database/catalog/model.ts'
import { type SearchVector, searchedColumns } from '../plan/search-vector.ts'

/** Raised with every change of the expressions that `compile/search.ts` makes: older indexes then have other names. */
const form = 1

export const searchIndexPrefixes = { vector: 'idx_basalt_search_', trigram: 'idx_basalt_trigram_' } as const

/**
 * The names of the indexes on what a search looks at. They change with the expression: an index whose name is known
 * holds what the statement compares with.
 */
export function searchIndexNames(
  relation: Pick<Relation, 'schema' | 'name'>,
  vector: SearchVector,
): { readonly vector: string; readonly trigram: string } {
  const parts = vector.parts.map(({ label, columns }) => [label, columns.map(({ name }) => name)])
  const columns = searchedColumns(vector).map(({ name }) => name)
  return {
    vector: nameOf(searchIndexPrefixes.vector, relation, JSON.stringify([form, vector.config, parts])),
    trigram: nameOf(searchIndexPrefixes.trigram, relation, JSON.stringify([form, columns])),
  }
}

/** The name that the index of a partitioned table has on one of its parts. */
export function partIndexName(index: string, part: Pick<Relation, 'schema' | 'name'>): string {
  const { vector, trigram } = searchIndexPrefixes
  return nameOf(index.startsWith(vector) ? vector : trigram, part, index)
}

/** PostgreSQL cuts names after 63 bytes; what tells them apart comes last. */
const nameBytes = 63

function nameOf(
  prefix: string,
  { schema, name }: Pick<Relation, 'schema' | 'name'>,
  expression: string,
): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([schema, name, expression]))
    .digest('hex')
    .slice(0, 10)
  let readable = `${prefix}${schema}_${name}`
  while (Buffer.byteLength(readable) > nameBytes - hash.length - 1) readable = readable.slice(0, -1)
  return `${readable.toWellFormed()}_${hash}`
}
