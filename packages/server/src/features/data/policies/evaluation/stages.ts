import type { Policy, Relation } from '../../../../database/catalog/model.ts'
import type { Asker, PolicyCommand } from '../deciding.ts'
import { clauseOf, decidingPolicies } from '../deciding.ts'

/** What is done with a row. */
export type Action = 'select' | 'insert' | 'update' | 'delete'

/**
 * One of the tests that PostgreSQL makes before it lets an action pass (CREATE POLICY, "Policies Applied by Command
 * Type"). Every one must pass: in each some permissive policy, and all restrictive ones.
 */
export interface Stage {
  readonly name: string
  readonly command: PolicyCommand
  readonly clause: 'using' | 'check'
  /** The row as it is, or as it would be. */
  readonly row: 'before' | 'after'
  readonly policies: readonly Policy[]
}

/** The API names rows by their key and answers them, so that every write is also a read. */
const stagesOf: Readonly<Record<Action, readonly Omit<Stage, 'policies'>[]>> = {
  select: [{ name: 'read the row', command: 'SELECT', clause: 'using', row: 'before' }],
  insert: [
    { name: 'add the row', command: 'INSERT', clause: 'check', row: 'after' },
    { name: 'read the new row', command: 'SELECT', clause: 'using', row: 'after' },
  ],
  update: [
    { name: 'read the row', command: 'SELECT', clause: 'using', row: 'before' },
    { name: 'change the row', command: 'UPDATE', clause: 'using', row: 'before' },
    { name: 'store the changed row', command: 'UPDATE', clause: 'check', row: 'after' },
    { name: 'read the changed row', command: 'SELECT', clause: 'using', row: 'after' },
  ],
  delete: [
    { name: 'read the row', command: 'SELECT', clause: 'using', row: 'before' },
    { name: 'delete the row', command: 'DELETE', clause: 'using', row: 'before' },
  ],
}

/** Empty where row-level security does not apply. */
export function planStages(relation: Relation, asker: Asker | 'unrestricted', action: Action): Stage[] {
  if (!relation.rlsEnabled || asker === 'unrestricted') return []
  return stagesOf[action].map((stage) => ({
    ...stage,
    policies: decidingPolicies(relation, asker, stage.command).filter(
      // A permissive policy without the clause permits nothing, a restrictive one restricts nothing.
      (policy) => !policy.permissive || clauseOf(policy, stage.clause) !== undefined,
    ),
  }))
}

/** What a policy says of a row. */
export type Value = true | false | null | 'error'

export interface Verdict {
  readonly value: Value
  /** Of an error. */
  readonly message?: string
  readonly sqlState?: string
}

/** What the policies of a stage come to: NULL permits as little as false does. Pure. */
export function combine(
  policies: readonly { readonly permissive: boolean }[],
  values: readonly Value[],
): boolean | 'error' {
  const of = (isPermissive: boolean) =>
    values.filter((_, index) => policies[index]?.permissive === isPermissive)
  const [permissive, restrictive] = [of(true), of(false)]
  if (permissive.length === 0) return false
  // Which of them PostgreSQL evaluates first is its own choice, and the first error ends the statement.
  if (values.includes('error')) return 'error'
  return permissive.includes(true) && restrictive.every((value) => value === true)
}

/** What all stages come to; undefined of one whose row cannot be made. Pure. */
export function combineStages(
  outcomes: readonly (boolean | 'error' | undefined)[],
): boolean | 'error' | undefined {
  if (outcomes.includes(false)) return false
  if (outcomes.includes('error')) return 'error'
  return outcomes.includes(undefined) ? undefined : true
}
