import { integer, list } from '../../../config/keys.ts'
import { type Static, Type } from '../../../lib/type.ts'

/** Keys of `audit`, for recorded changes. */
export const auditConfig = Type.Object({
  tables: list([], 'Collections for which every change of a row is recorded. "*" means all.', {
    pattern: '^[^\\u0000]{1,127}$',
    expects: 'a list of collections such as note or shop.order, or "*"',
  }),
  retention_days: integer(
    90,
    'Days for which the audit log is kept, once its schedule audit_retention_daily is enabled.',
    1,
    36_500,
  ),
})

export type AuditConfig = Static<typeof auditConfig>
