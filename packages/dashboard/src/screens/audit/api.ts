import { listByOffset } from '../../api/page-list.ts'

/** Of `GET /api/admin/audit`. */
export interface AuditEntry {
  readonly id: string
  readonly timestamp: string
  readonly actor: string
  readonly action: string
  readonly target: string | null
  readonly detail: Readonly<Record<string, unknown>>
  readonly user_id: string | null
  readonly table_name: string | null
  readonly record_id: string | null
  readonly operation: string | null
  readonly old_values: Readonly<Record<string, unknown>> | null
  readonly new_values: Readonly<Record<string, unknown>> | null
  readonly ip_address: string | null
  readonly request_id: string | null
}

export const auditFilters = [
  'action',
  'actor',
  'table',
  'record_id',
  'operation',
  'user_id',
  'request_id',
  'from',
  'to',
] as const
export type AuditFilter = Partial<Readonly<Record<(typeof auditFilters)[number], string | undefined>>>

const pageSize = 100

export const listAudit = (filter: AuditFilter, cursor: string | undefined, signal: AbortSignal) =>
  listByOffset<AuditEntry>('admin/audit', { ...filter, limit: pageSize }, cursor, signal)
