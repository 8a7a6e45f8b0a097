import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'

export interface SiteRow extends Record<string, unknown> {
  readonly id: string
  readonly name: string
  readonly slug: string
  readonly spa_mode: boolean
  readonly created_at: Date
  readonly updated_at: Date
  readonly live_deploy_id: string | null
  readonly custom_domain_id: string | null
  /** Where it is served beside its slug; null unless its custom domain is verified. */
  readonly hostname: string | null
}

const columns = sql`
  s.id, s.name, s.slug, s.spa_mode, s.created_at, s.updated_at,
  (select d.id from basalt.site_deploys d where d.site_id = s.id and d.status = 'live') as live_deploy_id,
  s.custom_domain_id,
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

/** Undefined when the slug is taken. */
export async function insertSite(database: Queryable, site: NewSite): Promise<SiteRow | undefined> {
  return await database.maybeOne<SiteRow>(sql`
    insert into basalt.sites as s (name, slug, spa_mode, custom_domain_id)
    values (${site.name}, ${site.slug}, ${site.spaMode}::bool, ${site.customDomainId ?? null}::uuid)
    on conflict (slug) do nothing
    returning ${columns}`)
}

/** What changes; undefined leaves a value alone. */
export interface SiteChange {
  readonly name: string | undefined
  readonly spaMode: boolean | undefined
  /** Null: none any more. */
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

/** Attaching and deleting a domain wait for one another. Undefined when there is none, or it was deleted. */
export async function lockDomain(
  transaction: Queryable,
  id: string,
): Promise<{ site_id: string | null } | undefined> {
  const count = await transaction.count(sql`
    select from basalt.site_domains where id = ${id}::uuid and status <> 'tombstoned' for update`)
  if (count === 0) return undefined
  // A statement of its own sees what was attached while the lock was waited for.
  const site = await transaction.maybeOne<{ site_id: string }>(
    sql`select id as site_id from basalt.sites where custom_domain_id = ${id}::uuid`,
  )
  return site ?? { site_id: null }
}

/** Its deploys and their files go with it; what they held is removed by the job that cleans up. */
export async function deleteSite(database: Queryable, id: string): Promise<{ slug: string } | undefined> {
  return await database.maybeOne<{ slug: string }>(
    sql`delete from basalt.sites where id = ${id}::uuid returning slug`,
  )
}

/** Changes of what is live wait for one another. False when there is no such site. */
export async function lockSite(transaction: Queryable, id: string): Promise<boolean> {
  return (await transaction.count(sql`select from basalt.sites where id = ${id}::uuid for update`)) === 1
}
