import type { SiteAddress } from '../address.ts'
import type { DeployRow, DeployStatus } from './deploy-queries.ts'
import type { SiteRow } from './site-queries.ts'

export interface Site {
  readonly id: string
  readonly name: string
  readonly slug: string
  readonly spaMode: boolean
  readonly customDomainId?: string
  readonly createdAt: string
  readonly updatedAt: string
  readonly liveDeployId?: string
  /** Where visitors reach it. */
  readonly url?: string
}

export interface Deploy {
  readonly id: string
  readonly siteId: string
  readonly status: DeployStatus
  readonly fileCount: number
  readonly totalBytes: number
  readonly errorMessage?: string
  readonly createdAt: string
  readonly updatedAt: string
}

export function showSite(row: SiteRow, addressOf: SiteAddress): Site {
  const url = addressOf(row.slug, row.hostname)
  return {
    id: row.id,
    name: row.name,
    slug: row.slug,
    spaMode: row.spa_mode,
    ...(row.custom_domain_id === null ? {} : { customDomainId: row.custom_domain_id }),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    ...(row.live_deploy_id === null ? {} : { liveDeployId: row.live_deploy_id }),
    ...(url === undefined ? {} : { url }),
  }
}

export function showDeploy(row: DeployRow): Deploy {
  return {
    id: row.id,
    siteId: row.site_id,
    status: row.status,
    fileCount: row.file_count,
    totalBytes: Number(row.total_bytes),
    ...(row.error_message === null ? {} : { errorMessage: row.error_message }),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}
