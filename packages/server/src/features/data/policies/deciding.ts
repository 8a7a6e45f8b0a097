import type { Policy, Relation } from '../../../database/catalog/model.ts'
import { type Expression, type Sql, sql } from '../../../database/sql.ts'
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

/**
 * What policies ask of a row together: one of the permissive ones and all of the restrictive ones (CREATE POLICY).
 *
 * @returns undefined where no policy permits anything
 */
export function combinePolicies(
  policies: readonly Pick<Policy, 'permissive' | 'using' | 'check'>[],
  clause: 'using' | 'check',
): Sql | undefined {
  const conditions = (isPermissive: boolean) =>
    policies.flatMap((policy) => {
      const condition = clauseOf(policy, clause)
      return policy.permissive === isPermissive && condition !== undefined ? [sql.expression(condition)] : []
    })
  const permitting = conditions(true)
  if (permitting.length === 0) return undefined
  return sql.join([sql`(${sql.join(permitting, sql` or `)})`, ...conditions(false)], sql` and `)
}
