import { join } from 'node:path'
import type { Feature } from '../../../feature.ts'
import { packageFolder } from '../../../package.ts'
import { documentationRoutes } from './routes.ts'
import { openSiteFiles, type SiteFiles } from './site-files.ts'

export { siteAddressOf } from './plain-address.ts'
export { docsPath } from './routes.ts'
export { openSiteFiles, type SiteFiles, type SiteIndex } from './site-files.ts'

/** Opens the site of the package; undefined unless it was built for this version. */
export function openOwnSite(version: string): SiteFiles | undefined {
  return openSiteFiles(join(packageFolder, 'docs-site'), version)
}

/** Makes the feature that serves the documentation site. */
export function documentation(site: SiteFiles | undefined): Feature {
  return { name: 'documentation', routes: (app) => documentationRoutes(app, site) }
}
