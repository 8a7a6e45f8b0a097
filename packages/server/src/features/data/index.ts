import type { ChangeLog } from '../../database/change-log.ts'
import type { Platform } from '../../platform.ts'
import { collections } from './collections/index.ts'
import { matviews } from './matviews/index.ts'
import { schema } from './schema/index.ts'

/** Wires what serves the operator's tables. */
export function wireData(
  { config, isDevelopment, database, catalog, queue }: Platform,
  { changes }: { readonly changes: ChangeLog },
) {
  return {
    features: [
      collections({
        catalog,
        database,
        changes,
        isAudited: config.audit.tables.length > 0,
        isDevelopment,
        limits: {
          maxSizeMb: config.api.import_max_size_mb,
          maxRows: config.api.import_max_rows,
          timeoutSeconds: config.api.import_timeout,
          rowBytes: config.server.body_limit,
        },
      }),
      schema(catalog),
      matviews({ database, queue, refreshTimeout: config.matviews.refresh_timeout }),
    ],
  }
}
