import type { SystemDatabase } from '../../../database/system-database.ts'
import { httpErrors } from '../../../http/errors.ts'
import { readLimit, readOffset, readTimeRange } from '../../../http/filters.ts'
import type { HttpServer } from '../../../http/server.ts'
import { isUuid } from '../../../lib/uuid.ts'
import { listAudit } from './queries.ts'
import { listAuditSchema } from './schemas.ts'

const operations: readonly string[] = ['INSERT', 'UPDATE', 'DELETE']

export function auditRoutes(app: HttpServer, database: SystemDatabase): void {
  app.get(
    '/api/admin/audit',
    { config: { guard: 'admin', operation: 'audit.list' }, schema: listAuditSchema },
    async (request, reply) => {
      const { query } = request
      const page = { limit: readLimit(query.limit, 100, 500), offset: readOffset(query.offset) }
      for (const name of ['user_id', 'api_key_id', 'app_id'] as const) {
        if (query[name] !== undefined && !isUuid(query[name]))
          throw httpErrors.invalidListParameter(`${name} filter`, 'must be a UUID')
      }
      if (query.operation !== undefined && !operations.includes(query.operation))
        throw httpErrors.invalidListParameter('operation filter', `must be one of: ${operations.join(', ')}`)
      const filter = {
        ...readTimeRange({ from: query.from, to: query.to }),
        table: query.table,
        recordId: query.record_id,
        userId: query.user_id,
        keyId: query.api_key_id,
        appId: query.app_id,
        operation: query.operation,
        actor: query.actor,
        action: query.action,
        requestId: query.request_id,
      }
      const rows = await listAudit(database, filter, page)
      const items = rows.map(({ id, happened_at, address, ...row }) => ({
        id,
        timestamp: happened_at.toISOString(),
        ...row,
        ip_address: address,
      }))
      return reply.send({ items, count: items.length, ...page })
    },
  )
}
