import type { ChangeLog } from '../../database/change-log.ts'
import type { Platform } from '../../platform.ts'
import { collections } from './collections/index.ts'
import { matviews } from './matviews/index.ts'
import { procedures } from './procedures/index.ts'
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
  const deps = {
    catalog,
    database: database.user,
    changes,
    searches,
    isAudited: config.audit.tables.length > 0,
    isDevelopment,
  }
  return {
    features: [
      collections({ ...deps, bulkLimit: config.api.bulk_max_rows }),
      procedures(deps),
      search({ database, catalog, queue, definitions: searches, log }),
      schema(catalog),
      matviews({ database, queue, refreshTimeout: config.matviews.refresh_timeout }),
    ],
  }
}
