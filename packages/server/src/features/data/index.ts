import type { ChangeLog } from '../../database/change-log.ts'
import type { Platform } from '../../platform.ts'
import { collections } from './collections/index.ts'
import { matviews } from './matviews/index.ts'
import { schema } from './schema/index.ts'
import { StoredDefinitions, search } from './search/index.ts'

/** Wires what serves the operator's tables. */
export function wireData(
  { config, isDevelopment, database, catalog, queue, notifications, log }: Platform,
  { changes }: { readonly changes: ChangeLog },
) {
  const searches = new StoredDefinitions({
    database: database.system,
    notifications,
    configName: config.api.text_search_config,
  })
  return {
    features: [
      collections({
        catalog,
        database,
        changes,
        searches,
        isAudited: config.audit.tables.length > 0,
        isDevelopment,
        limits: {
          maxSizeMb: config.api.import_max_size_mb,
          maxRows: config.api.import_max_rows,
          timeoutSeconds: config.api.import_timeout,
          rowBytes: config.server.body_limit,
        },
        bulkLimit: config.api.bulk_max_rows,
      }),
      search({ database, catalog, queue, definitions: searches, log }),
      schema(catalog),
      matviews({ database, queue, refreshTimeout: config.matviews.refresh_timeout }),
    ],
  }
}
