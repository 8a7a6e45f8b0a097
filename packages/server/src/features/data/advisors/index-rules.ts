import type { Catalog, Policy, Relation } from '../../../database/catalog/model.ts'
import { type Expression, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { idOf, nameOf } from './access-rules.ts'
import { type Finding, type Rule, type Severity, write } from './advice.ts'
import { estimateRows, listDuplicateIndexes, listUnusedIndexes } from './index-queries.ts'
import { maskTexts } from './policy-calls.ts'
import { compareWithArrays } from './policy-lists.ts'

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
  foreignKey: {
    name: 'foreign_key_unindexed',
    group: 'indexes',
    title: 'A foreign key without an index',
    explanation:
      'To delete or change a row that is referenced, and to list what references it, PostgreSQL reads the whole table.',
  },
  noPrimaryKey: {
    name: 'no_primary_key',
    group: 'indexes',
    title: 'A table without a primary key',
    explanation:
      'Its rows cannot be read, changed or deleted one by one, and a page of them has no stable order.',
  },
  duplicate: {
    name: 'duplicate_index',
    group: 'indexes',
    title: 'Two indexes of the same',
    explanation: 'Every write keeps both, and no statement needs the second.',
  },
  unused: {
    name: 'unused_index',
    group: 'indexes',
    title: 'An index that nothing has used',
    explanation:
      'Every write keeps it. It has not been used since statistics are counted; see that they cover what runs once a month.',
  },
} as const satisfies Record<string, Rule>

/** A table of fewer rows is read as quickly as an index. */
const smallRows = 10_000
/** Larger tables are indexed without keeping writers waiting, which no transaction can do. */
const concurrentRows = 100_000

/** Which indexes are missing, and which are too many. */
export async function findIndexes(catalog: Catalog, database: Queryable): Promise<Finding[]> {
  const tables = [...catalog.relations.values()].filter(
    ({ kind, isOfExtension }) => !isOfExtension && (kind === 'table' || kind === 'partitioned_table'),
  )
  const rows = await estimateRows(database, catalog.schemas)
  const estimate = (table: Relation) => rows.get(nameOf(table)) ?? 0
  const [duplicates, unused] = await Promise.all([
    listDuplicateIndexes(database, catalog.schemas),
    listUnusedIndexes(database, catalog.schemas),
  ])
  return [
    ...tables.flatMap((table) => advisePolicyColumns(table, estimate(table))),
    ...tables.filter((table) => estimate(table) >= smallRows).flatMap(advisePolicyLists),
    ...tables.flatMap((table) => adviseForeignKeys(table, estimate(table))),
    ...tables.filter(({ primaryKey }) => primaryKey.length === 0).map(advisePrimaryKey),
    ...duplicates.map(
      (row): Finding => ({
        rule: rules.duplicate,
        severity: 'warning',
        object: `${row.schema}.${row.name}`,
        detail: `It is the same as ${row.other}.`,
        statement: write(sql`drop index ${sql.id(row.schema, row.name)}`),
      }),
    ),
    ...unused.map(
      (row): Finding => ({
        rule: rules.unused,
        severity: 'info',
        object: `${row.schema}.${row.name}`,
        detail: `${row.size} on ${row.table_name}; statistics since ${row.since.toISOString()}.`,
        statement: write(sql`drop index ${sql.id(row.schema, row.name)}`),
      }),
    ),
  ]
}

function severityOf(rows: number): Severity {
  return rows < smallRows ? 'info' : 'warning'
}

function createIndex(table: Relation, columns: readonly string[], rows: number): string {
  const how = rows >= concurrentRows ? sql` concurrently` : sql.empty
  return write(sql`create index${how} on ${idOf(table)} (${sql.join(columns.map((name) => sql.id(name)))})`)
}

/** Whether an index of all rows begins with the columns, in whatever order. */
function hasIndex({ indexes }: Relation, columns: readonly string[]): boolean {
  return indexes.some(({ isValid, isPartial, columns: keys }) => {
    const first = keys?.slice(0, columns.length) ?? []
    return isValid && !isPartial && columns.every((name) => first.includes(name))
  })
}

/** Of these types an index finds half the table. */
const coarseTypes = ['bool']

function advisePolicyColumns(table: Relation, rows: number): Finding[] {
  if (!table.rlsEnabled) return []
  const names = new Set(
    findingPolicies(table).flatMap(({ using, columns }) =>
      (columns ?? []).filter((name) => isCompared(using, name)),
    ),
  )
  return [...names].flatMap((name): Finding[] => {
    const column = table.column.get(name)
    if (column === undefined || coarseTypes.includes(column.type.base) || hasIndex(table, [name])) return []
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

/** Policies that decide which rows a statement of a caller finds, with their conditions. */
function findingPolicies({ policies }: Relation): readonly (Policy & { readonly using: Expression })[] {
  return policies.flatMap((policy) => {
    const { command, using, isForCallers, isForAnonymous } = policy
    return using === undefined || command === 'INSERT' || !(isForCallers || isForAnonymous)
      ? []
      : [{ ...policy, using }]
  })
}

function advisePolicyLists(table: Relation): Finding[] {
  if (!table.rlsEnabled) return []
  return findingPolicies(table).flatMap(({ name, using }): Finding[] => {
    const { columns, expression } = compareWithArrays(using, table.name)
    const takesArray = (column: string) => table.column.get(column)?.type.element === undefined
    if (!columns.some((column) => hasIndex(table, [column])) || !columns.every(takesArray)) return []
    return [
      {
        rule: rules.policyList,
        severity: 'info',
        object: `policy "${name}" on ${nameOf(table)}`,
        detail: using,
        // What PostgreSQL has printed, with arrays around the subqueries within it.
        statement: write(
          sql`alter policy ${sql.id(name)} on ${idOf(table)} using (${sql.expression(expression as Expression)})`,
        ),
      },
    ]
  })
}

/** Whether the expression, as PostgreSQL prints it, asks which rows have a value in the column. */
function isCompared(expression: string, name: string): boolean {
  const quoted = /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`
  const column = `(?<![\\w."])${quoted.replace(/[^\w]/g, '\\$&')}(?:::[\\w ]+)?(?![\\w."])`
  const text = quoted === name ? maskTexts(expression) : expression
  return new RegExp(`${column}\\)* = |= (?:ANY \\()?\\(*${column}`).test(text)
}

function adviseForeignKeys(table: Relation, rows: number): Finding[] {
  return table.foreignKeys
    .filter(({ columns }) => !hasIndex(table, columns))
    .map(({ name, columns, referencedSchema, referencedTable }) => ({
      rule: rules.foreignKey,
      severity: severityOf(rows),
      object: `${nameOf(table)}.${name}`,
      detail: `${columns.join(', ')} references ${referencedSchema}.${referencedTable}.`,
      statement: createIndex(table, columns, rows),
    }))
}

function advisePrimaryKey(table: Relation): Finding {
  const [name] = ['id', 'row_id', `${table.name}_row_id`].filter((each) => !table.column.has(each))
  return {
    rule: rules.noPrimaryKey,
    severity: 'warning',
    object: nameOf(table),
    detail: 'Where a column tells the rows apart already, make that one the key.',
    statement: write(
      sql`alter table ${idOf(table)} add column ${sql.id(name ?? 'basalt_row_id')} bigint generated always as identity primary key`,
    ),
  }
}
