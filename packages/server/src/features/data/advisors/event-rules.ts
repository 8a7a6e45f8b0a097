import type { Sql } from '../../../database/sql.ts'
import { type Finding, type Rule, write } from './advice.ts'

const rule: Rule = {
  name: 'events_by_api_only',
  group: 'health',
  title: 'Changes outside the API are not captured',
  explanation:
    'A stream, webhook or embedding follows the collection, but its table has no trigger that logs changes by SQL. Only writes by the API are delivered.',
}

/** Collection that has a listener. */
export interface Captured {
  readonly collection: string
  /** Reason why only API writes are captured. Undefined where triggers log all changes. */
  readonly apiOnly:
    | { readonly reason: string; readonly kind: string; readonly remedy: Sql | undefined }
    | undefined
}

/** Finds collections whose changes outside the API are lost although the operator wants them. Pure. */
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
