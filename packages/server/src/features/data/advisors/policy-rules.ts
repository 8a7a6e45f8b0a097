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
      'The policy is part of every statement of a caller: without an index on the column each of them reads the whole table.',
  },
  policyList: {
    name: 'policy_in_subquery',
    group: 'indexes',
    title: 'A policy asks of each row whether it is in a list',
    explanation:
      'No index finds the rows of IN (SELECT …) in a policy: statements read the whole table. With an array in its place they use the index, which is faster as long as a caller has some hundred elements at most.',
  },
  unindexable: {
    name: 'policy_unindexable',
    group: 'indexes',
    title: 'A policy that no index can serve',
    explanation:
      'None of its conditions on a column can use an index, so that a list looks at each row of the table. Where callers have few rows in the table that the policy reads, compare with an array for SELECT alone. Where they have many, keep the id of the owner in a column of the table itself.',
  },
} as const satisfies Record<string, Rule>

/**
 * Costs by form of the policy, for a caller of ten and of ten thousand rows in the table that it reads, in milliseconds at a
 * million rows (docs/guides/row-level-security.md).
 */
const measuredCosts = [
  'Milliseconds at 1,000,000 rows, for a caller of 10 / of 10,000 rows in the table that the policy reads:',
  'as it is: list 270 / 25, write 0.6 / 2, stream decision 0.2 / 0.2;',
  'array for SELECT: list 2 / 180, write 0.7 / 12, stream decision 0.3 / 6;',
  'column of the owner: list 1 / 1, write 0.5 / 0.7, stream decision 0.1 / 0.1.',
].join(' ')

/** Advice about the conditions by which policies find rows. */
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

/** Policies that decide which rows a statement of a caller finds, with their conditions. */
function findingPolicies(table: Relation): readonly PolicyOfTable[] {
  if (!table.rlsEnabled) return []
  return table.policies.flatMap((policy) => {
    const { command, using, isForCallers, isForAnonymous } = policy
    return using === undefined || command === 'INSERT' || !(isForCallers || isForAnonymous)
      ? []
      : [{ table, policy: { ...policy, using } }]
  })
}

/** Returns whether it decides about reading; a statement that writes rows finds them by these policies, too. */
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

/** The array for SELECT, and what the policy says for the commands that write; undefined where it has no such form. */
function writeArray(table: Relation, policy: PolicyOfTable['policy'], rows: number): string | undefined {
  const { name, command, using, check } = policy
  const array = selectByArrays(using, table.name)
  if (array === undefined || !array.columns.every((column) => takesArray(table, column))) return undefined
  const indexes = array.columns
    .filter((column) => !startsIndex(table, [column]))
    .map((column) => createIndex(table, [column], rows))
  if (command === 'SELECT') return [...indexes, alter(table, name, array.expression)].join(' ')
  // Names have 63 bytes at most.
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

/** The policy with another condition: one that PostgreSQL has printed, with arrays in place of subqueries. */
function alter(table: Relation, name: string, expression: string): string {
  return write(
    sql`alter policy ${sql.id(name)} on ${idOf(table)} using (${sql.expression(expression as Expression)})`,
  )
}

function objectOf(table: Relation, name: string): string {
  return `policy "${name}" on ${nameOf(table)}`
}
