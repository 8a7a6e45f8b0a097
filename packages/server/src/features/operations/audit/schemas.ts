import { limitParameter, offsetSchema } from '../../../http/requests/filters.ts'
import { bearerSecurity, offsetPageOf, responses } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

const nullable = Type.Union([Type.String(), Type.Null()])
const text = (description: string) => Type.Optional(Type.String({ description }))
const instant = text('RFC 3339, or YYYY-MM-DD, of which the last day is included.')
const values = Type.Union([Type.Object({}, { additionalProperties: true }), Type.Null()])

export const auditLimit = limitParameter(100, 500)

export const listAuditSchema = {
  tags: ['operations'],
  security: bearerSecurity,
  summary: 'List what administrators did and what was changed in audited tables',
  description: 'Newest first.',
  querystring: Type.Object({
    table: text('A collection.'),
    record_id: text('Key of a record; values of a composite one are joined by commas.'),
    user_id: text('UUID.'),
    api_key_id: text('UUID.'),
    app_id: text('UUID.'),
    operation: text('INSERT, UPDATE or DELETE.'),
    actor: text('admin, user, admin as user, open, sql or command line.'),
    action: text('Such as `webhooks.create` or `rows.update`.'),
    request_id: text('The `X-Request-Id` of a response.'),
    from: instant,
    to: instant,
    limit: auditLimit.schema,
    offset: offsetSchema,
  }),
  response: responses({
    200: offsetPageOf(
      Type.Object({
        id: Type.String(),
        timestamp: Type.String(),
        actor: Type.String(),
        action: Type.String(),
        target: nullable,
        detail: Type.Object({}, { additionalProperties: true }),
        user_id: nullable,
        api_key_id: nullable,
        app_id: nullable,
        table_name: nullable,
        record_id: nullable,
        operation: nullable,
        old_values: values,
        new_values: values,
        ip_address: nullable,
        request_id: nullable,
      }),
    ),
  }),
}
