import type { Policy, Relation } from '../../../database/catalog/model.ts'
import { type Expression, type Sql, sql } from '../../../database/sql.ts'
import type { Reader } from '../collections/index.ts'

/** Reader that policies apply to: callers with a token, or requests without one. */
export type PolicyReader = Exclude<Reader, 'unrestricted'>

export type PolicyCommand = 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE'

/** Returns the policies that apply to the reader's command. */
export function applicablePolicies(
  { policies }: Pick<Relation, 'policies'>,
  reader: PolicyReader,
  command: PolicyCommand,
): readonly Policy[] {
  return policies.filter(
    (policy) =>
      (reader === 'caller' ? policy.isForCallers : policy.isForAnonymous) &&
      (policy.command === command || policy.command === 'ALL'),
  )
}

/**
 * Returns the condition of a policy on a row. For a written row, USING replaces a missing WITH CHECK (CREATE POLICY).
 */
export function clauseOf(
  { using, check }: Pick<Policy, 'using' | 'check'>,
  clause: 'using' | 'check',
): Expression | undefined {
  return clause === 'using' ? using : (check ?? using)
}

/**
 * Combines policies to one condition: one of the permissive ones and all of the restrictive ones (CREATE POLICY).
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
