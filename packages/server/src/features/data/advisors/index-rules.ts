import type { Catalog, Relation } from '../../../database/catalog/model.ts'
import { startsIndex } from '../../../database/catalog/policy-expressions.ts'
import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { idOf, nameOf } from './access-rules.ts'
import { type Finding, type Rule, write } from './advice.ts'
import { estimateRows, listDuplicateIndexes, listUnusedIndexes } from './index-queries.ts'
import { createIndex, severityOf } from './indexes.ts'
import type { Planner } from './policy-plans.ts'
import { findPolicies } from './policy-rules.ts'

const rules = {
  foreignKey: {
    name: 'foreign_key_unindexed',
    group: 'indexes',
    title: 'A foreign key without an index',
    explanation:
      'PostgreSQL reads the whole table to delete or change a referenced row, and to list the rows that reference it.',
  },
  noPrimaryKey: {
    name: 'no_primary_key',
    group: 'indexes',
    title: 'A table without a primary key',
    explanation:
      'Its rows cannot be read, changed or deleted individually, and a page of them has no stable order.',
  },
  duplicate: {
    name: 'duplicate_index',
    group: 'indexes',
    title: 'Two indexes on the same columns',
    explanation: 'Every write updates both, and no statement needs the second.',
  },
  unused: {
    name: 'unused_index',
    group: 'indexes',
    title: 'An unused index',
    explanation:
      'Every write updates it, but it has not been used since the statistics were reset. Check that they cover jobs that run once a month.',
  },
} as const satisfies Record<string, Rule>

/** Finds missing and superfluous indexes. */
export async function findIndexes(catalog: Catalog, database: Queryable & Planner): Promise<Finding[]> {
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
    ...(await findPolicies(tables, estimate, database)),
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

function adviseForeignKeys(table: Relation, rows: number): Finding[] {
  return table.foreignKeys
    .filter(({ columns }) => !startsIndex(table, columns))
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
