import { callerRole } from '../../../../database/caller/caller-scope.ts'
import type { Relation, RlsGap } from '../../../../database/catalog/model.ts'
import { quoteIdentifier } from '../../../../database/sql.ts'
import { collectionErrors } from '../errors.ts'
import type { Reader } from '../plan/reader.ts'

/**
 * Hides relations without row-level security from callers if `database.require_rls` is on.
 *
 * @throws AppError rls_required, with the statement that fixes it
 */
export function requireRls({ collection, rlsGap }: Relation, reader: Reader): void {
  if (reader === 'unrestricted' || rlsGap === undefined) return
  throw collectionErrors.rlsRequired(collection, remedyOf(rlsGap))
}

function remedyOf({ schema, name, kind }: RlsGap): string {
  const relation = `${quoteIdentifier(schema)}.${quoteIdentifier(name)}`
  switch (kind) {
    case 'table':
    case 'partitioned_table':
      return `alter table ${relation} enable row level security`
    case 'view':
      return `alter view ${relation} set (security_invoker = true)`
    case 'materialized_view':
    case 'foreign_table':
      return `a ${kind.replace('_', ' ')} cannot have it; revoke all on ${relation} from ${callerRole}`
  }
}
