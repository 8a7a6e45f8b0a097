import type { Catalog, Relation } from '../../../database/catalog/model.ts'
import { type Sql, sql } from '../../../database/sql.ts'
import {
  compileTrigramKeys,
  compileVector,
  plainSearch,
  planVector,
  type SearchSettings,
  searchedColumns,
  searchIndexNames,
} from '../collections/index.ts'
import { searchErrors } from './errors.ts'

export interface RequiredIndex {
  readonly name: string
  /** Kind of index. `words` finds words by their stem, `trigrams` finds similar words. */
  readonly kind: 'words' | 'trigrams'
  /** Index keys in the parentheses of CREATE INDEX. */
  readonly keys: Sql
}

/** PostgreSQL's maximum number of keys (INDEX_MAX_KEYS). */
const mostKeys = 32

/**
 * Returns the indexes that searches of the collection can use: those of callers, and those of administrators if they
 * may read more columns. Empty when the collection cannot have any.
 */
export function requiredIndexes(
  catalog: Pick<Catalog, 'extensionSchemas'>,
  relation: Relation,
  settings: Pick<SearchSettings, 'attributes' | 'ignoresAccents'>,
  config: string,
): readonly RequiredIndex[] {
  if (findObstacle(relation) !== undefined) return []
  const trigramSchema = catalog.extensionSchemas.get('pg_trgm')
  const required = (['caller', 'unrestricted'] as const).flatMap((reader): RequiredIndex[] => {
    const vector = planVector(relation, reader, settings, config)
    if (vector.parts.length === 0) return []
    const names = searchIndexNames(relation, vector)
    const words = { name: names.vector, kind: 'words', keys: sql`(${compileVector(vector)})` } as const
    if (trigramSchema === undefined || searchedColumns(vector).length > mostKeys) return [words]
    const operators = sql.id(trigramSchema, 'gin_trgm_ops')
    const keys = sql.join(compileTrigramKeys(vector).map((key) => sql`${key} ${operators}`))
    return [words, { name: names.trigram, kind: 'trigrams', keys }]
  })
  return [...new Map(required.map((index) => [index.name, index])).values()]
}

/** Kinds of relations that PostgreSQL can index. */
const indexableKinds: readonly Relation['kind'][] = ['table', 'partitioned_table', 'materialized_view']

/** Returns why the collection can have no search index; undefined when it can. */
export function findObstacle(relation: Relation): string | undefined {
  const { kind, collection } = relation
  if (!indexableKinds.includes(kind)) return `"${collection}" is a ${kind.replace('_', ' ')}`
  const { parts } = planVector(relation, 'unrestricted', plainSearch, '')
  return parts.length === 0 ? `table "${collection}" has no text columns to search` : undefined
}

/** @throws AppError search_index_unsupported */
export function requireIndexable(relation: Relation): void {
  const obstacle = findObstacle(relation)
  if (obstacle !== undefined) throw searchErrors.searchIndexUnsupported(obstacle)
}
