import type { Policy, Relation } from '../../../../database/catalog/model.ts'
import type { PolicyCommand, PolicyReader } from '../applicable-policies.ts'
import { applicablePolicies, clauseOf } from '../applicable-policies.ts'

/** Action on a row. */
export type Action = 'select' | 'insert' | 'update' | 'delete'

/**
 * Test that PostgreSQL makes before an action passes (CREATE POLICY, "Policies Applied by Command Type"). Every stage
 * must pass. Within a stage, one permissive policy and all restrictive ones must pass.
 */
export interface Stage {
  readonly name: string
  readonly command: PolicyCommand
  readonly clause: 'using' | 'check'
  /** Row of the stage: as it is, or as the write would make it. */
  readonly row: 'before' | 'after'
  readonly policies: readonly Policy[]
}

/** Stages by action. The API names rows by their key and returns them, so that every write is also a read. */
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

/** Plans the stages of an action. The list is empty where row-level security does not apply. */
export function planStages(
  relation: Relation,
  reader: PolicyReader | 'unrestricted',
  action: Action,
): Stage[] {
  if (!relation.rlsEnabled || reader === 'unrestricted') return []
  return stagesOf[action].map((stage) => ({
    ...stage,
    policies: applicablePolicies(relation, reader, stage.command).filter(
      // A permissive policy without the clause permits nothing, a restrictive one restricts nothing.
      (policy) => !policy.permissive || clauseOf(policy, stage.clause) !== undefined,
    ),
  }))
}

/** Value of a policy for a row. */
export type Value = true | false | null | 'error'

export interface Verdict {
  readonly value: Value
  /** Message of an error. */
  readonly message?: string
  readonly sqlState?: string
}

/** Combines the policies of a stage. NULL permits as little as false does. Pure. */
export function combine(
  policies: readonly { readonly permissive: boolean }[],
  values: readonly Value[],
): boolean | 'error' {
  const of = (isPermissive: boolean) =>
    values.filter((_, index) => policies[index]?.permissive === isPermissive)
  const [permissive, restrictive] = [of(true), of(false)]
  if (permissive.length === 0) return false
  // PostgreSQL chooses the order of evaluation, and the first error ends the statement.
  if (values.includes('error')) return 'error'
  return permissive.includes(true) && restrictive.every((value) => value === true)
}

/** Combines all stages; undefined for one whose row cannot be made. Pure. */
export function combineStages(
  outcomes: readonly (boolean | 'error' | undefined)[],
): boolean | 'error' | undefined {
  if (outcomes.includes(false)) return false
  if (outcomes.includes('error')) return 'error'
  return outcomes.includes(undefined) ? undefined : true
}
