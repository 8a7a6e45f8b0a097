import { allOf, when } from '../../../database/conditions.ts'
import { deleteInBatches } from '../../../database/delete-in-batches.ts'
import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { TimeRange } from '../../../http/requests/filters.ts'
import { type Answered, component, nullable, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

const text = nullable(Type.String())
const values = nullable(Type.Object({}, { additionalProperties: true }))

export const AuditEntry = component(
  'AuditEntry',
  Type.Object({
    id: Type.String(),
    timestamp,
    actor: Type.String(),
    action: Type.String(),
    target: text,
    detail: Type.Object({}, { additionalProperties: true }),
    user_id: text,
    api_key_id: text,
    app_id: text,
    table_name: text,
    record_id: text,
    operation: text,
    old_values: values,
    new_values: values,
    ip_address: text,
    request_id: text,
    administrator: nullable(Type.String(), {
      description: 'Address of the administrator, for actions of administrators.',
    }),
  }),
)
export type AuditEntry = Answered<typeof AuditEntry>

export const auditedOperations = ['INSERT', 'UPDATE', 'DELETE'] as const

export interface AuditFilter extends Partial<TimeRange> {
  readonly table?: string | undefined
  readonly record_id?: string | undefined
  readonly user_id?: string | undefined
  readonly api_key_id?: string | undefined
  readonly app_id?: string | undefined
  readonly operation?: string | undefined
  readonly actor?: string | undefined
  readonly action?: string | undefined
  readonly request_id?: string | undefined
}

export interface AuditPage {
  readonly limit: number
  readonly offset?: number
  /** Id of the last entry of the previous page. */
  readonly after?: string | undefined
}

/** Lists entries, the newest first. */
export async function listAudit(
  database: Queryable,
  filter: AuditFilter,
  { limit, offset = 0, after }: AuditPage,
): Promise<AuditEntry[]> {
  const { action } = filter
  const conditions = [
    when(filter.table, (name) => sql`table_name = ${name}`),
    when(filter.record_id, (key) => sql`record_id = ${key}`),
    when(filter.user_id, (id) => sql`user_id = lower(${id})`),
    when(filter.api_key_id, (id) => sql`api_key_id = lower(${id})`),
    when(filter.app_id, (id) => sql`app_id = ${id}::uuid`),
    when(filter.operation, (name) => sql`operation = ${name}`),
    when(filter.actor, (name) => sql`actor = ${name}`),
    when(action, (name) => sql`action = ${name}`),
    // Actions of administrators have an index that contains no row changes.
    action === undefined || action.startsWith('rows.') ? undefined : sql`operation is null`,
    when(filter.request_id, (id) => sql`request_id = ${id}`),
    when(filter.from, (time) => sql`happened_at >= ${time}::timestamptz`),
    when(filter.to, (time) => sql`happened_at < ${time}::timestamptz`),
    when(after, (id) => sql`id < ${id}::bigint`),
  ]
  return await database.many<AuditEntry>(sql`
    select id::text, happened_at as timestamp, actor, action, target, detail, user_id, api_key_id, app_id, table_name,
      record_id, operation, old_values, new_values, address as ip_address, request_id, administrator
    from basalt.audit
    where ${allOf(conditions)}
    -- The column: an id alone would be the text that is selected.
    order by audit.id desc
    limit ${limit}::int offset ${offset}::bigint`)
}

export async function deleteAudit(database: Queryable, days: number): Promise<void> {
  await deleteInBatches(database, 'audit', sql`happened_at < now() - make_interval(days => ${days}::int)`)
}
