import type { SystemDatabase } from '../../../database/system-database.ts'
import { readChoice, readOffset, readTimeRange, readUuid } from '../../../http/requests/filters.ts'
import type { HttpServer } from '../../../http/server.ts'
import { type AuditFilter, type AuditRow, listAudit } from './queries.ts'
import { auditLimit, listAuditSchema } from './schemas.ts'

const operations = ['INSERT', 'UPDATE', 'DELETE']

export function auditRoutes(app: HttpServer, database: SystemDatabase): void {
  app.get(
    '/api/admin/audit',
    { config: { guard: 'admin', operation: 'audit.list' }, schema: listAuditSchema },
    async (request, reply) => {
      const { query } = request
      const page = { limit: auditLimit.read(query.limit), offset: readOffset(query.offset) }
      const items = (await listAudit(database, readAuditFilter(query), page)).map(showAudit)
      return reply.send({ items, count: items.length, ...page })
    },
  )
}

export type AuditParameters = {
  readonly [name in
    | 'table'
    | 'record_id'
    | 'user_id'
    | 'api_key_id'
    | 'app_id'
    | 'operation'
    | 'actor'
    | 'action'
    | 'request_id'
    | 'from'
    | 'to']?: string | undefined
}

/** @throws AppError invalid_list_parameter */
export function readAuditFilter(query: AuditParameters): AuditFilter {
  const readId = (name: 'user_id' | 'api_key_id' | 'app_id') =>
    query[name] === undefined ? undefined : readUuid(`${name} filter`, query[name])
  if (query.operation !== undefined) readChoice('operation filter', query.operation, operations)
  return {
    ...readTimeRange({ from: query.from, to: query.to }),
    table: query.table,
    recordId: query.record_id,
    userId: readId('user_id'),
    keyId: readId('api_key_id'),
    appId: readId('app_id'),
    operation: query.operation,
    actor: query.actor,
    action: query.action,
    requestId: query.request_id,
  }
}

/** An entry as clients see it. */
export function showAudit({ id, happened_at, address, ...row }: AuditRow) {
  return { id, timestamp: happened_at.toISOString(), ...row, ip_address: address }
}
