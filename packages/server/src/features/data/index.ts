import type { ChangeLog } from '../../database/change-log.ts'
import type { Platform } from '../../platform.ts'
import { collections } from './collections/index.ts'
import { matviews } from './matviews/index.ts'
import { procedures } from './procedures/index.ts'
import { schema } from './schema/index.ts'

/** Wires what serves the operator's tables. */
export function wireData(
  { config, isDevelopment, database, catalog, queue }: Platform,
  { changes }: { readonly changes: ChangeLog },
) {
  const deps = {
    catalog,
    database: database.user,
    changes,
    isAudited: config.audit.tables.length > 0,
    isDevelopment,
  }
  return {
    features: [
      collections(deps),
      procedures(deps),
      schema(catalog),
      matviews({ database, queue, refreshTimeout: config.matviews.refresh_timeout }),
    ],
  }
}
