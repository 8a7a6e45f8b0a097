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
}

const columns = sql`
  s.id, s.name, s.slug, s.spa_mode, s.created_at, s.updated_at,
  (select d.id from basalt.site_deploys d where d.site_id = s.id and d.status = 'live') as live_deploy_id`

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

/** Undefined when the slug is taken. */
export async function insertSite(
  database: Queryable,
  name: string,
  slug: string,
  spaMode: boolean,
): Promise<SiteRow | undefined> {
  return await database.maybeOne<SiteRow>(sql`
    insert into basalt.sites as s (name, slug, spa_mode) values (${name}, ${slug}, ${spaMode}::bool)
    on conflict (slug) do nothing
    returning ${columns}`)
}

export async function updateSite(
  database: Queryable,
  id: string,
  name: string | undefined,
  spaMode: boolean | undefined,
): Promise<SiteRow | undefined> {
  return await database.maybeOne<SiteRow>(sql`
    update basalt.sites s set
      name = coalesce(${name ?? null}, name), spa_mode = coalesce(${spaMode ?? null}::bool, spa_mode),
      updated_at = now()
    where s.id = ${id}::uuid
    returning ${columns}`)
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
