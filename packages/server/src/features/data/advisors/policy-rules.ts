import type { Policy, Relation } from '../../../database/catalog/model.ts'
import { comparedColumns, startsIndex } from '../../../database/catalog/policy-expressions.ts'
import { type Expression, type Sql, sql } from '../../../database/sql.ts'
import { idOf, nameOf } from './access-rules.ts'
import { type Finding, type Rule, write } from './advice.ts'
import { createIndex, severityOf } from './indexes.ts'
import { compareWithArrays, selectByArrays } from './policy-lists.ts'
import { coarseTypes, findUnindexable, type Planner, type PolicyOfTable } from './policy-plans.ts'

const rules = {
  policyColumn: {
    name: 'policy_column_unindexed',
    group: 'indexes',
    title: 'A policy compares a column that has no index',
    explanation:
      'The policy is part of every statement of a caller. Without an index on the column, each statement reads the whole table.',
  },
  policyList: {
    name: 'policy_in_subquery',
    group: 'indexes',
    title: 'A policy checks list membership for each row',
    explanation:
      'No index finds the rows of IN (SELECT …) in a policy, so statements read the whole table. With an array instead they use the index. That is faster as long as a caller has at most some hundred elements.',
  },
  unindexable: {
    name: 'policy_unindexable',
    group: 'indexes',
    title: 'A policy that no index supports',
    explanation:
      'None of its conditions on a column can use an index, so a list reads each row of the table. If callers have few rows in the table that the policy reads, compare with an array in a policy for SELECT. If they have many, store the id of the owner in a column of the table itself.',
  },
} as const satisfies Record<string, Rule>

/**
 * Costs by form of the policy, in milliseconds at a million rows (docs/guides/row-level-security.md). The callers
 * have ten and ten thousand rows in the table that the policy reads.
 */
const measuredCosts = [
  'Milliseconds at 1,000,000 rows, for a caller of 10 / of 10,000 rows in the table that the policy reads:',
  'as it is: list 270 / 25, write 0.6 / 2, stream decision 0.2 / 0.2;',
  'array for SELECT: list 2 / 180, write 0.7 / 12, stream decision 0.3 / 6;',
  'column of the owner: list 1 / 1, write 0.5 / 0.7, stream decision 0.1 / 0.1.',
].join(' ')

/** Advises on the conditions by which policies find rows. */
export async function findPolicies(
  tables: readonly Relation[],
  estimate: (table: Relation) => number,
  database: Planner,
): Promise<Finding[]> {
  const policies = tables.flatMap(findingPolicies)
  const lists = policies.filter(isList)
  const others = policies.filter((each) => !lists.includes(each) && isSelecting(each.policy))
  return [
    ...tables.flatMap((table) => adviseColumns(table, estimate(table))),
    ...lists.map(adviseList),
    ...(await findUnindexable(database, others)).map((each) => adviseForm(each, estimate(each.table))),
  ]
}

/** Returns the policies that decide which rows a caller's statement finds, with their conditions. */
function findingPolicies(table: Relation): readonly PolicyOfTable[] {
  if (!table.rlsEnabled) return []
  return table.policies.flatMap((policy) => {
    const { command, using, isForCallers, isForAnonymous } = policy
    return using === undefined || command === 'INSERT' || !(isForCallers || isForAnonymous)
      ? []
      : [{ table, policy: { ...policy, using } }]
  })
}

/**
 * Returns whether the policy decides about reading. A statement that writes rows finds them by these policies, too.
 */
function isSelecting({ command, permissive }: Policy): boolean {
  return permissive && (command === 'SELECT' || command === 'ALL')
}

function adviseColumns(table: Relation, rows: number): Finding[] {
  const names = new Set(findingPolicies(table).flatMap(({ policy }) => comparedColumns(policy.using, policy)))
  return [...names].flatMap((name): Finding[] => {
    const column = table.column.get(name)
    if (column === undefined || coarseTypes.includes(column.type.base) || startsIndex(table, [name]))
      return []
    return [
      {
        rule: rules.policyColumn,
        severity: severityOf(rows),
        object: `${nameOf(table)}.${name}`,
        statement: createIndex(table, [name], rows),
      },
    ]
  })
}

function isList({ table, policy: { using } }: PolicyOfTable): boolean {
  const { columns } = compareWithArrays(using, table.name)
  return (
    columns.some((column) => startsIndex(table, [column])) && columns.every((name) => takesArray(table, name))
  )
}

function takesArray({ column }: Relation, name: string): boolean {
  return column.get(name)?.type.element === undefined
}

function adviseList({ table, policy: { name, using } }: PolicyOfTable): Finding {
  const { expression } = compareWithArrays(using, table.name)
  return {
    rule: rules.policyList,
    severity: 'info',
    object: objectOf(table, name),
    detail: using,
    statement: alter(table, name, expression),
  }
}

function adviseForm({ table, policy }: PolicyOfTable, rows: number): Finding {
  const statement = writeArray(table, policy, rows)
  return {
    rule: rules.unindexable,
    severity: severityOf(rows),
    object: objectOf(table, policy.name),
    detail: `${policy.using}. ${measuredCosts}`,
    ...(statement === undefined ? {} : { statement }),
  }
}

/**
 * Writes the array form for SELECT, and the present form for the commands that write. Undefined where there is no
 * such form.
 */
function writeArray(table: Relation, policy: PolicyOfTable['policy'], rows: number): string | undefined {
  const { name, command, using, check } = policy
  const array = selectByArrays(using, table.name)
  if (array === undefined || !array.columns.every((column) => takesArray(table, column))) return undefined
  const indexes = array.columns
    .filter((column) => !startsIndex(table, [column]))
    .map((column) => createIndex(table, [column], rows))
  if (command === 'SELECT') return [...indexes, alter(table, name, array.expression)].join(' ')
  // Names have at most 63 bytes.
  if (Buffer.byteLength(name) > 56) return undefined
  const written = check ?? using
  const create = (own: string, kind: Sql, conditions: Sql) =>
    write(sql`create policy ${sql.id(own)} on ${idOf(table)} for ${kind} to ${rolesOf(policy)} ${conditions}`)
  const [shown, asItIs, checked] = [
    sql`using ${sql.expression(array.expression as Expression)}`,
    sql`using ${sql.expression(using)}`,
    sql`with check ${sql.expression(written)}`,
  ]
  return [
    ...indexes,
    write(sql`drop policy ${sql.id(name)} on ${idOf(table)}`),
    create(name, sql`select`, shown),
    create(`${name} insert`, sql`insert`, checked),
    create(`${name} update`, sql`update`, sql`${asItIs} ${checked}`),
    create(`${name} delete`, sql`delete`, asItIs),
  ].join(' ')
}

function rolesOf({ roles }: Policy): Sql {
  return sql.join(roles.map((role) => (role === 'public' ? sql`public` : sql.id(role))))
}

/** Alters the condition of the policy. PostgreSQL has printed the condition, with arrays instead of subqueries. */
function alter(table: Relation, name: string, expression: string): string {
  return write(
    sql`alter policy ${sql.id(name)} on ${idOf(table)} using (${sql.expression(expression as Expression)})`,
  )
}

function objectOf(table: Relation, name: string): string {
  return `policy "${name}" on ${nameOf(table)}`
}
