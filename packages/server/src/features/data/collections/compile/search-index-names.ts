import { createHash } from 'node:crypto'
import type { Relation } from '../../../../database/catalog/model.ts'
import { type SearchVector, searchedColumns } from '../plan/search-vector.ts'

/**
 * Version of the index expressions. It is raised with every change of the expressions in `compile/search.ts`, so that
 * older indexes have other names.
 */
const form = 1

export const searchIndexPrefixes = { vector: 'idx_basalt_search_', trigram: 'idx_basalt_trigram_' } as const

/**
 * Returns the names of the indexes for a search. They change with the expression: an index with an expected name
 * holds the expression that the statement compares.
 */
export function searchIndexNames(
  relation: Pick<Relation, 'schema' | 'name'>,
  vector: SearchVector,
): { readonly vector: string; readonly trigram: string } {
  const parts = vector.parts.map(({ label, columns }) => [label, columns.map(({ name }) => name)])
  const accents = vector.ignoresAccents ? ['without accents'] : []
  const columns = searchedColumns(vector).map(({ name }) => name)
  return {
    vector: nameOf(
      searchIndexPrefixes.vector,
      relation,
      JSON.stringify([form, vector.config, parts, ...accents]),
    ),
    trigram: nameOf(searchIndexPrefixes.trigram, relation, JSON.stringify([form, columns, ...accents])),
  }
}

/** Returns the name that the index of a partitioned table has on one of its partitions. */
export function partIndexName(index: string, part: Pick<Relation, 'schema' | 'name'>): string {
  const { vector, trigram } = searchIndexPrefixes
  return nameOf(index.startsWith(vector) ? vector : trigram, part, index)
}

/** Maximum name length in PostgreSQL. Longer names are cut, so the distinguishing part comes last. */
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
