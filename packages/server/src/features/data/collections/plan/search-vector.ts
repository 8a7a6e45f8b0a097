import type { Column, Relation } from '../../../../database/catalog/model.ts'
import { type Reader, visibleColumns } from './reader.ts'

/** Search settings of a collection, made by administrators. */
export interface SearchSettings {
  /** Columns with their weights; empty if all weigh the same. */
  readonly attributes: readonly { readonly column: string; readonly weight: SearchWeight }[]
  /** Sort order of records that match equally well. */
  readonly customRanking: readonly { readonly column: string; readonly order: 'asc' | 'desc' }[]
  /** Groups of terms, each of which also finds the others. */
  readonly synonyms: readonly (readonly string[])[]
  /** True if `apfel` also finds Äpfel. */
  readonly ignoresAccents: boolean
}

export type SearchWeight = 'high' | 'medium' | 'low' | 'lowest'

export const plainSearch: SearchSettings = {
  attributes: [],
  customRanking: [],
  synonyms: [],
  ignoresAccents: false,
}

/** Searched part of a record: its columns, grouped by weight. */
export interface SearchVector {
  readonly config: string
  readonly ignoresAccents: boolean
  /** Label from `A` to `D` (PostgreSQL, setweight). A single part has no label where columns have no weights. */
  readonly parts: readonly { readonly label: SearchLabel | undefined; readonly columns: readonly Column[] }[]
}

export type SearchLabel = 'A' | 'B' | 'C' | 'D'

/**
 * Plans the searched text columns that the reader may read. Hidden columns take part neither in matches nor in ranks.
 */
export function planVector(
  relation: Relation,
  reader: Reader,
  { attributes, ignoresAccents }: Pick<SearchSettings, 'attributes' | 'ignoresAccents'>,
  config: string,
): SearchVector {
  const columns = visibleColumns(relation, reader).filter(isSearchable)
  if (attributes.length === 0)
    return { config, ignoresAccents, parts: columns.length === 0 ? [] : [{ label: undefined, columns }] }
  const weightOf = new Map(attributes.map(({ column, weight }) => [column, weight]))
  const labelOf = ({ name }: Column) => labels[weightOf.get(name) ?? 'lowest']
  const parts = Object.values(labels)
    .map((label) => ({ label, columns: columns.filter((column) => labelOf(column) === label) }))
    .filter((part) => part.columns.length > 0)
  return { config, ignoresAccents, parts }
}

const labels: Readonly<Record<SearchWeight, SearchLabel>> = { high: 'A', medium: 'B', low: 'C', lowest: 'D' }

/** Returns whether a column is text, also in a domain; not an array, an enum or a document. */
export function isSearchable({ type }: Column): boolean {
  return searchableTypes.has(type.base) && type.element === undefined && type.attributes === undefined
}

const searchableTypes: ReadonlySet<string> = new Set(['text', 'varchar', 'bpchar', 'name', 'citext'])

/** Returns the searched columns in table order. */
export function searchedColumns({ parts }: SearchVector): readonly Column[] {
  return parts.flatMap(({ columns }) => columns).toSorted((one, other) => one.position - other.position)
}
