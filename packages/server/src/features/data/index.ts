import type { ChangeLog } from '../../database/change-log.ts'
import type { Platform } from '../../platform.ts'
import { collections } from './collections/index.ts'
import { createQueryEmbeddings, type Embedders } from './embedding-provider/index.ts'
import { matviews } from './matviews/index.ts'
import { schema } from './schema/index.ts'
import { StoredDefinitions, search } from './search/index.ts'
import { vectorIndexes } from './vector-indexes/index.ts'

/** Wires what serves the operator's tables. */
export function wireData(
  { config, isDevelopment, database, catalog, queue, notifications, log }: Platform,
  { changes, embedders }: { readonly changes: ChangeLog; readonly embedders: Embedders },
) {
  const searches = new StoredDefinitions({
    database: database.system,
    notifications,
    configName: config.api.text_search_config,
  })
  const embedder = embedders.find()
  return {
    features: [
      collections({
        catalog,
        database: database.user,
        changes,
        embedder:
          embedder === undefined
            ? undefined
            : { dimensions: embedder.model.dimensions, embed: createQueryEmbeddings(embedder) },
        searches,
        isAudited: config.audit.tables.length > 0,
        isDevelopment,
        bulkLimit: config.api.bulk_max_rows,
      }),
      search({ database, catalog, queue, definitions: searches, log }),
      schema(catalog),
      vectorIndexes({ database, catalog }),
      matviews({ database, queue, refreshTimeout: config.matviews.refresh_timeout }),
    ],
  }
}
