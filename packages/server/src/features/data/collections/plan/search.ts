import type { Catalog, Relation } from '../../../../database/catalog/model.ts'
import { searchIndexNames } from '../compile/search-index-names.ts'
import { collectionErrors } from '../errors.ts'
import type { SortTerm } from '../parse/list-query.ts'
import type { FuzzySearch, Search } from '../parse/search.ts'
import { mayLookUpRows, type Reader, visibleColumns } from './reader.ts'
import { planVector, type SearchSettings, type SearchVector, searchedColumns } from './search-vector.ts'

/** Definitions of how collections are searched. */
export interface SearchDefinitions {
  /** Text search configuration by its quoted, qualified name: `pg_catalog.english`. */
  readonly config: string
  /** Version that changes whenever settings do. */
  readonly version: string
  settingsOf(relation: Relation): SearchSettings
  /** Announces a search of the collection before it is sent. */
  noteSearch?(relation: Relation): void
  /** Announces a filter for texts that begin with something. */
  notePrefixFilter?(relation: Relation, column: string): void
}

/** Search whose columns exist and may be read. */
export interface SearchPlan {
  readonly vector: SearchVector
  readonly term: string
  readonly synonyms: SearchSettings['synonyms']
  readonly fuzzy: (FuzzySearch & { readonly trigramSchema: string }) | undefined
  /**
   * Candidates of an index lookup. Undefined where the planner finds the indexes by itself, or no index can be used.
   */
  readonly candidates: SearchCandidates | undefined
  /** Sort terms of records with the same rank. */
  readonly ranking: readonly SortTerm[]
}

/**
 * Index lookups that find row positions apart from the statement's conditions. PostgreSQL uses an index of such
 * operators only after it has evaluated the table's policies on every row (PostgreSQL, Row Security Policies: only
 * LEAKPROOF functions go before them). It does not use a trigram index for a threshold of the statement either.
 */
export interface SearchCandidates {
  readonly schema: string
  readonly vectorIndex: string
  /** Trigram index; undefined in a search that is not fuzzy. */
  readonly trigramIndex: string | undefined
  /** True if a position belongs to one row. In partitioned tables each partition has a row at the same position. */
  readonly isExact: boolean
}

/** @throws AppError search_not_supported, fuzzy_search_unavailable */
export function planSearch(
  catalog: Catalog,
  relation: Relation,
  search: Search,
  reader: Reader,
  definitions: SearchDefinitions,
): SearchPlan {
  const settings = definitions.settingsOf(relation)
  const vector = planVector(relation, reader, settings, definitions.config)
  if (searchedColumns(vector).length === 0) {
    throw collectionErrors.searchNotSupported(`table "${relation.collection}" has no text columns to search`)
  }
  const { fuzzy } = search
  const trigramSchema = catalog.extensionSchemas.get('pg_trgm')
  if (fuzzy !== undefined && trigramSchema === undefined) throw collectionErrors.fuzzySearchUnavailable()
  return {
    vector,
    term: search.term,
    synonyms: settings.synonyms,
    fuzzy: fuzzy === undefined || trigramSchema === undefined ? undefined : { ...fuzzy, trigramSchema },
    candidates: findCandidates(relation, vector, reader, fuzzy !== undefined),
    // A column that was dropped since, or that the reader may not read, does not rank.
    ranking: settings.customRanking
      .filter(({ column: name }) =>
        visibleColumns(relation, reader).some((column) => column.name === name && column.type.hasOrder),
      )
      .map(({ column, order }) => ({ column, descending: order === 'desc' })),
  }
}

/** @throws AppError search_not_supported when a column would be hidden */
export function requireHighlightable(relation: Relation): void {
  const conflicting = highlightNames.find((name) => relation.column.has(name))
  if (conflicting === undefined) return
  const table = relation.collection
  throw collectionErrors.searchNotSupported(
    `highlight cannot be used on table "${table}" because it has a "${conflicting}" column`,
  )
}

/** Returns true if no column has a name of the highlights. */
export function isHighlightable(relation: Relation): boolean {
  return !highlightNames.some((name) => relation.column.has(name))
}

const highlightNames = ['_highlight', '_highlightResult'] as const

function findCandidates(
  relation: Relation,
  vector: SearchVector,
  reader: Reader,
  isFuzzy: boolean,
): SearchCandidates | undefined {
  const areNeeded = isFuzzy || (reader !== 'unrestricted' && relation.rlsEnabled)
  if (!areNeeded || !mayLookUpRows(relation, reader)) return undefined
  const names = searchIndexNames(relation, vector)
  const has = (name: string) => relation.indexes.some((index) => index.name === name && index.isValid)
  if (!has(names.vector) || (isFuzzy && !has(names.trigram))) return undefined
  return {
    schema: relation.schema,
    vectorIndex: names.vector,
    trigramIndex: isFuzzy ? names.trigram : undefined,
    isExact: relation.kind !== 'partitioned_table',
  }
}
