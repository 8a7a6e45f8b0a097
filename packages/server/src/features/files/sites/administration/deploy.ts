import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { type Answered, choice, component, timestamp } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import type { RowOf } from '../../../../lib/without-nulls.ts'

export const Deploy = component(
  'Deploy',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    siteId: Type.String({ format: 'uuid' }),
    status: choice(['uploading', 'live', 'superseded', 'failed']),
    fileCount: Type.Integer(),
    totalBytes: Type.Integer(),
    errorMessage: Type.Optional(Type.String()),
    createdAt: timestamp,
    updatedAt: timestamp,
  }),
)
export type Deploy = Answered<typeof Deploy>
export type DeployRow = RowOf<Deploy>

export const deployColumns = sql`
  d.id, d.site_id as "siteId", d.status, d.file_count as "fileCount", d.total_bytes::float8 as "totalBytes",
  d.error_message as "errorMessage", d.created_at as "createdAt", d.updated_at as "updatedAt"`

export async function listDeploys(
  database: Queryable,
  siteId: string,
  limit: number,
  offset: number,
): Promise<DeployRow[]> {
  return await database.many<DeployRow>(sql`
    select ${deployColumns} from basalt.site_deploys d where d.site_id = ${siteId}::uuid
    order by d.created_at desc, d.id desc limit ${limit}::int offset ${offset}::int`)
}

export async function countDeploys(database: Queryable, siteId: string): Promise<number> {
  const { count } = await database.one<{ count: number }>(
    sql`select count(*)::int as count from basalt.site_deploys where site_id = ${siteId}::uuid`,
  )
  return count
}

export async function findDeploy(
  database: Queryable,
  siteId: string,
  id: string,
): Promise<DeployRow | undefined> {
  return await database.maybeOne<DeployRow>(sql`
    select ${deployColumns} from basalt.site_deploys d where d.id = ${id}::uuid and d.site_id = ${siteId}::uuid`)
}

/** Creates a deploy, unless the site does not exist or is being deleted. */
export async function insertDeploy(database: Queryable, siteId: string): Promise<DeployRow | undefined> {
  return await database.maybeOne<DeployRow>(sql`
    insert into basalt.site_deploys as d (site_id)
    select id from basalt.sites where id = ${siteId}::uuid for key share
    returning ${deployColumns}`)
}

/** Makes a deploy of a locked site live. Returns undefined if it cannot be promoted. */
export async function promoteDeploy(
  transaction: Queryable,
  siteId: string,
  id: string,
): Promise<DeployRow | undefined> {
  return await transaction.maybeOne<DeployRow>(sql`
    update basalt.site_deploys d set
      status = 'live', updated_at = now(),
      promotion = 1 + coalesce((select max(o.promotion) from basalt.site_deploys o where o.site_id = d.site_id), 0)
    where d.id = ${id}::uuid and d.site_id = ${siteId}::uuid and d.status in ('uploading', 'superseded')
      and d.file_count > 0
    returning ${deployColumns}`)
}

/** Supersedes the live deploy of a locked site, before another deploy becomes live. */
export async function supersedeLive(transaction: Queryable, siteId: string): Promise<void> {
  await transaction.count(sql`
    update basalt.site_deploys set status = 'superseded', updated_at = now()
    where site_id = ${siteId}::uuid and status = 'live'`)
}

/** Returns the id of the previous live deploy, if it still exists. */
export async function findPreviousLive(transaction: Queryable, siteId: string): Promise<string | undefined> {
  const row = await transaction.maybeOne<{ id: string }>(sql`
    select e.id from basalt.site_deploys d
    join basalt.site_deploys e on e.site_id = d.site_id and e.promotion < d.promotion and e.status = 'superseded'
    where d.site_id = ${siteId}::uuid and d.status = 'live'
    order by e.promotion desc limit 1`)
  return row?.id
}

/**
 * Supersedes the live deploy of a locked site and removes it from the history, so that the next rollback goes further
 * back.
 */
export async function removeFromHistory(transaction: Queryable, siteId: string): Promise<void> {
  await transaction.count(sql`
    update basalt.site_deploys set status = 'superseded', promotion = null, updated_at = now()
    where site_id = ${siteId}::uuid and status = 'live'`)
}

/** Makes a superseded deploy live again. It keeps its position in the history. */
export async function restoreDeploy(transaction: Queryable, id: string): Promise<DeployRow> {
  return await transaction.one<DeployRow>(sql`
    update basalt.site_deploys d set status = 'live', updated_at = now() where d.id = ${id}::uuid
    returning ${deployColumns}`)
}

/** Fails an `uploading` deploy. Returns undefined in other states. */
export async function failDeploy(
  database: Queryable,
  siteId: string,
  id: string,
  reason: string,
): Promise<DeployRow | undefined> {
  return await database.maybeOne<DeployRow>(sql`
    update basalt.site_deploys d set status = 'failed', error_message = ${reason}, updated_at = now()
    where d.id = ${id}::uuid and d.site_id = ${siteId}::uuid and d.status = 'uploading'
    returning ${deployColumns}`)
}
