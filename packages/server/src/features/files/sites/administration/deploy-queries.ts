import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'

export type DeployStatus = 'uploading' | 'live' | 'superseded' | 'failed'

export interface DeployRow extends Record<string, unknown> {
  readonly id: string
  readonly site_id: string
  readonly status: DeployStatus
  readonly file_count: number
  /** PostgreSQL's bigint, as text. */
  readonly total_bytes: string
  readonly error_message: string | null
  readonly created_at: Date
  readonly updated_at: Date
}

const columns = sql`
  d.id, d.site_id, d.status, d.file_count, d.total_bytes, d.error_message, d.created_at, d.updated_at`

export async function listDeploys(
  database: Queryable,
  siteId: string,
  limit: number,
  offset: number,
): Promise<DeployRow[]> {
  return await database.many<DeployRow>(sql`
    select ${columns} from basalt.site_deploys d where d.site_id = ${siteId}::uuid
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
    select ${columns} from basalt.site_deploys d where d.id = ${id}::uuid and d.site_id = ${siteId}::uuid`)
}

/** Undefined when there is no such site, also when it is being deleted. */
export async function insertDeploy(database: Queryable, siteId: string): Promise<DeployRow | undefined> {
  return await database.maybeOne<DeployRow>(sql`
    insert into basalt.site_deploys as d (site_id)
    select id from basalt.sites where id = ${siteId}::uuid for key share
    returning ${columns}`)
}

/** Of a site that is locked. Undefined when it cannot be promoted. */
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
    returning ${columns}`)
}

/** Of a site that is locked; before another one becomes live. */
export async function supersedeLive(transaction: Queryable, siteId: string): Promise<void> {
  await transaction.count(sql`
    update basalt.site_deploys set status = 'superseded', updated_at = now()
    where site_id = ${siteId}::uuid and status = 'live'`)
}

/** The deploy that was live before the live one, if it is left. */
export async function findEarlier(transaction: Queryable, siteId: string): Promise<string | undefined> {
  const row = await transaction.maybeOne<{ id: string }>(sql`
    select e.id from basalt.site_deploys d
    join basalt.site_deploys e on e.site_id = d.site_id and e.promotion < d.promotion and e.status = 'superseded'
    where d.site_id = ${siteId}::uuid and d.status = 'live'
    order by e.promotion desc limit 1`)
  return row?.id
}

/** Of a site that is locked: the live one leaves the history, so that the next rollback goes further back. */
export async function leaveLive(transaction: Queryable, siteId: string): Promise<void> {
  await transaction.count(sql`
    update basalt.site_deploys set status = 'superseded', promotion = null, updated_at = now()
    where site_id = ${siteId}::uuid and status = 'live'`)
}

/** Keeps its place in the history. */
export async function restoreDeploy(transaction: Queryable, id: string): Promise<DeployRow> {
  return await transaction.one<DeployRow>(sql`
    update basalt.site_deploys d set status = 'live', updated_at = now() where d.id = ${id}::uuid
    returning ${columns}`)
}

/** Undefined unless files were being uploaded. */
export async function failDeploy(
  database: Queryable,
  siteId: string,
  id: string,
  reason: string,
): Promise<DeployRow | undefined> {
  return await database.maybeOne<DeployRow>(sql`
    update basalt.site_deploys d set status = 'failed', error_message = ${reason}, updated_at = now()
    where d.id = ${id}::uuid and d.site_id = ${siteId}::uuid and d.status = 'uploading'
    returning ${columns}`)
}
