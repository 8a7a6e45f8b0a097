import type { Config } from '../../../config/schema.ts'
import type { Notifications } from '../../../database/notifications.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import type { JobQueue } from '../../../job-queue.ts'
import { createDeployService } from './administration/deploys.ts'
import { createFileService } from './administration/files.ts'
import { createSiteService } from './administration/sites.ts'
import { defineCleanup } from './cleanup.ts'
import { siteRoutes } from './routes.ts'
import { uploadRoutes } from './upload-routes.ts'

export { siteErrorTable } from './errors.ts'

export interface SitesDeps {
  readonly config: Config['sites']
  readonly database: SystemDatabase
  readonly queue: JobQueue
  readonly notifications: Notifications
}

/** Static sites: their deploys, and which of them is live. */
export function sites(deps: SitesDeps): Feature {
  const { config, database, queue } = deps
  const maxFileSize = config.max_file_size
  defineCleanup(database, queue, config.kept_deploys)
  return {
    name: 'sites',
    routes(app) {
      siteRoutes(app, createSiteService(deps), createDeployService(deps))
      uploadRoutes(app, createFileService({ database, maxFileSize }), maxFileSize)
    },
  }
}
