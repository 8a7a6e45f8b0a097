import type { Policy, Relation } from '../../../database/catalog/model.ts'
import type { Expression } from '../../../database/sql.ts'
import type { Reader } from '../collections/index.ts'

/** Whom policies are asked for: callers with a token or requests without one. */
export type Asker = Exclude<Reader, 'unrestricted'>

export type PolicyCommand = 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE'

/** The policies that decide when the caller does this. */
export function decidingPolicies(
  { policies }: Pick<Relation, 'policies'>,
  asker: Asker,
  command: PolicyCommand,
): readonly Policy[] {
  return policies.filter(
    (policy) =>
      (asker === 'caller' ? policy.isForCallers : policy.isForAnonymous) &&
      (policy.command === command || policy.command === 'ALL'),
  )
}

/** What a policy asks of a row; of one that is written, USING stands in for a missing WITH CHECK (CREATE POLICY). */
export function clauseOf(
  { using, check }: Pick<Policy, 'using' | 'check'>,
  clause: 'using' | 'check',
): Expression | undefined {
  return clause === 'using' ? using : (check ?? using)
}
