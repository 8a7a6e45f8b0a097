import type { ChangeLog } from '../../database/change-log.ts'
import type { Platform } from '../../platform.ts'
import { collections } from './collections/index.ts'
import { createQueryEmbeddings, type Embedders } from './embedding-provider/index.ts'
import { matviews } from './matviews/index.ts'
import { schema } from './schema/index.ts'
import { vectorIndexes } from './vector-indexes/index.ts'

/** Wires what serves the operator's tables. */
export function wireData(
  { config, isDevelopment, database, catalog, queue }: Platform,
  { changes, embedders }: { readonly changes: ChangeLog; readonly embedders: Embedders },
) {
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
        isAudited: config.audit.tables.length > 0,
        isDevelopment,
      }),
      schema(catalog),
      vectorIndexes({ database, catalog }),
      matviews({ database, queue, refreshTimeout: config.matviews.refresh_timeout }),
    ],
  }
}
