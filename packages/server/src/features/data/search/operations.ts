import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { Relation } from '../../../database/catalog/model.ts'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import { ok, operation } from '../../../http/operation.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import type { JobQueue } from '../../../job-queue.ts'
import { Type } from '../../../lib/type.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import {
  collectionErrors,
  isSearchable,
  requireRelation,
  type SearchSettings as StoredSettings,
  withCatalog,
} from '../collections/index.ts'
import type { StoredDefinitions } from './definitions.ts'
import { indexJobName } from './index-job.ts'
import { readIndexSource } from './index-queries.ts'
import type { IndexChanges } from './indexer.ts'
import { type Indexing, tableOf } from './indexing.ts'
import * as queries from './queries.ts'
import { findObstacle } from './required-indexes.ts'
import { readSettings, SearchSettings, SearchSettingsInput } from './settings.ts'
import { IndexStatus, SearchChange, SearchDescription } from './status.ts'
import { readSynonyms, SearchSynonyms, SearchSynonymsInput } from './synonyms.ts'

export interface SearchContext {
  readonly catalog: LiveCatalog
  readonly database: SystemDatabase
  readonly queue: JobQueue
  readonly definitions: StoredDefinitions
  readonly indexing: Indexing
  /** Collections that were searched on this node without an index. */
  readonly missed: ReadonlySet<string>
}

/** Options that all operations below share. */
const common = { guard: 'admin', permission: 'structure.read', tag: 'search' } as const
const params = Type.Object({
  table: Type.String({ description: 'A table or view. Outside `public` it is written `schema.table`.' }),
})

// These two paths take precedence over records with such a key.
const settingsPath = '/api/collections/:table/search-settings'
const synonymsPath = '/api/collections/:table/synonyms'
const indexPath = '/api/admin/search'

const getSettings = operation({
  ...common,
  id: 'search.getSettings',
  method: 'GET',
  path: settingsPath,
  summary: 'Get the searched columns of a collection and their ranking',
  params,
  success: ok(SearchSettings),
  handle: (context: SearchContext, { params }) =>
    withRelation(context, params.table, async (relation) => {
      const { attributes, customRanking, ignoresAccents } = await readStored(context, relation)
      return { attributes, customRanking, ignoreAccents: ignoresAccents }
    }),
})

const replaceSettings = operation({
  ...common,
  id: 'search.replaceSettings',
  permission: 'structure.write',
  method: 'PUT',
  path: settingsPath,
  summary: 'Replace weights and ranking',
  description: 'The settings are in force on every node within a second. A job rebuilds the search indexes.',
  params,
  body: SearchSettingsInput,
  success: ok(SearchSettings),
  handle: (context: SearchContext, { params, body, origin }) =>
    withRelation(context, params.table, async (relation) => {
      const settings = readSettings(relation, body)
      const { attributes, customRanking } = settings
      const detail = { attributes, customRanking, ignoreAccents: body.ignoreAccents }
      await store(context, relation, 'search_settings.replace', detail, origin, (transaction) =>
        queries.replaceSettings(transaction, tableOf(relation), settings),
      )
      const { ignoresAccents } = context.definitions.settingsOf(relation)
      return { attributes, customRanking, ignoreAccents: ignoresAccents }
    }),
})

const getSynonyms = operation({
  ...common,
  id: 'search.getSynonyms',
  method: 'GET',
  path: synonymsPath,
  summary: 'Get the synonyms of a collection',
  params,
  success: ok(SearchSynonyms),
  handle: (context: SearchContext, { params }) =>
    withRelation(context, params.table, async (relation) =>
      toGroups((await readStored(context, relation)).synonyms),
    ),
})

const replaceSynonyms = operation({
  ...common,
  id: 'search.replaceSynonyms',
  permission: 'structure.write',
  method: 'PUT',
  path: synonymsPath,
  summary: 'Replace the synonyms',
  description: 'The synonyms are in force on every node within a second.',
  params,
  body: SearchSynonymsInput,
  success: ok(SearchSynonyms),
  handle: (context: SearchContext, { params, body, origin }) =>
    withRelation(context, params.table, async (relation) => {
      const synonyms = readSynonyms(body)
      const detail = { groups: synonyms.length }
      await store(context, relation, 'synonyms.replace', detail, origin, (transaction) =>
        queries.replaceSynonyms(transaction, tableOf(relation), synonyms),
      )
      return toGroups(synonyms)
    }),
})

const list = operation({
  ...common,
  id: 'search.list',
  method: 'GET',
  path: indexPath,
  summary: 'List the search indexes, and advice on missing ones',
  success: ok(Type.Object({ items: Type.Array(IndexStatus) })),
  async handle({ catalog, indexing, missed }: SearchContext) {
    return { items: await withCatalog(catalog, (current) => indexing.list(current, missed)) }
  },
})

const describe = operation({
  ...common,
  id: 'search.describe',
  method: 'GET',
  path: `${indexPath}/:table`,
  summary: 'Describe how a collection is searched, and the input of its indexes',
  params,
  success: ok(SearchDescription),
  handle: (context: SearchContext, { params }) =>
    withRelation(context, params.table, async (relation) => {
      const { catalog, database, definitions } = context
      const columns = relation.columns.map((column) => ({
        name: column.name,
        isSearchable: isSearchable(column),
        isRankable: column.type.hasOrder,
      }))
      const searched = columns.filter((column) => column.isSearchable).map(({ name }) => name)
      const [status, source] = await Promise.all([
        statusOf(context, relation.collection),
        readIndexSource(database, relation, searched),
      ])
      // The table was dropped since the catalog was read, so the catalog is read again.
      if (source === undefined) throw collectionErrors.collectionNotFound(relation.collection)
      return {
        ...status,
        obstacle: findObstacle(relation) ?? null,
        textSearchConfig: definitions.config,
        hasTrigrams: catalog.current.extensionSchemas.has('pg_trgm'),
        columns,
        source,
      }
    }),
})

const enable = operation({
  ...common,
  id: 'search.enable',
  permission: 'structure.write',
  method: 'POST',
  path: `${indexPath}/:table/enable`,
  summary: 'Build the search indexes of a collection',
  description:
    'The build does not block readers and writers. The response comes when it is done. It continues when the caller disconnects.',
  params,
  success: ok(SearchChange),
  handle: (context: SearchContext, { params, origin }) =>
    changeIndexes(context, params.table, 'search.enable', origin, (relation) =>
      context.indexing.enable(context.catalog.current, relation),
    ),
})

const disable = operation({
  ...common,
  id: 'search.disable',
  permission: 'structure.write',
  method: 'POST',
  path: `${indexPath}/:table/disable`,
  summary: 'Drop the search indexes of a collection',
  params,
  success: ok(SearchChange),
  handle: (context: SearchContext, { params, origin }) =>
    changeIndexes(context, params.table, 'search.disable', origin, context.indexing.disable),
})

/** Operations that administer searches. */
export const searchOperations = [
  getSettings,
  replaceSettings,
  getSynonyms,
  replaceSynonyms,
  list,
  describe,
  enable,
  disable,
]

/** @throws AppError collection_not_found */
function withRelation<Result>(
  { catalog }: SearchContext,
  collection: string,
  work: (relation: Relation) => Promise<Result>,
): Promise<Result> {
  return withCatalog(catalog, (current) => work(requireRelation(current, collection, 'unrestricted')))
}

/** Reads settings from the database, because this node may not have read another node's change yet. */
async function readStored(
  { definitions }: SearchContext,
  { schema, name }: Relation,
): Promise<StoredSettings> {
  await definitions.poll()
  return definitions.settingsOf({ schema, name })
}

/** Changes the stored settings of a collection and updates its indexes. */
async function store(
  { database, queue, definitions }: SearchContext,
  { collection: target }: Relation,
  action: string,
  detail: Readonly<Record<string, unknown>>,
  origin: RequestOrigin,
  write: (transaction: Queryable) => Promise<queries.SearchRow>,
): Promise<void> {
  const isRebuilt = await database.transaction(async (transaction) => {
    const row = await write(transaction)
    await recordAudit(transaction, { actor: 'admin', action, target, detail, origin })
    if (row.is_indexed !== true) return false
    await queue.enqueue(indexJobName, { collection: target }, transaction)
    return true
  })
  await definitions.refresh()
  if (isRebuilt) queue.wake()
}

function changeIndexes(
  context: SearchContext,
  table: string,
  action: string,
  origin: RequestOrigin,
  change: (relation: Relation) => Promise<IndexChanges>,
): Promise<SearchChange> {
  return withRelation(context, table, async (relation) => {
    const { database, definitions, catalog } = context
    const changes = await change(relation)
    const target = relation.collection
    await recordAudit(database, { actor: 'admin', action, target, detail: { ...changes }, origin })
    await definitions.refresh()
    // The catalog reads the indexes before the response, so that the next search uses them.
    await catalog.refresh()
    return { ...(await statusOf(context, target)), ...changes }
  })
}

/** @throws AppError collection_not_found */
async function statusOf({ catalog, indexing }: SearchContext, collection: string): Promise<IndexStatus> {
  const statuses = await indexing.list(catalog.current, new Set([collection]))
  const found = statuses.find((each) => each.collection === collection)
  if (found === undefined) throw collectionErrors.collectionNotFound(collection)
  return found
}

function toGroups(groups: StoredSettings['synonyms']) {
  return { groups: groups.map((terms) => ({ terms })) }
}
