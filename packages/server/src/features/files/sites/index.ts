import { isReachedAtLoopback } from '../../../config/development.ts'
import type { Notifications } from '../../../database/notifications/notifications.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import type { ServerConfig } from '../../../http/config.ts'
import { addOperations } from '../../../http/operation.ts'
import type { JobQueue } from '../../../job-queue.ts'
import { createThrottle } from '../../operations/throttle/index.ts'
import type { PurgeChanged } from '../cdn/index.ts'
import { createSiteAddress } from './address.ts'
import { deployOperations } from './administration/operations/deploys.ts'
import { fileRoutes } from './administration/operations/files.ts'
import { siteOperations } from './administration/operations/sites.ts'
import { createSitePurge } from './administration/site-purge.ts'
import { defineCleanup } from './cleanup.ts'
import type { SitesConfig } from './config.ts'
import { domainOperations } from './domains/operations.ts'
import { defineReverification } from './domains/reverify-job.ts'
import { createTxtResolver, type ResolveTxt } from './domains/verification.ts'
import { createBlobCache } from './serving/blob-cache.ts'
import { LiveSites } from './serving/live-sites.ts'
import { servingRoutes, siteRewriter } from './serving/routes.ts'
import { createSiteHosts } from './serving/site-hosts.ts'

export type { ResolveTxt } from './domains/verification.ts'
export { siteErrorTable } from './errors.ts'

export interface SitesDeps {
  readonly server: ServerConfig
  readonly config: SitesConfig
  readonly database: SystemDatabase
  readonly queue: JobQueue
  readonly notifications: Notifications
  readonly publicBaseUrl: () => string
  /** TXT resolver. Default: the name servers of the system. */
  readonly resolveTxt?: ResolveTxt | undefined
  /** Undefined without a content delivery network. */
  readonly purge: PurgeChanged | undefined
}

/** Creates the feature that manages and serves static sites, and the rewriter of their URLs. */
export function sites(deps: SitesDeps) {
  const { config, server, database, queue, notifications, resolveTxt = createTxtResolver() } = deps
  const baseDomain = config.base_domain || (isReachedAtLoopback(server) ? 'localhost' : '')
  const ownHost = server.public_base_url === '' ? server.host : new URL(server.public_base_url).hostname
  const addressOf = createSiteAddress(deps.publicBaseUrl, baseDomain)
  const purgeSite = deps.purge === undefined ? undefined : createSitePurge(deps.purge, addressOf)
  const live = new LiveSites(database, notifications)
  const hosts = createSiteHosts(live, baseDomain, ownHost)
  const served = { sites: live, blobs: createBlobCache(database) }
  defineCleanup(database, queue, config.kept_deploys)
  defineReverification(database, queue, resolveTxt)
  const feature: Feature = {
    name: 'sites',
    routes(app) {
      addOperations(app, { ...deps, live, addressOf, purgeSite }, [...siteOperations, ...deployOperations])
      fileRoutes(app, { database, maxFileSize: config.max_file_size })
      const throttle = createThrottle(database)
      addOperations(app, { database, live, throttle, resolveTxt, hosts }, domainOperations)
      servingRoutes(app, served, hosts, addressOf)
    },
  }
  return { feature, rewriteUrl: siteRewriter(hosts) }
}
