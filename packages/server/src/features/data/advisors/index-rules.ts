import type { Catalog, Policy, Relation } from '../../../database/catalog/model.ts'
import { type Expression, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { idOf, nameOf } from './access-rules.ts'
import { type Finding, type Rule, type Severity, write } from './advice.ts'
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
/** An index of less costs little. */
const unusedBytes = 1024 * 1024
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
    listDuplicates(database, catalog.schemas),
    listUnused(database, catalog.schemas),
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

async function estimateRows(
  database: Queryable,
  schemas: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await database.many<{ name: string; rows: number }>(sql`
    select n.nspname || '.' || c.relname as name, greatest(c.reltuples, s.n_live_tup, 0)::float8 as rows
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    left join pg_stat_user_tables s on s.relid = c.oid
    where n.nspname = any (${schemas}) and c.relkind in ('r', 'p')`)
  return new Map(rows.map(({ name, rows: count }) => [name, count]))
}

interface IndexName extends Record<string, unknown> {
  readonly schema: string
  readonly name: string
}

/** Of two alike the one that no constraint needs, or the later one. */
async function listDuplicates(
  database: Queryable,
  schemas: readonly string[],
): Promise<readonly (IndexName & { readonly other: string })[]> {
  return await database.many(sql`
    with candidate as (
      select i.*, c.relname, n.nspname, c.relam, c.reloptions,
        i.indisprimary or i.indisexclusion or exists (
          select from pg_constraint k where k.conindid = i.indexrelid
        ) as is_needed
      from pg_index i
      join pg_class c on c.oid = i.indexrelid
      join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = any (${schemas}) and i.indisvalid and not c.relispartition
    )
    select distinct on (a.indexrelid) a.nspname as schema, a.relname as name, b.relname as other
    from candidate a
    join candidate b on b.indrelid = a.indrelid and b.indexrelid <> a.indexrelid
      and b.relam = a.relam and b.indkey = a.indkey and b.indclass = a.indclass and b.indcollation = a.indcollation
      and b.indoption = a.indoption and b.indnkeyatts = a.indnkeyatts
      and b.indpred::text is not distinct from a.indpred::text
      and b.indexprs::text is not distinct from a.indexprs::text
      and (b.indisunique or not a.indisunique)
      and (
        (b.is_needed, b.indisunique) > (a.is_needed, a.indisunique)
        or (b.is_needed, b.indisunique) = (a.is_needed, a.indisunique) and b.indexrelid < a.indexrelid
      )
    where not a.is_needed
    order by a.indexrelid, b.indexrelid`)
}

interface UnusedRow extends IndexName {
  readonly table_name: string
  readonly size: string
  readonly since: Date
}

async function listUnused(database: Queryable, schemas: readonly string[]): Promise<readonly UnusedRow[]> {
  return await database.many(sql`
    select s.schemaname as schema, s.indexrelname as name, s.relname as table_name,
      pg_size_pretty(pg_relation_size(s.indexrelid)) as size,
      coalesce(d.stats_reset, pg_postmaster_start_time()) as since
    from pg_stat_user_indexes s
    join pg_index i on i.indexrelid = s.indexrelid
    join pg_class c on c.oid = s.indexrelid
    join pg_stat_database d on d.datname = current_database()
    where s.schemaname = any (${schemas}) and s.idx_scan = 0 and i.indisvalid and not i.indisunique
      and not i.indisexclusion and not c.relispartition
      and pg_relation_size(s.indexrelid) >= ${String(unusedBytes)}::bigint
    order by pg_relation_size(s.indexrelid) desc
    limit 200`)
}
