import type { SystemDatabase } from '../../../database/system-database.ts'
import { ok, operation } from '../../../http/operation.ts'
import {
  choiceParameter,
  instantParameter,
  limitParameter,
  offsetParameter,
  readTimeRange,
  uuidParameter,
} from '../../../http/requests/filters.ts'
import { offsetPageOf } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { AuditEntry, auditedOperations, listAudit } from './entry.ts'

const text = (description: string) => Type.Optional(Type.String({ description }))
const auditLimit = limitParameter(100, 500)

const list = operation({
  guard: 'admin',
  permission: 'bodies.read',
  tag: 'operations',
  id: 'audit.list',
  method: 'GET',
  path: '/api/admin/audit',
  summary: 'List actions of administrators and changes in audited tables',
  description: 'The newest entries come first.',
  query: Type.Object({
    table: text('A collection.'),
    record_id: text('Key of a record. The values of a composite key are joined by commas.'),
    user_id: uuidParameter('user_id'),
    api_key_id: uuidParameter('api_key_id'),
    app_id: uuidParameter('app_id'),
    operation: choiceParameter('operation filter', auditedOperations),
    actor: text('One of admin, user, admin as user, function as admin, open, sql or command line.'),
    action: text('Action such as `webhooks.create` or `rows.update`.'),
    request_id: text('`X-Request-Id` of a response.'),
    from: instantParameter,
    to: instantParameter,
    limit: auditLimit.schema,
    offset: offsetParameter,
  }),
  success: ok(offsetPageOf(AuditEntry)),
  async handle(
    { database }: { readonly database: SystemDatabase },
    { query: { from, to, limit, offset = 0, ...filter } },
  ) {
    const page = { limit: auditLimit.read(limit), offset }
    const items = await listAudit(database, { ...filter, ...readTimeRange({ from, to }) }, page)
    return { items, count: items.length, ...page }
  },
})

export const auditOperations = [list]
