import { listByOffset } from '../../api/page-list.ts'
import type { Item } from '../../api/request.ts'

export type AuditEntry = Item<'audit.list'>

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
  listByOffset<'audit.list'>('admin/audit', { ...filter, limit: pageSize }, cursor, signal)
