import { get, post, put, remove, segment } from '../../api/request.ts'

export const weights = ['high', 'medium', 'low', 'lowest'] as const
export type Weight = (typeof weights)[number]

/** Of `GET /api/collections/{table}/search-settings`. */
export interface SearchSettings {
  readonly attributes: readonly { readonly column: string; readonly weight: Weight }[]
  readonly customRanking: readonly { readonly column: string; readonly order: 'asc' | 'desc' }[]
}

export interface SynonymGroup {
  readonly terms: readonly string[]
}

/** Of `GET /api/admin/search`. */
export interface IndexStatus {
  readonly collection: string
  readonly isEnabled: boolean | null
  readonly isIndexed: boolean
  readonly indexes: readonly {
    readonly name: string
    readonly kind: 'words' | 'trigrams'
    readonly state: 'valid' | 'building' | 'invalid'
    readonly sizeBytes: number
    readonly progress: number | null
  }[]
  readonly lastBuild: {
    readonly at: string
    readonly durationMs: number | null
    readonly error: string | null
  } | null
  readonly advice: string | null
}

/** Of `GET /api/admin/search/{table}`. */
export interface SearchDescription extends IndexStatus {
  readonly obstacle: string | null
  readonly textSearchConfig: string
  readonly hasTrigrams: boolean
  readonly columns: readonly {
    readonly name: string
    readonly isSearchable: boolean
    readonly isRankable: boolean
  }[]
  readonly source: {
    readonly estimatedRows: number | null
    readonly tableBytes: number
    readonly textBytes: number | null
  }
}

/** Of `GET /api/admin/vector/indexes`. */
export interface VectorIndex {
  readonly name: string
  readonly schema: string
  readonly table: string
  readonly method: string
  readonly definition: string
  readonly column: string | null
  readonly metric: string | null
  readonly valid: boolean
  readonly sizeBytes: number
}

export interface NewVectorIndex {
  readonly schema: string
  readonly table: string
  readonly column: string
  readonly method: 'hnsw' | 'ivfflat'
  readonly metric: 'cosine' | 'l2' | 'inner_product'
}

/** How long a large index may take to build. */
const buildTimeoutMs = 600_000

const settingsPath = (table: string) => `collections/${segment(table)}/search-settings`
const synonymsPath = (table: string) => `collections/${segment(table)}/synonyms`

export const listIndexes = (signal: AbortSignal) =>
  get<{ items: IndexStatus[] }>('admin/search', {}, { signal })

export const describeSearch = (table: string, signal: AbortSignal) =>
  get<SearchDescription>(`admin/search/${segment(table)}`, {}, { signal })

export const enableIndexes = (table: string) =>
  post<IndexStatus>(`admin/search/${segment(table)}/enable`, undefined, { timeoutMs: buildTimeoutMs })

export const disableIndexes = (table: string) =>
  post<IndexStatus>(`admin/search/${segment(table)}/disable`, undefined, { timeoutMs: buildTimeoutMs })

export const readSettings = (table: string, signal: AbortSignal) =>
  get<SearchSettings>(settingsPath(table), {}, { signal })

export const replaceSettings = ({
  table,
  settings,
}: {
  readonly table: string
  readonly settings: SearchSettings
}) => put<SearchSettings>(settingsPath(table), settings)

export const readSynonyms = async (table: string, signal?: AbortSignal) =>
  (await get<{ groups: SynonymGroup[] }>(synonymsPath(table), {}, signal === undefined ? {} : { signal }))
    .groups

export interface SynonymChange {
  readonly table: string
  /** As it was read; undefined: a new group. */
  readonly before: SynonymGroup | undefined
  /** Undefined: it is deleted. */
  readonly after: SynonymGroup | undefined
}

/**
 * Changes one group of the list as it is now, so that what another administrator has changed meanwhile stays.
 *
 * @throws Error when that was the same group
 */
export async function changeSynonyms({ table, before, after }: SynonymChange): Promise<void> {
  const groups = await readSynonyms(table)
  const place = before === undefined ? groups.length : groups.findIndex((group) => isSame(group, before))
  if (place === -1) throw new Error('Another administrator has changed this group; close and look again.')
  const next = after === undefined ? [] : [after]
  await put(synonymsPath(table), { groups: [...groups.slice(0, place), ...next, ...groups.slice(place + 1)] })
}

const isSame = (one: SynonymGroup, other: SynonymGroup) =>
  JSON.stringify(one.terms) === JSON.stringify(other.terms)

export const listVectorIndexes = async (signal: AbortSignal) =>
  (await get<{ indexes: VectorIndex[] }>('admin/vector/indexes', {}, { signal })).indexes

export const createVectorIndex = (input: NewVectorIndex) =>
  post('admin/vector/indexes', input, { timeoutMs: buildTimeoutMs })

export const deleteVectorIndex = ({ schema, name }: { readonly schema: string; readonly name: string }) =>
  remove(`admin/vector/indexes/${segment(name)}`, undefined, { query: { schema } })

/** What is tried: parameters of a list. */
export interface Trial {
  readonly search: string
  readonly fuzzy?: string | undefined
  readonly typo_threshold?: string | undefined
  readonly highlight?: string | undefined
  readonly facets?: string | undefined
  readonly filter?: string | undefined
}

export interface Found {
  readonly totalItems: number
  readonly items: readonly FoundRecord[]
  readonly facets?: Readonly<Record<string, readonly { readonly value: unknown; readonly count: number }[]>>
}

export type FoundRecord = Readonly<Record<string, unknown>> & {
  readonly _highlightResult?: Readonly<
    Record<string, { readonly value: string; readonly matchLevel: 'full' | 'none' }>
  >
}

/** Records of a page. */
export const shownRecords = 20

export const searchRecords = (table: string, trial: Trial, signal: AbortSignal) =>
  get<Found>(`collections/${segment(table)}`, { ...trial, perPage: shownRecords }, { signal })
