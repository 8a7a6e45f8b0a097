import { isReachedAtLoopback } from '../../../config/development.ts'
import type { Config } from '../../../config/schema.ts'
import type { Notifications } from '../../../database/notifications.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import type { JobQueue } from '../../../job-queue.ts'
import { createSiteAddress } from './address.ts'
import { createDeployService } from './administration/deploys.ts'
import { createFileService } from './administration/files.ts'
import { createSiteService } from './administration/sites.ts'
import { defineCleanup } from './cleanup.ts'
import { siteRoutes } from './routes.ts'
import { createBlobCache } from './serving/blob-cache.ts'
import { slugOfHost } from './serving/host.ts'
import { LiveSites } from './serving/live-sites.ts'
import { servingRoutes, siteRewriter } from './serving/routes.ts'
import { uploadRoutes } from './upload-routes.ts'

export { siteErrorTable } from './errors.ts'

export interface SitesDeps {
  readonly server: Config['server']
  readonly config: Config['sites']
  readonly database: SystemDatabase
  readonly queue: JobQueue
  readonly notifications: Notifications
  readonly publicBaseUrl: () => string
}

/** Static sites: their deploys, which of them is live, and serving those. */
export function sites(deps: SitesDeps) {
  const { config, server, database, queue, notifications } = deps
  const maxFileSize = config.max_file_size
  const baseDomain = config.base_domain || (isReachedAtLoopback(server) ? 'localhost' : '')
  const ownHost = server.public_base_url === '' ? server.host : new URL(server.public_base_url).hostname
  const addressOf = createSiteAddress(deps.publicBaseUrl, baseDomain)
  const slugOf = (host: string | undefined) => slugOfHost(host, baseDomain, ownHost)
  const served = { sites: new LiveSites(database, notifications), blobs: createBlobCache(database) }
  defineCleanup(database, queue, config.kept_deploys)
  const feature: Feature = {
    name: 'sites',
    routes(app) {
      siteRoutes(app, createSiteService({ ...deps, addressOf }), createDeployService(deps))
      uploadRoutes(app, createFileService({ database, maxFileSize }), maxFileSize)
      servingRoutes(app, served, slugOf)
    },
  }
  return { feature, rewriteUrl: siteRewriter(slugOf) }
}
