import type { RecordPage } from '../../api/operations.ts'
import { type ApiResponse, type Body, get, type Item, post, put, remove, segment } from '../../api/request.ts'

export const weights = ['high', 'medium', 'low', 'lowest'] as const
export type Weight = SearchSettings['attributes'][number]['weight']
export type SearchSettings = ApiResponse<'search.getSettings'>
export type SynonymGroup = ApiResponse<'search.getSynonyms'>['groups'][number]
export type IndexStatus = Item<'search.list'>
export type SearchDescription = ApiResponse<'search.describe'>
export type VectorIndex = ApiResponse<'vectorIndexes.list'>['indexes'][number]
export type NewVectorIndex = Body<'vectorIndexes.create'>

/** Time limit for building a large index, in milliseconds. */
const buildTimeoutMs = 600_000

const settingsPath = (table: string) => `collections/${segment(table)}/search-settings` as const
const synonymsPath = (table: string) => `collections/${segment(table)}/synonyms` as const

export const listIndexes = (signal: AbortSignal) => get<'search.list'>('admin/search', {}, { signal })

export const describeSearch = (table: string, signal: AbortSignal) =>
  get<'search.describe'>(`admin/search/${segment(table)}`, {}, { signal })

export const enableIndexes = (table: string) =>
  post<'search.enable'>(`admin/search/${segment(table)}/enable`, undefined, { timeoutMs: buildTimeoutMs })

export const disableIndexes = (table: string) =>
  post<'search.disable'>(`admin/search/${segment(table)}/disable`, undefined, { timeoutMs: buildTimeoutMs })

export const readSettings = (table: string, signal: AbortSignal) =>
  get<'search.getSettings'>(settingsPath(table), {}, { signal })

export const replaceSettings = ({
  table,
  settings,
}: {
  readonly table: string
  readonly settings: SearchSettings
}) => put<'search.replaceSettings'>(settingsPath(table), settings)

export const readSynonyms = async (table: string, signal?: AbortSignal) =>
  (await get<'search.getSynonyms'>(synonymsPath(table), {}, signal === undefined ? {} : { signal })).groups

export interface SynonymChange {
  readonly table: string
  /** Group as it was read; undefined for a new group. */
  readonly before: SynonymGroup | undefined
  /** New group; undefined to delete it. */
  readonly after: SynonymGroup | undefined
}

/**
 * Changes one group of the current list, so that concurrent changes of other administrators are kept.
 *
 * @throws Error if the same group was changed
 */
export async function changeSynonyms({ table, before, after }: SynonymChange): Promise<void> {
  const groups = await readSynonyms(table)
  const index = before === undefined ? groups.length : groups.findIndex((group) => isSame(group, before))
  if (index === -1) throw new Error('Another administrator has changed this group. Close this and try again.')
  const next = after === undefined ? [] : [after]
  await put<'search.replaceSynonyms'>(synonymsPath(table), {
    groups: [...groups.slice(0, index), ...next, ...groups.slice(index + 1)],
  })
}

const isSame = (one: SynonymGroup, other: SynonymGroup) =>
  JSON.stringify(one.terms) === JSON.stringify(other.terms)

export const listVectorIndexes = async (signal: AbortSignal) =>
  (await get<'vectorIndexes.list'>('admin/vector/indexes', {}, { signal })).indexes

export const createVectorIndex = (input: NewVectorIndex) =>
  post<'vectorIndexes.create'>('admin/vector/indexes', input, { timeoutMs: buildTimeoutMs })

export const deleteVectorIndex = ({ schema, name }: { readonly schema: string; readonly name: string }) =>
  remove<'vectorIndexes.delete'>(`admin/vector/indexes/${segment(name)}`, { schema })

/** Parameters of a trial search. */
export interface Trial {
  readonly search: string
  readonly fuzzy?: string | undefined
  readonly typo_threshold?: string | undefined
  readonly highlight?: string | undefined
  readonly facets?: string | undefined
  readonly filter?: string | undefined
}

/** Page of a list without a cursor. */
export type SearchResult = RecordPage & { readonly totalItems: number }
export type FoundRecord = SearchResult['items'][number] & {
  readonly _highlightResult?: Readonly<
    Record<string, { readonly value: string; readonly matchLevel: 'full' | 'none' }>
  >
}

/** Number of records on a page. */
export const shownRecords = 20

export async function searchRecords(table: string, trial: Trial, signal: AbortSignal): Promise<SearchResult> {
  const query = { ...trial, perPage: shownRecords }
  // The totals are only absent with a cursor.
  return (await get<'collections.list'>(`collections/${segment(table)}`, query, { signal })) as SearchResult
}
