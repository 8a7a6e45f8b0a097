import type { Sql } from '../../../database/sql.ts'
import { type Finding, type Rule, write } from './advice.ts'

const rule: Rule = {
  name: 'events_by_api_only',
  group: 'health',
  title: 'Changes past the API are no events',
  explanation:
    'A stream, webhook or embedding follows the collection, and its table has no trigger that logs what SQL changes: only writes by the API are delivered.',
}

/** A collection that something listens to. */
export interface Captured {
  readonly collection: string
  /** Undefined where triggers log all changes. */
  readonly apiOnly:
    | { readonly reason: string; readonly kind: string; readonly remedy: Sql | undefined }
    | undefined
}

/** Collections whose changes past the API are lost against what the operator wants. Pure. */
export function findUncaptured(captured: readonly Captured[]): Finding[] {
  return captured.flatMap(({ collection, apiOnly }): Finding[] => {
    if (apiOnly?.kind !== 'obstacle') return []
    const { reason, remedy } = apiOnly
    return [
      {
        rule,
        severity: 'warning',
        object: collection,
        detail: `Why there is none: ${reason}.`,
        ...(remedy === undefined ? {} : { statement: write(remedy) }),
      },
    ]
  })
}
