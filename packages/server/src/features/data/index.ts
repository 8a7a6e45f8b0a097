import type { Catalog, Relation } from '../../database/catalog/model.ts'
import { type ChangeLog, silentChangeLog } from '../../database/change-log.ts'
import type { UserDatabase } from '../../database/user-database.ts'
import type { Platform } from '../../platform.ts'
import { type AdvisorContext, advisors } from './advisors/index.ts'
import {
  type Collections,
  collections,
  type ListPlan,
  noHooks,
  openCollections,
  openInTransaction,
  parseListQuery,
  planList,
  type WriteHooks,
} from './collections/index.ts'
import { createQueryEmbeddings, type Embedders, limitQueries } from './embedding-provider/index.ts'
import { type GraphqlStreams, graphql } from './graphql/index.ts'
import { createWritesOnce, defineKeyCleanup } from './idempotency/index.ts'
import { ImportRuns } from './import-runs/index.ts'
import { matviews } from './matviews/index.ts'
import { type Callers, policies } from './policies/index.ts'
import { procedures } from './procedures/index.ts'
import { schema } from './schema/index.ts'
import {
  createIndexer,
  createIndexing,
  ignoresAccentsByDefault,
  StoredDefinitions,
  search,
} from './search/index.ts'
import { sqlRunner } from './sql-runner/index.ts'
import { vectorIndexes } from './vector-indexes/index.ts'
import { createViewAs } from './view-as/index.ts'

type RehearsedDatabase = Pick<UserDatabase, 'run' | 'begin'>

export interface DataPorts extends Pick<AdvisorContext, 'listCaptured'> {
  readonly changes: ChangeLog
  /** Code of the operator that runs before writes. */
  readonly hooks: WriteHooks
  readonly embedders: Embedders
  /** Streams of GraphQL subscriptions. */
  readonly graphqlStreams: GraphqlStreams
  /** Callers whose access is explained; undefined without auth. */
  readonly callers: Callers | undefined
  /** Checks an expression of a developer. @throws AppError that names the member */
  readonly requireSafe: (expression: string, member: string) => unknown
}

/** Creates the features that serve the operator's tables. */
export function wireData(
  { config, isDevelopment, database, catalog, queue, notifications, clock, log }: Platform,
  { changes, hooks, embedders, listCaptured, callers, graphqlStreams, requireSafe }: DataPorts,
) {
  const searches = new StoredDefinitions({
    database: database.system,
    notifications,
    configName: config.api.text_search_config,
    ignoresAccents: ignoresAccentsByDefault(database.engine),
  })
  const importRuns = new ImportRuns(database.system, log)
  const embedder = embedders.find()
  defineKeyCleanup(database.system, queue)
  const writesOnce = createWritesOnce(database)
  const deps = {
    catalog,
    database: database.user,
    writesOnce,
    changes,
    hooks,
    searches,
    isAudited: config.audit.tables.length > 0,
    isDevelopment,
    limits: {
      maxFacetBuckets: config.api.max_facet_buckets,
      aggregateEnabled: config.api.aggregate_enabled,
      maxGroups: config.api.max_groups,
      rankLimit: config.search.rank_limit,
    },
  }
  const collectionDeps = {
    ...deps,
    viewAs: createViewAs(database.system, 'tables.view_as'),
    aside: database.aside,
    replicas: database.replicas,
    log,
    embedder:
      embedder === undefined
        ? undefined
        : {
            dimensions: embedder.model.dimensions,
            embed: createQueryEmbeddings(embedder, limitQueries(database.system, config.ai.queries_per_hour)),
          },
    exportLimits: {
      maxRows: config.api.export_max_rows,
      timeoutMs: config.api.export_timeout * 1000,
      maxExports: config.api.max_exports,
      silenceMs: config.database.statement_timeout_ms,
    },
    bulkLimit: config.api.bulk_max_rows,
  }
  /** Opens the collections on a database access that undoes everything. Their writes have no listener. */
  const rehearse = (rehearsal: RehearsedDatabase): Collections =>
    openCollections({
      ...collectionDeps,
      database: rehearsal,
      replicas: undefined,
      writesOnce: createWritesOnce({
        user: { run: (...args) => rehearsal.run(...args), reportPosition: async () => undefined },
        system: database.system,
      }),
      changes: silentChangeLog,
      hooks: noHooks,
    })
  const opened = openCollections(collectionDeps)
  /** Opens the collections in a transaction of a function, whose end announces its changes. */
  const openData = (run: UserDatabase['run'], hooksInside: WriteHooks) =>
    openInTransaction(opened, run, hooksInside)
  /** Plans the list of an administrator. */
  const planRows = (snapshot: Catalog, relation: Relation, queryString: string): ListPlan => {
    const query = parseListQuery(queryString)
    if ('aggregate' in query) throw new TypeError('an aggregate lists no rows')
    return planList(
      { catalog: snapshot, reader: 'unrestricted', searches },
      relation,
      query,
      collectionDeps.limits,
    )
  }
  return {
    openData,
    features: [
      collections({
        ...collectionDeps,
        imports: {
          catalog,
          database,
          findCommitted: (query) => database.system.many(query),
          writesOnce,
          changes,
          hooks,
          isDevelopment,
          background: importRuns,
          limits: {
            maxSizeMb: config.api.import_max_size_mb,
            maxRows: config.api.import_max_rows,
            maxRefused: config.api.import_max_refused,
            timeoutSeconds: config.api.import_timeout,
            rowBytes: config.server.body_limit,
          },
        },
      }),
      { name: 'import-runs', stop: () => importRuns.stop() },
      graphql({
        collections: opened,
        database,
        config: config.graphql,
        streams: graphqlStreams,
      }),
      procedures(deps),
      search({ database, catalog, queue, definitions: searches, log }),
      schema(catalog),
      vectorIndexes({ database, catalog }),
      advisors({
        database: database.system,
        catalog,
        clock,
        listCaptured,
        prefixFilters: searches.prefixFilters,
        listSearches: () =>
          createIndexing({
            database: database.system,
            indexer: createIndexer(database),
            config: () => searches.config,
            ignoresAccents: ignoresAccentsByDefault(database.engine),
          }).list(catalog.current),
      }),
      sqlRunner({ database, catalog, log }),
      matviews({ database, queue, refreshTimeout: config.matviews.refresh_timeout }),
      ...(callers === undefined
        ? []
        : [
            policies({
              ...{ database, catalog, callers, planRows, requireSafe },
              openCollections: rehearse,
              project: config.project,
            }),
          ]),
    ],
  }
}
