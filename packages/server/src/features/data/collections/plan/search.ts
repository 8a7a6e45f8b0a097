import type { Catalog, Column, Relation } from '../../../../database/catalog/model.ts'
import { collectionErrors } from '../errors.ts'
import type { SortTerm } from '../parse/list-query.ts'
import type { FuzzySearch, Search } from '../parse/search.ts'
import { searchIndexNames } from '../search-index-names.ts'
import { type Reader, visibleColumns } from './reader.ts'

/** What administrators have set about searching a collection. */
export interface SearchSettings {
  /** Columns with the weight of a match in them; empty: all alike. */
  readonly attributes: readonly { readonly column: string; readonly weight: SearchWeight }[]
  /** What sorts records that match equally well. */
  readonly customRanking: readonly { readonly column: string; readonly order: 'asc' | 'desc' }[]
  /** Groups of terms each of which also finds the others. */
  readonly synonyms: readonly (readonly string[])[]
}

export type SearchWeight = 'high' | 'medium' | 'low' | 'lowest'

/** Where the list finds out how a collection is searched. */
export interface SearchDefinitions {
  /** A text search configuration by its quoted, qualified name: `pg_catalog.english`. */
  readonly config: string
  /** Changes whenever settings do. */
  readonly version: string
  settingsOf(relation: Relation): SearchSettings
  /** Before a search of the collection is sent. */
  noteSearch?(relation: Relation): void
}

export const plainSearch: SearchSettings = { attributes: [], customRanking: [], synonyms: [] }

/** A search whose columns exist and may be read. */
export interface SearchPlan {
  readonly vector: SearchVector
  readonly term: string
  readonly synonyms: SearchSettings['synonyms']
  readonly fuzzy: (FuzzySearch & { readonly trigramSchema: string }) | undefined
  /** Undefined where the planner finds the indexes by itself, or there are none that could be used. */
  readonly candidates: SearchCandidates | undefined
  /** What sorts records of the same rank. */
  readonly ranking: readonly SortTerm[]
}

/** What of a record is searched: its columns, apart by weight. */
export interface SearchVector {
  readonly config: string
  /** `A` to `D` (PostgreSQL, setweight); a single part without a label where columns have no weights. */
  readonly parts: readonly { readonly label: SearchLabel | undefined; readonly columns: readonly Column[] }[]
}

export type SearchLabel = 'A' | 'B' | 'C' | 'D'

/**
 * Indexes that are asked for the places of rows apart from the statement's conditions: PostgreSQL does not look into an
 * index of such operators before it has evaluated the policies of a table on every row (PostgreSQL, Row Security
 * Policies: only LEAKPROOF functions go before them), nor into a trigram index for a threshold of the statement's own.
 */
export interface SearchCandidates {
  readonly schema: string
  readonly vectorIndex: string
  /** Undefined in a search that is not fuzzy. */
  readonly trigramIndex: string | undefined
  /** Whether a place belongs to one row. In partitioned tables each part has rows of the same place. */
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
  const taken = highlightNames.find((name) => relation.column.has(name))
  if (taken === undefined) return
  const table = relation.collection
  throw collectionErrors.searchNotSupported(
    `highlight cannot be used on table "${table}" because it has a "${taken}" column`,
  )
}

export const highlightNames = ['_highlight', '_highlightResult'] as const

/** Text columns that the reader may read: what it may not never takes part, neither in matches nor in ranks. */
export function planVector(
  relation: Relation,
  reader: Reader,
  { attributes }: Pick<SearchSettings, 'attributes'>,
  config: string,
): SearchVector {
  const columns = visibleColumns(relation, reader).filter(isSearchable)
  if (attributes.length === 0)
    return { config, parts: columns.length === 0 ? [] : [{ label: undefined, columns }] }
  const weightOf = new Map(attributes.map(({ column, weight }) => [column, weight]))
  const labelOf = ({ name }: Column) => labels[weightOf.get(name) ?? 'lowest']
  const parts = Object.values(labels)
    .map((label) => ({ label, columns: columns.filter((column) => labelOf(column) === label) }))
    .filter((part) => part.columns.length > 0)
  return { config, parts }
}

const labels: Readonly<Record<SearchWeight, SearchLabel>> = { high: 'A', medium: 'B', low: 'C', lowest: 'D' }

/** Text, also in a domain; not arrays, enums or documents. */
export function isSearchable({ type }: Column): boolean {
  return searchableTypes.has(type.base) && type.element === undefined && type.attributes === undefined
}

const searchableTypes: ReadonlySet<string> = new Set(['text', 'varchar', 'bpchar', 'name', 'citext'])

/** In table order. */
export function searchedColumns({ parts }: SearchVector): readonly Column[] {
  return parts.flatMap(({ columns }) => columns).toSorted((one, other) => one.position - other.position)
}

function findCandidates(
  relation: Relation,
  vector: SearchVector,
  reader: Reader,
  isFuzzy: boolean,
): SearchCandidates | undefined {
  const areNeeded = isFuzzy || (reader === 'caller' && relation.rlsEnabled)
  // Whoever asks an index for places of rows has to read past the policies, and the statement has to see the places.
  if (!areNeeded || !relation.isBypassed || (reader === 'caller' && !relation.callersMayReadSystemColumns))
    return undefined
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
