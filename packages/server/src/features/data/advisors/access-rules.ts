import { callerRole } from '../../../database/caller/caller-scope.ts'
import { functionsOfPublic, openDefiners, unguardedTables } from '../../../database/catalog/advisories.ts'
import type { Catalog, Column, DatabaseFunction, Policy, Relation } from '../../../database/catalog/model.ts'
import {
  comparedColumns,
  conditionsOf,
  hasAlternatives,
  maskSubqueries,
  mentions,
} from '../../../database/catalog/policy-expressions.ts'
import { type Expression, type Sql, sql } from '../../../database/sql.ts'
import { type Finding, type Rule, write } from './advice.ts'
import { wrapSessionCalls } from './policy-calls.ts'

const rules = {
  openToAnyone: {
    name: 'rls_disabled_public',
    group: 'access',
    title: 'Open without a token',
    explanation:
      'Requests without a token have a grant on this table. Without row-level security they can access every row.',
  },
  openToCallers: {
    name: 'rls_disabled',
    group: 'access',
    title: 'Open to every signed-in caller',
    explanation:
      'Without row-level security every signed-in caller can access every row, as far as the grants of the table allow.',
  },
  withoutPolicy: {
    name: 'rls_without_policy',
    group: 'access',
    title: 'Row-level security without a policy',
    explanation:
      'Callers have grants on this table, but no policy allows them a row. Their lists are empty and their writes are rejected.',
  },
  callsPerRow: {
    name: 'policy_calls_per_row',
    group: 'access',
    title: 'A policy calls a session function for each row',
    explanation:
      'If no index finds the rows, the function is called for each of them. In a subquery PostgreSQL calls it once per statement.',
  },
  openDefiner: {
    name: 'definer_search_path',
    group: 'access',
    title: 'A security definer function with a mutable search_path',
    explanation:
      'It runs with the privileges of its owner, but resolves names by the search path of its caller. A caller can put an object of their own before the intended one.',
  },
  functionOfPublic: {
    name: 'function_of_public',
    group: 'access',
    title: 'A function that PUBLIC may execute',
    explanation:
      'PUBLIC may execute every new function by default, so every signed-in caller may call this one. Grant it only to the intended roles.',
  },
} as const satisfies Record<string, Rule>

/** Finds who can access which rows and functions. Pure. */
export function findAccess(catalog: Catalog): Finding[] {
  const relations = [...catalog.relations.values()]
  return [
    ...unguardedTables(catalog, 'anonymous').map((table) => adviseRls(table, rules.openToAnyone)),
    ...unguardedTables(catalog, 'callers').map((table) => adviseRls(table, rules.openToCallers)),
    ...relations.filter(lacksPolicy).map(advisePolicy),
    ...relations.flatMap((relation) => relation.policies.flatMap((policy) => adviseCalls(relation, policy))),
    ...openDefiners(catalog).map(adviseSearchPath),
    ...functionsOfPublic(catalog).map(adviseRevoke),
  ]
}

function adviseRls(table: Relation, rule: Rule): Finding {
  return {
    rule,
    severity: 'error',
    object: nameOf(table),
    statement: write(sql`alter table ${idOf(table)} enable row level security`),
  }
}

function lacksPolicy({ rlsEnabled, policies, callers, isOfExtension }: Relation): boolean {
  const isGranted = Object.values(callers).some(Boolean)
  return rlsEnabled && isGranted && !isOfExtension && !policies.some(({ isForCallers }) => isForCallers)
}

/** Names of columns that usually hold the owner of a row. */
const ownerColumns = ['user_id', 'owner_id', 'owner', 'created_by', 'author_id', 'account_id']

function advisePolicy(table: Relation): Finding {
  const owner = ownerColumns
    .map((name) => table.column.get(name))
    .find((column) => column !== undefined && (column.type.base === 'uuid' || column.type.isText))
  return {
    rule: rules.withoutPolicy,
    severity: 'warning',
    object: nameOf(table),
    ...(owner === undefined
      ? {
          detail:
            'The statement says that callers are meant to see nothing; write a condition where they are not.',
        }
      : { detail: `The statement takes ${owner.name} for the user whose row it is.` }),
    statement: write(
      sql.join(
        [
          sql`create policy ${sql.id(owner === undefined ? 'no access' : 'own rows')} on ${idOf(table)}`,
          sql`for all to ${sql.id(callerRole)} using (${owner === undefined ? sql`false` : ownRows(owner)})`,
        ],
        sql` `,
      ),
    ),
  }
}

function ownRows({ name, type }: Column): Sql {
  return type.base === 'uuid'
    ? sql`${sql.id(name)} = basalt.user_id()`
    : sql`${sql.id(name)} = basalt.user_id()::text`
}

function adviseCalls(table: Relation, policy: Policy): Finding[] {
  const { name, using } = policy
  if (using === undefined || !callsPerRow(table, policy, using)) return []
  // PostgreSQL has printed the expression and the names of session functions within it.
  const wrapped = sql.expression(wrapSessionCalls(using) as Expression)
  return [
    {
      rule: rules.callsPerRow,
      severity: 'warning',
      object: `policy "${name}" on ${nameOf(table)}`,
      detail: using,
      statement: write(sql`alter policy ${sql.id(name)} on ${idOf(table)} using ${wrapped}`),
    },
  ]
}

/**
 * Returns whether a session function is called for each row: beside a column, where no comparison leads to an index.
 * Another rule covers comparisons without an index. Conditions without a column are evaluated once.
 */
function callsPerRow({ columns }: Relation, policy: Policy, using: Expression): boolean {
  const conditions = conditionsOf(maskSubqueries(using))
  const isComparison = (condition: string) => comparedColumns(condition, policy).length > 0
  const isServed = hasAlternatives(using) ? conditions.every(isComparison) : conditions.some(isComparison)
  return (
    !isServed &&
    conditions.some(
      (condition) =>
        wrapSessionCalls(condition) !== condition && columns.some(({ name }) => mentions(condition, name)),
    )
  )
}

function adviseSearchPath(called: DatabaseFunction): Finding {
  return {
    rule: rules.openDefiner,
    severity: 'error',
    object: signatureOf(called),
    statement: write(
      sql`alter function ${idOf(called)}(${typesOf(called)}) set search_path = ${sql.id(called.schema)}, pg_temp`,
    ),
  }
}

function adviseRevoke(called: DatabaseFunction): Finding {
  const target = sql`${idOf(called)}(${typesOf(called)})`
  return {
    rule: rules.functionOfPublic,
    severity: 'warning',
    object: signatureOf(called),
    detail:
      'The statement leaves it to signed-in callers; leave out its second half to close it to them, too.',
    statement: `${write(sql`revoke execute on function ${target} from public`)} ${write(
      sql`grant execute on function ${target} to ${sql.id(callerRole)}`,
    )}`,
  }
}

function typesOf({ parameters }: DatabaseFunction): Sql {
  return sql.join(parameters.map(({ typeName }) => sql.type(typeName)))
}

function signatureOf(called: DatabaseFunction): string {
  return `${nameOf(called)}(${called.parameters.map(({ typeName }) => typeName).join(', ')})`
}

interface Named {
  readonly schema: string
  readonly name: string
}

export function idOf({ schema, name }: Named): Sql {
  return sql.id(schema, name)
}

export function nameOf({ schema, name }: Named): string {
  return `${schema}.${name}`
}
