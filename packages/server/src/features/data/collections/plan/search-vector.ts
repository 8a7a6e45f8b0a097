import type { Column, Relation } from '../../../../database/catalog/model.ts'
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

export const plainSearch: SearchSettings = { attributes: [], customRanking: [], synonyms: [] }

/** What of a record is searched: its columns, apart by weight. */
export interface SearchVector {
  readonly config: string
  /** `A` to `D` (PostgreSQL, setweight); a single part without a label where columns have no weights. */
  readonly parts: readonly { readonly label: SearchLabel | undefined; readonly columns: readonly Column[] }[]
}

export type SearchLabel = 'A' | 'B' | 'C' | 'D'

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
