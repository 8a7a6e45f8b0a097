import type { AnyDatabase, ColumnOf, RecordOf, RowOf, SortColumnOf, TableName } from './database-types.ts'
import { compileFilter, type Filter, quoteName } from './filter.ts'
import { checkList } from './options.ts'

/** Columns and related records to include in each returned record. */
export interface Shape<Fields, Expand> {
  /** Columns to return; all columns unless set. */
  readonly fields?: Fields | undefined
  /** Related records to return with each record, such as `{ album: { artist: true } }`; none unless set. */
  readonly expand?: Expand | undefined
}

/** Geometry in GeoJSON (RFC 7946). */
export interface GeoJson {
  readonly type: string
  readonly coordinates?: unknown
  readonly geometries?: readonly GeoJson[]
}

/** Condition on the records of a table: filter, search and position on a map. */
export interface RowsQuery<DB extends AnyDatabase, T extends TableName<DB>> {
  /** Condition on the records: an object such as `{ done: false }`, or a condition made by `where`. */
  readonly filter?: Filter<RowOf<DB, T>> | undefined
  /** Full-text search query. */
  readonly search?: string | undefined
  /** True to tolerate typos in `search`. Ignored while the search is blank. */
  readonly fuzzy?: boolean | undefined
  /** Similarity that counts as a match with `fuzzy`, from 0 to 1; 0.2 unless set. */
  readonly typoThreshold?: number | undefined
  /** Records at most this distance away: in metres for a geography, else in the units of the column. */
  readonly near?: (Point<ColumnOf<DB, T>> & { readonly distance: number }) | undefined
  /** Records within a polygon. */
  readonly within?: { readonly column: ColumnOf<DB, T>; readonly geometry: GeoJson } | undefined
  /** Records that touch a geometry. */
  readonly intersects?: { readonly column: ColumnOf<DB, T>; readonly geometry: GeoJson } | undefined
  /** Records in a box. */
  readonly bbox?: ({ readonly column: ColumnOf<DB, T> } & Box) | undefined
}

/** Point on a map, to which a column is compared. */
export interface Point<Column extends string> {
  readonly column: Column
  readonly lng: number
  readonly lat: number
}

/** Box on a map. */
export interface Box {
  readonly minLng: number
  readonly minLat: number
  readonly maxLng: number
  readonly maxLat: number
}

/** Vector column to compare, and how. */
export interface VectorTarget<Column extends string> {
  /** Vector column; required if the table has several. */
  readonly column?: Column | undefined
  /** Distance of two vectors; `cosine` unless set. */
  readonly metric?: 'cosine' | 'l2' | 'inner_product' | undefined
}

/** Point or vector to which the nearest records come first. */
export type NearestTo<Column extends string> =
  | Point<Column>
  | (VectorTarget<Column> & { readonly vector: readonly number[] })

/** Text to whose meaning the nearest records come first, or true to search by words and by meaning. */
export type SemanticSearch<Column extends string> =
  | true
  | (VectorTarget<Column> & {
      /** Text to compare with; that of `search` unless set. The search then finds words, too. */
      readonly text?: string | undefined
    })

/** Query of a list: conditions, order and page size, and what to return with the records. */
export interface ListQuery<
  DB extends AnyDatabase,
  T extends TableName<DB>,
  Fields,
  Expand,
  Facets = undefined,
  Highlight = undefined,
  Nearest = undefined,
  Semantic = undefined,
> extends RowsQuery<DB, T>,
    Shape<Fields, Expand> {
  /**
   * Columns to sort by, with `-` for descending order: of the table, or of related records such as
   * `album.artist.name`. The primary key is always appended.
   */
  readonly sort?: readonly (SortColumnOf<DB, T> | `-${SortColumnOf<DB, T>}`)[] | undefined
  /** Records on each page: at most 500; 20 unless set. */
  readonly perPage?: number | undefined
  /** Columns whose values are counted, as `facets` of the page. */
  readonly facets?: Facets | undefined
  /** Facets that are counted as if the filter did not choose among their values. */
  readonly disjunctiveFacets?: readonly ColumnOf<DB, T>[] | undefined
  /** True to mark the matches of `search` in `_highlight` and `_highlightResult`, as safe HTML. */
  readonly highlight?: Highlight | undefined
  /**
   * Point on a map, such as `{ column: 'place', lng: 13.4, lat: 52.5 }`, or vector, such as `{ vector: [0.1, 0.2] }`. The nearest
   * records come first, each with its `_distance`. A list by vector is one page.
   */
  readonly nearest?: Nearest | undefined
  /**
   * Semantic search. With `true`, `search` finds words and meanings. With `{ text: 'calm songs' }`, the nearest records to the
   * text come first, each with its `_distance`, on one page.
   */
  readonly semantic?: Semantic | undefined
}

/** Paging by page number. */
export interface PageQuery {
  /** Page number, starting at 1; 1 unless set. */
  readonly page?: number | undefined
  /** Count of the matching records; `exact` unless set. With `none`, the totals are -1. */
  readonly total?: 'exact' | 'estimated' | 'none' | undefined
  readonly cursor?: undefined
}

/** Paging by cursor (keyset pagination): each page costs the same. */
export interface CursorQuery {
  /** Empty string for the first page, then the `nextCursor` of the previous page. */
  readonly cursor: string
}

/** Page of a list, by page number. */
export interface Page<Item> {
  readonly items: Item[]
  readonly page: number
  readonly perPage: number
  /** Number of matching records on all pages; -1 if they were not counted. */
  readonly totalItems: number
  /** Number of pages; -1 if the records were not counted. */
  readonly totalPages: number
  /** False if a search has more matches than the server ranks. `totalItems` then counts the ranked matches only. */
  readonly searchExhaustive?: false
}

/** Page of a list, by cursor. */
export interface CursorPage<Item> {
  readonly items: Item[]
  readonly perPage: number
  /** Cursor of the next page; absent on the last page. */
  readonly nextCursor?: string
  /** False if a search has more matches than the server ranks. The pages then end after the ranked matches. */
  readonly searchExhaustive?: false
}

/** Number of records that have one value. */
export interface FacetCount<Value> {
  readonly value: Value
  readonly count: number
}

/** Counted values of columns, the most frequent first. */
export interface FacetsPage<Row, Column extends keyof Row> {
  readonly facets: { readonly [Name in Column]: FacetCount<Row[Name]>[] }
  /** Smallest and greatest value of numeric facets. */
  readonly facetStats?: {
    readonly [Name in Column]?: { readonly min: number | string; readonly max: number | string }
  }
  /** Facets that have more values than the server returns, each with `false`. */
  readonly facetsExhaustive?: { readonly [Name in Column]?: false }
}

/** Facets of a page: those that its query names, or nothing. */
export type FacetsOf<DB extends AnyDatabase, T extends TableName<DB>, Facets> = [Facets] extends [
  readonly (infer Column)[],
]
  ? FacetsPage<RowOf<DB, T>, Column & keyof RowOf<DB, T>>
  : unknown

/** Matches of a search, as safe HTML. Absent while the search is blank. */
export interface HighlightedRecord<Column extends string> {
  /** Excerpt with the matches in `<b>`. */
  readonly _highlight?: string
  /** Each searched column in full, with the matches in `<b>`. */
  readonly _highlightResult?: {
    readonly [Name in Column]?: { readonly value: string; readonly matchLevel: 'full' | 'none' }
  }
}

/** Distance of a record to the point, vector or text of the query. */
export interface DistantRecord {
  /** Distance; null for a record without a geometry. */
  readonly _distance: number | null
}

/** Score of a record in a search by words and by meaning. Absent while the search is blank. */
export interface ScoredRecord {
  readonly _hybrid_score?: number
  /** Rank among the words; absent if only the meaning matches. */
  readonly _fts_rank?: number
  /** Distance of the meaning; absent if only the words match. */
  readonly _vector_distance?: number
}

/** Record of a list, with what its query adds to the record. */
export type ListRecordOf<
  DB extends AnyDatabase,
  T extends TableName<DB>,
  Fields,
  Expand,
  Highlight,
  Nearest,
  Semantic,
> = RecordOf<DB, T, Fields, Expand> &
  (true extends Highlight ? HighlightedRecord<ColumnOf<DB, T>> : unknown) &
  ([Nearest] extends [undefined] ? unknown : DistantRecord) &
  ([Semantic] extends [undefined]
    ? unknown
    : Semantic extends { readonly text: string }
      ? DistantRecord
      : ScoredRecord)

/** Columns and related records to return, for any table. */
export type AnyShape = Shape<readonly string[] | undefined, object>

/** Conditions on the records of any table. */
export interface AnyRows {
  readonly filter?: unknown
  readonly search?: string | undefined
  readonly fuzzy?: boolean | undefined
  readonly typoThreshold?: number | undefined
  readonly near?: (Point<string> & { readonly distance: number }) | undefined
  readonly within?: { readonly column: string; readonly geometry: GeoJson } | undefined
  readonly intersects?: { readonly column: string; readonly geometry: GeoJson } | undefined
  readonly bbox?: ({ readonly column: string } & Box) | undefined
}

/** Query of a list on any table. */
export interface AnyQuery extends AnyRows, AnyShape {
  readonly sort?: readonly string[] | undefined
  readonly perPage?: number | undefined
  readonly page?: number | undefined
  readonly total?: string | undefined
  readonly cursor?: string | undefined
  readonly facets?: readonly string[] | undefined
  readonly disjunctiveFacets?: readonly string[] | undefined
  readonly highlight?: boolean | undefined
  readonly nearest?: NearestTo<string> | undefined
  readonly semantic?: SemanticSearch<string> | undefined
}

/** Parameters of a URL. */
export type Parameters = Record<string, string | undefined>

/** Formats a list query as URL parameters. Caches use them as keys, because a filter contains functions. */
export function formatListQuery(query: AnyQuery): Parameters {
  const { sort, perPage, page, total, cursor, facets, disjunctiveFacets, highlight, ...rest } = query
  if (sort !== undefined) checkList('sort', sort)
  const { nearest, semantic } = rest
  const point = nearest !== undefined && 'lng' in nearest ? nearest : undefined
  const byDistance =
    point === undefined ? [] : [`${quoteName(point.column)}.distance(${point.lng},${point.lat})`]
  return {
    ...formatShape(rest),
    ...formatRows(rest),
    sort: [...byDistance, ...(sort ?? []).map(formatSort)].join() || undefined,
    perPage: perPage?.toString(),
    page: page?.toString(),
    cursor,
    total: total === 'estimated' ? total : undefined,
    skipTotal: total === 'none' ? 'true' : undefined,
    facets: formatNames('facets', facets),
    disjunctiveFacets: formatNames('disjunctiveFacets', disjunctiveFacets),
    highlight: highlight === true ? 'true' : undefined,
    ...(nearest !== undefined && 'vector' in nearest
      ? { nearest: JSON.stringify(nearest.vector), ...formatTarget(nearest) }
      : {}),
    ...(semantic === undefined ? {} : formatSemantic(semantic)),
  }
}

/** @internal Formats conditions on records as URL parameters. */
export function formatRows(query: AnyRows): Parameters {
  const { filter, search, fuzzy, typoThreshold, near, within, intersects, bbox } = query
  // A search field is blank at first. The server rejects options of a search without one.
  const isFuzzy = fuzzy === true && search !== undefined && search.trim() !== ''
  return {
    filter: filter === undefined ? undefined : formatFilter(filter) || undefined,
    search,
    fuzzy: isFuzzy ? 'true' : undefined,
    typo_threshold: isFuzzy ? typoThreshold?.toString() : undefined,
    near: near && formatCondition(near.column, near.lng, near.lat, near.distance),
    within: within && formatCondition(within.column, JSON.stringify(within.geometry)),
    intersects: intersects && formatCondition(intersects.column, JSON.stringify(intersects.geometry)),
    bbox: bbox && formatCondition(bbox.column, bbox.minLng, bbox.minLat, bbox.maxLng, bbox.maxLat),
  }
}

const formatCondition = (column: string, ...values: readonly (number | string)[]) =>
  [quoteName(column), ...values].join()

/** Formats a vector column, which is one name and not a list of names. */
const formatTarget = ({ column, metric }: VectorTarget<string>): Parameters => ({
  vector_column: column,
  distance: metric,
})

function formatSemantic(semantic: SemanticSearch<string>): Parameters {
  if (semantic === true) return { semantic: 'true' }
  const { text } = semantic
  return {
    ...(text === undefined ? { semantic: 'true' } : { semantic_query: text }),
    ...formatTarget(semantic),
  }
}

/** @internal Formats a filter as a URL parameter. */
export function formatFilter(filter: unknown): string {
  return compileFilter(filter as Filter<Record<string, unknown>>)
}

/** @internal Formats a list of column names, which may contain any characters. @param option name for the TypeError */
export function formatNames(option: string, names: readonly string[] | undefined): string | undefined {
  if (names === undefined) return undefined
  checkList(option, names)
  return names.map(quoteName).join() || undefined
}

function formatSort(term: string): string {
  const [sign, name] = term.startsWith('-') ? ['-', term.slice(1)] : ['', term]
  // The server knows whether a name with dots is a column or a path. Other names are columns, whatever they contain.
  return sign + (/^[^\s",.]+(\.[^\s",.]+)+$/.test(name) ? name : quoteName(name))
}

/** Formats the columns and relations of a record as URL parameters. */
export function formatShape({ fields, expand }: AnyShape = {}): Parameters {
  if (expand !== undefined && (typeof expand !== 'object' || expand === null || Array.isArray(expand)))
    throw new TypeError('expand is an object, as in { expand: { a: true } }')
  return {
    fields: formatNames('fields', fields),
    expand: expand === undefined ? undefined : listPaths(expand).join() || undefined,
  }
}

/** Lists the relation paths of `expand`: `{ album: { artist: true } }` becomes `album.artist`, which includes the album. */
function listPaths(expand: object): string[] {
  return Object.entries(expand).flatMap(([name, nested]: [string, unknown]) => {
    if (nested === undefined || nested === false) return []
    const deeper = typeof nested === 'object' && nested !== null ? listPaths(nested) : []
    return deeper.length === 0 ? [quoteName(name)] : deeper.map((path) => `${quoteName(name)}.${path}`)
  })
}
