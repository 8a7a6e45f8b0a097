import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { Relation } from '../../../database/catalog/model.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import type { JobQueue } from '../../../job-queue.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import {
  collectionErrors,
  createCatalogAccess,
  isSearchable,
  requireRelation,
  type SearchSettings,
} from '../collections/index.ts'
import type { StoredDefinitions } from './definitions.ts'
import { indexJobName } from './index-job.ts'
import { type IndexSource, readIndexSource } from './index-queries.ts'
import type { IndexChanges } from './indexer.ts'
import { type Indexing, type IndexStatus, tableOf } from './indexing.ts'
import * as queries from './queries.ts'
import { type GivenSettings, readSettings } from './settings.ts'
import { type GivenSynonyms, readSynonyms } from './synonyms.ts'
import { findObstacle } from './wanted-indexes.ts'

export interface ShownSynonyms {
  readonly groups: readonly { readonly terms: readonly string[] }[]
}

export type ShownSettings = Pick<SearchSettings, 'attributes' | 'customRanking'>

export interface SearchDescription extends IndexStatus {
  /** Why it can have no index; null when it can. */
  readonly obstacle: string | null
  /** The text search configuration, which says what words have the same stem. */
  readonly textSearchConfig: string
  /** Whether pg_trgm is there, which searches that tolerate typos need. */
  readonly hasTrigrams: boolean
  readonly columns: readonly {
    readonly name: string
    readonly isSearchable: boolean
    readonly isRankable: boolean
  }[]
  readonly source: IndexSource
}

/** Administration of searches. Every method throws collection_not_found where there is none. */
export interface SearchService {
  getSettings(collection: string): Promise<ShownSettings>
  /** @throws AppError invalid_search_settings */
  replaceSettings(collection: string, given: GivenSettings, origin: RequestOrigin): Promise<ShownSettings>
  getSynonyms(collection: string): Promise<ShownSynonyms>
  /** @throws AppError invalid_synonyms */
  replaceSynonyms(collection: string, given: GivenSynonyms, origin: RequestOrigin): Promise<ShownSynonyms>
  listIndexes(): Promise<IndexStatus[]>
  /** With what there is to choose from, and what an index would read. */
  describe(collection: string): Promise<SearchDescription>
  /** @throws AppError search_index_unsupported, search_index_build_in_progress, search_index_failed */
  enable(collection: string, origin: RequestOrigin): Promise<IndexStatus & IndexChanges>
  disable(collection: string, origin: RequestOrigin): Promise<IndexStatus & IndexChanges>
}

export interface SearchServiceDeps {
  readonly catalog: LiveCatalog
  readonly database: SystemDatabase
  readonly queue: JobQueue
  readonly definitions: StoredDefinitions
  readonly indexing: Indexing
  /** Collections that were searched here without an index. */
  readonly missed: ReadonlySet<string>
}

export function createSearchService(deps: SearchServiceDeps): SearchService {
  const { catalog: live, database, queue, definitions, indexing } = deps
  const withCatalog = createCatalogAccess(live)

  function withRelation<Result>(
    collection: string,
    work: (relation: Relation) => Promise<Result>,
  ): Promise<Result> {
    return withCatalog((catalog) => work(requireRelation(catalog, collection, 'unrestricted')))
  }

  /** Changes what is stored about a collection; its indexes follow. */
  async function store(
    relation: Relation,
    action: string,
    detail: Readonly<Record<string, unknown>>,
    origin: RequestOrigin,
    write: (transaction: Parameters<typeof queries.setIndexed>[0]) => Promise<queries.SearchRow>,
  ): Promise<void> {
    const isRebuilt = await database.transaction(async (transaction) => {
      const row = await write(transaction)
      const target = relation.collection
      await recordAudit(transaction, { actor: 'admin', action, target, detail, origin })
      if (row.is_indexed !== true) return false
      await queue.enqueue(indexJobName, { collection: relation.collection }, transaction)
      return true
    })
    await definitions.refresh()
    if (isRebuilt) queue.wake()
  }

  function changeIndexes(
    name: string,
    action: string,
    origin: RequestOrigin,
    change: (relation: Relation) => Promise<IndexChanges>,
  ): Promise<IndexStatus & IndexChanges> {
    return withRelation(name, async (relation) => {
      const changes = await change(relation)
      const target = relation.collection
      await recordAudit(database, { actor: 'admin', action, target, detail: { ...changes }, origin })
      await definitions.refresh()
      // The catalog learns of the indexes before the answer, so that the next search uses them.
      await live.refresh()
      return { ...(await statusOf(target)), ...changes }
    })
  }

  async function statusOf(collection: string): Promise<IndexStatus> {
    const [status] = (await indexing.list(live.current, new Set([collection]))).filter(
      (each) => each.collection === collection,
    )
    if (status === undefined) throw collectionErrors.collectionNotFound(collection)
    return status
  }

  return {
    getSettings: (collection) =>
      withRelation(collection, async (relation) => {
        const { attributes, customRanking } = await readStored(relation)
        return { attributes, customRanking }
      }),

    replaceSettings: (collection, given, origin) =>
      withRelation(collection, async (relation) => {
        const settings = readSettings(relation, given)
        await store(relation, 'search_settings.replace', settings, origin, (transaction) =>
          queries.replaceSettings(transaction, tableOf(relation), settings),
        )
        return settings
      }),

    getSynonyms: (collection) =>
      withRelation(collection, async (relation) => showSynonyms((await readStored(relation)).synonyms)),

    replaceSynonyms: (collection, given, origin) =>
      withRelation(collection, async (relation) => {
        const shown = showSynonyms(readSynonyms(given))
        const detail = { groups: shown.groups.length }
        await store(relation, 'synonyms.replace', detail, origin, (transaction) =>
          queries.replaceSynonyms(
            transaction,
            tableOf(relation),
            shown.groups.map(({ terms }) => terms),
          ),
        )
        return shown
      }),

    describe: (collection) =>
      withRelation(collection, async (relation) => {
        const columns = relation.columns.map((column) => ({
          name: column.name,
          isSearchable: isSearchable(column),
          isRankable: column.type.hasOrder,
        }))
        const searched = columns.filter((column) => column.isSearchable).map(({ name }) => name)
        const [status, source] = await Promise.all([
          statusOf(relation.collection),
          readIndexSource(database, relation, searched),
        ])
        // Dropped since the catalog was read, which is read again then.
        if (source === undefined) throw collectionErrors.collectionNotFound(relation.collection)
        return {
          ...status,
          obstacle: findObstacle(relation) ?? null,
          textSearchConfig: definitions.config,
          hasTrigrams: live.current.extensionSchemas.has('pg_trgm'),
          columns,
          source,
        }
      }),

    listIndexes: () => withCatalog((catalog) => indexing.list(catalog, deps.missed)),

    enable: (collection, origin) =>
      changeIndexes(collection, 'search.enable', origin, (relation) =>
        indexing.enable(live.current, relation),
      ),

    disable: (collection, origin) => changeIndexes(collection, 'search.disable', origin, indexing.disable),
  }

  /** From the database: the node may not have noticed yet what another one has changed. */
  async function readStored({ schema, name }: Relation): Promise<SearchSettings> {
    await definitions.look()
    return definitions.settingsOf({ schema, name })
  }
}

function showSynonyms(groups: SearchSettings['synonyms']): ShownSynonyms {
  return { groups: groups.map((terms) => ({ terms })) }
}
