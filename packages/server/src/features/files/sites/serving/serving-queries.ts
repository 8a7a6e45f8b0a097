import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import type { Coding } from '../../../../http/responses/content-coding.ts'
import type { StoredFile } from './find-file.ts'

/** Site with a live deploy. */
export interface LiveSite extends Record<string, unknown> {
  readonly id: string
  readonly slug: string
  readonly spa_mode: boolean
  readonly deploy_id: string
}

export const siteVersion = sql`(select version from basalt.site_version)`

export async function listLiveSites(database: Queryable): Promise<LiveSite[]> {
  return await database.many<LiveSite>(sql`
    select s.id, s.slug, s.spa_mode, d.id as deploy_id
    from basalt.sites s join basalt.site_deploys d on d.site_id = s.id and d.status = 'live'`)
}

/** Route of a custom domain whose requests do not reach the API. */
export interface DomainRoute extends Record<string, unknown> {
  readonly hostname: string
  /** Null if the domain has no site. */
  readonly slug: string | null
  readonly redirectMode: 'permanent' | 'temporary' | null
  /** True if the ownership is verified. Else the domain was deleted or has lapsed. */
  readonly isActive: boolean
}

/** Lists the routes of custom domains. If a deleted domain was registered again, the verified one comes last. */
export async function listDomainRoutes(database: Queryable): Promise<DomainRoute[]> {
  return await database.many<DomainRoute>(sql`
    select d.hostname, s.slug, d.redirect_mode as "redirectMode", d.status = 'verified' as "isActive"
    from basalt.site_domains d left join basalt.sites s on s.custom_domain_id = d.id
    where d.status in ('verified', 'verification_lapsed', 'tombstoned')
    order by d.status = 'verified'`)
}

const fileColumns = sql`
  f.path, encode(f.sha256, 'hex') as "sha256", f.size, f.content_type as "contentType"`

export async function listFiles(database: Queryable, deployId: string): Promise<StoredFile[]> {
  return await database.many(
    sql`select ${fileColumns} from basalt.site_files f where f.deploy_id = ${deployId}::uuid`,
  )
}

/**
 * Finds a file of the live deploy, else of the latest superseded deploy. This node may not have noticed the live deploy
 * yet, while the requesting page came from a node that has.
 */
export async function findFileInOtherDeploys(
  database: Queryable,
  siteId: string,
  path: string,
): Promise<StoredFile | undefined> {
  return await database.maybeOne(sql`
    select ${fileColumns} from basalt.site_files f join basalt.site_deploys d on d.id = f.deploy_id
    where d.site_id = ${siteId}::uuid and d.status in ('live', 'superseded') and f.path = ${path}
    order by d.status = 'live' desc, d.updated_at desc, d.id limit 1`)
}

/** Bytes of a file, in every stored coding. */
export interface Blob extends Record<string, unknown> {
  readonly bytes: Buffer
  readonly br: Buffer | null
  readonly gzip: Buffer | null
}

export async function readBlob(database: Queryable, sha256: string): Promise<Blob | undefined> {
  return await database.maybeOne<Blob>(sql`
    select bytes, brotli as br, gzip from basalt.site_blobs where sha256 = decode(${sha256}, 'hex')`)
}

export function codedBytes(blob: Blob, coding: Coding | undefined): Buffer {
  return (coding === undefined ? undefined : blob[coding]) ?? blob.bytes
}
