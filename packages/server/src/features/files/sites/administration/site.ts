import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { type Answered, component, timestamp } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import { type RowOf, withoutNulls } from '../../../../lib/without-nulls.ts'
import type { SiteAddress } from '../address.ts'

export const Site = component(
  'Site',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    name: Type.String(),
    slug: Type.String({ description: 'First label of the site host.' }),
    spaMode: Type.Boolean({ description: 'True to return `index.html` for navigations to missing paths.' }),
    customDomainId: Type.Optional(Type.String({ format: 'uuid' })),
    createdAt: timestamp,
    updatedAt: timestamp,
    liveDeployId: Type.Optional(Type.String({ format: 'uuid' })),
    url: Type.Optional(
      Type.String({ description: 'Address for visitors. Missing while `sites.base_domain` is empty.' }),
    ),
  }),
)
export type Site = Answered<typeof Site>

/** Site row. The hostname is null unless the custom domain is verified. */
export type SiteRow = RowOf<Omit<Site, 'url'>> & { readonly hostname: string | null }

/** Returns a site with its address. */
export function withUrl({ hostname, ...row }: SiteRow, addressOf: SiteAddress): Site {
  return { ...withoutNulls<Omit<Site, 'url'>>(row), url: addressOf(row.slug, hostname) }
}

const columns = sql`
  s.id, s.name, s.slug, s.spa_mode as "spaMode", s.custom_domain_id as "customDomainId",
  s.created_at as "createdAt", s.updated_at as "updatedAt",
  (select d.id from basalt.site_deploys d where d.site_id = s.id and d.status = 'live') as "liveDeployId",
  (select o.hostname from basalt.site_domains o where o.id = s.custom_domain_id and o.status = 'verified') as hostname`

export async function listSites(database: Queryable, limit: number, offset: number): Promise<SiteRow[]> {
  return await database.many<SiteRow>(sql`
    select ${columns} from basalt.sites s
    order by s.created_at desc, s.id desc limit ${limit}::int offset ${offset}::int`)
}

export async function countSites(database: Queryable): Promise<number> {
  return (await database.one<{ count: number }>(sql`select count(*)::int as count from basalt.sites`)).count
}

export async function findSite(database: Queryable, id: string): Promise<SiteRow | undefined> {
  return await database.maybeOne<SiteRow>(sql`select ${columns} from basalt.sites s where s.id = ${id}::uuid`)
}

export interface NewSite {
  readonly name: string
  readonly slug: string
  readonly spaMode: boolean
  readonly customDomainId: string | undefined
}

/** Inserts a site, unless its slug exists. */
export async function insertSite(database: Queryable, site: NewSite): Promise<SiteRow | undefined> {
  return await database.maybeOne<SiteRow>(sql`
    insert into basalt.sites as s (name, slug, spa_mode, custom_domain_id)
    values (${site.name}, ${site.slug}, ${site.spaMode}::bool, ${site.customDomainId ?? null}::uuid)
    on conflict (slug) do nothing
    returning ${columns}`)
}

/** Changes of a site. Undefined keeps a value. */
export interface SiteChange {
  readonly name: string | undefined
  readonly spaMode: boolean | undefined
  /** Null detaches the domain. */
  readonly customDomainId: string | null | undefined
}

export async function updateSite(
  database: Queryable,
  id: string,
  { name, spaMode, customDomainId }: SiteChange,
): Promise<SiteRow | undefined> {
  return await database.maybeOne<SiteRow>(sql`
    update basalt.sites s set
      name = coalesce(${name ?? null}, name), spa_mode = coalesce(${spaMode ?? null}::bool, spa_mode),
      custom_domain_id = case
        when ${customDomainId !== undefined}::bool then ${customDomainId ?? null}::uuid
        else custom_domain_id end,
      updated_at = now()
    where s.id = ${id}::uuid
    returning ${columns}`)
}

/** Locks a domain, so that no other transaction attaches or deletes it. Returns false if it does not exist. */
export async function lockDomain(transaction: Queryable, id: string): Promise<boolean> {
  const count = await transaction.count(sql`
    select from basalt.site_domains where id = ${id}::uuid and status <> 'tombstoned' for update`)
  return count > 0
}

/** Returns whether another site has a domain. Requires a lock on the domain. */
export async function isAttached(transaction: Queryable, id: string, siteId?: string): Promise<boolean> {
  const others = sql`
    select from basalt.sites
    where custom_domain_id = ${id}::uuid and id is distinct from ${siteId ?? null}::uuid`
  return (await transaction.count(others)) > 0
}

/** Deletes a site with its deploys and files. The job `site_cleanup` removes their content. */
export async function deleteSite(database: Queryable, id: string): Promise<{ slug: string } | undefined> {
  return await database.maybeOne<{ slug: string }>(
    sql`delete from basalt.sites where id = ${id}::uuid returning slug`,
  )
}

/** Locks a site for a change of its live deploy. Returns false if it does not exist. */
export async function lockSite(transaction: Queryable, id: string): Promise<boolean> {
  return (await transaction.count(sql`select from basalt.sites where id = ${id}::uuid for update`)) === 1
}
