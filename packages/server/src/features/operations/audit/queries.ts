import { deleteInBatches } from '../../../database/delete-in-batches.ts'
import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'

export interface AuditFilter {
  readonly table?: string | undefined
  readonly recordId?: string | undefined
  readonly userId?: string | undefined
  readonly keyId?: string | undefined
  readonly appId?: string | undefined
  readonly operation?: string | undefined
  readonly actor?: string | undefined
  readonly action?: string | undefined
  readonly requestId?: string | undefined
  readonly from?: Date | undefined
  /** Exclusive. */
  readonly to?: Date | undefined
}

export interface AuditRow {
  readonly id: string
  readonly happened_at: Date
  readonly actor: string
  readonly action: string
  readonly target: string | null
  readonly detail: Readonly<Record<string, unknown>>
  readonly user_id: string | null
  readonly api_key_id: string | null
  readonly app_id: string | null
  readonly table_name: string | null
  readonly record_id: string | null
  readonly operation: string | null
  readonly old_values: Readonly<Record<string, unknown>> | null
  readonly new_values: Readonly<Record<string, unknown>> | null
  readonly address: string | null
  readonly request_id: string | null
}

export interface AuditPage {
  readonly limit: number
  readonly offset?: number
  /** The last row of the page before. */
  readonly after?: string | undefined
}

/** Newest first. */
export async function listAudit(
  database: Queryable,
  filter: AuditFilter,
  { limit, offset = 0, after }: AuditPage,
): Promise<readonly AuditRow[]> {
  const { table, recordId, userId, keyId, appId, operation, actor, action, requestId, from, to } = filter
  const conditions = [
    sql`true`,
    ...(table === undefined ? [] : [sql`table_name = ${table}`]),
    ...(recordId === undefined ? [] : [sql`record_id = ${recordId}`]),
    ...(userId === undefined ? [] : [sql`user_id = ${userId}`]),
    ...(keyId === undefined ? [] : [sql`api_key_id = ${keyId}`]),
    ...(appId === undefined ? [] : [sql`app_id = ${appId}::uuid`]),
    ...(operation === undefined ? [] : [sql`operation = ${operation}`]),
    ...(actor === undefined ? [] : [sql`actor = ${actor}`]),
    ...(action === undefined ? [] : [sql`action = ${action}`]),
    // Actions of administrators have an index, in which changes of rows are not.
    ...(action === undefined || action.startsWith('rows.') ? [] : [sql`operation is null`]),
    ...(requestId === undefined ? [] : [sql`request_id = ${requestId}`]),
    ...(from === undefined ? [] : [sql`happened_at >= ${from}::timestamptz`]),
    ...(to === undefined ? [] : [sql`happened_at < ${to}::timestamptz`]),
    ...(after === undefined ? [] : [sql`id < ${after}::bigint`]),
  ]
  return await database.many<AuditRow & Record<string, unknown>>(sql`
    select id::text, happened_at, actor, action, target, detail, user_id, api_key_id, app_id, table_name, record_id,
      operation, old_values, new_values, address, request_id
    from basalt.audit
    where ${sql.join(conditions, sql` and `)}
    -- The column: an id alone would be the text that is selected.
    order by audit.id desc
    limit ${limit}::int offset ${offset}::bigint`)
}

export async function deleteAudit(database: Queryable, days: number): Promise<void> {
  await deleteInBatches(database, 'audit', sql`happened_at < now() - make_interval(days => ${days}::int)`)
}
