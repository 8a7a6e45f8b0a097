import { anonymousRole, callerRole } from '../../../../database/caller/caller-scope.ts'
import type { Policy, Relation } from '../../../../database/catalog/model.ts'
import { type Expression, sql } from '../../../../database/sql.ts'
import { accessErrors } from '../errors.ts'
import { type Rehearsal, toCall } from '../rehearsal/rehearsal.ts'
import type { CompareRequest } from '../schemas.ts'
import { readExpression } from './policy-expression.ts'

type PolicyEdit = CompareRequest['policy']

/** Expressions of an edited policy; undefined where it has none, or keeps the present one. */
export interface Clauses {
  readonly using: Expression | undefined
  readonly check: Expression | undefined
}

/** @throws AppError invalid_expression */
export async function readClauses({ using, check }: PolicyEdit): Promise<Clauses> {
  return {
    using: using === undefined ? undefined : await readExpression(using, 'policy.using'),
    check: check === undefined ? undefined : await readExpression(check, 'policy.check'),
  }
}

/** Returns the relation with the change applied. @throws AppError policy_not_found, invalid_explanation */
export async function editPolicy(
  rehearsal: Rehearsal,
  relation: Relation,
  { name, drop = false, ...changes }: PolicyEdit,
  { using, check }: Clauses,
): Promise<Relation> {
  const found = relation.policies.find((policy) => policy.name === name)
  const others = relation.policies.filter((policy) => policy !== found)
  if (drop) {
    if (found === undefined) throw accessErrors.policyNotFound(name, relation.collection)
    return { ...relation, policies: others }
  }
  const edited: Policy = {
    ...(found ?? fresh),
    name,
    command: changes.command ?? found?.command ?? fresh.command,
    permissive: changes.permissive ?? found?.permissive ?? fresh.permissive,
    using: using ?? found?.using,
    check: check ?? found?.check,
    ...(changes.roles === undefined ? {} : await readRoles(rehearsal, changes.roles)),
  }
  requireClauses(edited)
  return { ...relation, policies: [...others, edited] }
}

const fresh: Policy = {
  name: '',
  version: '',
  command: 'SELECT',
  permissive: true,
  roles: ['public'],
  isForCallers: true,
  isForAnonymous: true,
  using: undefined,
  check: undefined,
  readsRelations: true,
  columns: undefined,
}

/** Rejects clauses that the policy's command does not have (PostgreSQL, CREATE POLICY). */
function requireClauses({ command, using, check }: Policy): void {
  if (command === 'INSERT') {
    if (using !== undefined) throw refuse('policy.using: a policy for INSERT has policy.check alone')
    if (check === undefined) throw refuse('policy.check: expected an expression')
    return
  }
  const isRead = command === 'SELECT' || command === 'DELETE'
  if (isRead && check !== undefined)
    throw refuse(`policy.check: a policy for ${command} has policy.using alone`)
  if (using === undefined && check === undefined) throw refuse('policy.using: expected an expression')
}

async function readRoles(
  rehearsal: Rehearsal,
  roles: readonly string[],
): Promise<Pick<Policy, 'roles' | 'isForCallers' | 'isForAnonymous'>> {
  // `public` is no role; every role belongs to it.
  if (roles.includes('public')) return { roles: ['public'], isForCallers: true, isForAnonymous: true }
  const { rows } = await rehearsal.attemptPastPolicies(
    toCall(sql`
      select requested.name, r.oid is not null, pg_has_role(${callerRole}, r.oid, 'usage'),
        pg_has_role(${anonymousRole}, r.oid, 'usage')
      from unnest(${roles}::text[]) requested (name)
      left join pg_roles r on r.rolname = requested.name`),
  )
  const unknown = rows.find(([, exists]) => exists !== 't')
  if (unknown !== undefined) throw refuse(`policy.roles: no role "${unknown[0]}"`)
  return {
    roles,
    isForCallers: rows.some(([, , isOfCallers]) => isOfCallers === 't'),
    isForAnonymous: rows.some(([, , , isOfAnonymous]) => isOfAnonymous === 't'),
  }
}

const refuse = accessErrors.invalidExplanation
